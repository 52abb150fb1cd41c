//! The units that packages and administrators have installed, by name: what a generated one would hide.
//!
//! One `readdir` per directory, and nothing per unit: a thousand groups ask about thousands of names.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, Mode, OFlags};

use crate::scope::Directories;

/// What is installed.
#[derive(Debug, Default)]
pub struct Installed {
    /// Packages' units, which a generated one hides.
    packages: Vec<Folder>,
    /// The administrator's, which hide a generated one.
    administrator: Vec<Folder>,
}

#[derive(Debug)]
struct Folder {
    /// Without the root.
    path: PathBuf,
    /// On this machine.
    here: PathBuf,
    names: HashSet<OsString>,
}

impl Installed {
    /// Lists all unit directories. One that can't be read counts as empty: systemd can't read it either.
    #[must_use]
    pub fn read(directories: &Directories) -> Self {
        let mut seen = HashSet::new();
        let mut list = |paths: &[PathBuf]| {
            paths.iter().filter_map(|path| Folder::read(directories, path, &mut seen)).collect::<Vec<_>>()
        };
        Self { packages: list(&directories.units), administrator: list(&directories.administrator) }
    }

    /// Whether a unit file `target` with `X-CopseGroup=yes` in `[Unit]` is installed, by a package or the
    /// administrator: then it is filled instead of generated.
    #[must_use]
    pub fn is_static(&self, target: &str) -> bool {
        self.administrator.iter().chain(&self.packages).any(|folder| folder.is_static(target))
    }

    /// The packaged unit file that a generated `name` would hide. None where the administrator has a file of that
    /// name: that one wins over both.
    #[must_use]
    pub fn hidden_by(&self, name: &str) -> Option<PathBuf> {
        if self.administrator.iter().any(|folder| folder.has(name)) {
            return None;
        }
        self.packages.iter().find(|folder| folder.has(name)).map(|folder| folder.path.join(name))
    }
}

impl Folder {
    /// `None` where it isn't there, or is one of `seen` under another name (`/lib` is a link to `/usr/lib`).
    fn read(directories: &Directories, path: &Path, seen: &mut HashSet<(u64, u64)>) -> Option<Self> {
        let here = directories.rooted(path);
        let fd: OwnedFd =
            rustix::fs::open(&here, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let stat = rustix::fs::fstat(&fd).ok()?;
        if !seen.insert((stat.st_dev, stat.st_ino)) {
            return None;
        }
        let name = |entry: rustix::fs::DirEntry| std::ffi::OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
        let names = Dir::new(fd).ok()?.filter_map(Result::ok).map(name).collect();
        Some(Self { path: path.to_owned(), here, names })
    }

    fn has(&self, name: &str) -> bool {
        self.names.contains(std::ffi::OsStr::new(name))
    }

    fn is_static(&self, target: &str) -> bool {
        self.has(target) && read_unit(&self.here.join(target)).is_some_and(|text| has_mark(&text))
    }
}

/// The text of a unit file, if it is a file and of a unit's size.
fn read_unit(path: &Path) -> Option<String> {
    let metadata = std::fs::metadata(path).ok()?;
    (metadata.is_file() && metadata.len() < 1 << 20).then(|| std::fs::read_to_string(path).ok())?
}

/// Whether `[Unit]` says `X-CopseGroup=yes` (systemd.syntax(7): blanks around `=`, the last one counts).
fn has_mark(text: &str) -> bool {
    let (mut in_unit, mut mark) = (false, false);
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            in_unit = line == "[Unit]";
        } else if let Some((key, value)) = line.split_once('=')
            && in_unit
            && key.trim_end() == "X-CopseGroup"
        {
            mark = matches!(value.trim_start(), "yes" | "true" | "on" | "1");
        }
    }
    mark
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::Scope;

    #[test]
    fn the_mark() {
        assert!(has_mark("[Unit]\nX-CopseGroup=yes\n"));
        assert!(has_mark("# x\n[Unit]\nDescription=x\n X-CopseGroup = yes \n[Install]\nWantedBy=x\n"));
        assert!(!has_mark("[Unit]\nX-CopseGroup=yes\nX-CopseGroup=no\n"));
        assert!(!has_mark("[Install]\nX-CopseGroup=yes\n"));
        assert!(!has_mark("X-CopseGroup=yes\n[Unit]\n#X-CopseGroup=yes\n"));
    }

    #[test]
    fn the_administrator_wins_and_packages_are_hidden() {
        let root = tempfile::tempdir().unwrap();
        let directories = Directories::new(Scope::System, Some(root.path().into()), |_| None);
        let write = |path: &str, text: &str| {
            let path = directories.rooted(Path::new(path));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("/usr/lib/systemd/system/a.service", "");
        write("/usr/lib/systemd/system/b.service", "");
        write("/etc/systemd/system/b.service", "");
        write("/usr/lib/systemd/system/g.target", "[Unit]\nX-CopseGroup=yes\n");
        write("/usr/local/lib/systemd/system/h.target", "[Unit]\n");
        std::os::unix::fs::symlink("usr/lib", root.path().join("lib")).unwrap();
        // A packaged static target that the administrator masked is still there to be filled.
        std::os::unix::fs::symlink("/dev/null", root.path().join("etc/systemd/system/g.target")).unwrap();
        let installed = Installed::read(&directories);
        assert_eq!(installed.packages.len(), 2);
        assert_eq!(installed.hidden_by("a.service"), Some("/usr/lib/systemd/system/a.service".into()));
        assert_eq!(installed.hidden_by("b.service"), None);
        assert_eq!(installed.hidden_by("c.service"), None);
        assert!(installed.is_static("g.target"));
        assert!(!installed.is_static("h.target"));
        assert!(!installed.is_static("i.target"));
    }
}
