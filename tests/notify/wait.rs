//! `copse-notify wait`.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::harness::{LIMIT, Manager, Running, free_port, is_alive, notify, run, until, written};

/// Once, without a process.
fn once(probe: &[&str]) -> (Option<i32>, String) {
    let mut arguments = vec!["wait", "--pid", "none", "--timeout", "0"];
    arguments.extend(probe);
    let (status, _, stderr) = run(&mut notify(&arguments));
    (status, stderr)
}

fn holds(probe: &[&str]) {
    assert_eq!(once(probe), (Some(0), String::new()), "{probe:?}");
}

fn misses(probe: &[&str], reason: &str) {
    let (status, stderr) = once(probe);
    assert_eq!(status, Some(75), "{probe:?}: {stderr}");
    assert_eq!(stderr, format!("copse-notify: not ready after 0: {reason}\n"));
}

#[test]
fn tcp_by_address_and_by_name() {
    let v4 = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = v4.local_addr().unwrap().port();
    holds(&["--tcp", &format!("127.0.0.1:{port}")]);
    holds(&["--tcp", &format!("localhost:{port}")]);
    let v6 = TcpListener::bind("[::1]:0").unwrap();
    let port = v6.local_addr().unwrap().port();
    holds(&["--tcp", &format!("[::1]:{port}")]);
    let port = free_port();
    misses(&["--tcp", &format!("127.0.0.1:{port}")], &format!("tcp 127.0.0.1:{port}: connection refused"));
}

#[test]
fn unix_sockets_of_all_types() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name).to_str().unwrap().to_owned();
    let _stream = UnixListener::bind(at("stream")).unwrap();
    holds(&["--unix", &at("stream")]);
    let _datagram = UnixDatagram::bind(at("datagram")).unwrap();
    holds(&["--unix", &at("datagram")]);
    let packets =
        rustix::net::socket(rustix::net::AddressFamily::UNIX, rustix::net::SocketType::SEQPACKET, None).unwrap();
    let address = rustix::net::SocketAddrUnix::new(at("packets")).unwrap();
    rustix::net::bind(&packets, &address).unwrap();
    misses(&["--unix", &at("packets")], &format!("unix {}: connection refused", at("packets")));
    rustix::net::listen(&packets, 1).unwrap();
    holds(&["--unix", &at("packets")]);
    let name = format!("copse-test-{}", std::process::id());
    let _abstract = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    holds(&["--unix", &format!("@{name}")]);
    let name = format!("{name}-datagram");
    misses(&["--unix", &format!("@{name}")], &format!("unix @{name}: connection refused"));
    let _abstract = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    holds(&["--unix", &format!("@{name}")]);
    misses(&["--unix", &at("none")], &format!("unix {}: no such file or directory", at("none")));
    drop(UnixListener::bind(at("left")).unwrap());
    misses(&["--unix", &at("left")], &format!("unix {}: connection refused", at("left")));
}

