//! Finds group files: precedence, masks, drop-ins.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, SourceFile};
use crate::basic::scope::Directories;
use crate::unit::name::GroupName;

use super::symlinks::{Chaser, Stop};

/// A group's files as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The stem of the file's name.
    pub name: GroupName,
    /// The group file.
    pub file: Arc<SourceFile>,
    /// Its drop-ins, in the order in which they are merged.
    pub drop_ins: Vec<Arc<SourceFile>>,
}

/// A group whose file was found, readable or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundGroup {
    /// The stem of the file's name.
    pub name: GroupName,
    /// The group file, as its author knows it (without `$COPSE_ROOT`).
    pub path: PathBuf,
    /// The texts, unless one of the files couldn't be read: then `diagnostics` says why.
    pub source: Option<Source>,
    /// About these files.
    pub diagnostics: Diagnostics,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// By name.
    pub groups: Vec<FoundGroup>,
    /// About what belongs to no group: a directory that can't be read, a file whose stem can't be a name.
    pub diagnostics: Diagnostics,
}

/// All groups of these directories.
///
/// A file hides those of the same name in later directories, whatever it is: a link to `/dev/null` hides and is
/// nothing itself; one that can't be read is an error and not a reason to take the packaged one instead.
/// Files whose names begin with a dot are none (editors' own); others than `*.toml` aren't looked at.
pub fn find(directories: &Directories) -> Found {
    let mut search = Search { chaser: Chaser::new(directories), found: Found::default() };
    let mut files: BTreeMap<GroupName, Entry> = BTreeMap::new();
    let mut drop_ins: BTreeMap<GroupName, Vec<PathBuf>> = BTreeMap::new();
    let folders: Vec<Folder> = directories.groups.iter().filter_map(|path| search.folder(path)).collect();
    for (index, folder) in folders.iter().enumerate() {
        for (name, kind) in search.entries(folder) {
            let stem = |suffix: &str| name.to_str().and_then(|name| name.strip_suffix(suffix));
            if let Some(group) = stem(".toml.d").and_then(GroupName::new) {
                drop_ins.entry(group).or_default().push(folder.path.join(&name));
            } else if let Some(group) = stem(".toml").and_then(GroupName::new) {
                files.entry(group).or_insert(Entry { folder: index, name, kind });
            } else if name.extension().is_some_and(|extension| extension == "toml") {
                search.found.diagnostics.push(bad_name(&folder.path.join(&name)));
            }
        }
    }
    for (name, entry) in &files {
        let of_group = drop_ins.remove(name).unwrap_or_default();
        search.group(name, &folders[entry.folder], entry, &of_group);
    }
    for path in drop_ins.into_values().flatten() {
        search.without_group(&path);
    }
    search.found
}

