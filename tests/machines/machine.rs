//! A booted systemd: PID 1 of its own namespaces, over a Debian root file system (see boot.sh).

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};

use super::group::Group;
use super::pool;
use super::scope::{LIMIT, Scope, finish};
use super::stage::Stage;
use super::user::User;
use super::version::Version;

/// Why there is no machine.
#[derive(Clone, Debug)]
pub enum NoMachine {
    /// This host can't boot one (no root, no namespaces, no root file system): nothing was tried.
    Unavailable(String),
    /// It was started and didn't get to multi-user.target: what we install may be the reason.
    BootFailed(String),
}

/// A booted systemd. It ends when the value is dropped, or when this process ends, however that happens.
pub struct Machine {
    version: Version,
    /// PID 1, as the host numbers it.
    pid: u32,
    keeper: Child,
    /// The machine lives as long as this side is open.
    lifeline: Option<ChildStdin>,
    /// What was noted down about a situation that is failing, while it was still to be seen.
    pub(crate) notes: Mutex<String>,
}

/// A machine that hasn't booted yet; files can be placed in it.
pub struct Boot {
    version: Version,
    root: PathBuf,
    stage: Stage,
}

impl Boot {
    /// Makes ready what a machine of this version boots from.
    pub fn new(version: Version) -> Result<Boot, NoMachine> {
        root_is_needed()?;
        Boot::over(version, root_file_system(version).map_err(NoMachine::Unavailable)?)
    }

    /// Makes ready what a machine boots from over this root file system, which has this version.
    pub fn over(version: Version, root: PathBuf) -> Result<Boot, NoMachine> {
        Boot::with(version, root, Stage::new)
    }

    /// As [`Boot::new`], without anything of copse's.
    pub fn bare(version: Version) -> Result<Boot, NoMachine> {
        root_is_needed()?;
        Boot::with(version, root_file_system(version).map_err(NoMachine::Unavailable)?, Stage::bare)
    }

    fn with(version: Version, root: PathBuf, stage: fn(&Path) -> Result<Stage, String>) -> Result<Boot, NoMachine> {
        root_is_needed()?;
        // Programs that can't be built or copied are our own fault, not the host's.
        let stage = stage(&root).map_err(NoMachine::BootFailed)?;
        Ok(Boot { version, root, stage })
    }

    /// Places a file; `path` is absolute, in the machine.
    pub fn write(self, path: &str, content: impl AsRef<[u8]>) -> Boot {
        self.stage.write(path, content);
        self
    }

    /// Places a symbolic link; `path` is absolute, in the machine.
    pub fn link(self, path: &str, target: &str) -> Boot {
        self.stage.link(path, target);
        self
    }

    /// Starts systemd, without waiting for anything.
    pub fn start(self) -> Result<Machine, NoMachine> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("copse-test-{}-{count}-{}", std::process::id(), self.version);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machines/boot.sh");
        let mut keeper = Command::new(script)
            .arg(&name)
            .arg(&self.root)
            .arg(self.stage.directory())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| NoMachine::Unavailable(format!("boot.sh can't be started: {error}")))?;
        let lifeline = keeper.stdin.take();
        let mut line = String::new();
        let mut stdout = BufReader::new(keeper.stdout.take().expect("it is piped"));
        let _ = stdout.read_line(&mut line);
        let Some(pid) = line.trim().strip_prefix("pid ").and_then(|pid| pid.parse().ok()) else {
            drop(lifeline);
            let mut why = String::new();
            let _ = keeper.stderr.take().expect("it is piped").read_to_string(&mut why);
            let _ = keeper.wait();
            return Err(NoMachine::Unavailable(format!("no namespaces for a systemd: {}", why.trim())));
        };
        let notes = Mutex::default();
        Ok(Machine { version: self.version, pid, keeper, lifeline, notes })
    }
}

impl Machine {
    /// The run's machine of this version, booted at the first call and kept for the next; nobody else has
    /// it until the value is dropped.
    pub fn get(version: Version) -> Result<pool::Lent, NoMachine> {
        pool::lend(version)
    }

