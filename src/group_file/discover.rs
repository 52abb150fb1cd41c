//! Finds group files: precedence, masks, drop-ins.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::read::{not_a_file, read, unreadable};
use super::symlinks::{Chaser, Stop};
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, SourceFile};
use crate::basic::os_error::reason;
use crate::basic::scope::Directories;
use crate::unit::name::GroupName;

/// The text of a group's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The stem of the file's name.
    pub name: GroupName,
    pub file: Arc<SourceFile>,
    /// In the order in which they are merged.
    pub drop_ins: Vec<Arc<SourceFile>>,
}

/// A group with a file, readable or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundGroup {
    /// The stem of the file's name.
    pub name: GroupName,
    /// The group file, without `$COPSE_ROOT`.
    pub path: PathBuf,
    /// `None` if one of the files cannot be read.
    pub source: Option<Source>,
    /// About these files.
    pub diagnostics: Diagnostics,
}

/// The groups that were found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// Sorted by name.
    pub groups: Vec<FoundGroup>,
    /// About files of no group: a directory that cannot be read, a file with a stem that is no group name.
    pub diagnostics: Diagnostics,
}

/// All groups of these directories.
///
/// A file hides files of the same name in later directories. A link to `/dev/null` hides them and is no group itself. A
/// file that cannot be read is an error, not a reason to use the packaged one instead. Hidden files and files other than
/// `*.toml` are ignored.
pub fn find(directories: &Directories) -> Found {
    search(directories, None)
}

/// As [`find`], with a candidate in place of the file of its group, which is the last one then. The installed drop-ins of
/// the group apply, but for those with the name of a drop-in of the candidate.
pub fn find_with(directories: &Directories, candidate: &Candidate) -> Found {
    search(directories, Some(candidate))
}

fn search(directories: &Directories, candidate: Option<&Candidate>) -> Found {
    let mut search = Search { chaser: Chaser::new(directories), found: Found::default() };
    let mut files: BTreeMap<GroupName, (&Folder, PathBuf, FileType)> = BTreeMap::new();
    let mut drop_ins: BTreeMap<GroupName, Vec<PathBuf>> = BTreeMap::new();
    let folders: Vec<Folder> = directories.groups.iter().filter_map(|path| search.folder(path)).collect();
    for folder in &folders {
        for (name, kind) in search.entries(folder) {
            let stem = |suffix: &str| name.to_str().and_then(|name| name.strip_suffix(suffix));
            if let Some(group) = stem(".toml.d").and_then(GroupName::new) {
                drop_ins.entry(group).or_default().push(folder.path.join(&name));
            } else if let Some(group) = stem(".toml").and_then(GroupName::new) {
                files.entry(group).or_insert((folder, name, kind));
            } else if is_toml(&name) {
                search.found.diagnostics.push(bad_name(&folder.path.join(&name)));
            }
        }
    }
    let replaced = candidate.map(|candidate| {
        files.remove(&candidate.group);
        drop_ins.remove(&candidate.group).unwrap_or_default()
    });
    for (group, (folder, name, kind)) in files {
        let of_group = drop_ins.remove(&group).unwrap_or_default();
        search.group(group, folder, &name, kind, &of_group);
    }
    for path in drop_ins.into_values().flatten() {
        search.without_group(&path);
    }
    if let Some(candidate) = candidate {
        search.candidate(candidate, &replaced.unwrap_or_default());
    }
    search.found
}

/// The named files with the drop-ins next to them (`FILE.d/*.toml`), in any directory and of any owner.
pub fn named(paths: &[&Path]) -> Found {
    let mut found = Found::default();
    for path in paths {
        let Some(name) = path.file_stem().and_then(|stem| stem.to_str()).and_then(GroupName::new) else {
            found.diagnostics.push(bad_name(path));
            continue;
        };
        let mut diagnostics = Diagnostics::default();
        let source = diagnostics.ok(read_named(path, &name));
        found.groups.push(FoundGroup { name, path: path.to_path_buf(), source, diagnostics });
    }
    found.groups.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

fn read_named(path: &Path, name: &GroupName) -> Result<Source, Diagnostic> {
    let Candidate { group, file, drop_ins } = Candidate::read(path, name)?;
    Ok(Source { name: group, file, drop_ins: drop_ins.into_values().flatten().collect() })
}

/// A group file that is not installed, with the drop-ins next to it (`FILE.d/*.toml`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The group of which it is the file. Its own name is not used.
    pub group: GroupName,
    pub file: Arc<SourceFile>,
    /// By the name of their file; `None` is a link to `/dev/null`, which hides the installed drop-in of that name.
    pub drop_ins: BTreeMap<OsString, Option<Arc<SourceFile>>>,
}

