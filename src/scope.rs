//! System or user: the only place that spells `/etc`, `/run` and `/usr`.

use std::path::{Path, PathBuf};

/// Which service manager the groups are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// PID 1.
    System,
    /// A user's `systemd --user`.
    User,
}

/// The directories that matter, with `$COPSE_ROOT` in front of all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directories {
    /// The scope they are for.
    pub scope: Scope,
    /// `$COPSE_ROOT`, or empty.
    pub root: Option<PathBuf>,
    /// Where group files are, the most important first, without the root.
    pub groups: Vec<PathBuf>,
    /// Where packages and other generators put units that a generated one would hide, without the root.
    pub units: Vec<PathBuf>,
    /// `/run/copse`, or the user's: what the generator remembers until the next boot, without the root.
    pub state: PathBuf,
}

impl Directories {
    /// The path on this machine: the root and `path` joined.
    #[must_use]
    pub fn rooted(&self, path: &Path) -> PathBuf {
        match &self.root {
            Some(root) => root.join(path.strip_prefix("/").unwrap_or(path)),
            None => path.to_owned(),
        }
    }
}
