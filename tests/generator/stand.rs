//! A small root file system with group files in it, and the program run on it.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use copse::basic::clock::Monotonic;
use copse::basic::scope::{Directories, Scope};
use copse::state::history::{History, StartHistory};
use tempfile::TempDir;

/// Where PID 1's own generators write.
pub const OUTPUT: &str = "/run/systemd/generator";

/// A group of one process, which is called like its group.
pub fn simple(name: &str) -> String {
    format!("[process.{name}]\nexec = \"/bin/sleep 1000\"\n")
}

/// The root.
pub struct Stand {
    root: TempDir,
}

/// What a run did.
#[derive(Debug)]
pub struct Outcome {
    pub status: i32,
    /// What it wrote to the kernel's log, without level, tag and process number.
    pub log: Vec<String>,
    pub stderr: String,
    /// Path → text; `-> target` for links.
    pub tree: BTreeMap<String, String>,
}

impl Stand {
    pub fn new() -> Self {
        let stand = Self { root: TempDir::new().unwrap() };
        stand.file("/dev/kmsg", "");
        std::fs::create_dir_all(stand.path("/etc/copse")).unwrap();
        stand
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path.trim_start_matches('/'))
    }

    pub fn file(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub fn link(&self, path: &str, target: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    pub fn remove(&self, path: &str) {
        std::fs::remove_file(self.path(path)).unwrap();
    }

    pub fn mode(&self, path: &str, mode: u32) {
        std::fs::set_permissions(self.path(path), std::fs::Permissions::from_mode(mode)).unwrap();
    }

    /// `/etc/copse/NAME.toml`
    pub fn group(&self, name: &str, text: &str) {
        self.file(&format!("/etc/copse/{name}.toml"), text);
    }

    /// Says that a unit runs, as a service manager does.
    pub fn running(&self, unit: &str) {
        self.link(&format!("/run/systemd/units/invocation:{unit}"), "0123456789abcdef0123456789abcdef");
    }

    /// The command, as systemd 251 and newer call it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_copse-generator"));
        command.env_clear().env("COPSE_ROOT", self.root.path()).env("SYSTEMD_SCOPE", "system");
        for directory in ["generator", "generator.early", "generator.late"] {
            command.arg(self.path("/run/systemd").join(directory));
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// What systemd does before it runs generators.
    pub fn empty(&self) {
        let _ = std::fs::remove_dir_all(self.path(OUTPUT));
        std::fs::create_dir_all(self.path(OUTPUT)).unwrap();
        std::fs::write(self.path("/dev/kmsg"), "").unwrap();
    }

    /// A daemon-reload's run.
    pub fn run(&self) -> Outcome {
        self.run_with(|_| {})
    }

    pub fn run_with(&self, change: impl FnOnce(&mut Command)) -> Outcome {
        self.empty();
        let mut command = self.command();
        change(&mut command);
        let child = command.spawn().unwrap();
        self.outcome(child)
    }

    pub fn outcome(&self, mut child: Child) -> Outcome {
        let started = Instant::now();
        while child.try_wait().unwrap().is_none() {
            if started.elapsed() > Duration::from_secs(300) {
                child.kill().unwrap();
                panic!("the generator hangs");
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let output = child.wait_with_output().unwrap();
        let log = std::fs::read_to_string(self.path("/dev/kmsg")).unwrap_or_default();
        Outcome {
            status: output.status.code().expect("a signal ended the generator"),
            log: log.lines().map(|line| line.split_once("]: ").unwrap().1.to_owned()).collect(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            tree: self.tree(OUTPUT),
        }
    }

    pub fn directories(&self) -> Directories {
        Directories::new(Scope::System, Some(self.root.path().into()), |_| None)
    }

    /// The histories of all groups, by name.
    pub fn histories(&self) -> BTreeMap<String, History> {
        let histories = StartHistory::read(&self.directories()).unwrap().groups;
        histories.into_iter().map(|(name, history)| (name.to_string(), history)).collect()
    }

    /// The same whenever it came about.
    pub fn timeless(&self) -> BTreeMap<String, History> {
        let some_time = Monotonic::from_micros(1).unwrap();
        let mut histories = self.histories();
        histories.values_mut().flat_map(|history| &mut history.versions).for_each(|version| version.since = some_time);
        histories
    }

    pub fn tree(&self, directory: &str) -> BTreeMap<String, String> {
        let mut tree = BTreeMap::new();
        collect(&self.path(directory), "", &mut tree);
        tree
    }
}

fn collect(directory: &Path, prefix: &str, tree: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_symlink() {
            tree.insert(name, format!("-> {}", std::fs::read_link(&path).unwrap().display()));
        } else if path.is_dir() {
            collect(&path, &format!("{name}/"), tree);
        } else {
            tree.insert(name, std::fs::read_to_string(&path).unwrap());
        }
    }
}

impl Outcome {
    pub fn has(&self, path: &str) -> bool {
        self.tree.contains_key(path)
    }

    pub fn text(&self, path: &str) -> &str {
        self.tree.get(path).unwrap_or_else(|| panic!("no {path}: {self:#?}"))
    }

    /// Nothing was wrong.
    #[track_caller]
    pub fn good(self) -> Self {
        assert_eq!((self.status, &self.log[..], self.stderr.as_str()), (0, &[][..], ""), "{:?}", self.log);
        self
    }

    /// Just these lines were logged (their beginnings), in this order.
    #[track_caller]
    pub fn said(self, status: i32, lines: &[&str]) -> Self {
        let good = self.log.len() == lines.len() && self.log.iter().zip(lines).all(|(log, line)| log.starts_with(line));
        assert!(good, "expected {lines:#?}\nfound {:#?}", self.log);
        assert_eq!(self.status, status);
        self
    }
}

/// Whether this can be tried here: some things only root can do. Says so where not; under CI that is a failure.
pub fn is_root(what: &str) -> bool {
    let root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    if !root {
        eprintln!("NOT TESTED, needs root: {what}");
        assert!(std::env::var_os("CI").is_none(), "CI must run this as root: {what}");
    }
    root
}
