//! Writes units into a directory of the user's choice, for `render --output` and `compile`.

use std::path::{Path, PathBuf};

use crate::basic::diagnostic::one_line;
use crate::cli::common::output::counted;
use crate::unit::tree;
use crate::unit::tree::write::Writer;
use crate::unit::{Entry, UnitTree};

/// Writes `tree` into `directory`, and removes what copse wrote there earlier and is no longer in `tree`. If `tree` has the
/// units of some group `files` only, the units of other files stay.
///
/// # Errors
/// A path is occupied by something that copse did not write, and then nothing was written; or a path cannot be written.
pub fn write(directory: &Path, tree: &UnitTree, files: Option<&[String]>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    let old = tree::read::units(directory).map_err(failed)?;
    let foreign: Vec<&str> =
        tree.entries.keys().map(String::as_str).filter(|path| is_foreign(directory, &old, path)).collect();
    if !foreign.is_empty() {
        let number = counted(foreign.len(), "path");
        return Err(format!(
            "{} contains {number} not written by copse ({}), nothing written",
            directory.display(),
            one_line(&foreign.join(", "))
        ));
    }
    let removed = old.entries.keys().map(String::as_str).filter(|path| !tree.entries.contains_key(*path));
    let stale: Vec<&str> = removed.filter(|path| files.is_none_or(|files| is_of(files, &old, tree, path))).collect();
    let mut writer = Writer::open(directory).map_err(failed)?;
    let mut failures = writer.write(tree);
    failures.extend(writer.remove(stale));
    match failures.first() {
        None => Ok(()),
        Some(first) => {
            let why = first.error.map_or("not written by copse".to_owned(), |error| error.to_string());
            Err(format!("cannot write {}; {}: {why}", counted(failures.len(), "path"), first.path))
        }
    }
}

/// Whether `path` is occupied by something that copse did not write.
fn is_foreign(directory: &Path, old: &UnitTree, path: &str) -> bool {
    if old.entries.contains_key(path) {
        return false;
    }
    let kind = |path: PathBuf| path.symlink_metadata().map(|metadata| metadata.file_type());
    let parent_is_odd =
        path.rsplit_once('/').is_some_and(|(parent, _)| kind(directory.join(parent)).is_ok_and(|kind| !kind.is_dir()));
    parent_is_odd || kind(directory.join(path)).is_ok()
}

/// Whether what is at `path` came from one of these group `files`: a unit that was generated from it, a link to such a
/// unit, or a link in such a unit's `.wants/`.
fn is_of(files: &[String], old: &UnitTree, new: &UnitTree, path: &str) -> bool {
    let of_group = |path: &str| match old.entries.get(path) {
        Some(Entry::File(unit)) => unit.sources().iter().any(|source| files.iter().any(|file| file == source)),
        _ => new.entries.contains_key(path),
    };
    let (parent, name) = path.rsplit_once('/').unwrap_or_default();
    let owner = parent.rsplit_once('.').map_or("", |(unit, _)| unit);
    match old.entries.get(path) {
        Some(Entry::Link(target)) => {
            let unit = target.file_name().and_then(|name| name.to_str()).unwrap_or(name);
            of_group(unit) || of_group(owner)
        }
        _ => of_group(path),
    }
}
