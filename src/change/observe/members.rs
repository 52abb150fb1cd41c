//! The units of a group: those that its file brings about, and others that are loaded and stop with it.

use std::collections::HashSet;

use serde::Serialize;

use super::subject::Subject;
use crate::model;
use crate::model::{Group, Process, Service};
use crate::unit::name;
use crate::unit::name::{InstanceName, ProcessName, in_order};

/// What kind of unit a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Process,
    /// A setup step.
    Setup,
    Socket,
    Timer,
}

/// What starts a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// The group's target.
    Auto,
    /// Other units of the group, or an administrator.
    Manual,
    /// Its timer.
    Timed,
    /// Nothing, while it is held.
    Held,
}

/// A unit of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub subject: Subject,
    pub kind: Kind,
    pub start: Start,
    /// The process or setup step of the group file that it belongs to.
    pub process: Option<ProcessName>,
    /// The group file names it; otherwise it was only found to be part of the target.
    pub defined: bool,
}

impl Member {
    pub fn unit(&self) -> &str {
        &self.subject.unit
    }

    /// What it runs, according to the group file.
    pub fn service<'g>(&self, group: &'g Group) -> Option<&'g Service> {
        let process = self.process.as_ref()?;
        if let Some(step) = group.setup.get(process) {
            return Some(&step.service);
        }
        let process = group.processes.get(process)?;
        let own = process.instances.as_ref().and_then(|instances| {
            let instance = InstanceName::new(self.subject.instance()?)?;
            instances.get(&instance)?.as_ref()
        });
        Some(own.unwrap_or(&process.service))
    }
}

/// All units that the group file brings about, the setup steps first, `web@10` after `web@9`.
pub fn members(group: &Group) -> Vec<Member> {
    let mut members = Vec::new();
    let mut push = |unit: String, process: &ProcessName, kind, start| {
        let subject = Subject::new(group.name.as_str(), &unit);
        members.push(Member { subject, kind, start, process: Some(process.clone()), defined: true });
    };
    for step in group.setup.keys() {
        push(name::service(&group.name, step), step, Kind::Setup, Start::Auto);
    }
    for (process, definition) in &group.processes {
        let start = start(definition);
        let instances = definition.instances.as_ref().map(|all| in_order(all.keys()));
        let each = |template: String| match &instances {
            Some(all) if template.contains('@') => {
                all.iter().map(|instance| name::instantiate(&template, instance.as_str())).collect()
            }
            _ => vec![template],
        };
        let service = match &instances {
            Some(_) => name::template(&group.name, process),
            None => name::service(&group.name, process),
        };
        for socket in &definition.sockets {
            // A manual process is started by its socket.
            each(name::socket(&group.name, process, socket.name.as_ref(), socket.each_instance))
                .into_iter()
                .for_each(|unit| push(unit, process, Kind::Socket, start));
        }
        if let model::Start::Timed(_) = definition.start {
            let start = if definition.hold { Start::Held } else { Start::Auto };
            push(name::timer(&group.name, process), process, Kind::Timer, start);
        }
        each(service).into_iter().for_each(|unit| push(unit, process, Kind::Process, start));
    }
    if group.supervisor.is_some() {
        let subject = Subject::new(group.name.as_str(), &name::supervisor_socket(&group.name));
        members.push(Member { subject, kind: Kind::Socket, start: Start::Auto, process: None, defined: true });
    }
    members
}

fn start(process: &Process) -> Start {
    match process.start {
        _ if process.hold => Start::Held,
        model::Start::Auto => Start::Auto,
        model::Start::Manual => Start::Manual,
        model::Start::Timed(_) => Start::Timed,
    }
}

/// The members of the file, if it is valid, and the units of `found` that are not copse's own: systemd has found them to be
/// part of the target. These are instances of a manual process, orphans, and what an administrator added.
pub fn all_members(name: &str, group: Option<&Group>, found: &[String]) -> Vec<Member> {
    let mut members = group.map(members).unwrap_or_default();
    let known: HashSet<String> = members.iter().map(|member| member.unit().to_owned()).collect();
    let own = |unit: &str| unit.starts_with("copse-") && unit.contains('@');
    let others = found.iter().filter(|unit| !own(unit) && !known.contains(*unit));
    let mut others: Vec<Member> = others.map(|unit| found_member(name, group, unit)).collect();
    // `web@10` after `web@9`.
    others.sort_by_cached_key(|Member { subject, .. }| {
        let number = subject.instance().and_then(|instance| instance.parse::<u64>().ok());
        let stem = subject.unit.split_once('@').map_or(&*subject.unit, |(stem, _)| stem);
        (stem.to_owned(), number, subject.unit.clone())
    });
    members.append(&mut others);
    members
}

fn found_member(name: &str, group: Option<&Group>, unit: &str) -> Member {
    let template = name::template_of(unit);
    let of_template = group.and_then(|group| {
        let is = |process| template.as_deref() == Some(name::template(&group.name, process).as_str());
        group.processes.iter().find(|(process, _)| is(*process)).map(|(_, definition)| definition)
    });
    let started_by_others = of_template.map(start).filter(|start| *start != Start::Auto);
    let kind = match unit.rsplit_once('.').map(|(_, suffix)| suffix) {
        Some("socket") => Kind::Socket,
        Some("timer") => Kind::Timer,
        _ => Kind::Process,
    };
    Member {
        subject: Subject::new(name, unit),
        kind,
        start: started_by_others.unwrap_or(Start::Auto),
        process: group.and_then(|group| process_of(group, unit)).cloned(),
        defined: started_by_others.is_some(),
    }
}

/// The process or setup step of the file that a unit belongs to, by their names.
fn process_of<'g>(group: &'g Group, unit: &str) -> Option<&'g ProcessName> {
    let is_of = |process: &ProcessName| {
        let rest = unit.strip_prefix(name::stem(&group.name, process).as_str());
        rest.is_some_and(|rest| rest.starts_with(['.', '@']))
    };
    // `G-P-NAME.socket`
    let has_socket = |process: &ProcessName, definition: &Process| {
        definition.sockets.iter().any(|socket| {
            let file = name::socket(&group.name, process, socket.name.as_ref(), socket.each_instance);
            file == unit || name::template_of(unit).as_deref() == Some(file.as_str())
        })
    };
    let step = group.setup.keys().find(|step| is_of(step));
    let process =
        || group.processes.iter().find(|(process, definition)| is_of(process) || has_socket(process, definition));
    step.or_else(|| process().map(|(process, _)| process))
}
