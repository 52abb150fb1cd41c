//! The chain load: what the command gets, what the watcher says, what is left.

use std::fs;
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::harness::{Manager, Running, free_port, notify, run, signal_pid, until, watchers, written};

const PROGRAM: &str = env!("CARGO_BIN_EXE_copse-notify");

#[test]
fn the_command_is_the_same_process_and_nothing_is_left_beside_it() {
    let manager = Manager::new();
    let port = free_port();
    let mark = format!("127.0.0.1:{port}");
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("pid");
    let script = format!("echo $$ $PPID > {}; exec sleep 1000", out.display());
    let mut command = notify(&["--tcp", &mark, "--", "sh", "-c", &script]);
    let running = Running::spawn(command.env("NOTIFY_SOCKET", &manager.socket));
    assert_eq!(written(&out), format!("{} {}\n", running.pid(), std::process::id()));
    until("the watcher is there", || watchers(&mark).len() == 1);
    let children = format!("/proc/{0}/task/{0}/children", running.pid());
    assert_eq!(fs::read_to_string(children).unwrap(), "", "the watcher is a child of the command");
    let _listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let ready = manager.next_but_waiting();
    assert!(ready.text.starts_with("READY=1"), "{}", ready.text);
    until("the watcher is gone", || watchers(&mark).is_empty());
}

#[test]
fn readiness_comes_milliseconds_after_listening() {
    until("most of seven are ready within 10 ms", || {
        (0..7).filter(|_| latency() < Duration::from_millis(10)).count() > 3
    });
}

fn latency() -> Duration {
    let manager = Manager::new();
    let port = free_port();
    let mut command = notify(&["--tcp", &format!("127.0.0.1:{port}"), "--", "sleep", "1000"]);
    let _running = Running::spawn(command.env("NOTIFY_SOCKET", &manager.socket));
    thread::sleep(Duration::from_millis(100));
    let _listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let listening = Instant::now();
    manager.next_but_waiting().at - listening
}

#[test]
fn without_a_probe_the_exec_is_enough() {
    let manager = Manager::new();
    let mut command = notify(&["--", "sleep", "1000"]);
    let _running = Running::spawn(command.env("NOTIFY_SOCKET", &manager.socket));
    assert_eq!(manager.next().text, "READY=1");
}

#[test]
fn a_command_that_cannot_be_executed_is_never_ready() {
    let root = tempfile::tempdir().unwrap();
    let plain = root.path().join("plain");
    fs::write(&plain, "x").unwrap();
    let plain = plain.to_str().unwrap();
    for (command, status, message) in [
        ("/nonexistent/x", 127, "`/nonexistent/x` wasn't found (or the interpreter it names)".to_owned()),
        ("copse-none", 127, "`copse-none` wasn't found (or the interpreter it names)".to_owned()),
        (plain, 126, format!("`{plain}` can't be executed: permission denied")),
        ("/", 126, "`/` can't be executed: permission denied".to_owned()),
    ] {
        let manager = Manager::new();
        let result = run(notify(&["--", command]).env("NOTIFY_SOCKET", &manager.socket));
        assert_eq!(result, (Some(status), String::new(), format!("copse-notify: {message}\n")));
        assert!(manager.silent_for(Duration::from_millis(100)));
    }
}

#[test]
fn exit_status_and_signals_are_the_commands_own() {
    let manager = Manager::new();
    for socket in [Some(&manager.socket), None] {
        let start = |script| {
            let mut command = notify(&["--", "sh", "-c", script]);
            if let Some(socket) = socket {
                command.env("NOTIFY_SOCKET", socket);
            }
            command.spawn().unwrap().wait().unwrap()
        };
        assert_eq!(start("exit 42").code(), Some(42));
        assert_eq!(start("kill -USR1 $$").signal(), Some(10));
    }
}

