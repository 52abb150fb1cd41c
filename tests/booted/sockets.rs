//! Sockets that stay open while the processes behind them come and go, and many instances at once.

use std::sync::{Mutex, PoisonError};

use crate::machines::machine::Machine;
use crate::machines::scope::{Scope, Spawned};
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(no_connection_is_refused_while_a_service_behind_a_socket_restarts),
    situation!(several_instances_share_one_socket),
    situation!(a_start_of_one_instance_leaves_the_shared_socket_in_the_mode_that_the_file_says),
    situation!(an_instance_that_gives_up_takes_the_shared_socket_along_and_apply_opens_it_again),
    situation!(each_instance_has_a_socket_of_its_own_where_the_address_says_so),
    situation!(a_probe_that_says_nothing_is_warned_of),
    situation!(a_stop_of_the_group_under_load_brings_nothing_back),
    situation!(five_hundred_instances_of_a_process_with_a_long_name_start),
];

/// Answers on every descriptor it was handed, with its instance's name; ready when it does.
const SERVER: &str = r#"#!/usr/bin/python3 -S
import os, select, signal, socket, sys
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
listeners = [socket.socket(fileno=3 + n) for n in range(int(os.environ["LISTEN_FDS"]))]
for listener in listeners:
    listener.setblocking(False)
names = os.environ.get("LISTEN_FDNAMES", "")
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"READY=1", os.environ["NOTIFY_SOCKET"])
while not stop:
    try:
        ready = select.select(listeners, [], [], 0.2)[0]
    except InterruptedError:
        continue
    for listener in ready:
        try:
            connection, _ = listener.accept()
        except BlockingIOError:
            continue
        connection.sendall((sys.argv[1] + " " + names).encode())
        connection.close()
"#;

/// Connects without pause until it is told to stop by a file. Says when it was answered for the first time, and at the
/// end what went wrong and who answered.
const CLIENT: &str = r#"#!/usr/bin/python3 -S
import collections, os, socket, sys
answers, refused, empty, total = collections.Counter(), 0, 0, 0
while not os.path.exists(sys.argv[2]):
    total += 1
    try:
        s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 300)
        text = b""
        while chunk := s.recv(100):
            text += chunk
        s.close()
        if text:
            if not answers:
                print("answered", flush=True)
            answers[text.decode().split()[0]] += 1
        else:
            empty += 1
    except OSError as error:
        refused += 1
print(f"total={total} refused={refused} empty={empty} answered_by={','.join(sorted(answers))}", flush=True)
"#;

pub(crate) fn install(m: &Machine) {
    m.write_program("/usr/local/bin/serve", SERVER);
    m.write_program("/usr/local/bin/ask", CLIENT);
    m.remove("/run/enough");
}

/// A client that has been answered already.
pub(crate) fn asking(m: &Machine, port: &str) -> Spawned {
    let client = m.spawn(&["/usr/local/bin/ask", port, "/run/enough"]);
    m.wait_until("the client is answered", || client.stdout().contains("answered"));
    client
}

/// Ends the client, which must have been answered every time, at least `least` times, by these servers.
#[track_caller]
fn assert_served(m: &Machine, client: Spawned, least: usize, servers: &str) {
    m.write("/run/enough", "");
    let output = client.finish();
    let said = output.stdout.lines().last().unwrap_or_default();
    let (total, rest) = said.strip_prefix("total=").and_then(|said| said.split_once(' ')).unwrap_or_default();
    assert_eq!(rest, format!("refused=0 empty=0 answered_by={servers}"), "{output:?}");
    assert!(total.parse::<usize>().is_ok_and(|total| total >= least), "{output:?}");
}

fn no_connection_is_refused_while_a_service_behind_a_socket_restarts(m: &Machine) {
    install(m);
    let _group = m.start_group(
        "served",
        "[process.web]\nexec = \"/usr/local/bin/serve web\"\nready = \"notify\"\nlisten = \"tcp:127.0.0.1:8100\"\nstart-limit-burst = 100\n",
    );
    let client = asking(m, "8100");
    for _ in 0..10 {
        m.systemctl(&["restart", "served-web.service"]);
    }
    assert_served(m, client, 10, "web");
}

