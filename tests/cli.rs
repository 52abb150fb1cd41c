//! The command as people and programs call it: what it prints, and how it exits.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

#[path = "cli/checking.rs"]
mod checking;
#[path = "cli/compile.rs"]
mod compile;
#[path = "cli/completing.rs"]
mod completing;
#[path = "cli/drawing.rs"]
mod drawing;
#[path = "cli/editing.rs"]
mod editing;
#[path = "cli/importing.rs"]
mod importing;
#[path = "cli/on_another_host.rs"]
mod on_another_host;
#[path = "cli/recorded.rs"]
mod recorded;
#[path = "cli/rendering.rs"]
mod rendering;

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
    assert_eq!((ran.status, ran.stderr.contains("cannot write to stdout: no space left")), (1, true), "{ran:?}");
}

#[test]
fn explain_says_what_a_code_means() {
    let explain = |arguments: &[&str]| -> Ran {
        Command::new(env!("CARGO_BIN_EXE_copse")).arg("explain").args(arguments).output().unwrap().into()
    };
    // Without a terminal it is wrapped at 80 columns.
    let cycle = "error[cycle]: The processes and setup steps are ordered after each other in a\n    cycle, so none could ever start.\n";
    assert_eq!(explain(&["cycle"]).stdout, cycle);
    let ran = explain(&["cycel"]);
    assert_eq!(
        (ran.stderr.as_str(), ran.status),
        ("copse: there is no code `cycel`\n  help: did you mean `cycle`?\n", 2)
    );
    let starts = |line: &&str| !line.starts_with(' ');
    assert_eq!(explain(&[]).stdout.lines().filter(starts).count(), copse::basic::diagnostic::Code::ALL.len());
}

#[test]
fn a_plan_is_for_people_or_for_programs() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_copse"));
    let ran: Ran = command.args(["plan", "--diff", "--json"]).output().unwrap().into();
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{ran:?}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_copse"));
    let ran: Ran = command.args(["apply", "--dry-run", "shop"]).output().unwrap().into();
    let hint = "copse: `apply` has no `--dry-run`\n  help: run `copse plan GROUP` to see what it would do\n";
    assert_eq!((ran.stderr.as_str(), ran.status), (hint, 2), "{ran:?}");
}

#[test]
fn a_command_of_another_tool_gets_a_hint() {
    for (name, instead) in [
        ("tail", "`copse logs -f GROUP`"),
        ("ps", "`copse status GROUP`"),
        ("update", "`copse apply GROUP`"),
        ("reread", "`copse check`"),
        ("up", "`copse start GROUP`"),
        ("diff", "`copse plan --diff GROUP`"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_copse"));
        let ran: Ran = command.args([name, "shop"]).output().unwrap().into();
        let hint = format!("copse: there is no command `{name}`\n  help: run {instead}");
        assert!(ran.stderr.starts_with(&hint), "{ran:?}");
        assert_eq!((ran.stderr.lines().count(), ran.stdout.as_str(), ran.status), (2, "", 2), "{ran:?}");
    }
}
