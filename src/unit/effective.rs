//! The effective definition of a unit, and how two of them differ.
//!
//! systemd merges a unit from its file (for an instance without one, its template's) and drop-ins in many directories
//! (systemd.unit(5)). The generated files and their overrides are merged here in the same way, for the files of today and
//! for those of an earlier time, so that both can be compared. Only what systemd acts on counts: comments,
//! `Documentation=`, `SourcePath=` and `X-…=` do not, nor does the order of dependencies, nor a line that a later one
//! replaces.

mod merge;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use super::file::{Section, Unit};
use super::name::{drop_in_directories, template_of};
use super::overrides::Overrides;
use super::parse;
use super::tree::{Entry, UnitTree};
use crate::basic::diagnostic::SourceFile;

use self::merge::Merger;
use serde::Serialize;

/// All files of the units of a group.
#[derive(Debug, Default)]
pub struct Definitions<'t> {
    /// Unit files by name; `None` is a mask. The first that was added counts.
    files: BTreeMap<&'t str, Option<Cow<'t, Unit>>>,
    /// Drop-ins: directory (`web.service`, `service`) → file name → the rank of the unit directory, and the file.
    drop_ins: BTreeMap<&'t str, BTreeMap<&'t str, (usize, Cow<'t, Unit>)>>,
    /// The units that each unit wants by a link in its `.wants/`.
    wants: BTreeMap<&'t str, BTreeSet<&'t str>>,
    /// The units that are generated or completed.
    units: BTreeSet<&'t str>,
    /// Definitions that were merged, by [`Self::common_name`].
    known: RefCell<HashMap<String, Arc<Definition>>>,
}

/// A unit as systemd loads it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Definition {
    /// The values by section and name: one if the last line counts, one for each line of a list.
    directives: BTreeMap<(String, String), Vec<String>>,
    /// An administrator masked it: its unit file is empty or a link to `/dev/null`.
    pub masked: bool,
}

/// A directive that differs between two definitions of a unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// `Service`
    pub section: String,
    /// `RestartSec`
    pub name: String,
    /// The values that only the old definition has; all values if only their order differs.
    pub old: Vec<String>,
    /// The values that only the new definition has, likewise.
    pub new: Vec<String>,
}

