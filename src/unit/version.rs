//! The version of systemd, found without starting a process.
//!
//! systemd's programs share a private library whose file name holds the version: `libsystemd-shared-257.so`, or with
//! the package's version in it, `libsystemd-shared-257.9-1~deb13u1.so`.

use std::collections::BTreeSet;
use std::path::Path;

use super::directives::Systemd;
use crate::basic::scope::Directories;

const LIBRARY: &str = "libsystemd-shared-";

impl Systemd {
    /// The systemd that is installed below the root of `directories`.
    ///
    /// Several libraries exist while a package is upgraded, or if an old one was left over. Then it is the one that PID 1
    /// has loaded, which only root can read and only for its own root directory, or else the newest.
    pub fn detect(directories: &Directories) -> Option<Self> {
        let mut found = BTreeSet::new();
        for path in &directories.libraries {
            let entries = std::fs::read_dir(directories.rooted(path)).into_iter().flatten().flatten();
            found.extend(entries.filter_map(|entry| version(entry.file_name().to_str()?)));
        }
        let newest = || found.last().copied();
        let found = match (found.len(), &directories.root) {
            (1, _) | (_, Some(_)) => newest(),
            _ => loaded(Path::new("/proc/1/maps")).or_else(newest),
        };
        found.map(|version| Self { version })
    }
}

/// The version in a file name.
fn version(name: &str) -> Option<u32> {
    let rest = name.strip_prefix(LIBRARY)?.strip_suffix(".so")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

/// The version that a process has mapped (proc_pid_maps(5)).
fn loaded(maps: &Path) -> Option<u32> {
    let maps = std::fs::read_to_string(maps).ok()?;
    maps.lines().find_map(|line| {
        // A library that was replaced in the meantime is still loaded.
        let path = line.strip_suffix(" (deleted)").unwrap_or(line);
        version(path.rsplit('/').next()?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basic::scope::Scope;

    #[test]
    fn versions_in_file_names() {
        for (name, expected) in [
            ("libsystemd-shared-252.so", Some(252)),
            ("libsystemd-shared-257.9-1~deb13u1.so", Some(257)),
            ("libsystemd-shared-256.6-1.fc41.so", Some(256)),
            ("libsystemd-shared-258~rc2.so", Some(258)),
            ("libsystemd-shared-.so", None),
            ("libsystemd-shared-x.so", None),
            ("libsystemd-shared-252.so.1", None),
            ("libsystemd-core-252.so", None),
        ] {
            assert_eq!(version(name), expected, "{name}");
        }
    }

    #[test]
    fn the_newest_of_several_below_a_root() {
        let root = tempfile::tempdir().unwrap();
        let directories = Directories::new(Scope::System, Some(root.path().into()), |_| None);
        assert_eq!(Systemd::detect(&directories), None);
        let multiarch = directories.libraries.iter().find(|path| path.to_string_lossy().contains("-linux-"));
        let multiarch = multiarch.cloned().unwrap_or_else(|| "/usr/lib/systemd".into());
        for (folder, name, expected) in [
            (Path::new("/lib/systemd"), "libsystemd-shared-247.so", 247),
            (Path::new("/usr/lib/systemd"), "libsystemd-shared-252.39-1~deb12u1.so", 252),
            (&multiarch, "libsystemd-shared-257.so", 257),
            (Path::new("/usr/lib/systemd"), "libsystemd-shared-99.so", 257),
        ] {
            let folder = directories.rooted(folder);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join(name), "").unwrap();
            assert_eq!(Systemd::detect(&directories), Some(Systemd { version: expected }));
        }
    }

    #[test]
    fn what_a_process_has_loaded() {
        let maps = tempfile::NamedTempFile::new().unwrap();
        let text = "7f00-7f01 r-xp 0 00:00 1 /usr/lib/x86_64-linux-gnu/libc.so.6\n\
                    7f02-7f03 r-xp 0 00:00 2 /usr/lib/systemd/libsystemd-shared-252.so (deleted)\n";
        std::fs::write(&maps, text).unwrap();
        assert_eq!(loaded(maps.path()), Some(252));
        assert_eq!(loaded(Path::new("/nonexistent")), None);
    }
}