fn several_instances_share_one_socket(m: &Machine) {
    install(m);
    let _group = m.start_group(
        "pool",
        "[process.web]\nexec = \"/usr/local/bin/serve {instance}\"\nready = \"notify\"\nlisten = \"tcp:127.0.0.1:8101\"\nnon-blocking = true\ninstances = [\"left\", \"right\"]\nstart-limit-burst = 100\n",
    );
    let client = asking(m, "8101");
    for _ in 0..4 {
        m.systemctl(&["restart", "pool-web@left.service"]);
        m.systemctl(&["restart", "pool-web@right.service"]);
    }
    assert_served(m, client, 8, "left,right");
}

fn a_start_of_one_instance_leaves_the_shared_socket_in_the_mode_that_the_file_says(m: &Machine) {
    // The first has an event loop, the second touches nothing.
    let file = |mode: &str| {
        format!(
            r#"
            [process.web]
            shell = """
            [ {{instance}} = 1 ] || exec sleep infinity
            exec python3 -c 'import socket, time; s = socket.socket(fileno=3); s.setblocking(False); time.sleep(9999)'
            """
            listen = "tcp:127.0.0.1:8102"
            instances = 2
            {mode}
            "#
        )
    };
    let is_non_blocking = || {
        let flags = m.sh("sed -n 's/^flags:\\t*//p' /proc/$(systemctl show --value -p MainPID mode-web@1)/fdinfo/3");
        u32::from_str_radix(flags.trim(), 8).expect("flags are octal") & rustix::fs::OFlags::NONBLOCK.bits() != 0
    };
    let group = m.start_group("mode", &file("non-blocking = true"));
    m.systemctl(&["restart", "mode-web@2.service"]);
    assert!(is_non_blocking());
    // systemd's default, of which `check` warns: the start takes away what the sibling has set.
    m.write(&group.file(), &file(""));
    let check = m.copse(&["check", "mode"]);
    assert!(check.stdout.contains("warning[shared-socket]"), "{check:?}");
    m.ok(&["copse", "apply", "mode"]);
    m.systemctl(&["restart", "mode-web@1.service"]);
    m.wait_until("the event loop has set its mode", is_non_blocking);
    m.systemctl(&["restart", "mode-web@2.service"]);
    assert!(!is_non_blocking());
}

fn an_instance_that_gives_up_takes_the_shared_socket_along_and_apply_opens_it_again(m: &Machine) {
    install(m);
    m.remove("/run/bad");
    let _group = m.start_group(
        "lost",
        r#"
        [process.web]
        shell = "[ {instance} != 2 ] || [ ! -e /run/bad ] || exit 1; exec /usr/local/bin/serve {instance}"
        ready = "notify"
        listen = "tcp:127.0.0.1:8120"
        non-blocking = true
        instances = 3
        restart-sec = "50ms"
        start-limit-burst = 2
        start-limit-interval-sec = "1h"
        "#,
    );
    let client = asking(m, "8120");
    m.write("/run/bad", "");
    m.systemctl(&["kill", "--signal=KILL", "lost-web@2.service"]);
    m.wait_for_state("lost-web@2.service", "failed");
    // systemd fails the socket with it. Those that hold it aren't hurt.
    m.wait("lost-web.socket", "Result", "service-start-limit-hit");
    let said = m.copse(&["status", "lost"]);
    assert_eq!(said.status, 8, "{said:?}");
    for text in ["closed when an instance hit its start limit", "copse logs lost/web@2", "copse apply lost"] {
        assert!(said.stdout.contains(text), "{said:?}");
    }
    let more = asking(m, "8120");
    m.write("/run/enough", "");
    for client in [client, more] {
        let output = client.finish();
        // The one that was killed may have had a connection; nobody was turned away.
        assert!(output.stdout.contains(" refused=0 "), "{output:?}");
    }
    m.remove("/run/bad");
    m.remove("/run/enough");
    let apply = m.copse(&["apply", "lost"]);
    assert_eq!(apply.status, 0, "{apply:?}");
    assert!(apply.stdout.contains("rebind   web.socket  ready"), "{apply:?}");
    m.assert_state(&["lost-web.socket", "lost-web@1.service", "lost-web@2.service", "lost-web@3.service"], "active");
    let client = asking(m, "8120");
    assert_served_by_some(m, client);
}

/// Ends the client, which must have been answered every time.
#[track_caller]
fn assert_served_by_some(m: &Machine, client: Spawned) {
    m.write("/run/enough", "");
    let output = client.finish();
    assert!(output.stdout.contains(" refused=0 empty=0 "), "{output:?}");
}

