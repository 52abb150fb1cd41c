//! What left its group, or is left of one, and still runs: how to stop it stands in its unit.

use std::collections::{BTreeMap, HashSet};

use super::Run;
use super::load::guarded;
use super::running::Running;
use crate::basic::diagnostic::{Code, Diagnostic};
use crate::generate;
use crate::generate::{Options, leans_on};
use crate::group_file::discover::FoundGroup;
use crate::state::history::{History, Version};
use crate::unit::name;
use crate::unit::name::{GroupName, target};
use crate::unit::tree::Failure;
use crate::unit::{Entry, UnitTree};

/// Files that the last run wrote and this one doesn't.
#[derive(Debug, Default)]
pub(super) struct Departed {
    /// By path in the generator's directory.
    files: BTreeMap<String, String>,
    /// The groups of which no file is there any more, each with the paths it had.
    groups: Vec<(GroupName, Vec<String>)>,
}

impl Run<'_> {
    /// Notes what the last run generated from `last` and `tree` doesn't have.
    pub(super) fn lose(&mut self, last: &Version, target: Options, tree: &UnitTree) -> Vec<String> {
        let Some(old) = self.units(last, target) else { return Vec::new() };
        let wants = format!("{}.wants/", name::target(&last.source.name));
        let lost = old.entries.into_iter().filter(|(path, _)| !has(tree, &wants, path));
        let mut paths = Vec::new();
        for (path, entry) in lost {
            if let Entry::File(text) = entry {
                paths.push(path.clone());
                self.departed.files.insert(path, text);
            }
        }
        paths
    }

    /// The groups that are remembered and of which no file was found.
    pub(super) fn vanished(&self, found: &[FoundGroup]) -> Vec<GroupName> {
        let gone = |name: &&GroupName| found.binary_search_by(|group| group.name.cmp(name)).is_err();
        self.memory.histories.keys().filter(gone).cloned().collect()
    }

    /// Forgets such a group, unless something of it still runs.
    pub(super) fn vanish(&mut self, name: GroupName) {
        let Some(last) = self.memory.histories.get(&name).and_then(History::last).cloned() else { return };
        let static_target = self.checks.is_static(&target(&name));
        let target = Options { systemd: self.systemd, static_target };
        // A mistake in copse met here has shown itself when the group was there.
        let paths = guarded(&last.source.file.path, || self.lose(&last, target, &UnitTree::default()));
        self.departed.groups.push((name, paths.unwrap_or_default()));
    }

    /// Writes what left its group, or the groups, and still runs.
    pub(super) fn keep_gone(&mut self) -> Vec<Diagnostic> {
        let mut candidates = self.memory.gone.clone();
        candidates.append(&mut self.departed.files);
        self.written.iter().for_each(|path| drop(candidates.remove(path)));
        let kept = match candidates.is_empty() {
            true => BTreeMap::new(),
            false => keep(candidates, &Running::read(self.directories)),
        };
        for (name, paths) in std::mem::take(&mut self.departed.groups) {
            // What such a unit was started from is still to be known should its group come back.
            if !paths.iter().any(|path| kept.contains_key(path)) {
                self.changed = true;
                self.memory.histories.remove(&name);
            }
        }
        let entries = kept.iter().map(|(path, text)| (path.clone(), Entry::File(generate::gone(text)))).collect();
        let failures = self.writer.write(&UnitTree { entries });
        self.changed |= kept != self.memory.gone;
        self.memory.gone = kept;
        failures
            .into_iter()
            .map(|Failure { path, error }| {
                let why = error.map_or("another generator's file is there".to_owned(), |error| error.to_string());
                Diagnostic::file(Code::Write, path, format!("the unit is gone, runs, and can't be kept: {why}"))
            })
            .collect()
    }
}

/// Whether the unit at `path` is in `tree`, whose target wants what is linked in `wants`. An instance needs no file of its
/// own: the template's is as good, unless its group has other instances now.
fn has(tree: &UnitTree, wants: &str, path: &str) -> bool {
    let one_of = |template: &String| {
        let mut instances = tree.entries.keys().filter_map(|path| path.strip_prefix(wants));
        let wanted = instances.any(|unit| name::template_of(unit).as_ref() == Some(template));
        !wanted || tree.entries.contains_key(&format!("{wants}{path}"))
    };
    let by_template = |template: String| tree.entries.contains_key(&template) && one_of(&template);
    tree.entries.contains_key(path) || name::template_of(path).is_some_and(by_template)
}

/// Of `candidates`, those that run, and those that such a unit leans on (its target, slice and sockets, of which
/// systemd leaves no trace in the file system).
fn keep(candidates: BTreeMap<String, String>, running: &Running) -> BTreeMap<String, String> {
    let (mut kept, mut rest): (BTreeMap<_, _>, _) =
        candidates.into_iter().partition(|(path, _)| running.has(unit_of(path)));
    loop {
        let names: HashSet<String> = kept.values().flat_map(|text: &String| leans_on(text)).collect();
        let (more, left): (BTreeMap<_, _>, _) = rest.into_iter().partition(|(path, _)| names.contains(unit_of(path)));
        if more.is_empty() {
            return kept;
        }
        kept.extend(more);
        rest = left;
    }
}

/// The unit that a file of the tree is, or is a drop-in of.
fn unit_of(path: &str) -> &str {
    path.split_once(".d/").map_or(path, |(unit, _)| unit)
}
