//! One run of the generator, group by group.

use std::collections::{BTreeMap, HashSet};

use super::load::{Checks, GroupOutcome, guarded};
use super::orphans::{Removed, orphans};
use super::report;
use super::running::Running;
use crate::basic::clock::Monotonic;
use crate::basic::diagnostic::{Code, Diagnostic};
use crate::basic::scope::Directories;
use crate::generate;
use crate::generate::{Options, marks};
use crate::group_file::discover::{FoundGroup, Source};
use crate::model;
use crate::model::{Context, Group};
use crate::state::history::{History, Overrides, StartHistory, Version};
use crate::state::pins::{Pin, Pins, Units};
use crate::unit::directives::Systemd;
use crate::unit::name;
use crate::unit::name::GroupName;
use crate::unit::tree::write::Writer;
use crate::unit::{Entry, Unit, UnitTree};

pub(super) struct Run<'a> {
    /// When it began.
    began: Monotonic,
    directories: &'a Directories,
    context: Context,
    systemd: Systemd,
    pub history: StartHistory,
    /// Whether `history` differs from what is on disk.
    pub changed: bool,
    writer: &'a mut Writer,
    pub checks: Checks,
    /// The groups that have pins.
    pub pinned: HashSet<GroupName>,
    /// The paths that were written.
    written: Vec<String>,
    removed: Removed,
}

/// The units of a group, and what they were generated from.
struct Generated {
    tree: UnitTree,
    source: Source,
    overrides: Overrides,
}

impl<'a> Run<'a> {
    pub fn new(
        began: Monotonic,
        directories: &'a Directories,
        context: Context,
        history: StartHistory,
        writer: &'a mut Writer,
    ) -> Self {
        // What the oldest version accepts, all later ones accept. An unknown value (of `Type=`, say) would make systemd
        // ignore the line.
        let systemd = Systemd::detect(directories).unwrap_or(Systemd::OLDEST);
        let checks = Checks::new(directories);
        let pinned = Pins::groups(directories);
        let (changed, written, removed) = (false, Vec::new(), Removed::default());
        Self { began, directories, context, systemd, history, changed, writer, checks, pinned, written, removed }
    }

    /// Writes one group's units. Errors join its diagnostics.
    pub fn group(&mut self, outcome: &mut GroupOutcome) {
        let last = self.history.groups.get(&outcome.name).and_then(History::last).cloned();
        let options = Options { systemd: self.systemd, static_target: outcome.static_target };
        let pins = self.pins(outcome);
        let rolled_back = pins.all().and_then(|pin| self.rolled_back(pin, last.as_ref(), outcome, options));
        let generated = rolled_back.or_else(|| self.current(outcome, options));
        let generated = generated.or_else(|| self.last_good(last.as_ref()?, outcome, options));
        let (tree, version) = match generated {
            Some(Generated { mut tree, source, overrides }) => {
                for unit in self.pin(&pins, &outcome.name, options, &mut tree) {
                    outcome.diagnostics.push(unpinned(outcome, &format!("`{unit}`")));
                }
                (tree, Some(self.version(source, overrides, pins, outcome)))
            }
            None => {
                let masked = self.checks.is_masked(&name::target(&outcome.name));
                (report::invalid(outcome, self.context, options, masked), None)
            }
        };
        for failure in self.writer.write(&tree) {
            outcome.diagnostics.push(report::unwritten(outcome, failure));
        }
        if let Some(last) = &last
            && !version.as_ref().is_some_and(|version| version.same_texts(last))
        {
            self.note_removed(last, options, &tree);
        }
        self.written.extend(tree.entries.into_keys());
        if let Some(version) = version {
            let known = self.history.groups.get_mut(&outcome.name);
            self.changed |= match known {
                Some(history) => history.record(version),
                None => self.history.groups.entry(outcome.name.clone()).or_default().record(version),
            };
        }
    }

    fn version(&self, source: Source, overrides: Overrides, pins: Pins, outcome: &GroupOutcome) -> Version {
        let (since, cpus, static_target) = (self.began, self.context.cpus, outcome.static_target);
        Version { since, source, cpus, static_target, overrides, pins }
    }

    /// The units of the current group file, unless it has an error.
    fn current(&self, outcome: &mut GroupOutcome, options: Options) -> Option<Generated> {
        let group = outcome.group.as_ref()?;
        match guarded(&outcome.path, || generate::generate(group, options)) {
            Ok(tree) => {
                let overrides = std::mem::take(&mut outcome.overrides);
                Some(Generated { tree, source: outcome.source.take()?, overrides })
            }
            Err(panic) => {
                outcome.diagnostics.push(panic);
                None
            }
        }
    }

    /// The units of the last good version. The target says that there is a newer one.
    fn last_good(&mut self, last: &Version, outcome: &GroupOutcome, options: Options) -> Option<Generated> {
        let (group, overrides) = self.older(&last.source, self.context.cpus)?;
        let mut tree = generate::generate(&group, options);
        let why = format!("its last good units; the group file is broken: {}", report::message(&outcome.diagnostics));
        generate::announce(&mut tree, &group, marks::STALE, &why);
        Some(Generated { tree, source: last.source.clone(), overrides })
    }

