//! A change of a group's files: checked before it is made, and undone if it cannot be completed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::files;
use crate::basic::diagnostic::{Diagnostics, SourceFile};
use crate::basic::scope::Directories;
use crate::cli::common::error::Error;
use crate::cli::common::message::warn;
use crate::generator::load;
use crate::generator::load::GroupOutcome;
use crate::group_file::discover;
use crate::group_file::discover::{Found, FoundGroup, Source};
use crate::model::Context;
use crate::unit::name::GroupName;

/// The files of a group that change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Transaction {
    group: GroupName,
    /// The new text of each, or `None` to remove it. Paths are without `$COPSE_ROOT`.
    files: Vec<(PathBuf, Option<String>)>,
}

/// The path of a drop-in in `directory`, one of [`Directories::groups`].
pub(super) fn drop_in(directory: &Path, group: &GroupName, name: &str) -> PathBuf {
    directory.join(format!("{group}.toml.d")).join(name)
}

impl Transaction {
    pub(super) fn new(group: GroupName) -> Self {
        Self { group, files: Vec::new() }
    }

    /// Writes a drop-in, or the group file.
    pub(super) fn write(mut self, path: PathBuf, text: String) -> Self {
        self.files.push((path, Some(text)));
        self
    }

    /// Removes a file; a missing one is fine.
    pub(super) fn remove(mut self, path: PathBuf) -> Self {
        self.files.push((path, None));
        self
    }

    /// The group as it is going to be, checked against all others and what is installed. `None` if there is no such
    /// group.
    pub(super) fn preview(&self, directories: &Directories, context: &Context) -> Option<GroupOutcome> {
        let mut found = discover::find(directories);
        for (path, text) in &self.files {
            self.change(&mut found, directories, path, text.as_deref());
        }
        let outcome = load::resolve(found, directories, context);
        outcome.groups.into_iter().find(|outcome| outcome.name == self.group)
    }

    fn change(&self, found: &mut Found, directories: &Directories, path: &Path, text: Option<&str>) {
        let file = text.map(|text| Arc::new(SourceFile { path: path.to_owned(), text: text.to_owned() }));
        let group = found.groups.iter_mut().find(|group| group.name == self.group);
        let is_drop_in =
            path.parent().is_some_and(|parent| parent.extension().is_some_and(|extension| extension == "d"));
        match (group, file) {
            (Some(group), file) if is_drop_in => {
                if let Some(source) = &mut group.source {
                    change_drop_in(&mut source.drop_ins, directories, path, file);
                }
            }
            (Some(group), Some(file)) => {
                path.clone_into(&mut group.path);
                if let Some(source) = &mut group.source {
                    source.file = file;
                }
            }
            (None, Some(file)) if !is_drop_in => {
                let name = self.group.clone();
                let source = Some(Source { name: name.clone(), file, drop_ins: Vec::new() });
                let index = found.groups.partition_point(|other| other.name < name);
                let diagnostics = Diagnostics::default();
                found.groups.insert(index, FoundGroup { name, path: path.to_owned(), source, diagnostics });
            }
            _ => {}
        }
    }

    /// Writes the files. If one cannot be written, none is.
    ///
    /// # Errors
    /// The file that cannot be written.
    pub(super) fn commit(&self, directories: &Directories) -> Result<Committed, Error> {
        let mut committed = Committed { before: Vec::new() };
        for (path, text) in &self.files {
            let path = directories.rooted(path);
            let before = read(&path);
            let written = before.and_then(|before| put(&path, text.as_ref().map(String::as_bytes)).map(|()| before));
            match written {
                Ok(before) => committed.before.push((path, before)),
                Err(error) => {
                    committed.rollback();
                    return Err(Error::file("write", &path, &error));
                }
            }
        }
        Ok(committed)
    }
}

