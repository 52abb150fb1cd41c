//! Who is in a group: what its file says, and what else is loaded that stops with it.

use crate::model;
use crate::model::Group;
use crate::unit::name;
use crate::unit::name::in_order;

/// What kind of unit a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A service that does the work.
    Process,
    /// A setup step.
    Setup,
    /// A socket of a process.
    Socket,
    /// The timer of a process.
    Timer,
}

/// Who starts a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// The group's target.
    Auto,
    /// The group's manager, or a person.
    Manual,
    /// Its timer.
    Timed,
    /// Nobody, for now: `hold`.
    Held,
}

/// A unit of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub unit: String,
    /// What people call it: [`label`].
    pub label: String,
    /// What kind of unit it is.
    pub kind: Kind,
    /// Who starts it.
    pub start: Start,
    /// The group file names it; otherwise it was only found to be part of the target.
    pub defined: bool,
}

impl Member {
    pub fn subject(&self) -> Subject {
        Subject { unit: self.unit.clone(), label: self.label.clone() }
    }
}

/// What people call a unit of `group`: the process, with its instance (`web@1`); a socket or timer keeps its suffix.
pub fn label(group: &str, unit: &str) -> String {
    let stem = unit.strip_suffix(".service").unwrap_or(unit);
    let rest = stem.strip_prefix(group).and_then(|rest| rest.strip_prefix('-'));
    rest.unwrap_or(stem).to_owned()
}

/// All units that the group file brings about, the setup steps first, `web@10` after `web@9`.
pub fn members(group: &Group) -> Vec<Member> {
    let mut members = Vec::new();
    let mut push = |unit: String, kind, start| {
        let label = label(group.name.as_str(), &unit);
        members.push(Member { unit, label, kind, start, defined: true });
    };
    for step in group.setup.keys() {
        push(name::service(&group.name, step), Kind::Setup, Start::Auto);
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
            // Of a manual process the socket is what starts it.
            each(name::socket(&group.name, process, socket.name.as_ref(), socket.each_instance))
                .into_iter()
                .for_each(|unit| push(unit, Kind::Socket, start));
        }
        if let model::Start::Timed(_) = definition.start {
            let start = if definition.hold { Start::Held } else { Start::Auto };
            push(name::timer(&group.name, process), Kind::Timer, start);
        }
        each(service).into_iter().for_each(|unit| push(unit, Kind::Process, start));
    }
    members
}

fn start(process: &model::Process) -> Start {
    match process.start {
        _ if process.hold => Start::Held,
        model::Start::Auto => Start::Auto,
        model::Start::Manual => Start::Manual,
        model::Start::Timed(_) => Start::Timed,
    }
}

/// All members: of the file, if it is valid, and what else systemd has found to be part of the target.
pub fn all_members(name: &str, group: Option<&Group>, found: &[String]) -> Vec<Member> {
    let mut all = group.map(members).unwrap_or_default();
    with_found(&mut all, name, group, found);
    all
}

/// Adds the units that systemd has found to be part of the group's target, less those of copse's own: instances of a
/// manual process that somebody started, processes that left the group while running, what an administrator added.
/// `group` is what the file means, if it is valid; without, all members come this way.
pub fn with_found(members: &mut Vec<Member>, name: &str, group: Option<&Group>, found: &[String]) {
    // As people count: `web@10` after `web@9`.
    let mut found: Vec<&String> = found.iter().collect();
    found.sort_by_cached_key(|unit| {
        let (stem, instance) = unit.split_once('@').unwrap_or((unit, ""));
        let number = instance.split_once('.').and_then(|(instance, _)| instance.parse::<u64>().ok());
        (stem.to_owned(), number, instance.to_owned())
    });
    for unit in found {
        let own = unit.starts_with("copse-") && unit.contains('@');
        if own || members.iter().any(|member| member.unit == *unit) {
            continue;
        }
        let template = name::template_of(unit);
        let process = group.and_then(|group| {
            let is = |process| template.as_deref() == Some(name::template(&group.name, process).as_str());
            group.processes.iter().find(|(process, _)| is(*process)).map(|(_, definition)| definition)
        });
        let started_by_others = process.map(start).filter(|start| *start != Start::Auto);
        let kind = match unit.rsplit_once('.').map(|(_, suffix)| suffix) {
            Some("socket") => Kind::Socket,
            Some("timer") => Kind::Timer,
            _ => Kind::Process,
        };
        members.push(Member {
            unit: unit.clone(),
            label: label(name, unit),
            kind,
            start: started_by_others.unwrap_or(Start::Auto),
            defined: started_by_others.is_some(),
        });
    }
}

/// A unit, and what people call it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    /// `G-P@1.service`
    pub unit: String,
    /// `P@1`: [`crate::change::observe::members::label`].
    pub label: String,
}
