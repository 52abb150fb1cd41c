//! Whether the files that a process was started from changed.
//!
//! No record shows what a program reads. The file system keeps when a file, or a link on the way to it, was last changed (its
//! *ctime*, which no program can set back): a file that is older than the process is what the process found. A younger one may
//! still have the same content. For programs that is known, as the kernel keeps the file that a process runs from even if it
//! was deleted (`/proc/PID/exe`, proc_pid_exe(5)); for inputs, if `copse apply` recorded a fingerprint for this very run.
//!
//! Not detected: a file changed in the first milliseconds of a process (the kernel's clock for files is that coarse), which
//! the process most likely finds; and, without a fingerprint, an input that was removed or whose directory was renamed.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use crate::basic::fingerprint;
use crate::basic::fingerprint::Step;
use crate::state::last_apply::Prints;

/// Microseconds since the epoch.
pub type Moment = u64;

/// The kernel's limit (path_resolution(7)).
const LINKS_MAX: usize = 40;

/// The files that a unit is started from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Files {
    /// Its `inputs`, which it reads itself.
    pub inputs: Vec<PathBuf>,
    /// What the service manager reads at its start: `credentials`, `environment-file`.
    pub handed: Vec<PathBuf>,
}

impl Files {
    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty() && self.handed.is_empty()
    }

    /// Fingerprints of their present content.
    pub fn prints(&self) -> Prints {
        Prints { inputs: fingerprint(&self.inputs), handed: Some(fingerprint(&self.handed)) }
    }
}

/// Files, each looked at once: a thousand processes may have the same inputs.
#[derive(Debug, Default)]
pub struct Looked {
    newest: HashMap<PathBuf, Moment>,
    fingerprints: HashMap<Vec<PathBuf>, String>,
    denied: BTreeSet<PathBuf>,
}

impl Looked {
    /// When the file at `path` was last changed, or anything below it if it is a directory, or a link on the way. Zero if there
    /// is nothing, or permission is denied.
    pub fn newest(&mut self, path: &Path) -> Moment {
        if let Some(known) = self.newest.get(path) {
            return *known;
        }
        let newest = newest(path, &mut Vec::new());
        if std::fs::metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied) {
            self.denied.insert(path.to_owned());
        }
        self.newest.insert(path.to_owned(), newest);
        newest
    }

    /// The files that the caller may not look at.
    pub fn denied(&self) -> impl Iterator<Item = &Path> {
        self.denied.iter().map(PathBuf::as_path)
    }

    /// [`fingerprint`]
    pub fn fingerprint(&mut self, inputs: &[PathBuf]) -> &str {
        self.fingerprints.entry(inputs.to_vec()).or_insert_with_key(|inputs| fingerprint(inputs))
    }

    /// Those of `inputs` that changed since a process started at `since`. `recorded`: their fingerprint at its start.
    pub fn changed(&mut self, inputs: &[PathBuf], since: Moment, recorded: Option<&str>) -> Vec<PathBuf> {
        let now = recorded.filter(|print| !print.is_empty()).map(|print| (self.fingerprint(inputs), print));
        // An input that is unreadable now may be the same.
        if let Some((now, recorded)) = now.filter(|(now, _)| !now.is_empty()) {
            if now == recorded {
                return Vec::new();
            }
            let newer: Vec<_> = inputs.iter().filter(|path| self.newest(path) > since).cloned().collect();
            // Without a trace, such as a removed file.
            return if newer.is_empty() { inputs.iter().take(1).cloned().collect() } else { newer };
        }
        inputs.iter().filter(|path| self.newest(path) > since).cloned().collect()
    }

    /// Whether `program` is not what process `pid` runs, which was started from it at `since`.
    pub fn program_changed(&mut self, program: &Path, pid: u32, since: Moment) -> bool {
        let Ok(now) = std::fs::metadata(program) else { return false };
        let runs = PathBuf::from(format!("/proc/{pid}/exe"));
        let Ok(then) = std::fs::metadata(&runs) else { return self.newest(program) > since };
        if (now.dev(), now.ino()) == (then.dev(), then.ino()) || same_content(program, &runs).unwrap_or(false) {
            return false;
        }
        // The file was replaced. Otherwise it is a script, or a program that executed another.
        let replaced = std::fs::read_link(&runs).ok().and_then(|link| {
            let link = link.into_os_string().into_string().ok()?;
            let name = link.strip_suffix(" (deleted)").unwrap_or(&link);
            Some(std::fs::canonicalize(program).ok()? == Path::new(name))
        });
        replaced == Some(true) || self.newest(program) > since
    }
}

/// A fingerprint of the content and modes of `inputs`, recursively, following links; also of which are missing. Empty if there
/// are none, or one is unreadable.
pub fn fingerprint(inputs: &[PathBuf]) -> String {
    if inputs.is_empty() {
        return String::new();
    }
    let inputs: Vec<OsString> = inputs.iter().map(|path| path.as_os_str().to_owned()).collect();
    fingerprint::of(&Step { command: &[], definitions: &[], inputs: &inputs, credentials: None }).unwrap_or_default()
}

/// `above`: the directories on the way here; a second visit is a loop of links.
fn newest(path: &Path, above: &mut Vec<(u64, u64)>) -> Moment {
    let mut newest = links(path);
    let Ok(metadata) = std::fs::metadata(path) else { return newest };
    newest = newest.max(changed_at(&metadata));
    let identity = (metadata.dev(), metadata.ino());
    if metadata.is_dir() && !above.contains(&identity) {
        above.push(identity);
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            newest = newest.max(self::newest(&entry.path(), above));
        }
        above.pop();
    }
    newest
}

