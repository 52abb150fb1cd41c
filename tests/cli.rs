//! The command as people and programs call it: what it prints, and how it exits.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use snapbox::{IntoData as _, assert_data_eq, str};
use tempfile::TempDir;

#[path = "cli/compile.rs"]
mod compile;
#[path = "cli/completing.rs"]
mod completing;
#[path = "cli/drawing.rs"]
mod drawing;
#[path = "cli/editing.rs"]
mod editing;
#[path = "cli/on_another_host.rs"]
mod on_another_host;
#[path = "cli/recorded.rs"]
mod recorded;

const WEB: &str = "\
descripton = \"Web\"

[process.web]
exec = \"/usr/bin/web\"
MemorySwapMax = \"1G\"
";

const SHOP: &str = "\
after = [\"network-online.target\"]

[process.api]
exec = \"/usr/bin/api\"
";

const OK: &str = "\
[process.ok]
exec = \"/usr/bin/ok\"
instances = \"cpus\"
";

/// A root file system with some group files, and nothing of systemd's.
struct Root(TempDir);

impl Root {
    fn new(groups: &[(&str, &str)]) -> Self {
        let root = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(root.path("etc/copse")).unwrap();
        for (name, text) in groups {
            fs::write(root.path(&format!("etc/copse/{name}.toml")), text).unwrap();
        }
        root
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    fn copse(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_copse"));
        command.args(arguments).args(["--root", self.0.path().to_str().unwrap()]).env_clear().stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        self.copse(arguments).output().unwrap().into()
    }
}

/// What a command said.
#[derive(Debug, PartialEq)]
struct Ran {
    status: i32,
    stdout: String,
    stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code().expect("it wasn't killed"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

#[test]
fn check_says_everything_about_all_groups_at_once() {
    let root = Root::new(&[("web", WEB), ("shop", SHOP), ("ok", OK)]);
    let ran = root.run(&["check"]);
    assert_data_eq!(
        ran.stdout,
        str![[r#"
warning[not-wanted]: the group is after `network-online.target`, but doesn't want it: where nothing else does, it is never reached and not waited for
 --> /etc/copse/shop.toml:1:9
  |
1 | after = ["network-online.target"]
  |         ^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = help: add `wants = ["network-online.target"]`

error[unknown-key]: a group has no key `descripton`
 --> /etc/copse/web.toml:1:1
  |
1 | descripton = "Web"
  | ^^^^^^^^^^
  |
  = help: did you mean `description`?

error[unknown-key]: there is no key `MemorySwapMax` in `[process.web]`
 --> /etc/copse/web.toml:5:1
  |
5 | MemorySwapMax = "1G"
  | ^^^^^^^^^^^^^
  |
  = help: write it as a directive:
          [process.web.service]
          MemorySwapMax = "1G"

"#]]
        .raw()
    );
    assert_eq!(ran.stderr, "\n2 errors, 1 warning in 2 of 3 groups\n");
    assert_eq!(ran.status, 5);
}

#[test]
fn check_in_one_line_each() {
    let root = Root::new(&[("web", WEB), ("shop", SHOP), ("ok", OK)]);
    let ran = root.run(&["check", "--format", "short"]);
    assert_data_eq!(
        ran.stdout,
        str![[r#"
/etc/copse/shop.toml:1:9: warning[not-wanted]: the group is after `network-online.target`, but doesn't want it: where nothing else does, it is never reached and not waited for; add `wants = ["network-online.target"]`
/etc/copse/web.toml:1:1: error[unknown-key]: a group has no key `descripton`; did you mean `description`?
/etc/copse/web.toml:5:1: error[unknown-key]: there is no key `MemorySwapMax` in `[process.web]`; write it as a directive: [process.web.service] MemorySwapMax = "1G"

"#]]
        .raw()
    );
    assert_eq!((ran.stderr.as_str(), ran.status), ("", 5));
}

#[test]
fn check_for_programs() {
    let root = Root::new(&[("web", WEB), ("ok", OK)]);
    let ran = root.run(&["check", "--format", "json"]);
    assert_data_eq!(
        ran.stdout.clone(),
        str![[r#"
{"code":"unknown-key","column":1,"end":{"column":11,"line":1},"file":"/etc/copse/web.toml","help":"did you mean `description`?","line":1,"message":"a group has no key `descripton`","related":[],"severity":"error"}
{"code":"unknown-key","column":1,"end":{"column":14,"line":5},"file":"/etc/copse/web.toml","help":"write it as a directive:\n[process.web.service]\nMemorySwapMax = \"1G\"","line":5,"message":"there is no key `MemorySwapMax` in `[process.web]`","related":[],"severity":"error"}

"#]]
        .raw()
    );
    for line in ran.stdout.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(value["file"], "/etc/copse/web.toml");
    }
    assert_eq!((ran.stderr.as_str(), ran.status), ("", 5));
}

#[test]
fn colours_are_for_terminals_or_for_who_asks() {
    let root = Root::new(&[("web", WEB)]);
    let coloured = root.run(&["check", "--color", "always"]).stdout;
    assert_data_eq!(
        coloured.lines().take(3).collect::<Vec<_>>().join("\n").replace('\u{1b}', "ESC"),
        str![[r#"
ESC[1mESC[91merror[unknown-key]ESC[0mESC[1m: a group has no key `descripton`ESC[0m
 ESC[1mESC[94m--> ESC[0m/etc/copse/web.toml:1:1
  ESC[1mESC[94m|ESC[0m
"#]]
        .raw()
    );
    let plain = root.run(&["check"]).stdout;
    assert!(!plain.contains('\u{1b}'));
    assert_eq!(without_escapes(&coloured), plain);
    assert_eq!(root.run(&["check", "--color", "never"]).stdout, plain);
    assert!(!on_a_terminal(root.copse(&["check"]).env("NO_COLOR", "1")).contains('\u{1b}'));
    assert!(!on_a_terminal(root.copse(&["check"]).env("TERM", "dumb")).contains('\u{1b}'));
    assert!(on_a_terminal(root.copse(&["check"]).env("TERM", "linux")).contains('\u{1b}'));
}

/// Without `ESC [ … m`.
fn without_escapes(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| text + piece.split_once('m').expect("an escape sequence ends").1)
}

/// What a command shows where its standard output is a terminal.
fn on_a_terminal(command: &mut Command) -> String {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs = fs::OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let mut child = command.stdout(theirs).stderr(Stdio::null()).spawn().unwrap();
    // Only the child may keep it open, or the end is never read.
    command.stdout(Stdio::null());
    let (mut shown, mut ours) = (Vec::new(), fs::File::from(ours));
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = ours.read(&mut buffer) {
        shown.extend_from_slice(&buffer[..count]);
    }
    child.wait().unwrap();
    String::from_utf8(shown).unwrap()
}

#[test]
fn check_of_one_group_by_name_or_of_a_file_anywhere() {
    let root = Root::new(&[("web", WEB), ("ok", OK)]);
    let ran = root.run(&["check", "ok"]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), ran.status), ("", "1 group: nothing wrong\n", 0));
    fs::create_dir_all(root.path("srv/web.toml.d")).unwrap();
    fs::write(root.path("srv/web.toml"), OK.replace("ok", "web")).unwrap();
    fs::write(root.path("srv/web.toml.d/1.toml"), "[process.web]\nnice = \"x\"\n").unwrap();
    let file = root.path("srv/web.toml");
    let ran = root.run(&["check", "--format", "short", file.to_str().unwrap()]);
    let place = root.path("srv/web.toml.d/1.toml");
    let expected = format!("{}:2:8: error[wrong-type]: `nice` takes an integer, not a string\n", place.display());
    assert_eq!((ran.stdout.as_str(), ran.status), (expected.as_str(), 5));
}

#[test]
fn check_of_the_standard_input() {
    let root = Root::new(&[]);
    let check = |text: &[u8], arguments: &[&str]| -> Ran {
        let arguments = [&["check", "-", "--format", "short"], arguments].concat();
        let mut command = root.copse(&arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // A wrong name is refused before anything is read: the pipe may be closed by then.
        let _ = child.stdin.take().unwrap().write_all(text);
        child.wait_with_output().unwrap().into()
    };
    assert_eq!(check(OK.as_bytes(), &["--stdin-name", "ok"]).status, 0);
    let ran = check(b"a = 1\n", &[]);
    assert!(ran.stdout.starts_with("<stdin>:1:1: error[unknown-key]"), "{ran:?}");
    assert_eq!(check(b"\xff", &[]).stdout, "<stdin>: error[not-utf8]: the file isn't UTF-8 text\n");
    assert_eq!(check(OK.as_bytes(), &["--stdin-name", "../x"]).status, 2);
}

#[test]
fn what_is_not_there_is_said() {
    let root = Root::new(&[("web", WEB)]);
    for verb in ["check", "render"] {
        let ran = root.run(&[verb, "wbe"]);
        let expected = "copse: there is no group `wbe`; did you mean `web`?\n";
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), ran.status), ("", expected, 4), "{verb}");
        let ran = root.run(&[verb, "./nowhere.toml", "--format=short"]);
        assert!((ran.stdout + &ran.stderr).contains("nowhere.toml: error[unreadable]"), "{verb}");
        assert_eq!(ran.status, 5, "{verb}");
    }
    let nothing = Root::new(&[]);
    assert_eq!(
        nothing.run(&["check"]).stderr,
        "no groups in /etc/copse, /run/copse, /usr/local/lib/copse, /usr/lib/copse; help: `copse edit --full NAME` makes \
         one, copse.toml(5)\n"
    );
    assert_eq!(nothing.run(&["check", "--systemd-version", "100"]).status, 2);
    assert_eq!(nothing.run(&["check", "--cpus", "0"]).status, 2);
    assert_eq!(nothing.run(&["check", "--fromat", "json"]).status, 2);
}

#[test]
fn a_root_that_is_not_there_is_no_empty_one() {
    let root = Root::new(&[]);
    let missing = root.path("missing").display().to_string();
    let ran: Ran =
        Command::new(env!("CARGO_BIN_EXE_copse")).args(["check", "--root", &missing]).output().unwrap().into();
    assert_eq!((ran.stderr, ran.status), (format!("copse: `--root`: there is no directory `{missing}`\n"), 2));
}

#[test]
fn a_file_of_nothing_but_mistakes_is_cut_short_and_says_so() {
    let text: String = (0..1500).map(|n| format!("key{n} = 1\n")).collect();
    let root = Root::new(&[("bad", &format!("{text}[process.a]\nexec = \"/a\"\n"))]);
    let ran = root.run(&["check"]);
    assert_eq!((ran.stderr.as_str(), ran.status), ("\n1000 errors, 500 more in 1 of 1 group\n", 5));
    let ran = root.run(&["check", "--format", "short"]);
    assert_eq!(ran.stdout.lines().count(), 1000);
    assert!(ran.stderr.contains("500 more"), "{ran:?}");
}

#[test]
fn render_prints_each_unit_below_its_path() {
    let root = Root::new(&[("ok", OK), ("web", WEB)]);
    let ran = root.run(&["render", "ok", "--cpus", "2"]);
    assert_eq!((ran.stderr.as_str(), ran.status), ("", 0));
    let paths: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("# /run/systemd/generator/")).collect();
    assert_data_eq!(
        paths.join("\n"),
        str![[r#"
# /run/systemd/generator/copse-ready@ok.service.d/50-copse.conf
# /run/systemd/generator/ok.target
# /run/systemd/generator/ok.target.wants/ok@1.service → ../ok@.service
# /run/systemd/generator/ok.target.wants/ok@2.service → ../ok@.service
# /run/systemd/generator/ok@.service
# /run/systemd/generator/system-copse-ok.slice
"#]]
        .raw()
    );
    // Between two files there is one empty line, as `systemctl cat` has it.
    assert!(ran.stdout.contains("\n\n# /run/systemd/generator/ok.target\n# Generated by copse from"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("\n\n\n"), "{}", ran.stdout);
}

#[test]
fn render_shows_the_good_groups_beside_a_bad_one() {
    let root = Root::new(&[("ok", OK), ("web", WEB)]);
    let ran = root.run(&["render"]);
    assert!(ran.stdout.contains("ok@.service") && !ran.stdout.contains("web.target"), "{}", ran.stdout);
    assert!(ran.stderr.contains("error[unknown-key]"), "{}", ran.stderr);
    assert_eq!(ran.status, 5);
}

#[test]
fn render_for_another_version_leaves_out_what_it_lacks() {
    let root = Root::new(&[("a", "[process.a]\nexec = \"/a\"\nrestart-steps = 3\nrestart-max-delay-sec = \"1min\"\n")]);
    let has = |version: &str| root.run(&["render", "--systemd-version", version]).stdout.contains("\nRestartSteps=3\n");
    assert!(has("254") && has("262") && !has("253") && !has("247"));
}

#[test]
fn render_in_user_scope() {
    let root = Root::new(&[]);
    fs::create_dir_all(root.path("home/u/.config/copse")).unwrap();
    fs::write(root.path("home/u/.config/copse/ok.toml"), OK).unwrap();
    let run = |arguments: &[&str]| -> Ran {
        let mut command = root.copse(arguments);
        command.env("HOME", "/home/u").env("XDG_RUNTIME_DIR", "/run/user/7").output().unwrap().into()
    };
    for arguments in [&["render", "--user"], &["--user", "render"]] {
        let ran = run(arguments);
        assert!(ran.stdout.contains("# /run/user/7/systemd/generator/app-copse-ok.slice\n"), "{ran:?}");
        assert_eq!(ran.status, 0);
    }
    assert_eq!(run(&["render"]).stdout, "");
}

/// All paths below a directory, with the text or target of each.
fn below(directory: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(directory).unwrap().display().to_string();
            if path.is_symlink() {
                found.push((name, fs::read_link(&path).unwrap().display().to_string()));
            } else if path.is_dir() {
                open.push(path);
            } else {
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

fn names(directory: &Path) -> Vec<String> {
    below(directory).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn render_into_a_directory_keeps_it_in_step() {
    let root = Root::new(&[("ok", OK), ("shop", SHOP)]);
    let out = root.path("out/units");
    let render = |arguments: &[&str]| root.run(&[&["render", "--output", out.to_str().unwrap()], arguments].concat());
    let ran = render(&[]);
    assert_eq!((ran.stdout.as_str(), ran.status), ("", 0));
    let first = below(&out);
    let printed = root.run(&["render"]).stdout;
    for (name, text) in &first {
        let link = format!("# /run/systemd/generator/{name} → {text}\n");
        let file = format!("# /run/systemd/generator/{name}\n{text}");
        assert!(printed.contains(&link) || printed.contains(&file), "{name}");
    }
    // Once more changes nothing; what others put there stays.
    fs::write(out.join("other.service"), "[Unit]\n").unwrap();
    symlink("other.service", out.join("shop-other.service")).unwrap();
    assert_eq!(render(&[]).status, 0);
    let others = ["other.service", "shop-other.service"];
    let of_ours = |names: Vec<String>| -> Vec<String> {
        names.into_iter().filter(|name| !others.contains(&name.as_str())).collect()
    };
    assert_eq!(of_ours(names(&out)), first.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>());
    // One group: its own stale units go, the other group's stay.
    fs::write(root.path("etc/copse/shop.toml"), SHOP.replace("api", "front")).unwrap();
    assert_eq!(render(&["shop"]).status, 0);
    let now = of_ours(names(&out));
    assert!(
        now.contains(&"shop-front.service".to_owned())
            && now.contains(&"shop.target.wants/shop-front.service".to_owned())
    );
    assert!(!now.iter().any(|name| name.contains("shop-api")), "{now:?}");
    assert_eq!(
        now.iter().filter(|name| !name.contains("shop")).count(),
        first.iter().filter(|(name, _)| !name.contains("shop")).count()
    );
    // All groups: a group that is gone takes its units along.
    fs::remove_file(root.path("etc/copse/shop.toml")).unwrap();
    assert_eq!(render(&[]).status, 0);
    let mut now = names(&out);
    now.retain(|name| name.contains("shop"));
    assert_eq!(now, ["shop-other.service"]);
    assert!(out.join("other.service").exists());
}

#[test]
fn render_writes_nothing_where_somebody_elses_file_is_in_the_way() {
    let root = Root::new(&[("ok", OK)]);
    let out = root.path("out");
    type Make = fn(&Path);
    let foreign: [(&str, Make); 3] = [
        ("ok.target", |path| fs::write(path, "[Unit]\n").unwrap()),
        ("ok.target", |path| symlink("/dev/null", path).unwrap()),
        ("ok.target.wants", |path| symlink("/tmp", path).unwrap()),
    ];
    for (name, make) in foreign {
        fs::create_dir(&out).unwrap();
        make(&out.join(name));
        let before = (names(&out), fs::symlink_metadata(out.join(name)).unwrap().file_type());
        let ran = root.run(&["render", "--output", out.to_str().unwrap()]);
        assert!(ran.stderr.starts_with("copse: nothing was written: ") && ran.stderr.contains(name), "{ran:?}");
        assert_eq!(ran.status, 1);
        assert_eq!((names(&out), fs::symlink_metadata(out.join(name)).unwrap().file_type()), before);
        fs::remove_dir_all(&out).unwrap();
    }
}

#[test]
fn a_reader_that_goes_away_early_is_no_error() {
    let many: String = (0..3000).map(|n| format!("[process.p{n}]\nexec = \"/a\"\n")).collect();
    let root = Root::new(&[("bad", "x = 1\n"), ("many", &many)]);
    for (arguments, expected) in
        [(vec!["render", "many"], 0), (vec!["check", "--format", "json"], 5), (vec!["explain"], 0)]
    {
        let mut command = if arguments[0] == "explain" {
            let mut command = Command::new(env!("CARGO_BIN_EXE_copse"));
            command.args(&arguments);
            command
        } else {
            root.copse(&arguments)
        };
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ran: Ran =
            command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap().into();
        assert_eq!((ran.stderr.as_str(), ran.status), ("", expected), "{arguments:?}");
    }
}

#[test]
fn a_procfile_is_imported_with_its_secrets_in_a_file_of_their_own() {
    let root = Root::new(&[]);
    fs::create_dir(root.path("shop")).unwrap();
    fs::write(root.path("shop/Procfile"), "release: bin/migrate\nweb: bin/web -p $PORT\nodd\n").unwrap();
    fs::write(root.path("shop/.env"), "PORT=7000\nSECRET_KEY='a \"b\" $c'\n").unwrap();
    let import = |arguments: &[&str]| -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_copse"));
        command.args(["import", "procfile", "Procfile", "--format", "short"]).args(arguments).env_clear();
        command.current_dir(root.path("shop")).output().unwrap().into()
    };
    let (secrets, output) = (root.path("shop.env"), root.path("shop.toml"));
    let (secrets_path, output_path) = (secrets.to_str().unwrap(), output.to_str().unwrap());
    let with_file = ["--env", ".env", "--env-file-path", secrets_path, "--output", output_path];
    let ran = import(&with_file);
    assert_eq!(ran.status, 11, "{ran:?}");
    assert!(ran.stderr.contains("Procfile:3:1: warning[left-out]: not `NAME: COMMAND`"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(&secrets).unwrap(), "SECRET_KEY=\"a \\\"b\\\" \\$c\"\n");
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&secrets).unwrap().permissions()) & 0o777, 0o600);
    let text = fs::read_to_string(&output).unwrap();
    let lines = [
        format!("environment-file = \"{secrets_path}\""),
        "restart = \"always\"".to_owned(),
        "[setup.release]".to_owned(),
        "exec = \"bin/web -p {env:PORT}\"".to_owned(),
        "port = 7100".to_owned(),
    ];
    for line in lines {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert_eq!(
        Ran::from(Command::new(env!("CARGO_BIN_EXE_copse")).arg("check").arg(&output).output().unwrap()).status,
        0
    );
    // Neither is written over.
    assert_eq!(import(&with_file).status, 1);
    // Without the file the secret stands where everybody can read it, and that is said; without `--env` it isn't read.
    let ran = import(&["--env", ".env"]);
    assert!(ran.stderr.contains("SECRET_KEY, which sounds secret") && ran.stdout.contains("SECRET_KEY"), "{ran:?}");
    let ran = import(&[]);
    assert!(ran.stderr.contains("/.env: warning[left-out]: wasn't read") && !ran.stdout.contains("SECRET"), "{ran:?}");
    assert_eq!(import(&["-m", "wob=1"]).status, 2);
}

#[test]
fn a_formation_that_makes_no_sense_runs_nothing() {
    let arguments = ["run", "--formation", "web=2,worker"];
    let ran: Ran = Command::new(env!("CARGO_BIN_EXE_copse")).args(arguments).output().unwrap().into();
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("`worker` isn't `NAME=NUMBER`"), "{}", ran.stderr);
}

#[test]
fn a_full_disk_is_an_error() {
    let root = Root::new(&[("ok", OK)]);
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ran: Ran = root
        .copse(&["render"])
        .stdout(full())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap()
        .into();
    assert_eq!((ran.status, ran.stderr.contains("No space left")), (1, true), "{ran:?}");
}

#[test]
fn explain_says_what_a_code_means() {
    let explain = |arguments: &[&str]| -> Ran {
        Command::new(env!("CARGO_BIN_EXE_copse")).arg("explain").args(arguments).output().unwrap().into()
    };
    assert_eq!(explain(&["cycle"]).stdout, "error[cycle]: Each is after the other.\n");
    let ran = explain(&["cycel"]);
    assert_eq!((ran.stderr.as_str(), ran.status), ("copse: there is no code `cycel`; did you mean `cycle`?\n", 2));
    assert_eq!(explain(&[]).stdout.lines().count(), copse::diagnostic::Code::ALL.len());
}

#[test]
fn a_plan_is_for_people_or_for_programs() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_copse"));
    let ran: Ran = command.args(["plan", "--diff", "--json"]).output().unwrap().into();
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{ran:?}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_copse"));
    let ran: Ran = command.args(["apply", "--dry-run", "shop"]).output().unwrap().into();
    let hint = "copse: `apply` has no `--dry-run`: `copse plan GROUP` shows what it would do\n";
    assert_eq!((ran.stderr.as_str(), ran.status), (hint, 2), "{ran:?}");
}

#[test]
fn a_verb_of_another_tool_gets_a_hint() {
    for (verb, instead) in [
        ("tail", "`copse logs -f GROUP`"),
        ("ps", "`copse status GROUP`"),
        ("update", "`copse apply GROUP`"),
        ("reread", "`copse check`"),
        ("up", "`copse start GROUP`"),
        ("diff", "`copse plan --diff GROUP`"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_copse"));
        let ran: Ran = command.args([verb, "shop"]).output().unwrap().into();
        assert!(ran.stderr.starts_with(&format!("copse: there is no verb `{verb}`: {instead}")), "{ran:?}");
        assert_eq!((ran.stderr.lines().count(), ran.stdout.as_str(), ran.status), (1, "", 2), "{ran:?}");
    }
}

const SUPERVISORD: &str = "\
[supervisord]

[program:web]
command=/usr/bin/web --port %(ENV_PORT)s
stopasgroup=true
";

#[test]
fn import_prints_a_group_file_and_its_exit_says_whether_that_is_all() {
    let root = Root::new(&[]);
    fs::write(root.path("supervisord.conf"), SUPERVISORD).unwrap();
    fs::write(root.path("vars"), "PORT=8080\n").unwrap();
    let import = |arguments: &[&str]| -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_copse"));
        command.args(["import", "supervisord"]).args(arguments).env_clear().current_dir(root.path(""));
        command.output().unwrap().into()
    };
    let all = import(&["supervisord.conf", "--env", "vars"]);
    assert_eq!(all.status, 0, "{all:?}");
    assert!(all.stdout.contains("exec = \"/usr/bin/web --port 8080\"\n"), "{}", all.stdout);
    assert_data_eq!(
        all.stderr,
        str![[r#"
1 process of supervisord's in group `supervisord`: nothing wrong

"#]]
    );

    let noted = import(&["supervisord.conf", "--name", "shop", "--format", "short"]);
    assert_eq!(noted.status, 11, "{noted:?}");
    assert!(noted.stdout.contains("exec = \"/usr/bin/web --port {env:PORT...}\"\n"), "{}", noted.stdout);
    assert!(
        noted.stderr.contains("supervisord.conf:4:1: note[works-otherwise]: `%(ENV_PORT)s` has no value"),
        "{noted:?}"
    );

    fs::write(root.path("bad.conf"), "[program:web]\ncommand=date +%Y\n").unwrap();
    let failed = import(&["bad.conf"]);
    assert_eq!((failed.status, &*failed.stdout), (1, ""), "{failed:?}");
    assert!(failed.stderr.contains("error[not-imported]: `command`: `%Y` isn't"), "{failed:?}");
    assert_eq!(import(&["missing.conf"]).status, 1);
    assert_eq!(import(&[]).status, 2);
}

#[test]
fn import_writes_a_file_that_passes_the_check_and_overwrites_none() {
    let root = Root::new(&[]);
    let (conf, output) = (root.path("supervisord.conf"), root.path("etc/copse/shop.toml"));
    fs::write(&conf, SUPERVISORD).unwrap();
    let import = || -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_copse"));
        command.args(["import", "supervisord", "--env-from-process", "--output"]).arg(&output).arg(&conf);
        command.env_clear().env("PORT", "80").output().unwrap().into()
    };
    let imported = import();
    assert_eq!(imported.status, 0);
    let next = "\n  next  systemctl disable --now supervisor\n        systemctl daemon-reload\n        systemctl start shop.target\n";
    assert!(imported.stderr.ends_with(next), "{imported:?}");
    let text = fs::read_to_string(&output).unwrap();
    assert!(text.contains("--port 80\""), "{text}");
    assert_eq!(root.run(&["check"]).status, 0);
    let again = import();
    assert_eq!(again.status, 1);
    assert!(again.stderr.contains("is there already, and isn't overwritten"), "{again:?}");
    assert_eq!(fs::read_to_string(&output).unwrap(), text);
}

#[test]
fn import_explains_what_becomes_of_each_option() {
    let explained: Ran =
        Command::new(env!("CARGO_BIN_EXE_copse")).args(["import", "--explain"]).output().unwrap().into();
    assert_eq!(explained.status, 0);
    assert!(explained.stdout.starts_with("[program:NAME]\n  command "), "{}", explained.stdout);
    let same: Ran =
        Command::new(env!("CARGO_BIN_EXE_copse")).args(["import", "supervisord", "--explain"]).output().unwrap().into();
    assert_eq!(same, explained);
}
