//! `copse check`: what it says, in each of its forms.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use snapbox::{IntoData as _, assert_data_eq, str};

use crate::{OK, Ran, Root, SHOP, WEB, on_a_terminal};

#[test]
fn check_says_everything_about_all_groups_at_once() {
    let root = Root::new(&[("web", WEB), ("shop", SHOP), ("ok", OK)]);
    let ran = root.run(&["check"]);
    assert_data_eq!(
        ran.stdout,
        str![[r#"
warning[not-wanted]: the group is ordered after `network-online.target` but does not pull it in, so the ordering may have no effect
 --> /etc/copse/shop.toml:1:9
  |
1 | after = ["network-online.target"]
  |         ^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = help: add `wants = ["network-online.target"]`

error[unknown-key]: unknown group key `descripton`
 --> /etc/copse/web.toml:1:1
  |
1 | descripton = "Web"
  | ^^^^^^^^^^
  |
  = help: did you mean `description`?

error[unknown-key]: unknown key `MemorySwapMax` in `[process.web]`
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
/etc/copse/shop.toml:1:9: warning[not-wanted]: the group is ordered after `network-online.target` but does not pull it in, so the ordering may have no effect; add `wants = ["network-online.target"]`
/etc/copse/web.toml:1:1: error[unknown-key]: unknown group key `descripton`; did you mean `description`?
/etc/copse/web.toml:5:1: error[unknown-key]: unknown key `MemorySwapMax` in `[process.web]`; write it as a directive: [process.web.service] MemorySwapMax = "1G"

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
{"code":"unknown-key","column":1,"end":{"column":11,"line":1},"file":"/etc/copse/web.toml","help":"did you mean `description`?","line":1,"message":"unknown group key `descripton`","related":[],"severity":"error"}
{"code":"unknown-key","column":1,"end":{"column":14,"line":5},"file":"/etc/copse/web.toml","help":"write it as a directive:\n[process.web.service]\nMemorySwapMax = \"1G\"","line":5,"message":"unknown key `MemorySwapMax` in `[process.web]`","related":[],"severity":"error"}

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
ESC[1mESC[91merror[unknown-key]ESC[0mESC[1m: unknown group key `descripton`ESC[0m
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
    assert_eq!(check(b"\xff", &[]).stdout, "<stdin>: error[not-utf8]: the file is not UTF-8 text\n");
    assert_eq!(check(OK.as_bytes(), &["--stdin-name", "../x"]).status, 2);
}

#[test]
fn check_of_a_file_as_another_group() {
    let root = Root::new(&[("ok", OK), ("web", WEB)]);
    let file = root.path("srv/.source");
    fs::create_dir_all(root.path("srv")).unwrap();
    let check = |text: &str, group: &str| {
        fs::write(&file, text).unwrap();
        root.run(&["check", "--format", "short", "--as", group, file.to_str().unwrap()])
    };
    assert_eq!(check(OK, "ok").status, 0);
    assert_eq!(check(OK, "../x").status, 2);
    let ran = check("a = 1\n", "new");
    assert!(ran.stdout.starts_with(&format!("{}:1:1: error[unknown-key]", file.display())), "{ran:?}");
    assert_eq!(ran.status, 5);
    // Next to the installed groups, whatever the order of their names.
    let process = |name: &str| format!("[process.{name}]\nexec = \"/a\"\n");
    for (installed, its, group, own) in [("m-a", "p", "m", "a-p"), ("z", "x-p", "z-x", "p")] {
        fs::write(root.path(&format!("etc/copse/{installed}.toml")), process(its)).unwrap();
        let ran = check(&process(own), group);
        assert!(ran.stdout.contains(&format!("is already a unit of group `{installed}`")), "{ran:?}");
        assert_eq!(ran.status, 5);
    }
    let ran = root.run(&["check", "--as", "ok", "one", "two"]);
    assert_eq!((ran.stderr.as_str(), ran.status), ("copse: `--as` takes one file, or `-` for standard input\n", 2));
}

#[test]
fn what_is_not_there_is_said() {
    let root = Root::new(&[("web", WEB)]);
    for verb in ["check", "render"] {
        let ran = root.run(&[verb, "wbe"]);
        let expected = "copse: there is no group `wbe`\n  help: did you mean `web`?\n";
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), ran.status), ("", expected, 4), "{verb}");
        let ran = root.run(&[verb, "./nowhere.toml", "--format=short"]);
        assert!((ran.stdout + &ran.stderr).contains("nowhere.toml: error[unreadable]"), "{verb}");
        assert_eq!(ran.status, 5, "{verb}");
    }
    let nothing = Root::new(&[]);
    assert_eq!(
        nothing.run(&["check"]).stderr,
        "copse: no groups in /etc/copse, /run/copse, /usr/local/lib/copse, /usr/lib/copse\n  help: run `copse edit --full \
         NAME` to create one, see copse.toml(5)\n"
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
fn a_file_of_a_container_tool_gets_one_sentence_on_what_copse_is() {
    let root = Root::new(&[("ok", OK)]);
    let directory = tempfile::tempdir().unwrap();
    for (name, text, kind) in [
        ("compose.yaml", "services:\n  web:\n    image: a\n", "a file of Compose"),
        ("shop.yml", "apiVersion: v1\nkind: Pod\n", "a manifest for Kubernetes"),
    ] {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        let ran = root.run(&["check", path.to_str().unwrap()]);
        let first = ran.stderr.lines().next().unwrap_or_default().to_owned();
        let expected = format!(
            "copse: `{}` is {kind}: copse turns group files, which are TOML, into systemd units for processes of this \
             machine, and runs no containers",
            path.display()
        );
        assert_eq!((first, ran.status), (expected, 5));
    }
}