#[test]
fn when_the_command_dies_the_watcher_goes_without_a_word() {
    let manager = Manager::new();
    let mark = "/nonexistent/died-before-ready";
    let mut command = notify(&["--file", mark, "--interval", "1h", "--", "sleep", "1000"]);
    let mut running = Running::spawn(command.env("NOTIFY_SOCKET", &manager.socket));
    assert!(manager.next().text.starts_with("STATUS=waiting for "));
    running.0.kill().unwrap();
    running.0.wait().unwrap();
    until("the watcher is gone", || watchers(mark).is_empty());
    assert!(manager.silent_for(Duration::from_millis(50)));
}

#[test]
fn a_time_out_is_a_status_text_and_the_command_runs_on() {
    let manager = Manager::new();
    let mark = "/nonexistent/timed-out";
    let mut command = notify(&["--file", mark, "--timeout", "200ms", "--", "sleep", "1000"]);
    let mut running = Running::spawn(command.env("NOTIFY_SOCKET", &manager.socket).stderr(Stdio::null()));
    assert_eq!(
        manager.next_but_waiting().text,
        format!("STATUS=not ready after 200ms: file {mark}: no such file or directory")
    );
    until("the watcher is gone", || watchers(mark).is_empty());
    assert!(running.0.try_wait().unwrap().is_none());
}

fn environment(options: &[&str], socket: &str) -> String {
    let script = "echo $NOTIFY_SOCKET,$WATCHDOG_USEC,$WATCHDOG_PID,$KEPT";
    let mut command = notify(options);
    command
        .args(["--", "sh", "-c", script])
        .env("NOTIFY_SOCKET", socket)
        .env("WATCHDOG_USEC", "1")
        .env("WATCHDOG_PID", "2")
        .env("KEPT", "x");
    run(&mut command).1
}

#[test]
fn the_command_cannot_speak_for_the_service_unless_it_may() {
    let manager = Manager::new();
    let socket = manager.socket.to_str().unwrap();
    assert_eq!(environment(&[], socket), ",,,x\n");
    assert_eq!(environment(&[], ""), ",,,x\n");
    assert_eq!(environment(&["--pass-notify"], socket), format!("{socket},1,2,x\n"));
    assert_eq!(environment(&["--main-ready"], socket), format!("{socket},1,2,x\n"));
}

#[test]
fn without_a_manager_it_is_a_plain_exec() {
    assert_eq!(
        run(&mut notify(&["--file", "/nonexistent", "--", "echo", "a  b", ""])),
        (Some(0), "a  b \n".to_owned(), String::new())
    );
    assert_eq!(run(&mut notify(&["--strict", "--", "true"])).0, Some(78));
}

/// What `sh` sees of itself, started with and without copse-notify before it.
fn same_with_and_without(before: &str, script: &str) {
    let manager = Manager::new();
    let see = |between: &str| {
        let line = format!("{before} {between} sh -c '{script}'");
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).env("NOTIFY_SOCKET", &manager.socket).env("PROGRAM", PROGRAM);
        let (status, stdout, stderr) = run(&mut shell);
        assert_eq!((status, stderr.as_str()), (Some(0), ""), "{line}");
        assert!(!stdout.is_empty(), "{line}");
        stdout
    };
    assert_eq!(see("\"$PROGRAM\" --file / --"), see(""), "{before}");
}

#[test]
fn descriptors_signals_and_limits_arrive_as_they_were_given() {
    let descriptors =
        "for fd in /proc/$$/fd/*; do test -e $fd && echo $fd $(readlink $fd | tr -d 0-9) | cut -d/ -f4-; done";
    same_with_and_without("exec 5</dev/null 9>/dev/zero;", descriptors);
    same_with_and_without("exec 5</dev/null <&-;", "readlink /proc/$$/fd/0 || echo closed");
    // In place of the shell, which blocks signals around each fork of its own.
    let signals = "exec grep -E ^\"(SigPnd|ShdPnd|SigBlk|SigIgn)\" /proc/self/status";
    for given in [
        "exec env",
        "exec env --ignore-signal=PIPE",
        "exec env --default-signal=PIPE",
        "exec env --ignore-signal=CHLD,HUP --block-signal=USR1",
        "exec env --block-signal=CHLD,TERM,PIPE",
    ] {
        same_with_and_without(given, signals);
    }
    same_with_and_without("ulimit -n 77; ulimit -S -c 0; umask 27;", "ulimit -n; ulimit -c; umask; pwd");
}