fn each_instance_has_a_socket_of_its_own_where_the_address_says_so(m: &Machine) {
    install(m);
    let _group = m.start_group(
        "own",
        "[process.web]\nexec = \"/usr/local/bin/serve {instance}\"\nready = \"notify\"\nlisten = { http = \"tcp:127.0.0.1:810{instance}\", admin = \"unix:/run/own-{instance}.sock\" }\nfirst-instance = 5\ninstances = 2\n",
    );
    let ask = |address: &str| {
        m.ok(&["python3", "-Sc", "import socket,sys; a=sys.argv[1]\ns=socket.socket(socket.AF_UNIX) if a[0]=='/' else socket.socket()\ns.settimeout(300); s.connect(a if a[0]=='/' else ('127.0.0.1',int(a)))\nprint(s.recv(100).decode())", address])
    };
    for (address, answer) in [("8105", "5 "), ("8106", "6 "), ("/run/own-5.sock", "5 "), ("/run/own-6.sock", "6 ")] {
        let said = ask(address);
        assert!(said.starts_with(answer), "{address}: {said}");
        let mut names: Vec<&str> = said[2..].split(':').collect();
        names.sort_unstable();
        assert_eq!(names, ["admin", "http"], "{said}");
    }
}

/// What the warning says is so: none of these that sleep was ever asked.
fn a_probe_that_says_nothing_is_warned_of(m: &Machine) {
    let _group = m.start_group(
        "hollow",
        r#"
        [process.held]
        exec = "/bin/sleep 1000"
        listen = "tcp:127.0.0.1:8131"
        ready = { tcp = "127.0.0.1:8131" }
        [process.shared]
        exec = "/bin/sleep 1000"
        instances = 2
        listen = "tcp:127.0.0.1:8132"
        non-blocking = false
        ready = { http = "http://127.0.0.1:8132/" }
        [process.shared.instance.1]
        shell = """exec python3 -c 'import http.server as h, socket
s = h.HTTPServer(("", 0), h.SimpleHTTPRequestHandler, False)
s.socket = socket.socket(fileno=3)
s.serve_forever()'"""
        "#,
    );
    m.assert_state(&["hollow-held.service", "hollow-shared@2.service"], "active");
    let check = m.copse(&["check", "hollow"]);
    assert_eq!(check.stdout.matches("warning[empty-probe]").count(), 2, "{check:?}");
}

fn a_stop_of_the_group_under_load_brings_nothing_back(m: &Machine) {
    install(m);
    let group = m.start_group(
        "quiet",
        "[process.web]\nexec = \"/usr/local/bin/serve web\"\nready = \"notify\"\nlisten = \"tcp:127.0.0.1:8110\"\n",
    );
    let client = asking(m, "8110");
    group.stop();
    m.wait_for_state("quiet-web.service", "inactive");
    m.wait_for_state("quiet-web.socket", "inactive");
    m.write("/run/enough", "");
    assert_eq!(client.finish().status, 0);
    assert_eq!(m.state("quiet-web.service"), "inactive");
    group.start();
    assert_eq!(m.state("quiet-web.service"), "active");
}

fn five_hundred_instances_of_a_process_with_a_long_name_start(m: &Machine) {
    // One machine at a time: four would be 2,000 processes starting on what may be two CPUs.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // Underscores: systemd looks for drop-in directories at every dash of a name, below each of its search paths. With
    // 18 dashes, loading these 500 units took 12 s instead of 0.2 s (257).
    let long = "a_process_with_a_name_as_long_as_somebody_might_really_choose_for_it_in_a_large_organisation";
    let group = m.group(
        "crowd",
        &format!(
            "[process.{long}]\nexec = \"/bin/sleep infinity\"\ninstances = 500\n[process.after]\nexec = \"/bin/sleep infinity\"\nafter = [\"{long}\"]\n"
        ),
    );
    let longest = m.sh("cat /run/systemd/generator/*crowd* /run/systemd/generator/*crowd*.d/* 2>/dev/null | awk '{ if (length > n) n = length } END { print n }'");
    let longest: usize = longest.parse().expect("a number");
    assert!(longest > 0 && longest <= 2000, "the longest line of any unit has {longest} bytes");
    group.start();
    let active = m.ok(&[
        "systemctl",
        "list-units",
        "--plain",
        "--no-legend",
        "--full",
        "--state=running",
        &format!("crowd-{long}@*"),
    ]);
    assert_eq!(active.lines().count(), 500);
    m.systemctl(&["stop", "system-copse-crowd.slice"]);
    let left = m.sh("find /sys/fs/cgroup -path '*copse-crowd.slice/*/*' -name cgroup.procs -print");
    assert_eq!(left, "");
}
