//! What outlives the program's exit when idle: the groups that a client has removed, or that `reloadConfig` found and
//! nobody has added yet. It is forgotten at the next start of the group, as supervisord forgets it when it ends.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use crate::basic::atomic_file::{self, Durability};

/// The file, in the runtime directory that the service keeps.
#[derive(Debug)]
pub struct Memory {
    path: Option<PathBuf>,
}

impl Memory {
    /// `directory`: `$RUNTIME_DIRECTORY`.
    pub fn new(directory: Option<PathBuf>) -> Self {
        Self { path: directory.map(|directory| directory.join("hidden")) }
    }

    /// The hidden groups, if they were noted during this run of the group. `run` tells the runs of the group apart.
    pub fn hidden(&self, run: u64) -> BTreeSet<String> {
        let text = self.path.as_ref().and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        let mut lines = text.lines();
        match lines.next().and_then(|line| line.parse::<u64>().ok()) {
            Some(noted) if noted == run => lines.map(str::to_owned).collect(),
            _ => BTreeSet::new(),
        }
    }

    /// Notes the hidden groups.
    ///
    /// # Errors
    /// The file cannot be written; there is no runtime directory.
    pub fn set_hidden(&self, run: u64, hidden: &BTreeSet<String>) -> io::Result<()> {
        let path = self.path.as_ref().ok_or_else(|| io::Error::other("there is no runtime directory"))?;
        let mut text = format!("{run}\n");
        for name in hidden {
            text.extend([name, "\n"]);
        }
        atomic_file::write(path, text.as_bytes(), 0o600, Durability::Volatile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_forgotten_with_the_run() {
        let directory = tempfile::tempdir().unwrap();
        let memory = Memory::new(Some(directory.path().to_owned()));
        assert_eq!(memory.hidden(1), BTreeSet::new());
        let hidden = BTreeSet::from(["a".to_owned(), "b".to_owned()]);
        memory.set_hidden(1, &hidden).unwrap();
        assert_eq!((memory.hidden(1), memory.hidden(2)), (hidden, BTreeSet::new()));
        assert!(Memory::new(None).set_hidden(1, &BTreeSet::new()).is_err());
    }
}
