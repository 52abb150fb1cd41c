//! Files that are replaced in one step: a reader finds the old content or the new one, never a part of it.
//!
//! The content goes into a temporary file in the same directory, which is then renamed. Its name begins with a dot, so
//! systemd, copse and `*` in a shell pass over it. A process that is killed leaves its temporary file behind; the next
//! process that writes the same file removes it.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Whether a new content has to survive a power failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// It is on disk before the file is renamed: after a power failure, the file has the old content or the new one.
    Synced,
    /// It is not synced: the file system is in memory, or the file can be made again.
    Volatile,
}

/// A file that gets its name only when it is complete. Dropped before, it disappears.
#[derive(Debug)]
pub struct AtomicFile {
    file: File,
    temporary: PathBuf,
    path: PathBuf,
}

/// Replaces the file at `path`, or makes it, in a directory that exists. The umask does not change `mode`. If `path` is
/// a symbolic link, the link itself is replaced.
///
/// # Errors
/// The file could not be written; what was there is unchanged.
pub fn write(path: &Path, content: &[u8], mode: u32, durability: Durability) -> io::Result<()> {
    AtomicFile::create(path, mode)?.commit(content, durability)
}

/// Removes the file at `path`; a missing one is fine.
///
/// # Errors
/// The file exists and could not be removed.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

impl AtomicFile {
    /// Makes the temporary file for `path`; see [`write`].
    ///
    /// # Errors
    /// There can be no file at `path`.
    pub fn create(path: &Path, mode: u32) -> io::Result<Self> {
        let prefix = temporary_prefix(path)?;
        remove_abandoned(path, &prefix);
        let mut name = prefix;
        name.push(std::process::id().to_string());
        let temporary = path.with_file_name(name);
        // One of this name is left over from a process that had the same PID.
        remove(&temporary)?;
        let file = File::options().write(true).create_new(true).mode(mode).open(&temporary)?;
        let created = Self { file, temporary, path: path.to_owned() };
        created.file.set_permissions(Permissions::from_mode(mode))?;
        Ok(created)
    }

    /// Writes the content, and puts the file in place.
    ///
    /// # Errors
    /// As [`write`].
    pub fn commit(mut self, content: &[u8], durability: Durability) -> io::Result<()> {
        self.file.write_all(content)?;
        if durability == Durability::Synced {
            self.file.sync_all()?;
        }
        fs::rename(&self.temporary, &self.path)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        // After a commit there is none of this name any more.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// `.NAME.copse-`, which a PID follows.
fn temporary_prefix(path: &Path) -> io::Result<OsString> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut prefix = OsString::from(".");
    prefix.push(name);
    prefix.push(".copse-");
    Ok(prefix)
}

/// Removes the temporary files for `path` whose process is gone.
fn remove_abandoned(path: &Path, prefix: &OsString) {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.as_bytes().strip_prefix(prefix.as_bytes()).and_then(|pid| std::str::from_utf8(pid).ok());
        if process.is_some_and(|pid| pid.parse::<u32>().is_ok() && !Path::new("/proc").join(pid).exists()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Above the highest PID that Linux gives (PID_MAX_LIMIT, 2²²).
    const NO_PROCESS: &str = "4194305";

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn content_and_mode_are_replaced_and_nothing_is_left_behind() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        for (content, mode, durability) in [("a", 0o600, Durability::Volatile), ("b", 0o646, Durability::Synced)] {
            write(&path, content.as_bytes(), mode, durability).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, mode);
        }
        assert_eq!(names(directory.path()), ["file"]);
        remove(&path).unwrap();
        remove(&path).unwrap();
    }

    #[test]
    fn without_a_commit_the_old_file_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "old").unwrap();
        drop(AtomicFile::create(&path, 0o600).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(names(directory.path()), ["file"]);
    }

    #[test]
    fn temporary_files_of_killed_processes_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let own = std::process::id();
        let abandoned = [format!(".file.copse-{NO_PROCESS}"), format!(".file.copse-{own}")];
        let kept = [".file.copse-1", ".file.copse-x", ".other.copse-4194305"];
        for name in abandoned.iter().map(String::as_str).chain(kept) {
            fs::write(directory.path().join(name), "").unwrap();
        }
        write(&directory.path().join("file"), b"", 0o600, Durability::Volatile).unwrap();
        assert_eq!(names(directory.path()), [&kept[..], &["file"]].concat());
    }

    #[test]
    fn what_is_no_file_name_is_refused() {
        for path in ["/", "..", "a/.."] {
            assert!(AtomicFile::create(Path::new(path), 0o600).is_err(), "{path}");
        }
    }
}
