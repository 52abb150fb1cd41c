//! Finds group files: precedence, masks, drop-ins.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diagnostic::{Diagnostics, SourceFile};
use crate::scope::Directories;
use crate::unit::name::GroupName;

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
#[must_use]
pub fn find(directories: &Directories) -> Found {
    let _ = directories;
    Found::default()
}

/// The named files, each with the drop-ins beside it (`FILE.d/*.toml`), wherever they are.
#[must_use]
pub fn named(paths: &[&Path]) -> Found {
    let _ = paths;
    Found::default()
}