/// Replaces or removes a drop-in among those of a group, as [`discover::find`] would find them: of two with the same
/// name, the one in the more important directory is used.
fn change_drop_in(
    drop_ins: &mut Vec<Arc<SourceFile>>,
    directories: &Directories,
    path: &Path,
    file: Option<Arc<SourceFile>>,
) {
    let rank = |path: &Path| {
        let directory = path.parent().and_then(Path::parent);
        directories.groups.iter().position(|known| Some(known.as_path()) == directory)
    };
    let name = path.file_name();
    if drop_ins.iter().any(|other| other.path.file_name() == name && rank(&other.path) < rank(path)) {
        return;
    }
    drop_ins.retain(|other| match file {
        Some(_) => other.path.file_name() != name,
        None => other.path != path,
    });
    if let Some(file) = file {
        let index = drop_ins.partition_point(|other| other.path.file_name() < name);
        drop_ins.insert(index, file);
    }
}

/// What the files were before.
#[derive(Debug)]
#[must_use = "roll it back if what depends on it fails"]
pub(super) struct Committed {
    before: Vec<(PathBuf, Option<Vec<u8>>)>,
}

impl Committed {
    /// Whether a file differs from what it was.
    pub(super) fn changed(&self) -> bool {
        self.before.iter().any(|(path, before)| fs::read(path).ok() != *before)
    }

    /// Restores the files.
    pub(super) fn rollback(self) {
        for (path, before) in self.before.into_iter().rev() {
            if let Err(error) = put(&path, before.as_deref()) {
                warn(&format!("cannot restore `{}`: {error}", path.display()), None);
            }
        }
    }
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

fn put(path: &Path, content: Option<&[u8]>) -> io::Result<()> {
    match content {
        Some(content) => files::write(path, content),
        None => files::remove(path),
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
                files::write(&directories.rooted(Path::new(path)), text.as_bytes()).unwrap();
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
    fn a_preview_shows_what_is_found_after_the_commit() {
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
            let mut transaction = Transaction::new(name("g"));
            if let Some(path) = written {
                transaction = transaction.write(path.into(), scaled(5));
            }
            if let Some(path) = removed {
                transaction = transaction.remove(path.into());
            }
            assert_eq!(instances(transaction.preview(&directories, &CONTEXT)), Some(expected), "{there:?} {written:?}");
            let _ = transaction.commit(&directories).unwrap();
            let found = load::load(&directories, &CONTEXT).groups.pop();
            assert_eq!(instances(found), Some(expected), "{there:?} {written:?}");
            drop(root);
        }
    }

    #[test]
    fn a_new_group_is_checked_against_the_others() {
        let root = Root::new(&[("/etc/copse/a-b.toml", "[process.c]\nexec = \"/a\"\n")]);
        let text = |process: &str| format!("[process.{process}]\nexec = \"/a\"\n");
        let transaction = |process: &str| Transaction::new(name("a")).write("/etc/copse/a.toml".into(), text(process));
        assert!(transaction("x").preview(&root.1, &CONTEXT).unwrap().group.is_some());
        let transaction = Transaction::new(name("a-b-c")).write("/etc/copse/a-b-c.toml".into(), text("a-b-c"));
        assert!(transaction.preview(&root.1, &CONTEXT).unwrap().diagnostics.has_errors());
    }

    #[test]
    fn a_commit_that_fails_changes_nothing() {
        let root = Root::new(&[("/etc/copse/g.toml", "old"), ("/run/copse/x", "")]);
        let transaction = Transaction::new(name("g"))
            .write("/etc/copse/g.toml".into(), "new".to_owned())
            .write("/etc/copse/g.toml.d/1.toml".into(), "1".to_owned())
            .write("/run/copse/x/no-directory".into(), "2".to_owned());
        assert!(transaction.commit(&root.1).is_err());
        assert_eq!(root.read("/etc/copse/g.toml").as_deref(), Some("old"));
        assert!(!root.1.rooted(Path::new("/etc/copse/g.toml.d")).exists());
    }
}