impl<'t> Definitions<'t> {
    /// The generated units with their overrides.
    pub fn new(tree: &'t UnitTree, overrides: &'t Overrides) -> Self {
        let mut all = Self::default();
        let mut directories: Vec<&Path> = Vec::new();
        let mut place = |path: &'t Path, from_unit: usize| {
            // The directory of a unit file; for a drop-in, the one above it.
            let directory = path.ancestors().nth(from_unit).unwrap_or(path);
            directories.iter().position(|known| *known == directory).unwrap_or_else(|| {
                directories.push(directory);
                directories.len() - 1
            })
        };
        let mut add = |all: &mut Self, files: &'t [Arc<SourceFile>], from: usize| {
            for file in files {
                let drop_in = drop_in_of(&file.path);
                let rank = from + place(&file.path, if drop_in.is_some() { 2 } else { 1 });
                let unit = || Cow::Owned(parse::unit(&file.text));
                match (drop_in, file.path.file_name().and_then(|name| name.to_str())) {
                    (Some((directory, name)), _) => all.drop_in(directory, name, rank, unit()),
                    (None, Some(name)) => {
                        let masked = file.text.trim().is_empty();
                        all.files.entry(name).or_insert_with(|| (!masked).then(unit));
                    }
                    (None, None) => {}
                }
            }
        };
        add(&mut all, &overrides.above, 0);
        // More than there are unit directories.
        const GENERATOR: usize = 1 << 16;
        for (path, entry) in &tree.entries {
            match (path.split_once('/'), entry) {
                (None, Entry::File(unit)) => {
                    all.units.insert(path);
                    all.files.entry(path).or_insert(Some(Cow::Borrowed(unit)));
                }
                (Some((directory, name)), Entry::File(drop_in)) => {
                    if let Some(unit) = directory.strip_suffix(".d") {
                        all.units.insert(unit);
                        all.drop_in(unit, name, GENERATOR, Cow::Borrowed(drop_in));
                    }
                }
                (Some((directory, name)), Entry::Link(_)) => {
                    if let Some(unit) = directory.strip_suffix(".wants") {
                        all.wants.entry(unit).or_default().insert(name);
                    }
                }
                (None, Entry::Link(_)) => {}
            }
        }
        add(&mut all, &overrides.below, GENERATOR + 1);
        all
    }

    fn drop_in(&mut self, directory: &'t str, name: &'t str, rank: usize, unit: Cow<'t, Unit>) {
        self.drop_ins.entry(directory).or_default().entry(name).or_insert((rank, unit));
    }

    /// The definition of `unit`; `None` if it has no file.
    pub fn unit(&self, unit: &str) -> Option<Arc<Definition>> {
        let name = self.common_name(unit);
        if let Some(known) = self.known.borrow().get(&name) {
            return Some(Arc::clone(known));
        }
        let definition = Arc::new(self.merge(&name)?);
        self.known.borrow_mut().insert(name, Arc::clone(&definition));
        Some(definition)
    }

    /// A name with the same definition: for an instance without files of its own, its template. A thousand instances are
    /// one definition.
    fn common_name(&self, unit: &str) -> String {
        let Some(template) = template_of(unit) else { return unit.to_owned() };
        let of_template = drop_in_directories(&template);
        let own = drop_in_directories(unit);
        let mut own = own.iter().filter(|name| !of_template.contains(name));
        match self.files.contains_key(unit) || own.any(|name| self.drop_ins.contains_key(name.as_str())) {
            true => unit.to_owned(),
            false => template,
        }
    }

    fn merge(&self, unit: &str) -> Option<Definition> {
        let file = self.file(unit);
        if file.is_none() && !self.units.contains(unit) {
            return None;
        }
        let mut merge = Merger::default();
        // A template that copse ships has only drop-ins here: its file is the same before and after.
        if let Some(Some(file)) = file {
            merge.file(file);
        }
        self.drop_ins_of(unit).into_iter().for_each(|drop_in| merge.file(drop_in));
        let mut definition = Definition { directives: merge.directives(), masked: file.is_some_and(Option::is_none) };
        if let Some(wanted) = self.wants.get(unit) {
            let wants = definition.directives.entry(("Unit".to_owned(), "Wants".to_owned())).or_default();
            wants.extend(wanted.iter().map(ToString::to_string));
            wants.sort();
            wants.dedup();
        }
        Some(definition)
    }

    /// Whether a file of an administrator or a package sets the directive of `unit`.
    pub fn is_overridden(&self, unit: &str, section: Section, name: &str) -> bool {
        let name_in_files = self.common_name(unit);
        let file = self.file(&name_in_files).and_then(Option::as_ref);
        let mut files = file.into_iter().chain(self.drop_ins_of(&name_in_files));
        files.any(|file| matches!(file, Cow::Owned(unit) if unit.values(section, name).next().is_some()))
    }

    /// Whether `target` wants `unit` by a link.
    pub fn wants(&self, target: &str, unit: &str) -> bool {
        self.wants.get(target).is_some_and(|wanted| wanted.contains(unit))
    }

    /// Whether a unit differs in `other`.
    pub fn differ(&self, other: &Self) -> bool {
        let units: BTreeSet<_> = self.units.union(&other.units).collect();
        self.wants != other.wants || units.into_iter().any(|unit| self.unit(unit) != other.unit(unit))
    }

    /// The unit's own file, or its template's; `None` in it is a mask.
    fn file(&self, unit: &str) -> Option<&Option<Cow<'t, Unit>>> {
        self.files.get(unit).or_else(|| self.files.get(template_of(unit)?.as_str()))
    }

    /// Its drop-ins, in the order in which they count: by file name. Of several with the same name only the first counts:
    /// by unit directory, then the more specific.
    fn drop_ins_of(&self, unit: &str) -> Vec<&Cow<'t, Unit>> {
        let mut found: BTreeMap<&str, &(usize, Cow<'t, Unit>)> = BTreeMap::new();
        let directories = drop_in_directories(unit);
        for (name, file) in directories.iter().filter_map(|name| self.drop_ins.get(name.as_str())).flatten() {
            found.entry(name).and_modify(|known| *known = if file.0 < known.0 { file } else { known }).or_insert(file);
        }
        found.into_values().map(|(_, unit)| unit).collect()
    }
}

/// `web.service` and `10-local.conf` of `/etc/systemd/system/web.service.d/10-local.conf`.
fn drop_in_of(path: &Path) -> Option<(&str, &str)> {
    let directory = path.parent()?.file_name()?.to_str()?.strip_suffix(".d")?;
    Some((directory, path.file_name()?.to_str()?))
}

impl Definition {
    /// Section, name and values of all directives that count, sorted.
    pub fn directives(&self) -> impl Iterator<Item = (&str, &str, &[String])> {
        self.directives.iter().map(|((section, name), values)| (section.as_str(), name.as_str(), values.as_slice()))
    }

    /// The values of a directive; empty if it is not set.
    pub fn values(&self, section: &str, name: &str) -> &[String] {
        // A map with pairs of owned texts as keys cannot be looked up with borrowed ones.
        self.directives.get(&(section.to_owned(), name.to_owned())).map_or(&[], Vec::as_slice)
    }

    /// The directives that differ in `new`, sorted by section and name.
    pub fn difference(&self, new: &Self) -> Vec<Difference> {
        let keys: BTreeSet<_> = self.directives.keys().chain(new.directives.keys()).collect();
        let values = |of: &Self, key| of.directives.get(key).cloned().unwrap_or_default();
        keys.into_iter()
            .filter(|key| self.directives.get(*key) != new.directives.get(*key))
            .map(|key| {
                let (old, new) = apart(values(self, key), values(new, key));
                Difference { section: key.0.clone(), name: key.1.clone(), old, new }
            })
            .collect()
    }
}

/// The values that only one of the two has, so that of twenty variables only the changed one is shown. All values if only
/// their order differs.
fn apart(old: Vec<String>, new: Vec<String>) -> (Vec<String>, Vec<String>) {
    let only = |these: &[String], others: &[String]| -> Vec<String> {
        these.iter().filter(|value| !others.contains(value)).cloned().collect()
    };
    match (only(&old, &new), only(&new, &old)) {
        (none, nothing) if none.is_empty() && nothing.is_empty() => (old, new),
        apart => apart,
    }
}