/// A server that gives each answer once, the last one for ever; what it was
/// asked comes through the channel.
fn serve<S>(accept: impl Fn() -> S + Send + 'static, answers: Vec<&'static str>) -> Receiver<String>
where
    S: Write,
    for<'s> &'s S: std::io::Read,
{
    let (sender, asked) = channel();
    thread::spawn(move || {
        for turn in 0.. {
            let mut stream = accept();
            let mut request = String::new();
            let mut reader = BufReader::new(&stream);
            while !request.ends_with("\r\n\r\n") {
                if reader.read_line(&mut request).unwrap_or(0) == 0 {
                    break;
                }
            }
            let _ = sender.send(request);
            let answer = answers[usize::min(turn, answers.len() - 1)];
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    asked
}

fn tcp_server(answers: Vec<&'static str>) -> (u16, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (port, serve(move || listener.accept().unwrap().0, answers))
}

#[test]
fn http_statuses_and_headers() {
    let (port, asked) = tcp_server(vec!["HTTP/1.1 204 No Content\r\n\r\n"]);
    let url = format!("http://127.0.0.1:{port}/health?a=b#c");
    holds(&["--http", &url, "--header", "X-Probe: 1"]);
    assert_eq!(
        asked.recv_timeout(LIMIT).unwrap(),
        format!(
            "GET /health?a=b HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUser-Agent: copse-notify/{}\r\n\
             Accept: */*\r\nConnection: close\r\nX-Probe: 1\r\n\r\n",
            env!("CARGO_PKG_VERSION")
        )
    );
    holds(&["--http", &url, "--status", "204"]);
    misses(&["--http", &url, "--status", "200,205-399"], &format!("http {url}: status 204"));
}

#[test]
fn http_waits_through_errors() {
    let (port, asked) = tcp_server(vec![
        "",
        "SSH-2.0-x\r\n",
        "HTTP/1.1 503 Service Unavailable\r\n\r\n",
        "HTTP/1.0 200 OK\r\n\r\nbody",
    ]);
    let url = format!("http://localhost:{port}");
    let mut command = notify(&["wait", "--pid", "none", "--timeout", "5min", "--http", &url]);
    assert_eq!(run(&mut command), (Some(0), String::new(), String::new()));
    assert_eq!(asked.try_iter().count(), 4);
}

#[test]
fn http_over_a_unix_socket() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("app.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let asked = serve(move || listener.accept().unwrap().0, vec!["HTTP/1.1 200 OK\r\n\r\n"]);
    let path = path.to_str().unwrap();
    holds(&["--http", &format!("http+unix://{path}:/health")]);
    holds(&["--http", &format!("http+unix://{}/health", path.replace('/', "%2F"))]);
    for request in asked.try_iter() {
        assert!(request.starts_with("GET /health HTTP/1.1\r\nHost: localhost\r\n"), "{request}");
    }
}

#[test]
fn files() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("file");
    let name = path.to_str().unwrap();
    misses(&["--file", name], &format!("file {name}: no such file or directory"));
    fs::write(&path, "").unwrap();
    holds(&["--file", name]);
    misses(&["--file", name, "--non-empty"], &format!("file {name} (not empty): it is empty"));
    fs::write(&path, "x").unwrap();
    holds(&["--file", name, "--non-empty"]);
}

#[test]
fn commands() {
    holds(&["--command", "3", "sh", "-c", "exit 0"]);
    misses(&["--command", "3", "sh", "-c", "exit 7"], "command sh -c exit 7: exit status 7");
    misses(&["--command", "1", "/nonexistent/x"], "command /nonexistent/x: no such file or directory");
    // Words that look like options, with quotes and blanks, arrive as written.
    holds(&["--command", "5", "sh", "-c", "test \"$0\" = -- && test \"$1\" = '--tcp \"x'", "--", "--tcp \"x"]);
}

#[test]
fn a_command_that_hangs_is_killed_with_its_children() {
    let root = tempfile::tempdir().unwrap();
    let pid_file = root.path().join("pid");
    let script = format!("sleep 1000 & echo $! > {}; wait", pid_file.display());
    let limits = ["wait", "--pid", "none", "--timeout", "300ms", "--probe-timeout", "300ms"];
    // On a busy machine the time can be up before the shell has begun.
    until("the command has a child", || {
        let (status, _, stderr) = run(notify(&limits).args(["--command", "3", "sh", "-c", &script]));
        assert_eq!(status, Some(75), "{stderr}");
        assert!(stderr.contains("no answer in time"), "{stderr}");
        pid_file.exists()
    });
    let pid = written(&pid_file).trim().parse().unwrap();
    until("the child is killed", || !is_alive(pid));
}

#[test]
fn listening_without_a_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    holds(&["--listening", &port]);
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "somebody connected");
    let port = free_port().to_string();
    misses(&["--listening", &port], &format!("a listener on port {port}: nobody listens there"));
}

#[test]
fn all_probes_have_to_hold() {
    misses(
        &["--file", "/", "--file", "/nonexistent", "--file", "/none"],
        "file /nonexistent: no such file or directory",
    );
    holds(&["--file", "/", "--command", "1", "true"]);
}

#[test]
fn what_comes_up_after_a_while_is_seen_at_once() {
    // A tenth of the time it took to come up would be 20 ms.
    until("most of five are seen within 20 ms", || {
        (0..5).filter(|_| latency() < Duration::from_millis(20)).count() > 2
    });
}

