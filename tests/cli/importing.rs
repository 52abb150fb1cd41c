//! `copse import`: group files, reports and exit statuses.

use std::fs;
use std::process::Command;

use snapbox::{assert_data_eq, str};

use crate::{Ran, Root};

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
    assert!(ran.stderr.contains("SECRET_KEY, which may be secret") && ran.stdout.contains("SECRET_KEY"), "{ran:?}");
    let ran = import(&[]);
    assert!(ran.stderr.contains("/.env: warning[left-out]: not read") && !ran.stdout.contains("SECRET"), "{ran:?}");
    assert_eq!(import(&["-m", "wob=1"]).status, 2);
}

#[test]
fn a_formation_that_makes_no_sense_runs_nothing() {
    let arguments = ["run", "--formation", "web=2,worker"];
    let ran: Ran = Command::new(env!("CARGO_BIN_EXE_copse")).args(arguments).output().unwrap().into();
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("`worker` is not `NAME=NUMBER`"), "{}", ran.stderr);
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
    for stdout in ["-", "/dev/stdout"] {
        let named = import(&["supervisord.conf", "--env", "vars", "--output", stdout]);
        assert_eq!((&named.stdout, &named.stderr, named.status), (&all.stdout, &all.stderr, 0), "{stdout}");
    }
    assert_data_eq!(
        all.stderr,
        str![[r#"
1 process of supervisord in group `supervisord`: nothing wrong

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
    assert!(failed.stderr.contains("error[not-imported]: `command`: `%Y` is not a supported"), "{failed:?}");
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
    assert!(again.stderr.contains("already exists, not overwriting"), "{again:?}");
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
