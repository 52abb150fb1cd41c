//! A change of a group's files: seen as it would be, put in place whole, and taken back if it can't be completed.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::basic::diagnostic::{Diagnostics, SourceFile};
use crate::basic::scope::Directories;
use crate::cli::common::output::complain;
use crate::generator::load;
use crate::generator::load::GroupOutcome;
use crate::group_file::discover;
use crate::group_file::discover::{Found, FoundGroup, Source};
use crate::model::Context;
use crate::unit::name::GroupName;

/// Files of a group, as they are to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Amendment {
    group: GroupName,
    files: Vec<(PathBuf, Option<String>)>,
}

/// Where a group's drop-in of this name stands in `directory`, one of [`Directories::groups`].
pub(crate) fn drop_in(directory: &Path, group: &GroupName, name: &str) -> PathBuf {
    directory.join(format!("{group}.toml.d")).join(name)
}

impl Amendment {
    /// No change yet.
    pub(crate) fn new(group: GroupName) -> Self {
        Self { group, files: Vec::new() }
    }

    /// The file is to hold `text`. Its path is as its author knows it: a drop-in, or the group file itself.
    pub(crate) fn write(mut self, path: PathBuf, text: String) -> Self {
        self.files.push((path, Some(text)));
        self
    }

    /// The file isn't to be there; one that isn't is no mistake.
    pub(crate) fn remove(mut self, path: PathBuf) -> Self {
        self.files.push((path, None));
        self
    }

    /// What the group comes to with the change, checked against all other groups and what is installed.
    pub(crate) fn foresee(&self, directories: &Directories, context: &Context) -> Option<GroupOutcome> {
        let mut found = discover::find(directories);
        for (path, text) in &self.files {
            self.amend(&mut found, directories, path, text.as_deref());
        }
        let outcome = load::resolve(found, directories, context);
        outcome.groups.into_iter().find(|outcome| outcome.name == self.group)
    }

    fn amend(&self, found: &mut Found, directories: &Directories, path: &Path, text: Option<&str>) {
        let file = text.map(|text| Arc::new(SourceFile { path: path.to_owned(), text: text.to_owned() }));
        let group = found.groups.iter_mut().find(|group| group.name == self.group);
        let is_drop_in =
            path.parent().is_some_and(|parent| parent.extension().is_some_and(|extension| extension == "d"));
        match (group, file) {
            (Some(group), file) if is_drop_in => {
                let Some(source) = &mut group.source else { return };
                replace(&mut source.drop_ins, directories, path, file);
            }
            (Some(group), Some(file)) => {
                group.path = path.to_owned();
                if let Some(source) = &mut group.source {
                    source.file = file;
                }
            }
            (None, Some(file)) if !is_drop_in => {
                let source = Source { name: self.group.clone(), file, drop_ins: Vec::new() };
                let group = FoundGroup {
                    name: self.group.clone(),
                    path: path.to_owned(),
                    source: Some(source),
                    diagnostics: Diagnostics::default(),
                };
                let place = found.groups.partition_point(|other| other.name < group.name);
                found.groups.insert(place, group);
            }
            _ => {}
        }
    }

    /// Puts all files in place, each whole or not at all; if one can't be, those before it are taken back.
    ///
    /// # Errors
    /// The path, and what stood in the way.
    pub(crate) fn place(&self, directories: &Directories) -> Result<Placed, (PathBuf, io::Error)> {
        let mut placed = Placed { before: Vec::new() };
        for (path, text) in &self.files {
            let path = directories.rooted(path);
            let before = match fs::read(&path) {
                Ok(bytes) => Some(bytes),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => {
                    placed.take_back();
                    return Err((path, error));
                }
            };
            let done = match text {
                Some(text) => put(&path, text.as_bytes()),
                None => remove(&path),
            };
            if let Err(error) = done {
                placed.take_back();
                return Err((path, error));
            }
            placed.before.push((path, before));
        }
        Ok(placed)
    }
}

