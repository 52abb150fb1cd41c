//! Writing and removing configuration files.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::basic::atomic_file;
use crate::basic::atomic_file::Durability;

/// Replaces a file in one step, or makes it, with its directory. The mode of an existing file is kept. A symbolic link
/// stays, and the file that it leads to is replaced.
pub(super) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let resolved = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => fs::canonicalize(path)?,
        _ => path.to_owned(),
    };
    let metadata = fs::metadata(&resolved).ok();
    // For example /dev/null, to which a link hides a group.
    if metadata.as_ref().is_some_and(|metadata| !metadata.is_file()) {
        return Err(io::Error::other("not a regular file"));
    }
    make_directory(resolved.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
    let mode = metadata.map_or(0o644, |metadata| metadata.permissions().mode() & 0o7777);
    atomic_file::write(&resolved, content, mode, Durability::Synced)
}

/// Makes a directory and those above it, readable by everyone whatever the umask is.
pub(super) fn make_directory(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    if let Some(parent) = directory.parent() {
        make_directory(parent)?;
    }
    match fs::create_dir(directory) {
        Ok(()) => fs::set_permissions(directory, fs::Permissions::from_mode(0o755)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Removes a file, and its `….d` directory if that is empty then. A missing file is fine.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    atomic_file::remove(path)?;
    remove_empty_directory(path);
    Ok(())
}

/// Removes the `….d` directory that `path` is in, if it is empty.
pub(super) fn remove_empty_directory(path: &Path) {
    let directory = path.parent().filter(|parent| parent.extension().is_some_and(|extension| extension == "d"));
    if let Some(directory) = directory {
        let _ = fs::remove_dir(directory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_stays_and_the_file_it_leads_to_is_replaced_with_its_mode() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        write(&at("srv/g.toml"), b"old").unwrap();
        fs::set_permissions(at("srv/g.toml"), fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink("srv/g.toml", at("link")).unwrap();
        write(&at("link"), b"new").unwrap();
        std::os::unix::fs::symlink("/dev/null", at("device")).unwrap();
        assert!(write(&at("device"), b"new").is_err());
        assert!(fs::symlink_metadata(at("link")).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(at("srv/g.toml")).unwrap(), "new");
        assert_eq!(fs::metadata(at("srv/g.toml")).unwrap().permissions().mode() & 0o7777, 0o600);
        assert_eq!(fs::read_dir(at("srv")).unwrap().count(), 1);
    }
}
