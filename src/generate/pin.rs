//! A group of which some units, or all, are to be as an older text has them.

use super::broken::{leans_on, mark, marked};
use super::target::drop_in_path;
use crate::unit::name::{GroupName, target, template_of};
use crate::unit::{Entry, UnitTree};

/// What marks a unit that was generated from an older text, in `[Unit]`.
pub const PINNED: &str = "X-CopsePinned=yes";

/// Makes `unit` in `tree`, the units of `group`, what it is in `old`, those of an older text. An instance gets a whole
/// file of its own, so that its siblings may have the template of `tree`. What it leans on and `tree` doesn't have is
/// taken along: without its setup step, say, it couldn't be started. Whatever `taken` says is another group's by now is
/// left out. Returns whether `old` has the unit.
pub fn pin(unit: &str, group: &GroupName, tree: &mut UnitTree, old: &UnitTree, taken: impl Fn(&str) -> bool) -> bool {
    let file = |path: &str| match old.entries.get(path) {
        Some(Entry::File(text)) => Some(text),
        _ => None,
    };
    let Some(text) = file(unit).or_else(|| file(&template_of(unit)?)) else { return false };
    if taken(unit) {
        return false;
    }
    tree.entries.insert(unit.to_owned(), Entry::File(marked(text, &pinned_mark())));
    if let Some(Entry::Link(link)) = tree.entries.get_mut(&format!("{}.wants/{unit}", target(group))) {
        *link = format!("../{unit}").into();
    }
    let mut texts = vec![text];
    while let Some(text) = texts.pop() {
        for name in leans_on(text) {
            for path in [drop_in_path(&name), name.clone()] {
                if let Some(needed) = file(&path).filter(|_| !tree.entries.contains_key(&path) && !taken(&name)) {
                    tree.entries.insert(path, Entry::File(needed.clone()));
                    texts.push(needed);
                }
            }
        }
    }
    true
}

fn pinned_mark() -> String {
    mark("pinned: as it was before the group file changed, until `copse apply` gets to it", PINNED)
}

/// A unit's text without the mark of [`pin`].
pub(super) fn unpinned(unit: &str) -> String {
    unit.replacen(&pinned_mark(), "", 1)
}