/// Replaces a drop-in, as [`discover::find`] would find it: of two with the same name, the one in the more important
/// directory counts.
fn replace(drop_ins: &mut Vec<Arc<SourceFile>>, directories: &Directories, path: &Path, file: Option<Arc<SourceFile>>) {
    let rank = |path: &Path| {
        let directory = path.parent().and_then(Path::parent);
        directories.groups.iter().position(|known| Some(known.as_path()) == directory)
    };
    let name = path.file_name();
    let hides = |other: &SourceFile| other.path.file_name() == name && rank(&other.path) < rank(path);
    if drop_ins.iter().any(|other| hides(other)) {
        return;
    }
    drop_ins.retain(|other| match file {
        Some(_) => other.path.file_name() != name,
        None => other.path != path,
    });
    if let Some(file) = file {
        let place = drop_ins.partition_point(|other| other.path.file_name() < name);
        drop_ins.insert(place, file);
    }
}

/// What was there before.
#[derive(Debug)]
#[must_use = "a change that isn't completed has to be taken back"]
pub(crate) struct Placed {
    before: Vec<(PathBuf, Option<Vec<u8>>)>,
}

impl Placed {
    /// Whether a file isn't what it was.
    pub(crate) fn changed(&self) -> bool {
        self.before.iter().any(|(path, before)| fs::read(path).ok() != *before)
    }

    /// Puts back what was there.
    pub(crate) fn take_back(self) {
        for (path, before) in self.before.into_iter().rev() {
            let done = match before {
                Some(bytes) => put(&path, &bytes),
                None => remove(&path),
            };
            if let Err(error) = done {
                complain(format_args!("`{}` can't be taken back: {error}", path.display()));
            }
        }
    }
}

/// Makes `path` a file with these bytes, in one step: whoever reads it meanwhile sees the old one or the new one. A link
/// stays one; what it leads to is replaced. The mode of what was there is kept.
pub(crate) fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let resolved = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => fs::canonicalize(path)?,
        _ => path.to_owned(),
    };
    let (Some(directory), Some(name)) = (resolved.parent(), resolved.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    // A group that is hidden by a link to /dev/null, for one.
    if fs::metadata(&resolved).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(io::Error::other("what is there isn't a file"));
    }
    make_directory(directory)?;
    // systemd, editors and copse itself leave names alone that begin with a dot.
    let temporary = directory.join(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
    let mode = fs::metadata(&resolved).map_or(0o644, |metadata| metadata.permissions().mode() & 0o7777);
    let written = (|| {
        let mut file = File::create_new(&temporary)?;
        file.write_all(bytes)?;
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        file.sync_all()?;
        fs::rename(&temporary, &resolved)
    })();
    written.inspect_err(|_| drop(fs::remove_file(&temporary)))
}

/// Makes a directory that everybody may read, whatever the umask, and those above it.
pub(crate) fn make_directory(directory: &Path) -> io::Result<()> {
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

/// Removes a file, and a `….d` directory that is empty then.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    tidy(path);
    Ok(())
}

