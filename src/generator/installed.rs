//! The units that packages and administrators have installed, by name: those that a generated unit would hide, and those
//! that override a generated one.
//!
//! Each directory is listed once, because a thousand groups look up thousands of names. A file is read only if it is about
//! a group, and once for all groups.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Dir, Mode, OFlags};

use crate::basic::diagnostic::SourceFile;
use crate::basic::scope::Directories;
use crate::generate::marks::is_group;
use crate::unit::name::{drop_in_directories, template_of};
use crate::unit::overrides::Overrides;
use crate::unit::{Section, Unit, parse};

/// The installed units.
#[derive(Debug, Default)]
pub struct Installed {
    /// Units of packages, which a generated one hides.
    packages: Vec<Folder>,
    /// Units of the administrator, which hide a generated one.
    administrator: Vec<Folder>,
    texts: Texts,
}

#[derive(Debug)]
struct Folder {
    /// Without the root.
    path: PathBuf,
    /// On this machine.
    here: PathBuf,
    names: HashSet<OsString>,
    /// The unit files, sorted.
    units: Vec<String>,
    /// The units that have a directory of drop-ins, sorted.
    drop_ins: Vec<String>,
    /// The same for directories that apply to all units of a type (`service`), or with a common prefix (`a-.service`).
    wide_drop_ins: Vec<String>,
}

/// Files that were read, so that one that applies to a thousand groups is read and kept once.
#[derive(Debug, Default)]
struct Texts {
    files: HashMap<PathBuf, Option<Arc<SourceFile>>>,
    directories: HashMap<PathBuf, Vec<Arc<SourceFile>>>,
}

impl Installed {
    /// Lists all unit directories. An unreadable one counts as empty: systemd cannot read it, either.
    pub fn read(directories: &Directories) -> Self {
        let mut seen = HashSet::new();
        let mut list = |paths: &[PathBuf]| {
            paths.iter().filter_map(|path| Folder::read(directories, path, &mut seen)).collect::<Vec<_>>()
        };
        let (packages, administrator) = (list(&directories.units), list(&directories.administrator));
        Self { packages, administrator, texts: Texts::default() }
    }

    /// What overrides a group's units. `names` are its generated files, as [`crate::generate::unit_names`] lists them, the
    /// target first. Unreadable files are left out.
    pub fn overrides(&mut self, names: &[String]) -> Overrides {
        let Self { packages, administrator, texts } = self;
        let mut overrides = Overrides::default();
        for folder in administrator {
            overrides.above.extend(folder.units(names).iter().filter_map(|unit| texts.file(folder, unit)));
            overrides.above.extend(folder.drop_ins(names, texts));
        }
        for folder in packages {
            // They have no other unit with the name of a generated one.
            let target = names.first().filter(|target| folder.has(target));
            overrides.below.extend(target.and_then(|target| texts.file(folder, target)));
            overrides.below.extend(folder.drop_ins(names, texts));
        }
        overrides
    }

    /// Whether a `target` with `X-CopseGroup=yes` is installed, by a package or the administrator. Then it is completed
    /// instead of generated.
    pub fn is_static(&self, target: &str) -> bool {
        self.administrator.iter().chain(&self.packages).any(|folder| folder.is_static(target))
    }

    /// Whether an administrator masked this unit (a link to `/dev/null`).
    pub fn is_masked(&self, unit: &str) -> bool {
        let first = self.administrator.iter().find(|folder| folder.has(unit));
        first.is_some_and(|folder| masks(&folder.here.join(unit)))
    }

    /// What wants `target` when it is enabled, by the `[Install]` section of the file that takes precedence
    /// (systemd.unit(5)).
    pub fn wanting(&self, target: &str) -> Vec<String> {
        let mut folders = self.administrator.iter().chain(&self.packages).filter(|folder| folder.has(target));
        let unit = folders.find_map(|folder| folder.unit(target)).unwrap_or_default();
        let lines =
            unit.section(Section::Install).filter(|line| matches!(&*line.name, "WantedBy" | "RequiredBy" | "UpheldBy"));
        lines.flat_map(|line| line.value.unit_names()).map(str::to_owned).collect()
    }

    /// The packaged unit file that a generated `name` would hide. `None` if the administrator has a file of that name,
    /// which overrides both.
    pub fn hidden_by(&self, name: &str) -> Option<PathBuf> {
        if self.administrator.iter().any(|folder| folder.has(name)) {
            return None;
        }
        self.packages.iter().find(|folder| folder.has(name)).map(|folder| folder.path.join(name))
    }
}