    /// Boots a machine and waits until that is done.
    pub fn boot(version: Version) -> Result<Machine, NoMachine> {
        let mut machine = Boot::new(version)?.start()?;
        machine.wait_until_booted().map_err(|error| machine.refine(error))?;
        Ok(machine)
    }

    /// Waits until the boot is over, and says how it went: `running` or `degraded`.
    pub fn wait_until_booted(&mut self) -> Result<String, NoMachine> {
        let began = Instant::now();
        loop {
            if !self.is_alive() {
                return Err(NoMachine::BootFailed("its PID 1 ended".to_owned()));
            }
            // Before systemd is PID 1 (the root is still being mounted) there is nothing to ask.
            let state = match self.is_systemd() {
                true => self.run(&["systemctl", "is-system-running"]).stdout,
                false => "not started".to_owned(),
            };
            match state.trim() {
                "running" | "degraded" => return Ok(state.trim().to_owned()),
                state if began.elapsed() > LIMIT => {
                    let jobs = self.run(&["systemctl", "list-jobs", "--no-pager"]).stdout;
                    let log = self.run(&["journalctl", "--no-pager", "--lines=60"]).stdout;
                    let why = format!("still `{state}` after {LIMIT:?}\n{jobs}{log}");
                    return Err(NoMachine::BootFailed(why));
                }
                _ => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    /// The version of its systemd.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Writes a file, and the directories it needs, mode 0644; `path` is absolute, in the machine.
    #[track_caller]
    pub fn write(&self, path: &str, text: &str) {
        self.write_bytes(path, text.as_bytes(), 0o644);
    }

    /// Writes a program: mode 0755.
    #[track_caller]
    pub fn write_program(&self, path: &str, text: &str) {
        self.write_bytes(path, text.as_bytes(), 0o755);
    }

    /// Writes a file, and the directories it needs.
    #[track_caller]
    pub fn write_bytes(&self, path: &str, bytes: &[u8], mode: u32) {
        let parent = Path::new(path).parent().and_then(Path::to_str).expect("a file is in a directory");
        if self.open(parent, OFlags::DIRECTORY, 0).is_err() {
            self.ok(&["mkdir", "-p", "--", parent]);
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
        let file = self.open(path, flags, mode).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut file = fs::File::from(file);
        file.write_all(bytes).unwrap_or_else(|error| panic!("{path}: {error}"));
        // Whatever this process's umask is.
        rustix::fs::fchmod(&file, Mode::from(mode)).expect("a file just written");
    }

    /// A file's text.
    #[track_caller]
    pub fn read(&self, path: &str) -> String {
        String::from_utf8_lossy(&self.read_bytes(path)).into_owned()
    }

    /// A file's content.
    #[track_caller]
    pub fn read_bytes(&self, path: &str) -> Vec<u8> {
        let file = self.open(path, OFlags::RDONLY, 0).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut bytes = Vec::new();
        fs::File::from(file).read_to_end(&mut bytes).unwrap_or_else(|error| panic!("{path}: {error}"));
        bytes
    }

    /// Whether there is a file, directory or link of that name (a link needn't lead anywhere).
    pub fn exists(&self, path: &str) -> bool {
        self.open(path, OFlags::PATH | OFlags::NOFOLLOW, 0).is_ok()
    }

    /// Removes a file or a directory with all that is in it, if it is there.
    #[track_caller]
    pub fn remove(&self, path: &str) {
        self.ok(&["rm", "-rf", "--", path]);
    }

    /// Writes the group file `/etc/copse/NAME.toml` and has systemd read it. The group is stopped and its
    /// file removed when the value is dropped.
    #[track_caller]
    pub fn group(&self, name: &str, toml: &str) -> Group<'_> {
        Group::new(self, name, toml)
    }

    /// [`Machine::group`], started: all its processes are ready.
    #[track_caller]
    pub fn start_group(&self, name: &str, toml: &str) -> Group<'_> {
        let group = self.group(name, toml);
        group.start();
        group
    }

    /// The own manager of an unprivileged user, 2001 or 2002, started at the first call.
    #[track_caller]
    pub fn user(&self, uid: u32) -> User<'_> {
        User::new(self, uid)
    }

    /// `name`, made different in each run and on each version. For what ends up in the kernel's log
    /// (/dev/kmsg): there is one for the whole host, so the journal of each machine shows what all of
    /// them wrote, and earlier runs as well.
    pub fn unique(&self, name: &str) -> String {
        format!("{name}-{}-{}", self.version, std::process::id())
    }

    /// Whether PID 1 is still there.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.keeper.try_wait(), Ok(None)) && Path::new(&format!("/proc/{}", self.pid)).exists()
    }