/// The named files, each with the drop-ins beside it (`FILE.d/*.toml`), wherever they are and whoever may write them.
pub fn named(paths: &[&Path]) -> Found {
    let mut found = Found::default();
    for path in paths {
        let Some(name) = path.file_stem().and_then(|stem| stem.to_str()).and_then(GroupName::new) else {
            found.diagnostics.push(bad_name(path));
            continue;
        };
        let mut diagnostics = Diagnostics::default();
        let source = read_named(path, &name).map_err(|diagnostic| diagnostics.push(diagnostic)).ok();
        found.groups.push(FoundGroup { name, path: path.to_path_buf(), source, diagnostics });
    }
    found.groups.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

fn read_named(path: &Path, name: &GroupName) -> Result<Source, Diagnostic> {
    let file = |path: &Path| {
        let text = super::read::read(CWD, path, path, true, |_| None)?;
        Ok(Arc::new(SourceFile { path: path.to_owned(), text }))
    };
    let mut source = Source { name: name.clone(), file: file(path)?, drop_ins: Vec::new() };
    let mut beside = path.as_os_str().to_owned();
    beside.push(".d");
    // Without drop-ins there is no directory.
    let mut names: Vec<PathBuf> =
        std::fs::read_dir(&beside).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    names.retain(|path| path.file_name().is_some_and(|name| is_toml(Path::new(name))));
    names.sort();
    for path in names {
        let hidden = std::fs::read_link(&path).is_ok_and(|link| link == Path::new("/dev/null"));
        if !hidden {
            source.drop_ins.push(file(&path)?);
        }
    }
    Ok(source)
}

fn bad_name(path: &Path) -> Diagnostic {
    Diagnostic::file(Code::GroupName, path, "the stem of the file's name can't be a group's name")
        .help("a group's name begins with a letter or a digit and holds letters, digits, `_`, `.` and `-`")
}

/// Whether this is a `*.toml` that isn't hidden.
fn is_toml(name: &Path) -> bool {
    let hidden = name.as_os_str().as_encoded_bytes().first() == Some(&b'.');
    !hidden && name.extension().is_some_and(|extension| extension == "toml")
}

/// A directory that is open.
struct Folder {
    /// As its author knows it.
    path: PathBuf,
    fd: OwnedFd,
    /// Who else may write it, in words.
    writable: Option<String>,
}

struct Entry {
    folder: usize,
    name: PathBuf,
    kind: FileType,
}

struct Search<'a> {
    chaser: Chaser<'a>,
    found: Found,
}

impl Search<'_> {
    /// Opens one of the directories, if it is there.
    fn folder(&mut self, path: &Path) -> Option<Folder> {
        self.open(path).map_err(|diagnostic| diagnostic.map(|one| self.found.diagnostics.push(one))).ok()
    }

    fn open(&mut self, path: &Path) -> Result<Folder, Option<Diagnostic>> {
        let failed = |error: Errno| {
            Some(Diagnostic::file(
                Code::Unreadable,
                path,
                format!("the directory can't be read: {}", super::read::words(error)),
            ))
        };
        let chased = self.chaser.chase(path).map_err(|stop| match stop {
            Stop::Mask | Stop::Missing => None,
            stop => Some(unfollowed(path, &stop)),
        })?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::open(&chased.path, flags, Mode::empty()).map_err(failed)?;
        // What was walked past and what is open now may be two; who may write the open one counts.
        let stat = rustix::fs::fstat(&fd).map_err(failed)?;
        let own = self.chaser.trust.and_then(|trust| trust.writable(path, &stat));
        Ok(Folder { path: path.to_owned(), fd, writable: chased.writable.or(own) })
    }

    /// The names in a directory, sorted, those that begin with a dot left out.
    fn entries(&mut self, folder: &Folder) -> Vec<(PathBuf, FileType)> {
        match list(&folder.fd) {
            Ok(entries) => entries,
            Err(error) => {
                let message = format!("the directory can't be read: {}", super::read::words(error));
                self.found.diagnostics.push(Diagnostic::file(Code::Unreadable, &folder.path, message));
                Vec::new()
            }
        }
    }

    fn group(&mut self, name: &GroupName, folder: &Folder, entry: &Entry, drop_ins: &[PathBuf]) {
        let path = folder.path.join(&entry.name);
        let mut diagnostics = Diagnostics::default();
        let file = match self.file(folder, &entry.name, entry.kind) {
            Ok(file) => file.map(Some),
            Err(diagnostic) => {
                diagnostics.push(diagnostic);
                Some(None)
            }
        };
        // Hidden by a link to /dev/null, with its drop-ins.
        let Some(file) = file else { return };
        let drop_ins = self.drop_ins(drop_ins, &mut diagnostics);
        let source = file.filter(|_| !diagnostics.has_errors());
        let source = source.map(|file| Source { name: name.clone(), file, drop_ins });
        self.found.groups.push(FoundGroup { name: name.clone(), path, source, diagnostics });
    }

    /// Reads all of a group's drop-ins; of same-named ones the first directory's.
    fn drop_ins(&mut self, directories: &[PathBuf], diagnostics: &mut Diagnostics) -> Vec<Arc<SourceFile>> {
        let mut files: BTreeMap<PathBuf, Option<Arc<SourceFile>>> = BTreeMap::new();
        for path in directories {
            let folder = match self.open(path) {
                Ok(folder) => folder,
                Err(diagnostic) => {
                    diagnostic.into_iter().for_each(|one| diagnostics.push(one));
                    continue;
                }
            };
            for (name, kind) in self.entries(&folder) {
                if !is_toml(&name) || files.contains_key(&name) {
                    continue;
                }
                let file = self.file(&folder, &name, kind).unwrap_or_else(|diagnostic| {
                    diagnostics.push(diagnostic);
                    None
                });
                files.insert(name, file);
            }
        }
        files.into_values().flatten().collect()
    }

    /// Reads one file; `None` where a link to `/dev/null` hides it.
    fn file(&mut self, folder: &Folder, name: &Path, kind: FileType) -> Result<Option<Arc<SourceFile>>, Diagnostic> {
        let path = folder.path.join(name);
        let trust = self.chaser.trust;
        let judge = |writable: Option<String>| {
            let path = &path;
            move |stat: &Stat| {
                let found = writable.or_else(|| trust.and_then(|trust| trust.writable(path, stat)));
                found.map(|found| writable_by_others(path, &found))
            }
        };
        let text = match kind {
            FileType::RegularFile => super::read::read(&folder.fd, name, &path, false, judge(folder.writable.clone()))?,
            FileType::Symlink | FileType::Unknown => {
                let chased = match self.chaser.chase(&path) {
                    Ok(chased) => chased,
                    Err(Stop::Mask) => return Ok(None),
                    Err(stop) => return Err(unfollowed(&path, &stop)),
                };
                if chased.kind != FileType::RegularFile {
                    return Err(super::read::not_a_file(&path, chased.kind));
                }
                let writable = folder.writable.clone().or(chased.writable);
                super::read::read(CWD, &chased.path, &path, false, judge(writable))?
            }
            // Not even opened: some devices do things when they are.
            kind => return Err(super::read::not_a_file(&path, kind)),
        };
        Ok(Some(Arc::new(SourceFile { path, text })))
    }

    fn without_group(&mut self, path: &Path) {
        let Some(folder) = self.folder(path) else { return };
        if self.entries(&folder).iter().any(|(name, _)| is_toml(name)) {
            let message = "drop-ins for a group that has no file: nothing was read";
            self.found.diagnostics.push(Diagnostic::file(Code::NoGroup, path, message));
        }
    }
}