impl Folder {
    /// `None` if it is missing, or one of `seen` by another name (`/lib` may be a link to `/usr/lib`).
    fn read(directories: &Directories, path: &Path, seen: &mut HashSet<(u64, u64)>) -> Option<Self> {
        let here = directories.rooted(path);
        let fd: OwnedFd =
            rustix::fs::open(&here, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        let stat = rustix::fs::fstat(&fd).ok()?;
        if !seen.insert((stat.st_dev, stat.st_ino)) {
            return None;
        }
        let name = |entry: rustix::fs::DirEntry| std::ffi::OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
        let names: HashSet<_> = Dir::new(fd).ok()?.filter_map(Result::ok).map(name).collect();
        let (mut units, mut drop_ins, mut wide_drop_ins) = (Vec::new(), Vec::new(), Vec::new());
        for name in names.iter().filter_map(|name| name.to_str()) {
            match name.rsplit_once('.') {
                Some((_, "wants" | "requires" | "upholds")) | None => {}
                Some((unit, "d")) if stem(unit).ends_with('-') || !unit.contains('.') => {
                    wide_drop_ins.push(unit.into())
                }
                Some((unit, "d")) => drop_ins.push(unit.to_owned()),
                Some(_) => units.push(name.to_owned()),
            }
        }
        units.sort_unstable();
        drop_ins.sort_unstable();
        Some(Self { path: path.to_owned(), here, names, units, drop_ins, wide_drop_ins })
    }

    /// The unit files with one of these names, or of an instance of one, sorted.
    fn units(&self, names: &[String]) -> Vec<&String> {
        let mut units: Vec<_> = near(&self.units, names).filter(|unit| is_one_of(unit, names)).collect();
        units.sort_unstable();
        units
    }

    /// The drop-ins that systemd reads for one of these units, or for an instance of one, sorted.
    fn drop_ins(&self, names: &[String], texts: &mut Texts) -> Vec<Arc<SourceFile>> {
        let near = near(&self.drop_ins, names).chain(&self.wide_drop_ins);
        let mut directories: Vec<_> = near.filter(|directory| reaches(directory, names)).collect();
        directories.sort_unstable();
        directories.into_iter().flat_map(|directory| texts.directory(self, &format!("{directory}.d"))).collect()
    }

    fn has(&self, name: &str) -> bool {
        self.names.contains(std::ffi::OsStr::new(name))
    }

    fn is_static(&self, target: &str) -> bool {
        self.has(target) && self.unit(target).is_some_and(|unit| is_group(&unit))
    }

    fn unit(&self, name: &str) -> Option<Unit> {
        read_text(&self.here.join(name)).map(|text| parse::unit(&text))
    }
}

impl Texts {
    fn file(&mut self, folder: &Folder, unit: &str) -> Option<Arc<SourceFile>> {
        let read = || Some(Arc::new(SourceFile { path: folder.path.join(unit), text: text(&folder.here.join(unit))? }));
        self.files.entry(folder.path.join(unit)).or_insert_with(read).clone()
    }

    /// The drop-ins in a directory of `folder`.
    fn directory(&mut self, folder: &Folder, name: &str) -> Vec<Arc<SourceFile>> {
        let read = || {
            let entries = std::fs::read_dir(folder.here.join(name)).into_iter().flatten().flatten();
            let mut files: Vec<_> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
            files.retain(|file| file.ends_with(".conf") && !file.starts_with('.'));
            files.sort();
            let path = |file: &String| (folder.path.join(name).join(file), folder.here.join(name).join(file));
            let files = files.iter().map(path);
            files.filter_map(|(path, here)| Some(Arc::new(SourceFile { path, text: text(&here)? }))).collect()
        };
        self.directories.entry(folder.path.join(name)).or_insert_with(read).clone()
    }
}

/// Whether `unit` is one of these, or an instance of one.
fn is_one_of(unit: &str, names: &[String]) -> bool {
    names.iter().any(|name| name == unit) || template_of(unit).is_some_and(|template| names.contains(&template))
}

/// Whether systemd reads drop-ins of one of these units in `directory` (given without `.d`).
fn reaches(directory: &str, names: &[String]) -> bool {
    if is_one_of(directory, names) {
        return true;
    }
    let kind = directory.rsplit_once('.').map_or(directory, |(_, kind)| kind);
    let begin = &directory[..stem(directory).len()];
    let mut likely = names.iter().filter(|name| name.ends_with(kind) && (begin == kind || name.starts_with(begin)));
    likely.any(|name| drop_in_directories(name).iter().any(|found| found == directory))
}

/// The part of a sorted list that may be about a group. All its units have the prefix of its target or of its slice, which
/// are the first of `names`.
fn near<'l>(list: &'l [String], names: &[String]) -> impl Iterator<Item = &'l String> {
    let beginning = |name: &String| {
        let stem = stem(name);
        let rest = &list[list.partition_point(|entry| entry.as_str() < stem)..];
        &rest[..rest.partition_point(|entry| entry.starts_with(stem))]
    };
    let of = |at: usize| names.get(at).map(beginning).unwrap_or_default();
    of(0).iter().chain(of(1))
}

/// A unit's name up to its `@` or type.
fn stem(unit: &str) -> &str {
    &unit[..unit.find('@').or(unit.rfind('.')).unwrap_or(unit.len())]
}

/// The text of a unit file, empty if it is a mask (a link to `/dev/null`, systemd.unit(5)).
fn text(path: &Path) -> Option<String> {
    if masks(path) { Some(String::new()) } else { read_text(path) }
}

/// Whether a unit file is a mask.
pub(crate) fn masks(path: &Path) -> bool {
    std::fs::read_link(path).is_ok_and(|target| target == Path::new("/dev/null"))
}

/// The text of a regular file that is not too large for a unit.
fn read_text(path: &Path) -> Option<String> {
    let metadata = std::fs::metadata(path).ok()?;
    let bytes = (metadata.is_file() && metadata.len() < 1 << 20).then(|| std::fs::read(path).ok())??;
    // systemd ignores lines that are not UTF-8; here only a change of the file matters.
    Some(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basic::scope::Scope;

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
        assert!(installed.is_static("g.target") && installed.is_masked("g.target"));
        assert!(!installed.is_masked("h.target") && !installed.is_masked("b.service"));
        assert!(!installed.is_static("h.target"));
        assert!(!installed.is_static("i.target"));
    }
}