    /// Its PID 1, as the host numbers it.
    pub fn init(&self) -> u32 {
        self.pid
    }

    /// The command that gives a person a shell in the machine.
    pub fn how_to_enter(&self) -> String {
        format!(
            "nsenter -t {} -m -p -u -i -n -C -r -w env -i TERM=$TERM PATH=/usr/sbin:/usr/bin:/sbin:/bin bash",
            self.init()
        )
    }

    /// Notes something down for the report of the situation that is failing.
    pub(crate) fn note(&self, text: &str) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
    }

    /// A command that enters the machine as `uid`, with these variables and nothing else in its environment.
    pub(crate) fn nsenter(&self, uid: u32, environment: &[(&str, &str)]) -> Command {
        let mut command = Command::new("nsenter");
        command.arg("--target").arg(self.pid.to_string());
        command.args(["--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup", "--root", "--wd"]);
        command.arg(format!("--setuid={uid}")).arg(format!("--setgid={uid}"));
        command.args(["--", "/usr/bin/env", "-i"]);
        command.args([
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "LANG=C.UTF-8",
            "TERM=dumb",
            // On a busy machine an answer can take longer than the 25 s that a D-Bus client waits.
            "SYSTEMD_BUS_TIMEOUT=300",
        ]);
        command.args(environment.iter().map(|(name, value)| format!("{name}={value}")));
        command
    }

    /// Opens a path in the machine, whose absolute links lead to places in the machine.
    fn open(&self, path: &str, flags: OFlags, mode: u32) -> rustix::io::Result<OwnedFd> {
        let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, format!("/proc/{}/root", self.pid), directory, Mode::empty())?;
        openat2(root, path, flags | OFlags::CLOEXEC, Mode::from(mode), ResolveFlags::IN_ROOT)
    }

    fn is_systemd(&self) -> bool {
        fs::read_to_string(format!("/proc/{}/comm", self.pid)).is_ok_and(|comm| comm.trim() == "systemd")
    }

    /// Where the namespaces couldn't be set up, boot.sh said why, and it is the host's fault.
    fn refine(&mut self, error: NoMachine) -> NoMachine {
        drop(self.lifeline.take());
        let mut said = String::new();
        if let Some(mut stderr) = self.keeper.stderr.take() {
            let _ = stderr.read_to_string(&mut said);
        }
        match (said.trim(), error) {
            ("", error) | (_, error @ NoMachine::Unavailable(_)) => error,
            (said, NoMachine::BootFailed(why)) => NoMachine::Unavailable(format!("{why}: {said}")),
        }
    }
}

impl Scope for Machine {
    fn machine(&self) -> &Machine {
        self
    }

    fn enter(&self) -> Command {
        self.nsenter(0, &[("HOME", "/root"), ("USER", "root")])
    }

    fn tool(&self, program: &'static str) -> Vec<&'static str> {
        vec![program]
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        let _ = self.keeper.wait();
    }
}

fn root_is_needed() -> Result<(), NoMachine> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let why = "booting a systemd needs root (run the tests with sudo, as `make test` does)";
    Err(NoMachine::Unavailable(why.to_owned()))
}

/// The directory of a version's root file system, made where it isn't yet.
fn root_file_system(version: Version) -> Result<PathBuf, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/roots.sh");
    let mut command = Command::new(script);
    command.arg(version.suite());
    let output = finish(command, Duration::from_secs(900));
    if output.status != 0 {
        return Err(format!("no root file system of {}:\n{}", version.suite(), output.stderr));
    }
    Ok(PathBuf::from(output.stdout.trim()))
}
