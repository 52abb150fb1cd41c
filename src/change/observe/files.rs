//! What a unit was started from besides its definition: its program, its inputs, what its setup steps made.

use super::Observer;
use super::inputs::Looked;
use super::members::Kind;
use super::paths::Unit;
use super::situation::Observed;
use super::stamp;
use super::stamp::Stamp;
use crate::basic::clock::Realtime;
use crate::manager::properties::Properties;
use crate::model;
use crate::model::{Group, Service};
use crate::unit::name;
use crate::unit::name::{InstanceName, ProcessName};

impl<'s> Observer<'s> {
    /// The process or setup step of a unit, and what the unit runs.
    pub(super) fn process_of(&self, unit: &str) -> Option<(&'s ProcessName, &'s Service)> {
        service_of(self.now.meaning?, unit)
    }

    /// Whether its program, its inputs, or what its setup steps made are still what it was started from.
    pub(super) fn look_at_files(&self, unit: &mut Observed, properties: &Properties, looked: &mut Looked) {
        let Some((process, service)) = self.process_of(&unit.member.unit) else { return };
        let name = unit.member.unit.clone();
        let named = self.named(&name);
        let since = properties.main_started_at.map_or(0, Realtime::micros);
        let inputs = named.inputs(service);
        match (unit.member.kind, properties.pid) {
            (Kind::Setup, _) => {
                let stamp = self.stamp(process, service, named);
                let stamp = stamp.unwrap_or(Stamp { at: 0, unchanged: None });
                unit.unchanged = stamp.unchanged;
                let taken = self.applied.as_ref().and_then(|applied| applied.units.get(&unit.member.unit));
                let noted = taken.map(|taken| taken.prints.inputs.as_str()).filter(|_| stamp.unchanged.is_none());
                unit.inputs = looked.changed(&inputs, stamp.at.max(since), noted);
            }
            (Kind::Process, Some(pid)) if since != 0 => {
                let taken = self.applied.as_ref().and_then(|applied| applied.units.get(&unit.member.unit));
                let noted = taken.filter(|taken| taken.at == properties.times.main_started).map(|taken| &taken.prints);
                unit.inputs = looked.changed(&inputs, since, noted.map(|noted| noted.inputs.as_str()));
                unit.handed = match noted.map(|noted| noted.handed.as_deref()) {
                    // Noted by a copse that didn't look at these: which of them changed before it was replaced, and
                    // meant nothing then, isn't known.
                    Some(None) => Vec::new(),
                    noted => looked.changed(&named.handed(service), since, noted.flatten()),
                };
                let program = named.program(service);
                unit.program = program.filter(|program| looked.program_changed(program, pid, since));
                unit.steps = self.steps_since(process, since);
            }
            _ => {}
        }
    }

    fn stamp(&self, step: &ProcessName, service: &Service, unit: Unit<'_>) -> Option<Stamp> {
        stamp::read(self.group, step, service, &self.now.definitions, unit)
    }

    /// The setup steps that `process` names in its `after` and that succeeded since, as far as they keep a stamp.
    fn steps_since(&self, process: &ProcessName, since: u64) -> Vec<String> {
        let Some(group) = self.now.meaning else { return Vec::new() };
        let Some(process) = group.processes.get(process) else { return Vec::new() };
        let later = |step: &&ProcessName| {
            let unit = name::service(&group.name, step);
            let setup = group.setup.get(*step);
            let stamp = setup.and_then(|setup| self.stamp(step, &setup.service, self.named(&unit)));
            stamp.is_some_and(|stamp| stamp.at > since)
        };
        process.after_steps.iter().filter(later).map(ToString::to_string).collect()
    }
}

/// The process or setup step of one of the units of `group`, and what the unit runs.
pub(super) fn service_of<'g>(group: &'g Group, unit: &str) -> Option<(&'g ProcessName, &'g Service)> {
    let is = |process: &ProcessName| {
        let rest = unit.strip_prefix(name::stem(&group.name, process).as_str())?;
        rest.starts_with(['.', '@']).then_some(())
    };
    if let Some((process, step)) = group.setup.iter().find(|(process, _)| is(process).is_some()) {
        return Some((process, &step.service));
    }
    // A socket with a name of its own: `G-P-NAME.socket`.
    let has_socket = |process: &ProcessName, definition: &model::Process| {
        definition.sockets.iter().any(|socket| {
            let file = name::socket(&group.name, process, socket.name.as_ref(), socket.each_instance);
            file == unit || name::template_of(unit).as_deref() == Some(file.as_str())
        })
    };
    let of = |(process, definition): &(&ProcessName, &model::Process)| {
        is(process).is_some() || has_socket(process, definition)
    };
    let (process, definition) = group.processes.iter().find(of)?;
    let own = definition.instances.as_ref().and_then(|instances| {
        let instance = unit.split_once('@')?.1.rsplit_once('.')?.0;
        instances.get(&InstanceName::new(instance)?)?.as_ref()
    });
    Some((process, own.unwrap_or(&definition.service)))
}
