//! `--host`, with a program in ssh's place that runs the command line in a shell, as sshd does.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::{Ran, Root};

/// Runs copse where `ssh` is this script: its arguments are in `$@`, the last is the command line.
fn run(root: &Root, ssh: &str, arguments: &[&str]) -> Ran {
    let programs = root.path("programs");
    fs::create_dir_all(&programs).unwrap();
    fs::write(programs.join("ssh"), format!("#!/bin/bash\n{ssh}\n")).unwrap();
    fs::set_permissions(programs.join("ssh"), fs::Permissions::from_mode(0o755)).unwrap();
    let own = Path::new(env!("CARGO_BIN_EXE_copse")).parent().unwrap();
    let path = format!("{}:{}:/usr/bin:/bin", programs.display(), own.display());
    let mut command = Command::new(env!("CARGO_BIN_EXE_copse"));
    command.args(arguments).env_clear().env("PATH", path).output().unwrap().into()
}

const THERE: &str = "exec sh -c \"${!#}\"";

#[test]
fn the_command_runs_there_and_exits_as_it_does_there() {
    let root = Root::new(&[("web", "x = 1\n"), ("ok", "[process.a]\nexec = \"/a\"\n")]);
    let there = root.path("").display().to_string();
    let ran = run(&root, THERE, &["-H", "root@web1", "check", "--root", &there, "--format", "short", "web"]);
    assert_eq!((ran.stdout.lines().count(), ran.status), (2, 5), "{ran:?}");
    let ran = run(&root, THERE, &["check", "--host=web1", "--root", &there, "ok"]);
    assert_eq!((ran.stderr.as_str(), ran.status), ("1 group: nothing wrong\n", 0), "{ran:?}");
    let ran = run(&root, THERE, &["check", "-Hweb1", "--root", &there, "it's $HOME"]);
    assert_eq!((ran.stderr.as_str(), ran.status), ("copse: there is no group `it's $HOME`\n", 4), "{ran:?}");
}

#[test]
fn ssh_is_called_without_a_terminal_where_there_is_none() {
    let root = Root::new(&[]);
    let ran = run(&root, "printf '%s\\n' \"$@\"", &["-H", "root@web1:2222", "--user", "status", "shop"]);
    assert_eq!(ran.stdout, "-x\n-T\n-p2222\n--\nroot@web1\ncopse '--user' 'status' 'shop'\n");
}

#[test]
fn what_goes_wrong_on_the_way() {
    let root = Root::new(&[]);
    for (ssh, words, status, said) in [
        ("echo 'ssh: no route' >&2; exit 255", &["-H", "web1", "list"][..], 1, "ssh: no route\n"),
        ("exit 127", &["-H", "web1", "list"], 1, "copse: cannot run copse on `web1`: command not found\n"),
        ("kill -KILL $$", &["-H", "web1", "list"], 1, ""),
        ("exit 8", &["-H", "web1", "list"], 8, ""),
        ("", &["-H", "-oProxyCommand=touch x", "list"], 2, ""),
        ("", &["--host=-oProxyCommand=x", "list"], 2, "copse: invalid host `-oProxyCommand=x`: not a host name\n"),
        (
            "",
            &["-H", "web1/box", "list"],
            2,
            "copse: invalid host `web1/box`: containers on another host are not supported",
        ),
        (
            "",
            &["-H", "web1,web2", "list"],
            2,
            "copse: invalid host `web1,web2`: it takes one host\n  help: run `clush -w web1,web2 copse …` to look at several hosts; to change them, use the Ansible collection copse.systemd, copse-fleet(7)\n",
        ),
        ("", &["-H", "web1", "statsu"], 2, "error: unrecognized subcommand"),
    ] {
        let ran = run(&root, ssh, words);
        assert_eq!((ran.status, ran.stdout.as_str()), (status, ""), "{words:?} {ran:?}");
        assert!(ran.stderr.starts_with(said), "{words:?} {ran:?}");
    }
}
