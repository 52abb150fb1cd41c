//! Follows links at every level, inside `$COPSE_ROOT`, and finds what users other than root can write on the way.
//!
//! The kernel would follow them too, but out of the root (an absolute link in an image means the image's file), and
//! without telling which directories it passed: a user who can write one of them can replace the file.

use std::collections::{HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, Stat};
use rustix::io::Errno;

use crate::basic::scope::{Directories, Scope};

/// The kernel's MAXSYMLINKS (path_resolution(7)).
const LINKS_MAX: u32 = 40;

/// Why a path leads to no file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// A link to `/dev/null`.
    Mask,
    /// The path does not exist, and no link was followed.
    Missing,
    /// A link leads to this path, which does not exist.
    Dangling(PathBuf),
    /// More than [`LINKS_MAX`] links.
    Loop,
    /// Any other error, at this path.
    Error(PathBuf, Errno),
}

/// The end of a path.
#[derive(Debug, Clone)]
pub struct Chased {
    /// On this machine: below the root, without links.
    pub path: PathBuf,
    pub kind: FileType,
    /// What users other than root can write on the way, the first found: "`/srv` is writable by all users (mode 0777)".
    pub writable: Option<String>,
}

/// Who may write: root, and below `$COPSE_ROOT` every user who may write that directory itself (of an image that an
/// ordinary user builds, for example).
#[derive(Debug, Clone, Copy)]
pub struct Trust {
    owner: u32,
    group: Option<u32>,
    others: bool,
}

impl Trust {
    /// `None` in user scope, where the files belong to the user.
    pub fn of(directories: &Directories) -> Option<Self> {
        if directories.scope == Scope::User {
            return None;
        }
        let root = Self { owner: 0, group: None, others: false };
        let Some(stat) = directories.root.as_ref().and_then(|path| rustix::fs::stat(path).ok()) else {
            return Some(root);
        };
        let mode = Mode::from_raw_mode(stat.st_mode);
        let group = mode.contains(Mode::WGRP).then_some(stat.st_gid);
        Some(Self { owner: stat.st_uid, group, others: mode.contains(Mode::WOTH) })
    }

    /// How another user can write or replace the file that `stat` describes.
    pub fn writable(&self, path: &Path, stat: &Stat) -> Option<String> {
        let mode = Mode::from_raw_mode(stat.st_mode);
        let kind = FileType::from_raw_mode(stat.st_mode);
        let path = path.display();
        if stat.st_uid != 0 && stat.st_uid != self.owner {
            return Some(format!("`{path}` is owned by user {}", stat.st_uid));
        }
        // Links are never written, and in a sticky directory (/tmp) only the owner can replace a file.
        if kind == FileType::Symlink || (kind == FileType::Directory && mode.contains(Mode::SVTX)) {
            return None;
        }
        let group = mode.contains(Mode::WGRP) && self.group != Some(stat.st_gid);
        let others = mode.contains(Mode::WOTH) && !self.others;
        (group || others).then(|| {
            let users = if others { "all users".to_owned() } else { format!("group {}", stat.st_gid) };
            format!("`{path}` is writable by {users} (mode {:04o})", mode.bits() & 0o7777)
        })
    }
}

/// Follows paths, and caches what it finds about directories.
pub struct Chaser<'a> {
    directories: &'a Directories,
    /// `None` if every writer is trusted.
    pub trust: Option<Trust>,
    seen: HashMap<PathBuf, Option<String>>,
}

impl<'a> Chaser<'a> {
    pub fn new(directories: &'a Directories) -> Self {
        Self { directories, trust: Trust::of(directories), seen: HashMap::new() }
    }

    /// Follows the absolute `path`, which is without the root, to its end.
    pub fn chase(&mut self, path: &Path) -> Result<Chased, Stop> {
        let mut walk = Walk { left: VecDeque::new(), at: PathBuf::from("/"), links: 0 };
        walk.prepend(path);
        let mut kind = FileType::Directory;
        let mut writable = None;
        while let Some(name) = walk.left.pop_front() {
            if name == ".." {
                walk.at.pop();
                continue;
            }
            let next = walk.at.join(&name);
            // Also if the root has no /dev, as an image often has none.
            let null = next == Path::new("/dev/null") && walk.left.is_empty();
            if null || (next == Path::new("/dev") && walk.left.iter().eq(["null"])) {
                return Err(Stop::Mask);
            }
            let here = self.directories.rooted(&next);
            let stat = rustix::fs::lstat(&here).map_err(|error| walk.stop(&next, error))?;
            kind = FileType::from_raw_mode(stat.st_mode);
            let finding = match kind {
                FileType::Directory => self.directory(&next, &stat),
                // The final file is checked once it is open: it may have been replaced by then.
                FileType::Symlink => self.trust.and_then(|trust| trust.writable(&next, &stat)),
                _ => None,
            };
            writable = writable.or(finding);
            if kind == FileType::Symlink {
                walk.follow(&next, &here)?;
            } else {
                walk.at = next;
                if kind != FileType::Directory && !walk.left.is_empty() {
                    return Err(Stop::Error(walk.at, Errno::NOTDIR));
                }
            }
        }
        Ok(Chased { path: self.directories.rooted(&walk.at), kind, writable })
    }

    fn directory(&mut self, path: &Path, stat: &Stat) -> Option<String> {
        let trust = self.trust?;
        if let Some(seen) = self.seen.get(path) {
            return seen.clone();
        }
        let finding = trust.writable(path, stat);
        self.seen.insert(path.to_owned(), finding.clone());
        finding
    }
}

struct Walk {
    left: VecDeque<OsString>,
    at: PathBuf,
    links: u32,
}

impl Walk {
    fn prepend(&mut self, path: &Path) {
        for component in path.components().rev() {
            match component {
                Component::Normal(name) => self.left.push_front(name.to_owned()),
                Component::ParentDir => self.left.push_front("..".into()),
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
        }
    }

    fn follow(&mut self, link: &Path, here: &Path) -> Result<(), Stop> {
        self.links += 1;
        if self.links > LINKS_MAX {
            return Err(Stop::Loop);
        }
        let text = rustix::fs::readlink(here, Vec::new()).map_err(|error| Stop::Error(link.to_owned(), error))?;
        let text = Path::new(OsStr::from_bytes(text.as_bytes()));
        if text.is_absolute() {
            self.at = PathBuf::from("/");
        }
        self.prepend(text);
        Ok(())
    }

    fn stop(&self, path: &Path, error: Errno) -> Stop {
        match error {
            Errno::NOENT if self.links == 0 => Stop::Missing,
            Errno::NOENT => Stop::Dangling(path.to_owned()),
            error => Stop::Error(path.to_owned(), error),
        }
    }
}
