//! Reading back what copse wrote to a directory.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::{Entry, UnitTree};
use crate::unit::file::Unit;
use crate::unit::name::template_of;
use crate::unit::parse;

/// A larger file is no unit of ours.
const SIZE_MAX: usize = 4 << 20;

/// Reads the units that copse generated in `directory`, and the links to them. Files of others are left out, and so are
/// unreadable ones. A missing directory is empty.
///
/// # Errors
/// The directory exists and cannot be read.
pub fn units(directory: &Path) -> std::io::Result<UnitTree> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = match rustix::fs::open(directory, flags, Mode::empty()) {
        Ok(fd) => fd,
        Err(Errno::NOENT) => return Ok(UnitTree::default()),
        Err(error) => return Err(error.into()),
    };
    let mut paths = Vec::new();
    for (name, kind) in list(&fd, Path::new("."))? {
        if kind == FileType::Directory {
            let below = list(&fd, Path::new(&name))?;
            paths.extend(below.into_iter().map(|(below, kind)| (format!("{name}/{below}"), kind)));
        } else {
            paths.push((name, kind));
        }
    }
    let mut tree = UnitTree::default();
    let mut links = Vec::new();
    for (path, kind) in paths {
        if kind == FileType::Symlink {
            links.extend(link(&fd, &path).map(|target| (path, target)));
        } else if let Some(unit) = generated(&fd, &path) {
            tree.entries.insert(path, Entry::File(unit));
        }
    }
    links.retain(|(_, target)| leads_to_ours(target, &tree));
    tree.entries.extend(links.into_iter().map(|(path, target)| (path, Entry::Link(target))));
    Ok(tree)
}

/// Whether a link's target is a unit in `tree`, an instance of a template in it, or of one that copse ships.
fn leads_to_ours(target: &Path, tree: &UnitTree) -> bool {
    let name = target.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    tree.entries.contains_key(name)
        || template_of(name).is_some_and(|template| tree.entries.contains_key(&template))
        || name.starts_with("copse-")
}

/// The names in a directory. Those that begin with a dot are left out: systemd ignores them, too.
fn list(fd: &OwnedFd, path: &Path) -> Result<Vec<(String, FileType)>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = rustix::fs::openat(fd, path, flags, Mode::empty())?;
    let mut names = Vec::new();
    for entry in Dir::new(directory)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().to_str() else { continue };
        if name.starts_with('.') {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => rustix::fs::statat(fd, path.join(name), AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
            kind => kind,
        };
        names.push((name.to_owned(), kind));
    }
    Ok(names)
}

/// The target of a symbolic link.
pub(super) fn link(directory: impl AsFd, path: &str) -> Option<PathBuf> {
    let text = rustix::fs::readlinkat(directory, path, Vec::new()).ok()?;
    Some(PathBuf::from(text.into_string().ok()?))
}

/// The unit file at `path`, if copse generated it.
pub(super) fn generated(directory: impl AsFd, path: &str) -> Option<Unit> {
    Some(parse::unit(&text(directory, path)?)).filter(Unit::is_generated)
}

/// The text of a regular file that is no larger than a unit of ours.
pub(super) fn text(directory: impl AsFd, path: &str) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory, path, flags, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&file).ok()?;
    let size = usize::try_from(stat.st_size).ok().filter(|size| *size <= SIZE_MAX)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return None;
    }
    let mut text = String::with_capacity(size + 1);
    std::io::Read::read_to_string(&mut std::fs::File::from(file), &mut text).ok()?;
    Some(text)
}