/// From listening to the end of `wait`, after 200 ms.
fn latency() -> Duration {
    let address = ("127.0.0.1", free_port());
    let mut waiting =
        Running::spawn(&mut notify(&["wait", "--pid", "none", "--tcp", &format!("127.0.0.1:{}", address.1)]));
    thread::sleep(Duration::from_millis(200));
    let _listener = TcpListener::bind(address).unwrap();
    let listening = Instant::now();
    assert_eq!(waiting.0.wait().unwrap().code(), Some(0));
    listening.elapsed()
}

/// Kills the watched process after 200 ms. `wait` ends then: its own limits are hours away.
fn death(probe: &[&str]) {
    let mut main = Running::sleeper();
    let pid = main.pid().to_string();
    let mut command = notify(&["wait", "--timeout", "2h"]);
    command.args(probe).env("MAINPID", &pid).stderr(std::process::Stdio::piped());
    let waiting = command.spawn().unwrap();
    thread::sleep(Duration::from_millis(200));
    main.0.kill().unwrap();
    let output = waiting.wait_with_output().unwrap();
    main.0.wait().unwrap();
    assert_eq!(output.status.code(), Some(69), "{probe:?}");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with(&format!("copse-notify: the process {pid} ended before ")), "{stderr}");
}

#[test]
fn the_death_of_the_main_process_ends_the_waiting() {
    death(&["--file", "/nonexistent"]);
    // In a long pause.
    death(&["--file", "/nonexistent", "--interval", "1h"]);
    // While a server has accepted and says nothing.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    death(&["--http", &url, "--probe-timeout", "1h"]);
    // While a command hangs.
    death(&["--command", "2", "sleep", "1000", "--probe-timeout", "1h"]);
}

#[test]
fn a_main_process_that_is_gone_already() {
    let no_main = (
        Some(69),
        String::new(),
        "copse-notify: there is no main process: `$MAINPID` isn't set\n\
         help: `--pid none` waits without watching a process\n"
            .to_owned(),
    );
    assert_eq!(run(&mut notify(&["wait", "--file", "/"])), no_main);
    let mut gone = Running::sleeper();
    gone.0.kill().unwrap();
    gone.0.wait().unwrap();
    let pid = gone.pid().to_string();
    // Even where the probe holds: something else would be answering.
    let (status, _, _) = run(&mut notify(&["wait", "--file", "/", "--pid", &pid]));
    assert_eq!(status, Some(69));
}

#[test]
fn the_status_text_says_what_is_missing_and_is_cleared() {
    let manager = Manager::new();
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("file");
    let name = path.to_str().unwrap();
    let mut command = notify(&["wait", "--pid", "none", "--file", name]);
    let mut waiting = Running::spawn(command.env("NOTIFY_SOCKET", &manager.socket));
    assert_eq!(manager.next().text, format!("STATUS=waiting for file {name}: no such file or directory"));
    fs::write(&path, "").unwrap();
    assert_eq!(waiting.0.wait().unwrap().code(), Some(0));
    assert_eq!(manager.next().text, "STATUS=");
    // Ready at once: nothing to say.
    run(notify(&["wait", "--pid", "none", "--file", name]).env("NOTIFY_SOCKET", &manager.socket));
    assert!(manager.silent_for(Duration::from_millis(50)));
}

#[test]
fn a_time_out_leaves_its_reason_in_the_status_text() {
    let manager = Manager::new();
    let mut command = notify(&["wait", "--pid", "none", "--file", "/nonexistent", "--timeout", "200ms"]);
    let (status, _, stderr) = run(command.env("NOTIFY_SOCKET", &manager.socket));
    let text = "not ready after 200ms: file /nonexistent: no such file or directory";
    assert_eq!((status, stderr), (Some(75), format!("copse-notify: {text}\n")));
    assert_eq!(manager.next_but_waiting().text, format!("STATUS={text}"));
}

#[test]
fn strict_wants_a_socket() {
    let (status, _, stderr) = run(&mut notify(&["wait", "--pid", "none", "--file", "/", "--strict"]));
    assert_eq!(status, Some(78));
    assert_eq!(
        stderr,
        "copse-notify: there is no service manager to notify: `$NOTIFY_SOCKET` isn't set\n\
         help: the unit needs `NotifyAccess=all`, or leave `--strict` out\n"
    );
}
