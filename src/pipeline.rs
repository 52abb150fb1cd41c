//! From directories to groups: what the generator, `check` and `render` have in common.

use std::path::{Path, PathBuf};

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::model::{self, Context, Group};
use crate::scope::Directories;
use crate::source::{self, Found, FoundGroup, Source};
use crate::unit::name::GroupName;

/// All groups, and all that is wrong with them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// By name.
    pub groups: Vec<GroupOutcome>,
    /// About what belongs to no group: a directory that can't be read, a file whose stem can't be a name.
    pub diagnostics: Diagnostics,
}

/// What became of one group file.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupOutcome {
    /// The stem of the file's name.
    pub name: GroupName,
    /// The group file, as its author knows it (without `$COPSE_ROOT`).
    pub path: PathBuf,
    /// Its texts, unless a file couldn't be read.
    pub source: Option<Source>,
    /// What it means. `None` where `diagnostics` holds an error.
    pub group: Option<Group>,
    /// A `G.target` with `X-CopseGroup=yes` is installed: units fill it (see [`crate::generate::Target`]).
    pub static_target: bool,
    /// What is wrong with it, in the order of the text.
    pub diagnostics: Diagnostics,
}

impl Outcome {
    /// Everything that is wrong, what belongs to no group first.
    pub fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().chain(self.groups.iter().flat_map(|group| group.diagnostics.iter()))
    }

    /// Whether anything is an error; warnings and notes don't count.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.diagnostics.has_errors() || self.groups.iter().any(|group| group.diagnostics.has_errors())
    }
}

/// Finds and reads all groups of these directories, and checks them against each other and against installed units.
#[must_use]
pub fn load(directories: &Directories, context: &Context) -> Outcome {
    resolve(source::find(directories), directories, context)
}

/// As [`load`], but the named files instead of those in the directories. They are checked against each other and
/// against installed units; where they are and who may write them doesn't matter.
#[must_use]
pub fn load_files(paths: &[&Path], directories: &Directories, context: &Context) -> Outcome {
    resolve(source::named(paths), directories, context)
}

/// Reads what was found, and checks it.
#[must_use]
pub fn resolve(found: Found, directories: &Directories, context: &Context) -> Outcome {
    let _ = directories;
    let groups = found.groups.into_iter().map(|group| read(group, context)).collect();
    Outcome { groups, diagnostics: found.diagnostics }
}

fn read(found: FoundGroup, context: &Context) -> GroupOutcome {
    let FoundGroup { name, path, source, mut diagnostics } = found;
    let mut group = None;
    if let Some(source) = &source {
        let (read, wrong) = model::read(source, context);
        diagnostics.extend(wrong);
        group = read.filter(|_| !diagnostics.has_errors());
    }
    GroupOutcome { name, path, source, group, static_target: false, diagnostics }
}
