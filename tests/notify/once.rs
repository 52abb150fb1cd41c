//! `copse-notify once`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{Running, notify, run, until, written};

/// A setup step that adds a line to a file each time it runs.
struct Step {
    root: tempfile::TempDir,
}

impl Step {
    fn new() -> Step {
        Step { root: tempfile::tempdir().unwrap() }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn stamp(&self) -> PathBuf {
        self.at("state/copse/g/stamp")
    }

    fn command(&self, options: &[&str], script: &str) -> Command {
        let mut command = notify(&["once", "--stamp"]);
        command.arg(self.stamp()).args(options).args(["--", "sh", "-c", script]);
        command.current_dir(self.root.path());
        command
    }

    /// Runs it; whether the command ran, and what was said.
    fn ran(&self, options: &[&str]) -> (bool, String) {
        self.ran_with(options, |_| {})
    }

    fn ran_with(&self, options: &[&str], change: impl FnOnce(&mut Command)) -> (bool, String) {
        let before = self.runs();
        let mut command = self.command(options, "echo ran >> runs");
        change(&mut command);
        let (status, _, stderr) = run(&mut command);
        assert_eq!(status, Some(0), "{stderr}");
        (self.runs() > before, stderr)
    }

    fn runs(&self) -> usize {
        fs::read_to_string(self.at("runs")).unwrap_or_default().lines().count()
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn it_runs_once_and_says_since_when_nothing_changed() {
    let step = Step::new();
    assert_eq!(step.ran(&[]), (true, String::new()));
    assert_eq!((mode(&step.stamp()), mode(step.stamp().parent().unwrap())), (0o600, 0o700));
    let (ran, said) = step.ran(&[]);
    assert!(!ran);
    assert!(said.starts_with("copse-notify: inputs unchanged since 20"), "{said}");
    assert!(said.ends_with(" UTC, not run again\n"), "{said}");
    assert_eq!(step.ran(&["--again"]), (true, String::new()));
    assert!(!step.ran(&[]).0);
}

#[test]
fn every_change_runs_it_again_and_only_once() {
    let step = Step::new();
    let input = step.at("input");
    let options = ["--input", input.to_str().unwrap()];
    let after = |what: &str, change: &dyn Fn()| {
        change();
        assert!(step.ran(&options).0, "not after: {what}");
        assert!(!step.ran(&options).0, "twice after: {what}");
    };
    after("the first time, input missing", &|| {});
    after("the input appeared", &|| fs::write(&input, "1").unwrap());
    after("its content changed", &|| fs::write(&input, "2").unwrap());
    after("its mode changed", &|| {
        fs::set_permissions(&input, fs::Permissions::from_mode(0o640)).unwrap();
    });
    after("it became a directory", &|| {
        fs::remove_file(&input).unwrap();
        fs::create_dir_all(input.join("a/b")).unwrap();
    });
    after("a file below", &|| fs::write(input.join("a/b/c"), "").unwrap());
    after("it is missing again", &|| fs::remove_dir_all(&input).unwrap());
    after("the stamp was removed", &|| fs::remove_file(step.stamp()).unwrap());
    after("the stamp is none", &|| fs::write(step.stamp(), "nonsense").unwrap());
    after("the stamp isn't text", &|| fs::write(step.stamp(), [0xff; 9000]).unwrap());
}

#[test]
fn definition_and_credentials_count() {
    let step = Step::new();
    assert!(step.ran(&["--definition", "User=a"]).0);
    assert!(!step.ran(&["--definition", "User=a"]).0);
    assert!(step.ran(&["--definition", "User=b"]).0);
    let credentials = |name: &str, content: &str| {
        let directory = step.at(name);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("key"), content).unwrap();
        step.ran_with(&[], |command| {
            command.env("CREDENTIALS_DIRECTORY", directory);
        })
        .0
    };
    assert!(credentials("one", "secret"));
    // Made anew at each start, at whatever place.
    assert!(!credentials("two", "secret"));
    assert!(credentials("two", "another"));
}

#[test]
fn a_failure_leaves_no_stamp_and_its_own_status() {
    let step = Step::new();
    for status in [1, 3, 64, 255] {
        let (code, _, stderr) = run(&mut step.command(&[], &format!("exit {status}")));
        assert_eq!((code, stderr.as_str()), (Some(status), ""));
        let left: Vec<_> = fs::read_dir(step.stamp().parent().unwrap()).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// Half done with the new input, the old one back: what the stamp said of the
/// old one is no longer true.
#[test]
fn a_failure_takes_the_old_stamp_with_it() {
    let step = Step::new();
    let input = step.at("input");
    let options = ["--input", input.to_str().unwrap()];
    let script = "test \"$(cat input)\" != bad && echo ran >> runs";
    let go = |content: &str| {
        fs::write(&input, content).unwrap();
        run(&mut step.command(&options, script)).0
    };
    assert_eq!((go("good"), step.runs()), (Some(0), 1));
    assert_eq!((go("bad"), step.runs()), (Some(1), 1));
    assert_eq!((go("good"), step.runs()), (Some(0), 2));
    assert_eq!((go("good"), step.runs()), (Some(0), 2));
}

#[test]
fn what_cannot_be_known_or_kept_is_an_error_before_the_command_runs() {
    let step = Step::new();
    // Readable by its mode, and gives EIO: the mode alone stops nobody who is root.
    let (status, _, stderr) = run(&mut step.command(&["--input", "/proc/self/mem"], "echo ran >> runs"));
    assert_eq!(
        (status, stderr.as_str()),
        (Some(71), "copse-notify: can't read the input `/proc/self/mem`: input/output error\n")
    );
    fs::write(step.at("state"), "a file where the directory should be").unwrap();
    let (status, _, stderr) = run(&mut step.command(&[], "echo ran >> runs"));
    assert_eq!(status, Some(71));
    let stamp = step.stamp();
    assert!(stderr.starts_with(&format!("copse-notify: can't keep a stamp at `{}`: ", stamp.display())), "{stderr}");
    assert_eq!(step.runs(), 0);
}

#[test]
fn a_command_that_is_not_there() {
    let step = Step::new();
    for (command, status) in [("/nonexistent/x", 127), ("/etc/passwd", 126)] {
        let mut once = notify(&["once", "--stamp"]);
        once.arg(step.stamp()).args(["--", command]);
        let (code, _, stderr) = run(&mut once);
        assert_eq!(code, Some(status), "{stderr}");
        assert!(stderr.starts_with(&format!("copse-notify: `{command}` ")), "{stderr}");
        assert!(!step.stamp().exists());
    }
}

#[test]
fn a_signal_to_it_alone_is_passed_on_and_reported() {
    let step = Step::new();
    let mut running = Running::spawn(&mut step.command(&[], "echo $$ > pid; exec sleep 1000"));
    let command: u32 = written(&step.at("pid")).trim().parse().unwrap();
    running.signal(libc::SIGTERM);
    assert_eq!(running.0.wait().unwrap().signal(), Some(libc::SIGTERM));
    until("the command is gone", || !crate::harness::is_alive(command));
    assert!(!step.stamp().exists());
}

#[test]
fn a_command_that_ends_well_when_asked_to_stop_runs_again() {
    let step = Step::new();
    let script = "trap 'exit 0' TERM; echo $$ > pid; while :; do sleep 0.01; done";
    let mut running = Running::spawn(&mut step.command(&[], script));
    written(&step.at("pid"));
    running.signal(libc::SIGTERM);
    assert_eq!(running.0.wait().unwrap().code(), Some(0));
    assert!(!step.stamp().exists());
}

#[test]
fn the_command_sees_nothing_of_it() {
    let step = Step::new();
    // grep in place of the shell, which blocks signals around each fork of its own.
    let script = "echo \"$NOTIFY_SOCKET\"; exec grep -E '^Sig(Blk|Ign)' /proc/self/status";
    for given in ["--ignore-signal=CHLD", "--block-signal=CHLD,TERM", "--default-signal=PIPE"] {
        let see = |once: bool| {
            let mut command = Command::new("env");
            command.arg(given);
            if once {
                command.args([env!("CARGO_BIN_EXE_copse-notify"), "once", "--again", "--stamp"]);
                command.arg(step.stamp()).arg("--");
            }
            command.args(["sh", "-c", script]);
            run(&mut command)
        };
        assert_eq!(see(true), see(false), "{given}");
        assert!(step.stamp().exists(), "{given}");
    }
}
