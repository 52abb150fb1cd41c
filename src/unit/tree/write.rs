//! Writing.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::{file_text, is_ours, link_text};
use crate::unit::{Entry, UnitTree};

/// systemd doesn't look at names that begin with a dot.
const TEMPORARY: &str = ".copse-";

/// Why a path couldn't be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Below the directory.
    pub path: String,
    /// `None`: something that copse didn't make stands there, and was left alone.
    pub error: Option<Errno>,
}

/// How a file gets its name; the first that works here is used from then on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// `linkat` of the descriptor itself: root may, and from Linux 6.10 on everybody his own.
    Descriptor,
    /// `linkat` of its name in `/proc`: everybody may, where `/proc` is mounted.
    Proc,
    /// File systems without `O_TMPFILE`: a name that systemd ignores, then a rename.
    Rename,
}

/// Writes trees into one directory.
#[derive(Debug)]
pub struct Writer {
    directory: OwnedFd,
    pub(super) method: Method,
    /// The subdirectory that was made last; a tree is sorted, so each is made once per tree.
    made: String,
    /// Makes temporary names differ between runs at the same time.
    process: u32,
    count: u32,
}

impl Writer {
    /// Opens `directory`, and makes it (with those above it) where it isn't there. What a killed run left behind is
    /// removed: only names that systemd ignores.
    ///
    /// # Errors
    /// Where it can't be made or opened.
    pub fn open(directory: &Path) -> std::io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = match rustix::fs::open(directory, flags, Mode::empty()) {
            Err(Errno::NOENT) => {
                std::fs::create_dir_all(directory)?;
                rustix::fs::open(directory, flags, Mode::empty())?
            }
            opened => opened?,
        };
        clean(&fd)?;
        let process = std::process::id();
        Ok(Self { directory: fd, method: Method::Descriptor, made: String::new(), process, count: 0 })
    }

    /// Writes all of `tree`. What is there already and is ours is replaced; what isn't ours is left as it is.
    /// Everything that can be written is, whatever else fails.
    pub fn write(&mut self, tree: &UnitTree) -> Vec<Failure> {
        let mut failures = Vec::new();
        for (path, entry) in &tree.entries {
            if let Err(error) = self.entry(path, entry) {
                failures.push(Failure { path: path.clone(), error });
            }
        }
        failures
    }

    /// Removes files, links, and directories that are empty then.
    pub fn remove<'t>(&mut self, paths: impl IntoIterator<Item = &'t str>) -> Vec<Failure> {
        let mut failures = Vec::new();
        for path in paths {
            match rustix::fs::unlinkat(&self.directory, path, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(error) => failures.push(Failure { path: path.to_owned(), error: Some(error) }),
            }
            if let Some((parent, _)) = path.rsplit_once('/') {
                // Not empty: others have something there.
                let _ = rustix::fs::unlinkat(&self.directory, parent, AtFlags::REMOVEDIR);
            }
        }
        self.made.clear();
        failures
    }

    fn entry(&mut self, path: &str, entry: &Entry) -> Result<(), Option<Errno>> {
        if let Some((parent, _)) = path.rsplit_once('/')
            && self.made != parent
        {
            match rustix::fs::mkdirat(&self.directory, parent, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => parent.clone_into(&mut self.made),
                Err(error) => return Err(Some(error)),
            }
        }
        match entry {
            Entry::File(text) => self.file(path, text),
            Entry::Link(target) => self.link(path, target),
        }
    }

    fn link(&mut self, path: &str, target: &Path) -> Result<(), Option<Errno>> {
        match rustix::fs::symlinkat(target, &self.directory, path) {
            Err(Errno::EXIST) => {}
            done => return done.map_err(Some),
        }
        // In a `.wants/` the name says it all (systemd.unit(5)): another's link does as well.
        if path.contains('/') || link_text(&self.directory, path).as_deref() == Some(target) {
            return Ok(());
        }
        if !self.replaceable(path) {
            return Err(None);
        }
        let temporary = self.temporary(path);
        rustix::fs::symlinkat(target, &self.directory, &temporary)?;
        self.replace(&temporary, path)
    }

    fn file(&mut self, path: &str, text: &str) -> Result<(), Option<Errno>> {
        if self.method == Method::Rename {
            return self.beside(path, text);
        }
        let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.directory, ".", flags, Mode::from_raw_mode(0o644)) {
            Ok(file) => file,
            // Not known to the file system (or, ISDIR and NOENT, to the kernel).
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {
                self.method = Method::Rename;
                return self.beside(path, text);
            }
            Err(error) => return Err(Some(error)),
        };
        write_all(&file, text.as_bytes())?;
        match self.name(&file, path) {
            Err(Errno::EXIST) => {}
            // Neither way is open here: no capability, an old kernel, no /proc.
            Err(Errno::NOENT | Errno::PERM | Errno::ACCESS) if self.method == Method::Proc => {
                self.method = Method::Rename;
                return self.beside(path, text);
            }
            done => return done.map_err(Some),
        }
        if self.stands(path, text)? {
            return Ok(());
        }
        let temporary = self.temporary(path);
        self.name(&file, &temporary)?;
        self.replace(&temporary, path)
    }

    /// Gives an unnamed file its name.
    fn name(&mut self, file: &OwnedFd, path: &str) -> Result<(), Errno> {
        if self.method == Method::Descriptor {
            match rustix::fs::linkat(file, "", &self.directory, path, AtFlags::EMPTY_PATH) {
                Err(Errno::NOENT | Errno::PERM | Errno::ACCESS | Errno::INVAL) => self.method = Method::Proc,
                done => return done,
            }
        }
        use std::os::fd::AsRawFd;
        let name = format!("/proc/self/fd/{}", file.as_raw_fd());
        rustix::fs::linkat(CWD, name, &self.directory, path, AtFlags::SYMLINK_FOLLOW)
    }

    /// Writes under a name that systemd ignores, then renames.
    fn beside(&mut self, path: &str, text: &str) -> Result<(), Option<Errno>> {
        let temporary = self.temporary(path);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.directory, &temporary, flags, Mode::from_raw_mode(0o644))?;
        let written = write_all(&file, text.as_bytes()).map_err(Some).and_then(|()| {
            let (from, to) = (&self.directory, &self.directory);
            match rustix::fs::renameat_with(from, &temporary, to, path, RenameFlags::NOREPLACE) {
                Ok(()) => Ok(true),
                // Unknown to the file system (NFS, some FUSE): then look first, and lose only against a rival that
                // comes in between.
                Err(Errno::INVAL | Errno::NOSYS | Errno::EXIST) => Ok(false),
                Err(error) => Err(Some(error)),
            }
        });
        let written = match written {
            Ok(false) => self.stands(path, text),
            other => return other.map(drop).inspect_err(|_| self.discard(&temporary)),
        };
        match written {
            Ok(true) => {
                self.discard(&temporary);
                Ok(())
            }
            Ok(false) => self.replace(&temporary, path),
            Err(error) => {
                self.discard(&temporary);
                Err(error)
            }
        }
    }

    /// Looks at what stands at `path`: whether it is this text already. An error where it isn't ours to replace.
    fn stands(&self, path: &str, text: &str) -> Result<bool, Option<Errno>> {
        match file_text(&self.directory, path) {
            Some(found) if found == text => Ok(true),
            Some(found) if is_ours(&found) => Ok(false),
            None if self.replaceable(path) => Ok(false),
            _ => Err(None),
        }
    }

    /// Whether what stands at `path` is ours: a file with our header, or a link to one; or nothing at all.
    fn replaceable(&self, path: &str) -> bool {
        if let Some(target) = link_text(&self.directory, path) {
            let one_of_ours = |name: &str| file_text(&self.directory, name).is_some_and(|text| is_ours(&text));
            return target.parent() == Some(Path::new("")) && target.to_str().is_some_and(one_of_ours);
        }
        match rustix::fs::statat(&self.directory, path, AtFlags::SYMLINK_NOFOLLOW) {
            Err(error) => error == Errno::NOENT,
            Ok(_) => file_text(&self.directory, path).is_some_and(|text| is_ours(&text)),
        }
    }

    fn replace(&self, temporary: &str, path: &str) -> Result<(), Option<Errno>> {
        rustix::fs::renameat(&self.directory, temporary, &self.directory, path)
            .inspect_err(|_| self.discard(temporary))
            .map_err(Some)
    }

    fn discard(&self, temporary: &str) {
        let _ = rustix::fs::unlinkat(&self.directory, temporary, AtFlags::empty());
    }

    /// A name in the same directory as `path`, that nobody else has.
    fn temporary(&mut self, path: &str) -> String {
        self.count += 1;
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let slash = if folder.is_empty() { "" } else { "/" };
        format!("{folder}{slash}{TEMPORARY}{}-{}", self.process, self.count)
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

/// Removes temporary names whose process is gone.
fn clean(directory: &OwnedFd) -> Result<(), Errno> {
    let mut left = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().to_str() else { continue };
        let Some(process) = name.strip_prefix(TEMPORARY) else { continue };
        let process = process.split('-').next().and_then(|process| process.parse::<u32>().ok());
        if !process.is_some_and(|process| Path::new(&format!("/proc/{process}")).exists()) {
            left.push(name.to_owned());
        }
    }
    for name in left {
        let _ = rustix::fs::unlinkat(directory, name, AtFlags::empty());
    }
    Ok(())
}
