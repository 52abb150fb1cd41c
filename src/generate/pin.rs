//! A group of which some units are what an older version of the group file says.

use super::marks::{PINNED, dependencies, mark};
use crate::unit::name::{GroupName, drop_in, target, template_of};
use crate::unit::{Entry, UnitTree};

/// Puts `unit` into `tree`, the units of `group`, as it is in `old`, those of an older version. An instance gets a file of
/// its own, so that the others may have the template of `tree`. What it depends on and is missing in `tree` is copied,
/// too: without its setup step, for example, it could not be started. Units that `taken` says belong to another group by
/// now are left out. Returns whether `old` has the unit.
pub fn pin(unit: &str, group: &GroupName, tree: &mut UnitTree, old: &UnitTree, taken: impl Fn(&str) -> bool) -> bool {
    let Some(file) = old.unit(unit).or_else(|| old.unit(&template_of(unit)?)) else { return false };
    if taken(unit) {
        return false;
    }
    let mut pinned = file.clone();
    let why = "pinned: generated from an earlier version of the group file, until `copse apply` updates it";
    mark(&mut pinned, PINNED, Some(why));
    tree.file(unit, pinned);
    if let Some(Entry::Link(link)) = tree.entries.get_mut(&format!("{}.wants/{unit}", target(group))) {
        *link = format!("../{unit}").into();
    }
    let mut files = vec![file];
    while let Some(file) = files.pop() {
        for name in dependencies(file) {
            for path in [drop_in(&name), name.clone()] {
                if let Some(needed) = old.unit(&path).filter(|_| !tree.entries.contains_key(&path) && !taken(&name)) {
                    tree.file(path, needed.clone());
                    files.push(needed);
                }
            }
        }
    }
    true
}
