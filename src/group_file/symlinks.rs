//! Follows links at every level, inside `$COPSE_ROOT`, and sees who else may write on the way.
//!
//! The kernel would follow them as well, but out of the root (an absolute link in an image means the image's file),
//! and without telling which directories it passed: whoever may write one of those may put another file in place.

use std::collections::{HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode, Stat};
use rustix::io::Errno;

use crate::basic::scope::{Directories, Scope};

/// As many as the kernel follows (path_resolution(7)).
const LINKS_MAX: u32 = 40;

/// Why a path leads to no file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// A link to `/dev/null`: hidden on purpose.
    Mask,
    /// It isn't there, and no link was involved.
    Missing,
    /// A link leads to this path, which isn't there.
    Dangling(PathBuf),
    /// More than 40 links: a circle.
    Loop,
    /// Anything else, at this path.
    Error(PathBuf, Errno),
}

/// Where a path leads.
#[derive(Debug, Clone)]
pub struct Chased {
    /// The path on this machine, the root in front, without any link.
    pub path: PathBuf,
    /// What is there.
    pub kind: FileType,
    /// The first thing on the way that others may write, in words.
    pub writable: Option<String>,
}

/// Who may write: root; and below `$COPSE_ROOT` whoever may write that directory itself, for they can do there
/// what they like anyway (an image built by an ordinary user).
#[derive(Debug, Clone, Copy)]
pub struct Trust {
    owner: u32,
    group: Option<u32>,
    others: bool,
}

impl Trust {
    /// `None` in user scope, where the user's files are the user's affair.
    pub fn of(directories: &Directories) -> Option<Self> {
        if directories.scope == Scope::User {
            return None;
        }
        let nobody = Self { owner: 0, group: None, others: false };
        let Some(stat) = directories.root.as_ref().and_then(|root| rustix::fs::stat(root).ok()) else {
            return Some(nobody);
        };
        let mode = Mode::from_raw_mode(stat.st_mode);
        let group = mode.contains(Mode::WGRP).then_some(stat.st_gid);
        Some(Self { owner: stat.st_uid, group, others: mode.contains(Mode::WOTH) })
    }

    /// Says in words who else may write, or replace, what `stat` is about.
    pub fn writable(&self, path: &Path, stat: &Stat) -> Option<String> {
        let mode = Mode::from_raw_mode(stat.st_mode);
        let kind = FileType::from_raw_mode(stat.st_mode);
        let path = path.display();
        if stat.st_uid != 0 && stat.st_uid != self.owner {
            return Some(format!("`{path}` belongs to user {}", stat.st_uid));
        }
        // Nobody writes a link; and in a sticky directory (/tmp) nobody replaces what belongs to another.
        if kind == FileType::Symlink || (kind == FileType::Directory && mode.contains(Mode::SVTX)) {
            return None;
        }
        let group = mode.contains(Mode::WGRP) && self.group != Some(stat.st_gid);
        let others = mode.contains(Mode::WOTH) && !self.others;
        (group || others).then(|| {
            let who = if others { "everybody".to_owned() } else { format!("group {}", stat.st_gid) };
            format!("`{path}` can be written by {who} (mode {:04o})", mode.bits() & 0o7777)
        })
    }
}

/// Follows paths, and remembers what it saw of directories.
pub struct Chaser<'a> {
    directories: &'a Directories,
    /// Whom to trust; `None` where that doesn't matter.
    pub trust: Option<Trust>,
    seen: HashMap<PathBuf, Option<String>>,
}

impl<'a> Chaser<'a> {
    /// With the root and the scope of `directories`.
    pub fn new(directories: &'a Directories) -> Self {
        Self { directories, trust: Trust::of(directories), seen: HashMap::new() }
    }

    /// Follows the absolute `path` (without the root) to its end.
    ///
    /// # Errors
    /// Where it leads to no file, or is hidden by a link to `/dev/null`.
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
            // Whether or not the root has one, or even a /dev: an image often hasn't.
            let null = next == Path::new("/dev/null") && walk.left.is_empty();
            if null || (next == Path::new("/dev") && walk.left.iter().eq(["null"])) {
                return Err(Stop::Mask);
            }
            let here = self.directories.rooted(&next);
            let stat = rustix::fs::lstat(&here).map_err(|error| walk.stop(&next, error))?;
            kind = FileType::from_raw_mode(stat.st_mode);
            let finding = match kind {
                FileType::Directory => self.directory(&next, &stat),
                // The final file itself is judged by whoever opens it: it may be another one by then.
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
