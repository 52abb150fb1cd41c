//! Servers for the probes: one small program that can be everything a probe asks for, late, never, or not for
//! long, and tells in the journal when it did what.

use crate::machines::machine::Machine;
use crate::machines::scope::Scope;

const PATH: &str = "/usr/local/bin/server";

const PROGRAM: &str = r#"#!/usr/bin/python3
"""server WHEN KIND ADDRESS [SECONDS]

WHEN is `late`, `dies` or `never`: after 0.6 s or the SECONDS given it serves, or ends with 3, or nothing happens.
"""
import os, signal, socket, sys, threading, time

when, kind, address = sys.argv[1:4]
after = float(sys.argv[4]) if len(sys.argv) > 4 else 0.6

def tell(what):
    """With the time as systemd's …TimestampMonotonic has it."""
    print(what, time.monotonic_ns() // 1000, flush=True)

def bound(family, type, address):
    s = socket.socket(family, type)
    if family in (socket.AF_INET, socket.AF_INET6):
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(address)
    if type != socket.SOCK_DGRAM:
        s.listen(64)
    return s

def answer(s):
    """503 until it serves, then 204."""
    while True:
        connection, _ = s.accept()
        connection.recv(10000)
        status = "204 No Content" if serving.is_set() else "503 Service Unavailable"
        # Slower than anything that looks in a hurry.
        time.sleep(0.2)
        connection.sendall(f"HTTP/1.1 {status}\r\nConnection: close\r\n\r\n".encode())
        connection.close()

def accept(s):
    """A queue that nobody takes from is full after a while, and the next one who asks gets no answer."""
    while True:
        s.accept()[0].close()

def serve():
    if kind == "tcp":
        return bound(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", int(address)))
    if kind == "tcp6":
        return bound(socket.AF_INET6, socket.SOCK_STREAM, ("::1", int(address)))
    if kind == "stream":
        return bound(socket.AF_UNIX, socket.SOCK_STREAM, address)
    if kind == "datagram":
        return bound(socket.AF_UNIX, socket.SOCK_DGRAM, address)
    if kind == "abstract":
        return bound(socket.AF_UNIX, socket.SOCK_SEQPACKET, "\0" + address)
    if kind == "file":
        open(address, "w").close()
    if kind == "fd":
        os.write(int(address), b"\n")

serving = threading.Event()
if kind in ("web", "web-unix"):
    where = int(address) if kind == "web" else 0
    family = socket.AF_INET if where else socket.AF_UNIX
    listener = bound(family, socket.SOCK_STREAM, ("127.0.0.1", where) if where else address)
    threading.Thread(target=answer, args=[listener], daemon=True).start()
time.sleep(0 if when == "never" else after)
if when == "dies":
    tell("dies")
    os._exit(3)
if when == "late":
    tell("serves")
    keep = serve()
    if kind in ("tcp", "tcp6", "stream", "abstract"):
        threading.Thread(target=accept, args=[keep], daemon=True).start()
    serving.set()
while True:
    signal.pause()
"#;

/// Puts the program into the machine.
pub fn install(m: &Machine) {
    if !m.exists(PATH) {
        m.write_program(PATH, PROGRAM);
    }
}

/// A probe of the format, and the server it is for.
pub struct Served {
    /// The process's name.
    pub name: &'static str,
    /// The server's KIND and ADDRESS.
    server: [&'static str; 2],
    /// The value of `ready`.
    ready: &'static str,
    /// What the status text says while it doesn't hold, after `waiting for `.
    pub missing: &'static str,
}

const fn served(name: &'static str, server: [&'static str; 2], ready: &'static str, missing: &'static str) -> Served {
    Served { name, server, ready, missing }
}

/// Every probe that `ready` knows. Ports are those of no other situation.
pub const EVERY_PROBE: &[Served] = &[
    served("tcp", ["tcp", "8301"], r#"{ tcp = "127.0.0.1:8301" }"#, "tcp 127.0.0.1:8301: connection refused"),
    served("tcp6", ["tcp6", "8302"], r#"{ tcp = "[::1]:8302" }"#, "tcp [::1]:8302: connection refused"),
    served(
        "stream",
        ["stream", "{runtime-directory}/s"],
        r#"{ unix = "{runtime-directory}/s" }"#,
        "unix /run/served-stream/s: no such file or directory",
    ),
    served(
        "datagram",
        ["datagram", "{runtime-directory}/d"],
        r#"{ unix = "{runtime-directory}/d" }"#,
        "unix /run/served-datagram/d: no such file or directory",
    ),
    served("abstract", ["abstract", "served"], r#"{ unix = "@served" }"#, "unix @served: connection refused"),
    served(
        "web",
        ["web", "8303"],
        r#"{ http = "http://127.0.0.1:8303/health", status = ["204"] }"#,
        "http http://127.0.0.1:8303/health: status 503",
    ),
    served(
        "web-unix",
        ["web-unix", "{runtime-directory}/w"],
        r#"{ http = "http+unix://{runtime-directory}/w:/" }"#,
        "http http+unix:///run/served-web-unix/w:/: status 503",
    ),
    served(
        "file",
        ["file", "{runtime-directory}/f"],
        r#"{ file = "{runtime-directory}/f" }"#,
        "file /run/served-file/f: no such file or directory",
    ),
    served(
        "command",
        ["file", "{runtime-directory}/c"],
        r#"{ command = ["/usr/bin/test", "-e", "{runtime-directory}/c"] }"#,
        "command /usr/bin/test -e /run/served-command/c: exit status 1",
    ),
    served("fd", ["fd", "9"], "{ fd = 9 }", "a newline on descriptor 9: no newline yet"),
    served("listening", ["tcp", "8304"], "{ listening = 8304 }", "a listener on port 8304: nobody listens there"),
    served(
        "several",
        ["tcp", "8305"],
        r#"{ file = "/etc/hostname", tcp = "127.0.0.1:8305", listening = 8305 }"#,
        "tcp 127.0.0.1:8305: connection refused",
    ),
];

impl Served {
    /// Its unit in the group `served`.
    pub fn unit(&self) -> String {
        format!("served-{}.service", self.name)
    }

    /// When its server said that it `serves` or `dies`, in microseconds of the monotonic clock.
    #[track_caller]
    pub fn told(&self, m: &Machine, what: &str) -> u64 {
        let unit = self.unit();
        // Not by the invocation: what a process says right before its end journald knows by its unit at most.
        let journal = m.journal(&[&format!("_SYSTEMD_UNIT={unit}")]);
        let line = journal.lines().rev().find_map(|line| line.strip_prefix(what));
        let time = line.and_then(|time| time.trim().parse().ok());
        let began = m.property(&unit, "ExecMainStartTimestampMonotonic").parse().expect("it was started");
        // Not one of an earlier situation.
        let time = time.filter(|time: &u64| *time > began);
        time.unwrap_or_else(|| panic!("{unit} never told that it {what}: {journal}"))
    }
}

/// The text of a group `served` with a process for every probe, whose servers are all `when`; `keys` is added to
/// each process. They aren't all at the same time, so that what is measured is each by itself.
pub fn group_of_every_probe(when: &str, keys: &str) -> String {
    let mut text = String::new();
    for (at, Served { name, server: [kind, address], ready, .. }) in EVERY_PROBE.iter().enumerate() {
        let after = 600 + 100 * at;
        text += &format!(
            "[process.{name}]\n\
             exec = [\"{PATH}\", \"{when}\", \"{kind}\", \"{address}\", \"{after}e-3\"]\n\
             ready = {ready}\n\
             runtime-directory = \"served-{name}\"\n\
             {keys}\n"
        );
    }
    text
}
