//! The files behind a group: its own, and those that its units were started from besides their definitions.

use std::sync::Arc;

use super::inputs::Looked;
use super::members::Kind;
use super::observer::GroupObserver;
use super::paths::Unit;
use super::situation::{ChangedFile, Observed};
use super::stamp;
use super::stamp::Stamp;
use crate::basic::clock::Realtime;
use crate::basic::diagnostic::SourceFile;
use crate::generator::load::GroupOutcome;
use crate::group_file::discover::Source;
use crate::manager::properties::Properties;
use crate::model::Service;
use crate::state::history::{History, Overrides};
use crate::unit::name;
use crate::unit::name::ProcessName;

impl GroupObserver<'_> {
    /// Whether the unit's program, its inputs, or what its setup steps made are still what it was started from.
    pub(super) fn look_at_files(&self, unit: &mut Observed, properties: &Properties, looked: &mut Looked) {
        let Some((group, process)) = self.group.zip(unit.member.process.as_ref()) else { return };
        let Some(service) = unit.member.service(group) else { return };
        let named = self.observer.unit(unit.member.unit());
        let since = properties.main_started_at.map_or(0, Realtime::micros);
        let inputs = named.inputs(service);
        let recorded = self.recorded(unit.member.unit());
        match (unit.member.kind, properties.pid) {
            (Kind::Setup, _) => {
                let stamp = self.stamp(process, service, named).unwrap_or(Stamp { at: 0, unchanged: None });
                unit.stamp_matches = stamp.unchanged;
                let prints = recorded.map(|recorded| recorded.prints.inputs.as_str());
                let prints = prints.filter(|_| stamp.unchanged.is_none());
                unit.changed_inputs = looked.changed(&inputs, stamp.at.max(since), prints);
            }
            (Kind::Process, Some(pid)) if since != 0 => {
                let prints = recorded.filter(|recorded| recorded.at == properties.times.main_started);
                let prints = prints.map(|recorded| &recorded.prints);
                unit.changed_inputs = looked.changed(&inputs, since, prints.map(|prints| prints.inputs.as_str()));
                unit.changed_start_files = match prints.map(|prints| prints.handed.as_deref()) {
                    // A copse that did not compare these recorded it: it is not known which of them had changed before it
                    // was replaced.
                    Some(None) => Vec::new(),
                    prints => looked.changed(&named.handed(service), since, prints.flatten()),
                };
                let program = named.program(service);
                unit.changed_program = program.filter(|program| looked.program_changed(program, pid, since));
                unit.rerun_steps = self.steps_since(process, since);
            }
            _ => {}
        }
    }

    fn stamp(&self, step: &ProcessName, service: &Service, unit: Unit<'_>) -> Option<Stamp> {
        stamp::read(self.name, step, service, self.past.current()?, unit)
    }

    /// The setup steps that `process` is `after` and that succeeded since, as far as they keep a stamp.
    fn steps_since(&self, process: &ProcessName, since: u64) -> Vec<String> {
        let Some(group) = self.group else { return Vec::new() };
        let Some(process) = group.processes.get(process) else { return Vec::new() };
        let later = |step: &&ProcessName| {
            let unit = name::service(&group.name, step);
            let setup = group.setup.get(*step);
            let stamp = setup.and_then(|setup| self.stamp(step, &setup.service, self.observer.unit(&unit)));
            stamp.is_some_and(|stamp| stamp.at > since)
        };
        process.after_steps.iter().filter(later).map(ToString::to_string).collect()
    }

    /// The group's files that changed since the last apply, or else since the group's start.
    pub(super) fn changed_files(
        &self,
        history: &History,
        file: Option<&GroupOutcome>,
        overrides: &Overrides,
    ) -> Vec<ChangedFile> {
        let at_start = self.live.target.times.active_entered.and_then(|at| history.in_force(at));
        let before = self.applied.as_ref().map(|applied| &applied.source).or(at_start.map(|version| &version.source));
        let texts = |source: &Source| -> Vec<Arc<SourceFile>> {
            std::iter::once(&source.file).chain(&source.drop_ins).cloned().collect()
        };
        let mut changed = match (before, file.and_then(|file| file.source.as_ref())) {
            (Some(before), Some(now)) => differing(&texts(before), &texts(now)),
            _ => Vec::new(),
        };
        if let Some(last) = history.last() {
            changed.extend(differing(&last.overrides.above, &overrides.above));
            changed.extend(differing(&last.overrides.below, &overrides.below));
        }
        changed
    }
}

/// The files that are not the same in two lists.
fn differing(before: &[Arc<SourceFile>], now: &[Arc<SourceFile>]) -> Vec<ChangedFile> {
    let removed = |file: &SourceFile| !now.iter().any(|other| other.path == file.path);
    let only = |these: &[Arc<SourceFile>], others: &[Arc<SourceFile>]| {
        let these = these.iter().filter(|file| !others.contains(file));
        these.map(|file| ChangedFile { path: file.path.clone(), removed: removed(file) }).collect::<Vec<_>>()
    };
    let mut all = [only(before, now), only(now, before)].concat();
    all.sort();
    all.dedup();
    all
}
