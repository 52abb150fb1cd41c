//! Units that were removed from their group, or whose group file was deleted, while they run. They are kept, because how
//! to stop them is in the unit.

use std::collections::{BTreeMap, HashSet};

use super::running::Running;
use crate::generate::marks::dependencies;
use crate::unit::name;
use crate::unit::name::GroupName;
use crate::unit::{Entry, Unit, UnitTree};

/// Files that the last run wrote and this one does not.
#[derive(Debug, Default)]
pub(super) struct Removed {
    /// By path in the generator's directory.
    pub files: BTreeMap<String, Unit>,
    /// The groups without a file, each with the paths that it had.
    pub groups: Vec<(GroupName, Vec<String>)>,
}

impl Removed {
    /// Notes the files in `old`, the units of `group` in the last run, that are not in `new`. Returns their paths.
    pub fn note(&mut self, group: &GroupName, old: UnitTree, new: &UnitTree) -> Vec<String> {
        let wants = format!("{}.wants/", name::target(group));
        let removed = old.entries.into_iter().filter(|(path, _)| !has(new, &wants, path));
        let mut paths = Vec::new();
        for (path, entry) in removed {
            if let Entry::File(unit) = entry {
                paths.push(path.clone());
                self.files.insert(path, unit);
            }
        }
        paths
    }
}

/// Whether `tree` has the unit at `path`; the links of its target are in `wants`. For an instance the template's file will
/// do, unless the group has other instances now.
fn has(tree: &UnitTree, wants: &str, path: &str) -> bool {
    let is_instance_of = |template: &String| {
        let mut instances = tree.entries.keys().filter_map(|path| path.strip_prefix(wants));
        let wanted = instances.any(|unit| name::template_of(unit).as_ref() == Some(template));
        !wanted || tree.entries.contains_key(&format!("{wants}{path}"))
    };
    let by_template = |template: String| tree.entries.contains_key(&template) && is_instance_of(&template);
    tree.entries.contains_key(path) || name::template_of(path).is_some_and(by_template)
}

/// The candidates that run, and those that such a unit depends on: its target, slice and sockets, of which systemd leaves
/// no trace in the file system.
pub(super) fn orphans(candidates: BTreeMap<String, Unit>, running: &Running) -> BTreeMap<String, Unit> {
    let (mut orphans, mut rest): (BTreeMap<_, _>, _) =
        candidates.into_iter().partition(|(path, _)| running.has(unit_of(path)));
    loop {
        let names: HashSet<String> = orphans.values().flat_map(dependencies).collect();
        let (more, left): (BTreeMap<_, _>, _) = rest.into_iter().partition(|(path, _)| names.contains(unit_of(path)));
        if more.is_empty() {
            return orphans;
        }
        orphans.extend(more);
        rest = left;
    }
}

/// The unit that a file of the tree is, or is a drop-in of.
fn unit_of(path: &str) -> &str {
    path.split_once(".d/").map_or(path, |(unit, _)| unit)
}