/// The youngest of the links on the way to `path`.
fn links(path: &Path) -> Moment {
    let (mut newest, mut followed) = (0, 0);
    let mut reached = PathBuf::from("/");
    let mut rest: Vec<OsString> = parts(path);
    while let Some(part) = rest.pop() {
        if part == ".." {
            reached.pop();
            continue;
        }
        let here = reached.join(&part);
        match std::fs::symlink_metadata(&here) {
            Ok(metadata) if metadata.is_symlink() && followed < LINKS_MAX => {
                followed += 1;
                newest = newest.max(changed_at(&metadata));
                let Ok(target) = std::fs::read_link(&here) else { return newest };
                if target.is_absolute() {
                    reached = PathBuf::from("/");
                }
                rest.extend(parts(&target));
            }
            Ok(_) => reached = here,
            Err(_) => return newest,
        }
    }
    newest
}

/// The names in a path, in reverse order.
fn parts(path: &Path) -> Vec<OsString> {
    let names = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    names.collect::<Vec<_>>().into_iter().rev().collect()
}

fn changed_at(metadata: &std::fs::Metadata) -> Moment {
    let micros = metadata.ctime().saturating_mul(1_000_000).saturating_add(metadata.ctime_nsec() / 1_000);
    Moment::try_from(micros).unwrap_or(0)
}

fn same_content(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut here, mut there) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let length = one.read(&mut here)?;
        if length == 0 {
            return Ok(true);
        }
        other.read_exact(&mut there[..length])?;
        if here[..length] != there[..length] {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::process::{Command, Stdio};

    use super::*;

    /// The kernel's clock for files, by a file.
    fn now(root: &Path) -> Moment {
        let path = root.join("clock");
        std::fs::write(&path, "").unwrap();
        changed_at(&std::fs::metadata(path).unwrap())
    }

    /// Lets that clock go on.
    fn later(root: &Path) -> Moment {
        let before = now(root);
        std::iter::repeat_with(|| now(root)).find(|now| *now > before).unwrap()
    }

    #[test]
    fn every_later_change_is_detected() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        std::fs::create_dir_all(at("one/sub")).unwrap();
        std::fs::create_dir_all(at("two/sub")).unwrap();
        std::fs::write(at("one/sub/file"), "1").unwrap();
        std::fs::write(at("two/sub/file"), "2").unwrap();
        symlink("one", at("current")).unwrap();
        symlink(at("current/sub/file"), at("link")).unwrap();
        let flip = || {
            symlink("two", at("new")).unwrap();
            std::fs::rename(at("new"), at("current")).unwrap();
        };
        for (what, input, change) in [
            ("content", "one/sub/file", &(|| std::fs::write(at("one/sub/file"), "x").unwrap()) as &dyn Fn()),
            ("a link on the way, flipped", "current/sub/file", &flip),
            ("a link behind a link", "link", &flip),
            ("a file below", "two", &|| std::fs::write(at("two/sub/more"), "").unwrap()),
        ] {
            let since = later(root.path());
            assert_eq!(Looked::default().changed(&[at(input)], since, None), Vec::<PathBuf>::new(), "{what}");
            later(root.path());
            change();
            assert_eq!(Looked::default().changed(&[at(input)], since, None), [at(input)], "{what}");
        }
        assert_eq!(Looked::default().newest(&at("missing/x")), 0);
        symlink("round", at("round")).unwrap();
        Looked::default().newest(&at("round"));
    }

    #[test]
    fn a_fingerprint_is_more_exact_than_a_time() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("input");
        std::fs::write(&path, "a").unwrap();
        let (since, recorded) = (now(root.path()), fingerprint(std::slice::from_ref(&path)));
        later(root.path());
        let changed = |print: &str| Looked::default().changed(std::slice::from_ref(&path), since, Some(print));
        std::fs::write(&path, "a").unwrap();
        assert_eq!(changed(&recorded), Vec::<PathBuf>::new(), "written again, the same");
        assert_eq!(changed(""), std::slice::from_ref(&path), "without a fingerprint it counts as changed");
        std::fs::write(&path, "b").unwrap();
        assert_eq!(changed(&recorded), std::slice::from_ref(&path));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(changed(&recorded), std::slice::from_ref(&path), "removed");
    }

    #[test]
    fn a_program_is_compared_with_what_runs() {
        let root = tempfile::tempdir().unwrap();
        let program = root.path().join("sleep");
        let install = |from: &str, more: &[u8]| {
            let mut bytes = std::fs::read(from).unwrap();
            bytes.extend_from_slice(more);
            std::fs::write(root.path().join("new"), bytes).unwrap();
            std::fs::set_permissions(root.path().join("new"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
                .unwrap();
            std::fs::rename(root.path().join("new"), &program).unwrap();
        };
        let sleep = std::fs::canonicalize("/bin/sleep").unwrap();
        let sleep = sleep.to_str().unwrap();
        install(sleep, b"");
        let mut child = loop {
            // A child of another test, forked before it executes, may hold the file open for writing.
            match Command::new(&program).arg("60").stdin(Stdio::null()).spawn() {
                Ok(child) => break child,
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::ExecutableFileBusy),
            }
        };
        let since = later(root.path());
        let changed = || Looked::default().program_changed(&program, child.id(), since);
        assert!(!changed());
        install(sleep, b"");
        assert!(!changed(), "installed again, the same");
        install(sleep, b"more");
        assert!(changed());
        std::fs::remove_file(&program).unwrap();
        assert!(!changed(), "nothing to start it from");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