impl Candidate {
    /// Reads a file in any directory and of any owner.
    ///
    /// # Errors
    /// The file, or a drop-in, cannot be read.
    pub fn read(path: &Path, group: &GroupName) -> Result<Self, Diagnostic> {
        let file = |path: &Path| {
            let text = read(CWD, path, path, true, |_| Ok(()))?;
            Ok(Arc::new(SourceFile { path: path.to_owned(), text }))
        };
        let mut candidate = Self { group: group.clone(), file: file(path)?, drop_ins: BTreeMap::new() };
        let mut directory = path.as_os_str().to_owned();
        directory.push(".d");
        // A group without drop-ins has no such directory.
        let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| is_toml(entry.file_name())) {
            let path = entry.path();
            let masked = std::fs::read_link(&path).is_ok_and(|link| link == Path::new("/dev/null"));
            let drop_in = if masked { None } else { Some(file(&path)?) };
            candidate.drop_ins.insert(entry.file_name(), drop_in);
        }
        Ok(candidate)
    }

    /// The same texts at the paths that they have when they are installed in `directory`.
    #[must_use]
    pub fn installed_in(&self, directory: &Path) -> Self {
        let path = directory.join(format!("{}.toml", self.group));
        let drop_ins = directory.join(format!("{}.toml.d", self.group));
        let moved = |file: &Arc<SourceFile>, path| Arc::new(SourceFile { path, text: file.text.clone() });
        let drop_in = |(name, file): (&OsString, &Option<Arc<SourceFile>>)| {
            (name.clone(), file.as_ref().map(|file| moved(file, drop_ins.join(name))))
        };
        Self {
            group: self.group.clone(),
            file: moved(&self.file, path),
            drop_ins: self.drop_ins.iter().map(drop_in).collect(),
        }
    }
}

fn bad_name(path: &Path) -> Diagnostic {
    Diagnostic::file(Code::GroupName, path, "the stem of the file name is not a valid group name")
        .help("use letters, digits, `_`, `.` and `-`, with a letter or a digit first")
}

/// A `*.toml` that is not hidden.
fn is_toml(name: impl AsRef<OsStr>) -> bool {
    let name = name.as_ref().as_bytes();
    name.ends_with(b".toml") && !name.starts_with(b".")
}

/// An open directory.
struct Folder {
    /// Without `$COPSE_ROOT`.
    path: PathBuf,
    fd: OwnedFd,
    /// What users other than root can write on the way to it.
    writable: Option<String>,
}

struct Search<'a> {
    chaser: Chaser<'a>,
    found: Found,
}