#[test]
fn the_watcher_holds_nothing_of_the_commands() {
    let manager = Manager::new();
    let mark = "/nonexistent/holds-nothing";
    let script = "exec \"$0\" --file \"$1\" -- sleep 1000 7</dev/zero 8>/dev/full";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, PROGRAM, mark]).env("NOTIFY_SOCKET", &manager.socket);
    let _running = Running::spawn(shell.stdout(Stdio::piped()));
    until("the watcher waits", || manager.next().text.starts_with("STATUS=waiting"));
    let watcher = watchers(mark)[0];
    let mut held: Vec<String> = fs::read_dir(format!("/proc/{watcher}/fd"))
        .unwrap()
        .flatten()
        .map(|fd| fs::read_link(fd.path()).unwrap().to_str().unwrap().to_owned())
        .collect();
    // 0 and 1, stderr, the pidfd, the pipe of the exec.
    assert_eq!(held.iter().filter(|target| *target == "/dev/null").count(), 2, "{held:?}");
    held.retain(|target| target == "/dev/zero" || target == "/dev/full");
    assert!(held.is_empty(), "{held:?}");
}

#[test]
fn signals_to_the_whole_unit_end_the_watcher_only_when_they_mean_stop() {
    let manager = Manager::new();
    let mark = "/nonexistent/signals";
    let mut command = notify(&["--file", mark, "--", "sleep", "1000"]);
    let _running = Running::spawn(command.env("NOTIFY_SOCKET", &manager.socket));
    manager.next();
    let watcher = watchers(mark)[0];
    for signal in [libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2, libc::SIGPIPE, libc::SIGALRM, libc::SIGWINCH] {
        signal_pid(watcher, signal);
    }
    thread::sleep(Duration::from_millis(100));
    assert_eq!(watchers(mark), [watcher]);
    signal_pid(watcher, libc::SIGTERM);
    until("the watcher is gone", || watchers(mark).is_empty());
}

/// Runs a script as the command, with `--fd 6`; the message that isn't a
/// text of waiting.
fn with_descriptor(script: &str) -> String {
    let manager = Manager::new();
    let mut command = notify(&["--fd", "6", "--", "sh", "-c", script]);
    command.env("NOTIFY_SOCKET", &manager.socket).stderr(Stdio::null());
    let _running = Running::spawn(&mut command);
    manager.next_but_waiting().text
}

#[test]
fn a_newline_on_the_descriptor_is_readiness() {
    let ready = with_descriptor("sleep 0.2; printf abc >&6; echo >&6; exec sleep 1000");
    assert_eq!(ready, "READY=1\nSTATUS=");
    assert_eq!(
        with_descriptor("printf abc >&6; exec 6>&-; exec sleep 1000"),
        "STATUS=never ready: a newline on descriptor 6: it was closed before a newline"
    );
}

#[test]
fn the_descriptor_is_there_without_a_manager_too() {
    let mut command = notify(&["--fd", "6", "--", "sh", "-c", "echo ready >&6 && readlink /proc/$$/fd/6"]);
    assert_eq!(run(&mut command), (Some(0), "/dev/null\n".to_owned(), String::new()));
}

#[test]
fn the_descriptor_cannot_be_a_socket_of_the_unit() {
    let manager = Manager::new();
    let script = "LISTEN_PID=$$ LISTEN_FDS=2 exec \"$0\" --fd 4 -- true 3</dev/null 4</dev/null";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, PROGRAM]).env("NOTIFY_SOCKET", &manager.socket);
    let (status, _, stderr) = run(&mut shell);
    assert_eq!(status, Some(64));
    assert_eq!(
        stderr,
        "copse-notify: descriptor 4 is one of the unit's sockets\nhelp: take a number above them, `--fd 30`\n"
    );
}