    /// The units of the version that the whole group is pinned to.
    fn rolled_back(
        &mut self,
        pin: &Pin,
        last: Option<&Version>,
        outcome: &mut GroupOutcome,
        options: Options,
    ) -> Option<Generated> {
        let Some((group, overrides)) = self.older(&pin.source, pin.cpus) else {
            outcome.diagnostics.push(unpinned(outcome, "the group"));
            return None;
        };
        let good = outcome.source.clone().filter(|_| outcome.group.is_some());
        let source = good.or_else(|| Some(last?.source.clone())).unwrap_or_else(|| pin.source.clone());
        let mut tree = generate::generate(&group, options);
        let why = "rolled back: its units are those of an older group file, until the next `copse apply`";
        generate::announce(&mut tree, &group, marks::PINNED, why);
        Some(Generated { tree, source, overrides })
    }

    /// The group of an older version, and what overrides its units. `None` if the version is no longer valid, or one of
    /// its units is another group's by now.
    fn older(&mut self, source: &Source, cpus: u32) -> Option<(Group, Overrides)> {
        let group = self.read(source, cpus)?;
        let names = generate::unit_names(&group);
        let free = names.iter().all(|unit| self.checks.other(unit, &group.name).is_none());
        free.then(|| (group, self.checks.overrides(&names)))
    }

    fn read(&self, source: &Source, cpus: u32) -> Option<Group> {
        model::read(source, &Context { cpus, ..self.context }).0
    }

    /// The pins of a group.
    fn pins(&self, outcome: &mut GroupOutcome) -> Pins {
        if !self.pinned.contains(&outcome.name) {
            return Pins::default();
        }
        Pins::read(self.directories, &outcome.name).unwrap_or_else(|diagnostic| {
            outcome.diagnostics.push(diagnostic);
            Pins::default()
        })
    }

    /// Puts the units that are pinned one by one into `tree`. Returns those for which that is not possible.
    fn pin(&self, pins: &Pins, name: &GroupName, options: Options, tree: &mut UnitTree) -> Vec<String> {
        let (mut failed, mut done) = (Vec::new(), HashSet::new());
        for pin in &pins.0 {
            // Of several pins of a unit the first counts.
            let Units::Only(units) = &pin.units else { break };
            let group = self.read(&pin.source, pin.cpus);
            let old = group.map(|group| generate::generate(&group, options)).unwrap_or_default();
            let taken = |unit: &str| self.checks.other(unit, name).is_some();
            for unit in units.iter().filter(|unit| done.insert(*unit)) {
                if !generate::pin(unit, name, tree, &old, taken) {
                    failed.push(unit.clone());
                }
            }
        }
        failed
    }

    /// The units that were written for `version`, without the marks in the target.
    fn units(&self, version: &Version, options: Options) -> Option<UnitTree> {
        let (source, cpus) = version.pins.all().map_or((&version.source, version.cpus), |pin| (&pin.source, pin.cpus));
        let group = self.read(source, cpus)?;
        let mut tree = generate::generate(&group, options);
        self.pin(&version.pins, &group.name, options, &mut tree);
        Some(tree)
    }

    /// Notes the files that the last run generated from `last` and that are not in `tree`. Returns their paths.
    fn note_removed(&mut self, last: &Version, options: Options, tree: &UnitTree) -> Vec<String> {
        let Some(old) = self.units(last, options) else { return Vec::new() };
        self.removed.note(&last.source.name, old, tree)
    }

    /// The groups that have a history and no file.
    pub fn without_file(&self, found: &[FoundGroup]) -> Vec<GroupName> {
        let removed = |name: &&GroupName| found.binary_search_by(|group| group.name.cmp(name)).is_err();
        self.history.groups.keys().filter(removed).cloned().collect()
    }

    /// Notes the files of such a group.
    pub fn note_group_removed(&mut self, name: GroupName) {
        let Some(last) = self.history.groups.get(&name).and_then(History::last).cloned() else { return };
        let static_target = self.checks.is_static(&name::target(&name));
        let options = Options { systemd: self.systemd, static_target };
        // A panic in here was reported while the group had a file.
        let paths = guarded(&last.source.file.path, || self.note_removed(&last, options, &UnitTree::default()));
        self.removed.groups.push((name, paths.unwrap_or_default()));
    }

    /// Writes the removed units that still run. Groups of which nothing runs lose their history.
    pub fn keep_orphans(&mut self) -> Vec<Diagnostic> {
        let mut candidates = self.history.orphans.clone();
        candidates.append(&mut self.removed.files);
        self.written.iter().for_each(|path| drop(candidates.remove(path)));
        let orphans = match candidates.is_empty() {
            true => BTreeMap::new(),
            false => orphans(candidates, &Running::read(self.directories)),
        };
        for (name, paths) in std::mem::take(&mut self.removed.groups) {
            // If the group comes back, its history says what its orphans were started from.
            if !paths.iter().any(|path| orphans.contains_key(path)) {
                self.changed = true;
                self.history.groups.remove(&name);
            }
        }
        let marked = |(path, unit): (&String, &Unit)| (path.clone(), Entry::File(generate::orphaned(unit.clone())));
        let failures = self.writer.write(&UnitTree { entries: orphans.iter().map(marked).collect() });
        self.changed |= orphans != self.history.orphans;
        self.history.orphans = orphans;
        failures.into_iter().map(report::not_kept).collect()
    }
}

fn unpinned(outcome: &GroupOutcome, what: &str) -> Diagnostic {
    let message = format!("cannot generate {what} from the version it is pinned to, using the current group file");
    Diagnostic::file(Code::LastGood, &outcome.path, message)
}
