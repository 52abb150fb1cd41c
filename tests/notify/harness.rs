//! What the tests stand on: the program, a manager that receives its
//! messages, and looks into /proc.

use std::fs;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg, sockopt};
use tempfile::TempDir;

/// Long enough for a machine that is busy with everything else. What is to be quick is tried again until it once was.
pub const LIMIT: Duration = Duration::from_secs(300);

/// The program, with an environment in which no manager is known.
pub fn notify(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_copse-notify"));
    command.args(arguments);
    for variable in [
        "NOTIFY_SOCKET",
        "WATCHDOG_USEC",
        "WATCHDOG_PID",
        "MAINPID",
        "MANAGERPID",
        "CREDENTIALS_DIRECTORY",
        "LISTEN_PID",
        "LISTEN_FDS",
    ] {
        command.env_remove(variable);
    }
    command
}

/// Runs it to the end: exit status, stdout, stderr.
pub fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let output: Output = command.stdin(Stdio::null()).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// A child that is killed, and waited for, at the end of the test.
pub struct Running(pub Child);

impl Running {
    pub fn spawn(command: &mut Command) -> Running {
        Running(command.stdin(Stdio::null()).spawn().unwrap())
    }

    pub fn sleeper() -> Running {
        Running::spawn(Command::new("sleep").arg("1000"))
    }

    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    pub fn signal(&self, signal: i32) {
        signal_pid(self.pid(), signal);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn signal_pid(pid: u32, signal: i32) {
    let pid = rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap();
    let signal = rustix::process::Signal::from_named_raw(signal).unwrap();
    let _ = rustix::process::kill_process(pid, signal);
}

/// One message of the sd_notify protocol.
pub struct Message {
    pub text: String,
    pub at: Instant,
    /// Those of `FDSTORE=1`; a barrier's is closed when the message is read.
    pub fds: Vec<OwnedFd>,
    /// Whether the sender was still there when the message was read.
    pub sender_alive: bool,
}

/// A service manager: reads `$NOTIFY_SOCKET`.
pub struct Manager {
    _root: TempDir,
    pub socket: PathBuf,
    messages: Receiver<Message>,
}

impl Manager {
    pub fn new() -> Manager {
        Manager::reading_after(Duration::ZERO)
    }

    /// One that lets each message lie for a while, as a busy PID 1 does.
    pub fn reading_after(pause: Duration) -> Manager {
        let root = tempfile::tempdir().unwrap();
        let socket = root.path().join("notify");
        let receiver = UnixDatagram::bind(&socket).unwrap();
        Manager { _root: root, socket, messages: receive(receiver, pause) }
    }

    /// The next message that isn't a barrier.
    pub fn next(&self) -> Message {
        loop {
            let message = self.messages.recv_timeout(LIMIT).expect("no message came");
            if message.text != "BARRIER=1" {
                return message;
            }
        }
    }

    /// The next message but for status texts of waiting.
    pub fn next_but_waiting(&self) -> Message {
        loop {
            let message = self.next();
            if !message.text.starts_with("STATUS=waiting for ") {
                return message;
            }
        }
    }

    /// Whether nothing but barriers comes for a while.
    pub fn silent_for(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        loop {
            match self.messages.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(message) if message.text == "BARRIER=1" => {}
                Ok(_) => return false,
                Err(_) => return true,
            }
        }
    }
}

pub fn receive(receiver: UnixDatagram, pause: Duration) -> Receiver<Message> {
    sockopt::set_socket_passcred(&receiver, true).unwrap();
    let (sender, messages) = channel();
    thread::spawn(move || {
        loop {
            thread::sleep(pause);
            if sender.send(read_message(&receiver)).is_err() {
                return;
            }
        }
    });
    messages
}

fn read_message(receiver: &UnixDatagram) -> Message {
    let mut bytes = [0; 8192];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16), ScmCredentials(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let read = {
        let mut buffers = [IoSliceMut::new(&mut bytes)];
        recvmsg(receiver, &mut buffers, &mut control, RecvFlags::CMSG_CLOEXEC).unwrap()
    };
    let at = Instant::now();
    let mut fds = Vec::new();
    let mut sender_alive = false;
    for part in control.drain() {
        match part {
            RecvAncillaryMessage::ScmRights(rights) => fds.extend(rights),
            RecvAncillaryMessage::ScmCredentials(credentials) => {
                sender_alive = is_alive(credentials.pid.as_raw_nonzero().get().unsigned_abs());
            }
            _ => {}
        }
    }
    let text = String::from_utf8(bytes[..read.bytes].to_vec()).unwrap();
    if text == "BARRIER=1" {
        fds.clear();
    }
    Message { text, at, fds, sender_alive }
}

/// Whether a process is there and no zombie.
pub fn is_alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().trim_start().starts_with(['Z', 'X']))
}

/// The copse-notify processes whose command line holds the mark.
pub fn watchers(mark: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        let program = line.split('\0').next().unwrap_or_default();
        if program.ends_with("copse-notify") && line.contains(mark) && is_alive(pid) {
            found.push(pid);
        }
    }
    found
}

/// Waits for a condition, with a limit.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < LIMIT, "in vain: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// A port nobody listens on, in a range no outgoing connection takes its own
/// port from.
pub fn free_port() -> u16 {
    use std::sync::atomic::{AtomicU16, Ordering};
    static NEXT: AtomicU16 = AtomicU16::new(0);
    loop {
        let offset = NEXT.fetch_add(1, Ordering::Relaxed);
        let own = u16::try_from(std::process::id() % 100).unwrap();
        let port = 12_000 + own * 100 + offset % 100;
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Text of a file that a child writes, once it is there with a line in it.
pub fn written(path: &Path) -> String {
    until("a file is written", || fs::read_to_string(path).is_ok_and(|text| text.ends_with('\n')));
    fs::read_to_string(path).unwrap()
}
