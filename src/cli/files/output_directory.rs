//! Units into a directory that isn't systemd's: what `render --output` and `compile` have in common.

use std::path::{Path, PathBuf};

use crate::basic::diagnostic::one_line;
use crate::cli::common::output::counted;
use crate::unit::tree;
use crate::unit::tree::write::Writer;
use crate::unit::{Entry, UnitTree};

/// Makes `directory` hold `tree`. What copse wrote there earlier and isn't in `tree` is removed: all of it, or, where
/// `tree` is of `some` group files only, what is theirs.
///
/// # Errors
/// Where anything of somebody else's is in the way, and then nothing was written; where something can't be written.
pub fn write(directory: &Path, tree: &UnitTree, some: Option<&[String]>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    let old = tree::read::units(directory).map_err(failed)?;
    let foreign: Vec<&str> =
        tree.entries.keys().map(String::as_str).filter(|path| is_foreign(directory, &old, path)).collect();
    if !foreign.is_empty() {
        let number = counted(foreign.len(), "path");
        return Err(format!(
            "nothing was written: {} holds {number} that copse didn't make: {}",
            directory.display(),
            one_line(&foreign.join(", "))
        ));
    }
    let removed = old.entries.keys().map(String::as_str).filter(|path| !tree.entries.contains_key(*path));
    let stale: Vec<&str> = removed.filter(|path| some.is_none_or(|some| is_of(some, &old, tree, path))).collect();
    let mut writer = Writer::open(directory).map_err(failed)?;
    let mut failures = writer.write(tree);
    failures.extend(writer.remove(stale));
    match failures.first() {
        None => Ok(()),
        Some(first) => {
            let why = first.error.map_or("copse didn't make what is there".to_owned(), |error| error.to_string());
            Err(format!("{} couldn't be written; {}: {why}", counted(failures.len(), "path"), first.path))
        }
    }
}

/// Whether something stands at `path` that isn't copse's.
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
