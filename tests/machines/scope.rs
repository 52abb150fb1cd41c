//! What a situation can do in a booted machine, alike for its system manager ([`Machine`]) and for a
//! user's own manager ([`User`](super::user::User)): run commands, ask for properties, wait.
//!
//! Everything here has a limit of time and panics, with what systemd knows about it, when that is reached.

use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::machine::Machine;

/// How long anything may take that is waited for. A busy machine doesn't reach it: that something is soon is nowhere
/// what is tested.
pub const LIMIT: Duration = Duration::from_secs(300);

/// What a command left.
#[derive(Debug)]
pub struct Output {
    /// The exit status; 128 and the signal's number when a signal ended it, 124 when its time was up.
    pub status: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Output {
    /// The exit status, and texts of either output.
    #[track_caller]
    pub fn expect(&self, status: i32, texts: &[&str]) {
        self.has(status, &format!("{}{}", self.stdout, self.stderr), texts);
    }

    /// The exit status, and texts of standard output.
    #[track_caller]
    pub fn shows(&self, status: i32, texts: &[&str]) {
        self.has(status, &self.stdout, texts);
    }

    #[track_caller]
    fn has(&self, status: i32, found: &str, texts: &[&str]) {
        assert_eq!(self.status, status, "{}{}", self.stdout, self.stderr);
        for text in texts {
            assert!(found.contains(text), "`{text}` isn't in\n{found}");
        }
    }
}

/// A manager to talk to, and the surroundings commands for it run in.
pub trait Scope {
    /// The machine all this is in.
    fn machine(&self) -> &Machine;

    /// Enters the machine; the command's words are still to be added.
    fn enter(&self) -> Command;

