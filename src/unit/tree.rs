//! All units of a group with their links: as values here, on disk in [`read`] and [`write`].

pub mod read;
#[cfg(test)]
mod tests;
pub mod write;

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::file::Unit;

/// What is at a path of a directory of units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A unit file or drop-in.
    File(Unit),
    /// A symbolic link with this target.
    Link(PathBuf),
}

/// Units and links by path, relative to the directory that they are written to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnitTree {
    pub entries: BTreeMap<String, Entry>,
}

impl UnitTree {
    /// Puts a unit file or drop-in at `path`.
    pub fn file(&mut self, path: impl Into<String>, unit: Unit) {
        self.entries.insert(path.into(), Entry::File(unit));
    }

    /// Puts a symbolic link at `path`.
    pub fn link(&mut self, path: impl Into<String>, target: impl Into<PathBuf>) {
        self.entries.insert(path.into(), Entry::Link(target.into()));
    }

    /// The unit file or drop-in at `path`.
    pub fn unit(&self, path: &str) -> Option<&Unit> {
        match self.entries.get(path)? {
            Entry::File(unit) => Some(unit),
            Entry::Link(_) => None,
        }
    }
}
