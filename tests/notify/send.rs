//! `copse-notify send`.

use std::fs::File;
use std::io::Read;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::harness::{LIMIT, Manager, notify, receive, run, until};

fn sent(arguments: &[&str]) -> String {
    let manager = Manager::new();
    let mut command = notify(&["send"]);
    let result = run(command.args(arguments).env("NOTIFY_SOCKET", &manager.socket));
    assert_eq!(result, (Some(0), String::new(), String::new()), "{arguments:?}");
    manager.next().text
}

#[test]
fn every_message() {
    for (arguments, text) in [
        (&["--ready"][..], "READY=1"),
        (&["--stopping"], "STOPPING=1"),
        (&["--watchdog"], "WATCHDOG=1"),
        (&["--status", "50 % \"done\""], "STATUS=50 % \"done\""),
        (&["--status", "a\nREADY=1"], "STATUS=a READY=1"),
        (&["--status="], "STATUS="),
        (&["--mainpid", "42"], "MAINPID=42"),
        (&["--extend-timeout", "2h"], "EXTEND_TIMEOUT_USEC=7200000000"),
        (&["--watchdog-usec", "0"], "WATCHDOG_USEC=0"),
        (&["--ready", "--status", "up"], "READY=1\nSTATUS=up"),
        (&["--fdstore-remove", "cache"], "FDSTOREREMOVE=1\nFDNAME=cache"),
    ] {
        assert_eq!(sent(arguments), text, "{arguments:?}");
    }
}

#[test]
fn reloading_carries_the_time() {
    let now = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        time.tv_sec * 1_000_000 + time.tv_nsec / 1_000
    };
    let before = now();
    let text = sent(&["--reloading"]);
    let time: i64 = text.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").expect(&text).parse().unwrap();
    assert!((before..=now()).contains(&time), "{time}");
}

/// PID 1 looks for the sender's unit when it reads a message: a sender that
/// is gone by then is nobody's.
#[test]
fn two_hundred_of_two_hundred_messages_find_their_sender() {
    let manager = Manager::reading_after(Duration::from_millis(1));
    let script = "for i in $(seq 200); do \"$0\" send --status \"$i\" || exit 1; done";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_copse-notify")]).env("NOTIFY_SOCKET", &manager.socket);
    assert_eq!(run(&mut shell), (Some(0), String::new(), String::new()));
    for number in 1..=200 {
        let message = manager.next();
        assert_eq!(message.text, format!("STATUS={number}"));
        assert!(message.sender_alive, "the sender of {number} was gone");
    }
}

#[test]
fn the_barrier_is_waited_for_unless_told_otherwise() {
    let pause = Duration::from_millis(300);
    let manager = Manager::reading_after(pause);
    let time = |arguments: &[&str]| {
        let start = Instant::now();
        let mut command = notify(&["send"]);
        let (status, _, _) = run(command.args(arguments).env("NOTIFY_SOCKET", &manager.socket));
        assert_eq!(status, Some(0));
        start.elapsed()
    };
    assert!(time(&["--ready"]) >= pause);
    until("it is quicker without", || time(&["--ready", "--no-barrier"]) < pause);
}

#[test]
fn a_descriptor_is_stored_under_its_name() {
    let manager = Manager::new();
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("state");
    std::fs::write(&path, "kept").unwrap();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "\"$0\" send --fdstore state 9 9<\"$1\"", env!("CARGO_BIN_EXE_copse-notify")])
        .arg(&path)
        .env("NOTIFY_SOCKET", &manager.socket);
    assert_eq!(run(&mut shell), (Some(0), String::new(), String::new()));
    let mut message = manager.next();
    assert_eq!(message.text, "FDSTORE=1\nFDNAME=state");
    let mut text = String::new();
    File::from(message.fds.remove(0)).read_to_string(&mut text).unwrap();
    assert_eq!(text, "kept");
    let (status, _, stderr) = run(&mut notify(&["send", "--fdstore", "state", "99"]));
    assert_eq!(
        (status, stderr.as_str()),
        (
            Some(64),
            "copse-notify: descriptor 99 isn't open\n\
             help: open it in the shell: `copse-notify send --fdstore NAME 99 99<FILE`\n"
        )
    );
}

#[test]
fn an_abstract_socket() {
    let name = format!("copse-notify-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let messages = receive(UnixDatagram::bind_addr(&address).unwrap(), Duration::ZERO);
    let mut command = notify(&["send", "--ready"]);
    let (status, _, _) = run(command.env("NOTIFY_SOCKET", format!("@{name}")));
    assert_eq!(status, Some(0));
    assert_eq!(messages.recv_timeout(LIMIT).unwrap().text, "READY=1");
}

#[test]
fn without_a_manager() {
    assert_eq!(run(&mut notify(&["send", "--ready"])), (Some(0), String::new(), String::new()));
    let (status, _, _) = run(&mut notify(&["send", "--ready", "--strict"]));
    assert_eq!(status, Some(78));
    for (socket, reason) in [
        ("/nonexistent/socket", "can't notify the service manager: no such file or directory"),
        ("nonsense", "`$NOTIFY_SOCKET` is `nonsense`, which is no socket address"),
    ] {
        let (status, _, stderr) = run(notify(&["send", "--ready"]).env("NOTIFY_SOCKET", socket));
        assert_eq!((status, stderr), (Some(71), format!("copse-notify: {reason}\n")));
    }
}

/// Nobody listens on that port of the host, but the address is one: the
/// message goes that way. (Delivery needs a virtual machine; not tested here.)
#[test]
fn vsock_is_an_address() {
    for socket in ["vsock:2:4040404", "vsock-stream:2:4040404"] {
        let (status, _, stderr) = run(notify(&["send", "--ready"]).env("NOTIFY_SOCKET", socket));
        assert_eq!(status, Some(71), "{stderr}");
        assert!(stderr.starts_with("copse-notify: can't notify the service manager: "), "{stderr}");
    }
}