    /// `systemctl` or `journalctl` for this scope's manager.
    fn tool(&self, program: &'static str) -> Vec<&'static str>;

    /// Runs a command in the machine and waits for its end. A non-zero status is an answer, too.
    fn run(&self, words: &[&str]) -> Output {
        self.run_within(LIMIT, words)
    }

    /// [`Scope::run`] with a limit of its own; when that is reached the command is killed, and its status
    /// is 124.
    fn run_within(&self, limit: Duration, words: &[&str]) -> Output {
        let mut command = self.enter();
        // timeout(1) works from inside, where the command's whole process group can be reached.
        command.args(["timeout", "--kill-after=2"]);
        command.arg(format!("{:.3}", limit.as_secs_f64()));
        command.args(words);
        finish(command, limit + Duration::from_secs(10))
    }

    /// Runs a command that has to succeed, and gives its standard output without the last newline.
    #[track_caller]
    fn ok(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert!(
            output.status == 0,
            "`{}` ended with {}\n--- stdout\n{}--- stderr\n{}",
            words.join(" "),
            output.status,
            output.stdout,
            output.stderr
        );
        output.stdout.trim_end_matches('\n').to_owned()
    }

    /// Runs a shell script that has to succeed (`set -eu`), and gives its standard output.
    #[track_caller]
    fn sh(&self, script: &str) -> String {
        self.ok(&["sh", "-euc", script])
    }

    /// Runs `copse` with these arguments.
    fn copse(&self, arguments: &[&str]) -> Output {
        self.run(&[&["copse"], arguments].concat())
    }

    /// Starts a command that goes on beside the situation; it is killed when the value is dropped.
    fn spawn(&self, words: &[&str]) -> Spawned {
        let mut command = self.enter();
        // The process inside is a child of nsenter: when that is killed, it goes as well.
        command.args(["setpriv", "--pdeathsig", "KILL"]).args(words);
        let (stdout, stderr) = (ScratchFile::new(), ScratchFile::new());
        command.stdin(Stdio::null());
        command.stdout(stdout.for_child()).stderr(stderr.for_child());
        let child = command.spawn().expect("nsenter can be started");
        Spawned { child, stdout, stderr }
    }

    /// Runs systemctl(1) for this scope with these words; it has to succeed.
    #[track_caller]
    fn systemctl(&self, words: &[&str]) -> String {
        self.ok(&[&self.tool("systemctl")[..], words].concat())
    }

    /// Runs systemctl(1) for this scope; a non-zero status is an answer, too.
    fn try_systemctl(&self, words: &[&str]) -> Output {
        self.run(&[&self.tool("systemctl")[..], words].concat())
    }

    /// systemd re-reads all unit files, which runs the generators.
    #[track_caller]
    fn reload(&self) {
        self.systemctl(&["daemon-reload"]);
    }

    /// A unit's property as `systemctl show` prints it, empty where it isn't set.
    #[track_caller]
    fn property(&self, unit: &str, property: &str) -> String {
        self.systemctl(&["show", "--value", "--property", property, "--", unit])
    }

    /// A unit's `ActiveState=`.
    #[track_caller]
    fn state(&self, unit: &str) -> String {
        self.property(unit, "ActiveState")
    }

    /// Each of these units is in this `ActiveState=`.
    #[track_caller]
    fn assert_state(&self, units: &[&str], state: &str) {
        for unit in units {
            assert_eq!(self.state(unit), state, "{unit}");
        }
    }

    /// The failed units, one a line.
    #[track_caller]
    fn failed(&self) -> String {
        self.systemctl(&["list-units", "--failed", "--plain", "--no-legend", "--full", "--no-pager"])
    }

    /// Several properties of a unit in one question, in the order asked for.
    #[track_caller]
    fn properties<const N: usize>(&self, unit: &str, properties: [&str; N]) -> [String; N] {
        let all = self.systemctl(&["show", "--property", &properties.join(","), "--", unit]);
        properties.map(|property| {
            let mut lines = all.lines().filter_map(|line| line.split_once('='));
            let found = lines.find(|(key, _)| *key == property);
            found.map(|(_, value)| value.to_owned()).unwrap_or_default()
        })
    }

    /// A service's `MainPID=`, as the machine sees it. Panics where nothing runs.
    #[track_caller]
    fn pid(&self, unit: &str) -> u32 {
        let pid = self.property(unit, "MainPID").parse().expect("MainPID is a number");
        assert!(pid != 0, "{unit} has no main process\n{}", self.account_of(&[unit]));
        pid
    }

    /// Waits until a unit's property has a value.
    #[track_caller]
    fn wait(&self, unit: &str, property: &str, value: &str) {
        let began = Instant::now();
        loop {
            let now = self.property(unit, property);
            if now == value {
                return;
            }
            assert!(
                began.elapsed() < LIMIT,
                "{unit} has {property}={now}, not {value}, after {LIMIT:?}\n{}",
                self.account_of(&[unit])
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until a unit is in this `ActiveState=`.
    #[track_caller]
    fn wait_for_state(&self, unit: &str, state: &str) {
        self.wait(unit, "ActiveState", state);
    }

    /// Kills a service's processes, and waits until systemd has brought it back.
    #[track_caller]
    fn kill_and_wait(&self, unit: &str) {
        let before = self.pid(unit);
        self.systemctl(&["kill", "--signal=KILL", unit]);
        self.wait_for_another(unit, before);
    }

    /// Waits until a service is up with another main process than `before`. The process alone says too little: it is there
    /// before its program is executed, while the unit is still activating.
    #[track_caller]
    fn wait_for_another(&self, unit: &str, before: u32) {
        let before = before.to_string();
        self.wait_until(&format!("{unit} is back"), || {
            let [state, pid] = self.properties(unit, ["ActiveState", "MainPID"]);
            state == "active" && pid != before && pid != "0"
        });
    }

    /// Waits until something holds; `what` completes "waited in vain until …".
    #[track_caller]
    fn wait_until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < LIMIT, "waited {LIMIT:?} in vain until {what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The messages of the journal that match (`_SYSTEMD_UNIT=x.service`, `COPSE_GROUP=x`, or options as
    /// `-u`, `x.service`), one a line, oldest first. What was written before the call is in it.
    #[track_caller]
    fn journal(&self, matches: &[&str]) -> String {
        let journalctl = self.tool("journalctl");
        // Without it a line that is still in journald's hands could be missing.
        self.machine().ok(&["journalctl", "--sync"]);
        self.ok(&[&journalctl[..], &["--no-pager", "--quiet", "--output=cat"], matches].concat())
    }

    /// What systemd knows about units, for a person who reads a failed test: status and journal.
    fn account_of(&self, units: &[&str]) -> String {
        let status = self.try_systemctl(&[&["status", "--no-pager", "--lines=40", "--full", "--"], units].concat());
        format!("{}{}", status.stdout, status.stderr)
    }
}

/// A command that goes on in the machine; killed when dropped.
pub struct Spawned {
    child: Child,
    stdout: ScratchFile,
    stderr: ScratchFile,
}

impl Spawned {
    /// What it wrote to standard output so far.
    pub fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// What it wrote to standard error so far.
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }

    /// Whether it is still there.
    pub fn runs(&mut self) -> bool {
        self.child.try_wait().expect("a child of this process").is_none()
    }

    /// Waits for its end.
    pub fn finish(self) -> Output {
        self.finish_within(LIMIT)
    }

    /// Waits for its end; killed when the limit is reached (status 124).
    pub fn finish_within(mut self, limit: Duration) -> Output {
        let status = wait_for(&mut self.child, limit);
        Output { status, stdout: self.stdout.text(), stderr: self.stderr.text() }
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a command of the host to its end, its output kept, within `limit`.
pub fn finish(mut command: Command, limit: Duration) -> Output {
    // Files, not pipes: a process that outlives the command and still holds a pipe would keep a reader
    // waiting for ever.
    let (stdout, stderr) = (ScratchFile::new(), ScratchFile::new());
    command.stdin(Stdio::null()).stdout(stdout.for_child()).stderr(stderr.for_child());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => panic!("{:?} can't be started: {error}", command.get_program()),
    };
    let status = wait_for(&mut child, limit);
    Output { status, stdout: stdout.text(), stderr: stderr.text() }
}

/// Waits for a child's end, and kills it when the limit is reached.
fn wait_for(child: &mut Child, limit: Duration) -> i32 {
    use std::os::unix::process::ExitStatusExt;

    let pidfd = pidfd_open(Pid::from_child(child), PidfdFlags::empty()).expect("pidfd_open works");
    let mut fds = [PollFd::from_borrowed_fd(pidfd.as_fd(), PollFlags::IN)];
    let timeout = Timespec::try_from(limit).expect("a limit that fits");
    let ended = loop {
        match poll(&mut fds, Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => continue,
            other => break other.expect("poll works") > 0,
        }
    };
    if !ended {
        let _ = child.kill();
    }
    let status = child.wait().expect("a child of this process");
    match (ended, status.code()) {
        (false, _) => 124,
        (true, Some(code)) => code,
        (true, None) => 128 + status.signal().unwrap_or(0),
    }
}

/// An unnamed file that a child writes and this process reads.
struct ScratchFile(std::fs::File);

impl ScratchFile {
    fn new() -> ScratchFile {
        ScratchFile(tempfile::tempfile().expect("a temporary file can be made"))
    }

    /// The child's end. It shares its position with all the child's own children, so they append.
    fn for_child(&self) -> std::fs::File {
        self.0.try_clone().expect("a file descriptor is left")
    }

    fn text(&self) -> String {
        use std::os::unix::fs::FileExt;

        let length = self.0.metadata().expect("an open file").len();
        let mut bytes = vec![0; usize::try_from(length).expect("output that fits")];
        // At a position of its own: the shared one is where the child writes.
        self.0.read_exact_at(&mut bytes, 0).expect("an open file only grows");
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