/// Removes the `….d` directory that `path` is in, if nothing is.
pub(crate) fn tidy(path: &Path) {
    let own = path.parent().filter(|parent| parent.extension().is_some_and(|extension| extension == "d"));
    if let Some(directory) = own {
        // Not empty: others have something there.
        let _ = fs::remove_dir(directory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basic::scope::Scope;

    const CONTEXT: Context = Context { scope: Scope::System, cpus: 1 };

    struct Root(tempfile::TempDir, Directories);

    impl Root {
        fn new(files: &[(&str, &str)]) -> Self {
            let root = tempfile::tempdir().unwrap();
            let directories = Directories::new(Scope::System, Some(root.path().into()), |_| None);
            for (path, text) in files {
                put(&directories.rooted(Path::new(path)), text.as_bytes()).unwrap();
            }
            Self(root, directories)
        }

        fn read(&self, path: &str) -> Option<String> {
            fs::read_to_string(self.1.rooted(Path::new(path))).ok()
        }
    }

    fn name(text: &str) -> GroupName {
        GroupName::new(text).unwrap()
    }

    fn instances(outcome: Option<GroupOutcome>) -> Option<usize> {
        let group = outcome?.group?;
        Some(group.processes.values().next()?.instances.as_ref()?.len())
    }

    fn scaled(count: u32) -> String {
        format!("[process.w]\ninstances = {count}\n")
    }

    #[test]
    fn what_is_foreseen_is_what_is_found_afterwards() {
        let base = ("/etc/copse/g.toml", "[process.w]\nexec = \"/a\"\ninstances = 1\n");
        for (there, written, removed, expected) in [
            (vec![], Some("/run/copse/g.toml.d/50.toml"), None, 5),
            (vec!["/run/copse/g.toml.d/90.toml"], Some("/run/copse/g.toml.d/50.toml"), None, 3),
            (vec!["/run/copse/g.toml.d/50.toml"], Some("/run/copse/g.toml.d/50.toml"), None, 5),
            (vec!["/run/copse/g.toml.d/50.toml"], Some("/etc/copse/g.toml.d/50.toml"), None, 5),
            // Hidden.
            (vec!["/etc/copse/g.toml.d/50.toml"], Some("/run/copse/g.toml.d/50.toml"), None, 3),
            (vec!["/run/copse/g.toml.d/50.toml"], None, Some("/run/copse/g.toml.d/50.toml"), 1),
            (vec!["/etc/copse/g.toml.d/50.toml"], None, Some("/run/copse/g.toml.d/50.toml"), 3),
        ] {
            let three = scaled(3);
            let files: Vec<_> = there.iter().map(|path| (*path, three.as_str())).chain([base]).collect();
            let Root(root, directories) = Root::new(&files);
            let mut amendment = Amendment::new(name("g"));
            if let Some(path) = written {
                amendment = amendment.write(path.into(), scaled(5));
            }
            if let Some(path) = removed {
                amendment = amendment.remove(path.into());
            }
            assert_eq!(instances(amendment.foresee(&directories, &CONTEXT)), Some(expected), "{there:?} {written:?}");
            let _ = amendment.place(&directories).unwrap();
            let found = load::load(&directories, &CONTEXT).groups.pop();
            assert_eq!(instances(found), Some(expected), "{there:?} {written:?}");
            drop(root);
        }
    }

    #[test]
    fn a_new_group_is_checked_against_the_others() {
        let root = Root::new(&[("/etc/copse/a-b.toml", "[process.c]\nexec = \"/a\"\n")]);
        let text = |process: &str| format!("[process.{process}]\nexec = \"/a\"\n");
        let amendment = |process: &str| Amendment::new(name("a")).write("/etc/copse/a.toml".into(), text(process));
        assert!(amendment("x").foresee(&root.1, &CONTEXT).unwrap().group.is_some());
        let amended = Amendment::new(name("a-b-c")).write("/etc/copse/a-b-c.toml".into(), text("a-b-c"));
        assert!(amended.foresee(&root.1, &CONTEXT).unwrap().diagnostics.has_errors());
    }

    #[test]
    fn what_cannot_be_completed_is_taken_back() {
        let root = Root::new(&[("/etc/copse/g.toml", "old"), ("/run/copse/x", "")]);
        let amendment = Amendment::new(name("g"))
            .write("/etc/copse/g.toml".into(), "new".to_owned())
            .write("/etc/copse/g.toml.d/1.toml".into(), "1".to_owned())
            .write("/run/copse/x/no-directory".into(), "2".to_owned());
        assert!(amendment.place(&root.1).is_err());
        assert_eq!(root.read("/etc/copse/g.toml").as_deref(), Some("old"));
        assert!(!root.1.rooted(Path::new("/etc/copse/g.toml.d")).exists());
    }

    #[test]
    fn a_link_stays_and_what_it_leads_to_is_replaced_with_its_mode() {
        let root = Root::new(&[("/srv/g.toml", "old")]);
        let real = root.1.rooted(Path::new("/srv/g.toml"));
        fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
        let link = root.0.path().join("link");
        std::os::unix::fs::symlink("srv/g.toml", &link).unwrap();
        put(&link, b"new").unwrap();
        let device = root.0.path().join("device");
        std::os::unix::fs::symlink("/dev/null", &device).unwrap();
        assert!(put(&device, b"new").is_err());
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(root.read("/srv/g.toml").as_deref(), Some("new"));
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o7777, 0o600);
        assert_eq!(fs::read_dir(root.0.path().join("srv")).unwrap().count(), 1);
    }
}
