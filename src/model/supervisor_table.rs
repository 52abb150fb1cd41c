//! What clients of supervisord may name of a group, and the unit of each name: the table that copse-supervisor reads.

use std::fmt;
use std::time::Duration;

use super::service::TimeSpan;
use super::supervisor::SupervisorName;
use super::types::{Group, Process, Start};
use crate::basic::time_span;
use crate::unit::name;
use crate::unit::name::{InstanceName, in_order};

/// A line of the table that the generated units hand to copse-supervisor: what clients may name, and the unit of each.
///
/// ```text
/// web:web_1 shop-web@1.service auto settle=1s
/// web:web_{instance} shop-web@.service
/// login=NAME
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    Entry(Entry),
    /// Any instance of a template: the units of a manual process need not be in the group file.
    Template(SupervisorName, Entry),
    /// The user name of every request.
    Login(String),
}

/// A process, or an instance of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub group: String,
    pub name: String,
    /// A service; of [`Line::Template`] its template.
    pub unit: String,
    /// It is started with the group.
    pub auto: bool,
    /// How long it has to stay up until a start has succeeded.
    pub settle: Duration,
    /// It is a client itself, as far as the group file says: copse-supervisor does not exit while it runs.
    pub client: bool,
    /// `supervisor-view = "own"`
    pub own_view: bool,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entry = match self {
            Self::Login(name) => return write!(f, "login={name}"),
            Self::Template(name, entry) => {
                write!(f, "{name}")?;
                entry
            }
            Self::Entry(entry) => {
                write!(f, "{}:{}", entry.group, entry.name)?;
                entry
            }
        };
        write!(f, " {}", entry.unit)?;
        if entry.auto {
            write!(f, " auto")?;
        }
        if !entry.settle.is_zero() {
            write!(f, " settle={}", time_span::format(entry.settle).replace(' ', ""))?;
        }
        for (flag, word) in [(entry.client, "client"), (entry.own_view, "own-view")] {
            if flag {
                write!(f, " {word}")?;
            }
        }
        Ok(())
    }
}

impl Line {
    /// Reads what [`fmt::Display`] writes. `None` for anything else; unknown words at the end are a later version's.
    pub fn parse(line: &str) -> Option<Self> {
        if let Some(name) = line.strip_prefix("login=") {
            return Some(Self::Login(name.to_owned()));
        }
        let mut words = line.split(' ');
        let (names, unit) = (words.next()?, words.next()?);
        let template = unit.contains("@.");
        let name = SupervisorName::parse(names, "", template).ok().filter(|_| names.contains(':'))?;
        let process = name.process(None);
        let mut entry = Entry {
            group: name.group.clone(),
            name: process,
            unit: unit.to_owned(),
            auto: false,
            settle: Duration::ZERO,
            client: false,
            own_view: false,
        };
        for word in words {
            match word.split_once('=') {
                None if word == "auto" => entry.auto = true,
                None if word == "client" => entry.client = true,
                None if word == "own-view" => entry.own_view = true,
                Some(("settle", span)) => entry.settle = time_span::parse(span).ok()?.finite()?,
                _ => {}
            }
        }
        Some(if template { Self::Template(name, entry) } else { Self::Entry(entry) })
    }
}

/// The table of a group, by process.
pub fn table(group: &Group) -> Vec<Line> {
    let mut lines = Vec::new();
    let login = group.supervisor.as_ref().and_then(|supervisor| supervisor.login.as_ref());
    lines.extend(login.map(|login| Line::Login(login.username.clone())));
    for (process_name, process) in &group.processes {
        let name = &process.supervisor_name;
        let auto = process.start == Start::Auto && !process.hold;
        let entry = |process_name: String, unit: String| Entry {
            group: name.group.clone(),
            name: process_name,
            unit,
            auto,
            settle: settle(process),
            client: is_client(process),
            own_view: process.own_view,
        };
        let Some(instances) = &process.instances else {
            lines.push(Line::Entry(entry(name.process(None), name::service(&group.name, process_name))));
            continue;
        };
        for instance in in_order(instances.keys()) {
            let unit = name::instance(&group.name, process_name, instance);
            lines.push(Line::Entry(entry(name.process(Some(instance.as_str())), unit)));
        }
        if process.start == Start::Manual {
            let unit = name::template(&group.name, process_name);
            lines.push(Line::Template(name.clone(), entry(name.process(None), unit)));
        }
    }
    lines
}

/// Whether a process is a client itself, as far as the group file says.
pub fn is_client(process: &Process) -> bool {
    process.own_view || !process.controls.is_empty()
}

fn settle(process: &Process) -> Duration {
    let TimeSpan { value, .. } = &process.change.min_ready;
    value.finite().unwrap_or_default()
}

/// The names of the instances of a process, or its one name.
pub fn names<'p>(process: &'p Process) -> impl Iterator<Item = (String, String)> + 'p {
    let instances: Vec<Option<&InstanceName>> = match &process.instances {
        Some(instances) => instances.keys().map(Some).collect(),
        None => vec![None],
    };
    let name = &process.supervisor_name;
    instances.into_iter().map(move |instance| (name.group.clone(), name.process(instance.map(InstanceName::as_str))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written() {
        for line in [
            "web:web g-web.service",
            "web:web_1 g-web@1.service auto settle=1s",
            "web:web_1 g-web@1.service auto settle=1min30s client own-view",
            "k:k{instance:02} g-k@.service settle=1s",
            "login=a b",
        ] {
            assert_eq!(Line::parse(line).unwrap().to_string(), line);
        }
        for line in ["", "web", "web x.service", "a:b", "a:b{instance} g-x.service", "a:b c@.service"] {
            assert_eq!(Line::parse(line), None, "{line}");
        }
        assert!(Line::parse("a:b c.service later=1").is_some());
    }
}