impl Search<'_> {
    /// Opens a directory, if it exists.
    fn folder(&mut self, path: &Path) -> Option<Folder> {
        let folder = self.open(path);
        self.found.diagnostics.ok(folder).flatten()
    }

    fn open(&mut self, path: &Path) -> Result<Option<Folder>, Diagnostic> {
        let failed = |error: Errno| unreadable(path, "directory", error);
        let chased = match self.chaser.chase(path) {
            Ok(chased) => chased,
            Err(Stop::Mask | Stop::Missing) => return Ok(None),
            Err(stop) => return Err(unfollowed(path, &stop)),
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::open(&chased.path, flags, Mode::empty()).map_err(failed)?;
        // The directory may have been replaced since it was chased: the open one counts.
        let stat = rustix::fs::fstat(&fd).map_err(failed)?;
        let own = self.chaser.trust.and_then(|trust| trust.writable(path, &stat));
        Ok(Some(Folder { path: path.to_owned(), fd, writable: chased.writable.or(own) }))
    }

    /// The names in a directory, sorted, without hidden ones.
    fn entries(&mut self, folder: &Folder) -> Vec<(PathBuf, FileType)> {
        list(&folder.fd).unwrap_or_else(|error| {
            self.found.diagnostics.push(unreadable(&folder.path, "directory", error));
            Vec::new()
        })
    }

    fn group(&mut self, name: GroupName, folder: &Folder, file: &Path, kind: FileType, drop_ins: &[PathBuf]) {
        let path = folder.path.join(file);
        let mut diagnostics = Diagnostics::default();
        let file = diagnostics.ok(self.file(folder, file, kind));
        // Masked, and its drop-ins with it.
        if file == Some(None) {
            return;
        }
        let drop_ins = self.drop_ins(BTreeMap::new(), drop_ins, &mut diagnostics);
        let file = file.flatten().filter(|_| !diagnostics.has_errors());
        let source = file.map(|file| Source { name: name.clone(), file, drop_ins });
        self.found.groups.push(FoundGroup { name, path, source, diagnostics });
    }

    fn candidate(&mut self, candidate: &Candidate, directories: &[PathBuf]) {
        let Candidate { group, file, drop_ins } = candidate.clone();
        let mut diagnostics = Diagnostics::default();
        let own = drop_ins.into_iter().map(|(name, file)| (PathBuf::from(name), file)).collect();
        let drop_ins = self.drop_ins(own, directories, &mut diagnostics);
        let path = file.path.clone();
        let source = Some(Source { name: group.clone(), file, drop_ins }).filter(|_| !diagnostics.has_errors());
        self.found.groups.push(FoundGroup { name: group, path, source, diagnostics });
    }

    /// All drop-ins of a group; of several with one name that in `files`, or else the first directory's.
    fn drop_ins(
        &mut self,
        mut files: BTreeMap<PathBuf, Option<Arc<SourceFile>>>,
        directories: &[PathBuf],
        diagnostics: &mut Diagnostics,
    ) -> Vec<Arc<SourceFile>> {
        for path in directories {
            let Some(folder) = diagnostics.ok(self.open(path)).flatten() else { continue };
            for (name, kind) in self.entries(&folder) {
                if !is_toml(&name) || files.contains_key(&name) {
                    continue;
                }
                let file = diagnostics.ok(self.file(&folder, &name, kind)).flatten();
                files.insert(name, file);
            }
        }
        files.into_values().flatten().collect()
    }

    /// Reads a file; `None` if it is a link to `/dev/null`.
    fn file(&mut self, folder: &Folder, name: &Path, kind: FileType) -> Result<Option<Arc<SourceFile>>, Diagnostic> {
        let path = folder.path.join(name);
        let chased = match kind {
            FileType::RegularFile => None,
            FileType::Symlink | FileType::Unknown => match self.chaser.chase(&path) {
                Ok(chased) if chased.kind != FileType::RegularFile => return Err(not_a_file(&path, chased.kind)),
                Ok(chased) => Some(chased),
                Err(Stop::Mask) => return Ok(None),
                Err(stop) => return Err(unfollowed(&path, &stop)),
            },
            // Not even opened: that alone makes some devices act.
            kind => return Err(not_a_file(&path, kind)),
        };
        let (directory, name, writable) = match &chased {
            None => (folder.fd.as_fd(), name, None),
            Some(chased) => (CWD, chased.path.as_path(), chased.writable.as_ref()),
        };
        let writable = folder.writable.as_ref().or(writable).cloned();
        let check = |stat: &Stat| {
            let found = writable.or_else(|| self.chaser.trust.and_then(|trust| trust.writable(&path, stat)));
            found.map_or(Ok(()), |found| Err(writable_by_others(&path, &found)))
        };
        let text = read(directory, name, &path, false, check)?;
        Ok(Some(Arc::new(SourceFile { path, text })))
    }

    fn without_group(&mut self, path: &Path) {
        let Some(folder) = self.folder(path) else { return };
        if self.entries(&folder).iter().any(|(name, _)| is_toml(name)) {
            let message = "the group of these drop-ins has no file, ignoring";
            self.found.diagnostics.push(Diagnostic::file(Code::NoGroup, path, message));
        }
    }
}

fn list(directory: &OwnedFd) -> Result<Vec<(PathBuf, FileType)>, Errno> {
    let mut entries = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !name.starts_with(b".") {
            entries.push((PathBuf::from(OsStr::from_bytes(name)), entry.file_type()));
        }
    }
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(entries)
}

fn writable_by_others(path: &Path, found: &str) -> Diagnostic {
    Diagnostic::file(Code::Writable, path, format!("the group file is writable by users other than root: {found}"))
        .help("run `chown root` and `chmod go-w` on it")
}

fn unfollowed(path: &Path, stop: &Stop) -> Diagnostic {
    match stop {
        Stop::Dangling(target) => {
            let message = format!("the link points to `{}`, which does not exist", target.display());
            Diagnostic::file(Code::DanglingLink, path, message)
        }
        Stop::Loop => Diagnostic::file(Code::DanglingLink, path, "the links form a loop"),
        Stop::Error(at, error) => {
            let message = format!("cannot read `{}`: {}", at.display(), reason(error));
            Diagnostic::file(Code::Unreadable, path, message)
        }
        Stop::Mask | Stop::Missing => unreadable(path, "file", Errno::NOENT),
    }
}
