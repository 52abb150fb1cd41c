//! Writing a tree so that each file is whole or missing, and no file of others is overwritten.
//!
//! PID 1 waits for the generator, so system calls are counted: a new file takes four (an unnamed file, one write, its
//! name, close), a link one. An unnamed file (`O_TMPFILE`) leaves nothing behind when the program is killed, and linking
//! it fails if the name is taken. Nothing is synced: the generator's directory is on a tmpfs, and is emptied before each
//! run (systemd.generator(7)).

use std::collections::BTreeSet;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use super::{Entry, UnitTree, read};
use crate::basic::atomic_file;
use crate::basic::atomic_file::Durability;
use crate::unit::file::Unit;

const MODE: u32 = 0o644;

/// Why a path was not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Below the directory.
    pub path: String,
    /// `None`: copse did not make what is there, so it was left alone.
    pub error: Option<Errno>,
}

/// How a new file gets its name. The first method that works is used from then on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// `linkat` of an unnamed file's descriptor: for root, from Linux 6.10 on also for the user that opened it.
    Descriptor,
    /// `linkat` of its name in `/proc`: for any user, if `/proc` is mounted.
    Proc,
    /// The file system has no unnamed files: a temporary file is renamed. What another program puts there in the
    /// meantime is overwritten.
    Rename,
}

/// Writes trees into one directory.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    directory: OwnedFd,
    pub(super) method: Method,
    /// The subdirectory of the last path: a tree is sorted, so each is made once per tree.
    last: String,
    /// Subdirectories that existed before, mostly because several groups have something in them.
    existing: BTreeSet<String>,
    /// The text of the file that is written.
    text: String,
}

impl Writer {
    /// Opens `directory`. If it is missing, it is made, with those above it.
    ///
    /// # Errors
    /// It cannot be made or opened.
    pub fn open(directory: &Path) -> std::io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = match rustix::fs::open(directory, flags, Mode::empty()) {
            Err(Errno::NOENT) => {
                std::fs::create_dir_all(directory)?;
                rustix::fs::open(directory, flags, Mode::empty())?
            }
            opened => opened?,
        };
        let (path, last, existing, text) =
            (directory.to_owned(), String::new(), BTreeSet::new(), String::with_capacity(4096));
        Ok(Self { path, directory: fd, method: Method::Descriptor, last, existing, text })
    }

    /// Writes `tree`, and replaces what copse wrote there earlier. A failure does not stop it.
    pub fn write(&mut self, tree: &UnitTree) -> Vec<Failure> {
        let mut failures = Vec::new();
        for (path, entry) in &tree.entries {
            if let Err(error) = self.entry(path, entry) {
                failures.push(Failure { path: path.clone(), error });
            }
        }
        failures
    }

    /// Removes files and links, and the directories that are empty then.
    pub fn remove<'t>(&mut self, paths: impl IntoIterator<Item = &'t str>) -> Vec<Failure> {
        let mut failures = Vec::new();
        for path in paths {
            match rustix::fs::unlinkat(&self.directory, path, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(error) => failures.push(Failure { path: path.to_owned(), error: Some(error) }),
            }
            if let Some((parent, _)) = path.rsplit_once('/') {
                // Fails if others have something in it.
                let _ = rustix::fs::unlinkat(&self.directory, parent, AtFlags::REMOVEDIR);
            }
        }
        self.last.clear();
        self.existing.clear();
        failures
    }

    fn entry(&mut self, path: &str, entry: &Entry) -> Result<(), Option<Errno>> {
        if let Some((parent, _)) = path.rsplit_once('/')
            && self.last != parent
        {
            if !self.existing.contains(parent) {
                match rustix::fs::mkdirat(&self.directory, parent, Mode::from_raw_mode(0o755)) {
                    Ok(()) => {}
                    Err(Errno::EXIST) => drop(self.existing.insert(parent.to_owned())),
                    Err(error) => return Err(Some(error)),
                }
            }
            parent.clone_into(&mut self.last);
        }
        match entry {
            Entry::File(unit) => self.file(path, unit),
            Entry::Link(target) => self.link(path, target),
        }
    }

    fn link(&self, path: &str, target: &Path) -> Result<(), Option<Errno>> {
        match rustix::fs::symlinkat(target, &self.directory, path) {
            Err(Errno::EXIST) => {}
            done => return done.map_err(Some),
        }
        // In a `.wants/` only the name counts (systemd.unit(5)): another program's link does as well.
        if path.contains('/') || read::link(&self.directory, path).as_deref() == Some(target) {
            return Ok(());
        }
        if !self.is_ours(path) {
            return Err(None);
        }
        rustix::fs::unlinkat(&self.directory, path, AtFlags::empty())?;
        rustix::fs::symlinkat(target, &self.directory, path).map_err(Some)
    }

    fn file(&mut self, path: &str, unit: &Unit) -> Result<(), Option<Errno>> {
        self.text.clear();
        // Writing to a String cannot fail.
        let _ = unit.write(&mut self.text);
        if self.method != Method::Rename {
            match self.create(path) {
                Err(Errno::EXIST) => {}
                // The kernel (ISDIR, NOENT) or the file system (OPNOTSUPP, INVAL) has no unnamed files, or neither way
                // to name one is open: no capability, an old kernel, no /proc.
                Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT | Errno::PERM | Errno::ACCESS) => {
                    self.method = Method::Rename;
                }
                done => return done.map_err(Some),
            }
        }
        match read::text(&self.directory, path) {
            Some(text) if text == self.text => Ok(()),
            None if rustix::fs::statat(&self.directory, path, AtFlags::SYMLINK_NOFOLLOW).err()
                == Some(Errno::NOENT) =>
            {
                self.replace(path)
            }
            _ if self.is_ours(path) => self.replace(path),
            _ => Err(None),
        }
    }

    /// Makes a new file.
    fn create(&mut self, path: &str) -> Result<(), Errno> {
        let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.directory, ".", flags, Mode::from_raw_mode(MODE))?;
        write_all(&file, self.text.as_bytes())?;
        if self.method == Method::Descriptor {
            match rustix::fs::linkat(&file, "", &self.directory, path, AtFlags::EMPTY_PATH) {
                Err(Errno::NOENT | Errno::PERM | Errno::ACCESS | Errno::INVAL) => self.method = Method::Proc,
                done => return done,
            }
        }
        let name = format!("/proc/self/fd/{}", file.as_raw_fd());
        rustix::fs::linkat(CWD, name, &self.directory, path, AtFlags::SYMLINK_FOLLOW)
    }

    fn replace(&self, path: &str) -> Result<(), Option<Errno>> {
        let written = atomic_file::write(&self.path.join(path), self.text.as_bytes(), MODE, Durability::Volatile);
        written.map_err(|error| Some(Errno::from_io_error(&error).unwrap_or(Errno::IO)))
    }

    /// Whether copse generated the file at `path`, or the one that a link there leads to.
    fn is_ours(&self, path: &str) -> bool {
        match read::link(&self.directory, path) {
            Some(target) if target.parent() == Some(Path::new("")) => {
                target.to_str().is_some_and(|name| read::generated(&self.directory, name).is_some())
            }
            Some(_) => false,
            None => read::generated(&self.directory, path).is_some(),
        }
    }
}

fn write_all(file: &OwnedFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(file, bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