fn list(directory: &OwnedFd) -> Result<Vec<(PathBuf, FileType)>, Errno> {
    use std::os::unix::ffi::OsStrExt;
    let mut entries = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !name.starts_with(b".") {
            entries.push((PathBuf::from(std::ffi::OsStr::from_bytes(name)), entry.file_type()));
        }
    }
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(entries)
}

fn writable_by_others(path: &Path, found: &str) -> Diagnostic {
    Diagnostic::file(Code::Writable, path, format!("others than root may write this group file: {found}"))
        .help("whoever may write it is root: `chown root` and `chmod go-w` what is named here")
}

fn unfollowed(path: &Path, stop: &Stop) -> Diagnostic {
    match stop {
        Stop::Dangling(target) => {
            let message = format!("a link that leads nowhere: `{}` doesn't exist", target.display());
            Diagnostic::file(Code::DanglingLink, path, message)
        }
        Stop::Loop => Diagnostic::file(Code::DanglingLink, path, "a link that leads round in a circle"),
        Stop::Error(at, error) => {
            let message = format!("can't be read: `{}`: {}", at.display(), super::read::words(*error));
            Diagnostic::file(Code::Unreadable, path, message)
        }
        Stop::Mask | Stop::Missing => {
            Diagnostic::file(Code::Unreadable, path, format!("can't be read: {}", super::read::words(Errno::NOENT)))
        }
    }
}
