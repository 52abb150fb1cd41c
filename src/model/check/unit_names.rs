//! Checks that the names of a group's units are valid, and different from those of copse's own units.

use std::collections::BTreeMap;

use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, SourceLocation};
use crate::model::parse::value::shown;
use crate::model::types::{Process, Setup};
use crate::unit::name;
use crate::unit::name::{GroupName, ProcessName};

pub fn check(
    group: &GroupName,
    location: &SourceLocation,
    processes: &BTreeMap<ProcessName, Process>,
    setup: &BTreeMap<ProcessName, Setup>,
    diagnostics: &mut Diagnostics,
) {
    check_group(group, location, diagnostics);
    check_sockets(group, processes, diagnostics);
    for (name, process) in processes.iter().filter(|(_, process)| process.instances.is_some()) {
        let template = name::stem(group, name) + "@";
        if name::OWN_TEMPLATES.contains(&template.as_str()) {
            let message = format!("instances of `{name}` would have the name `{template}…` of copse's own units");
            let diagnostic = Diagnostic::new(Code::UnitName, &process.location, message);
            diagnostics.push(diagnostic.help("rename the process"));
        }
    }
    let members = processes.iter().map(|(name, process)| (name, &process.location, longest_suffix(process)));
    let steps = setup.iter().map(|(name, step)| (name, &step.location, 0));
    for (name, location, suffix) in members.chain(steps) {
        // The longest name that is made from the one of a process.
        let length = "copse-gave-up@".len() + name::stem(group, name).len() + suffix + ".service".len();
        if length > name::MAX {
            let name = shown(name.as_str());
            let message = format!("the unit names of `{name}` would have {length} bytes, of at most {}", name::MAX);
            let diagnostic = Diagnostic::new(Code::ProcessName, location, message);
            diagnostics.push(diagnostic.help("shorten it, or the name of the group"));
        }
    }
}

/// The length of the longest instance and the longest socket name, each with its separator.
fn longest_suffix(process: &Process) -> usize {
    let instances = process.instances.iter().flatten().map(|(instance, _)| instance.as_str().len() + 1);
    let sockets = process.sockets.iter().filter_map(|socket| socket.name.as_ref()).map(|name| name.as_str().len() + 1);
    instances.max().unwrap_or(1) + sockets.max().unwrap_or(0)
}

/// The slice has four bytes for each `-` in a group's name. And drop-ins for the owner of shared directories need a
/// directory, whose name has as many bytes as a unit's at most.
fn check_group(group: &GroupName, location: &SourceLocation, diagnostics: &mut Diagnostics) {
    let longest = name::slice(false, group).len().max(name::own("directories", group).len() + ".d".len());
    if longest > name::MAX {
        let message =
            format!("the group name is too long: a unit name would have {longest} bytes, of at most {}", name::MAX);
        diagnostics.push(Diagnostic::new(Code::GroupName, location, message).help("shorten the name of the file"));
    }
}

/// The name of a socket follows the name of its process and a dash, which another process may have in its name.
fn check_sockets(group: &GroupName, processes: &BTreeMap<ProcessName, Process>, diagnostics: &mut Diagnostics) {
    let mut first: BTreeMap<String, &ProcessName> = BTreeMap::new();
    for (name, process) in processes {
        for socket in &process.sockets {
            let unit = name::socket(group, name, socket.name.as_ref(), socket.each_instance);
            if let Some(other) = first.get(&unit) {
                let message = format!("`{unit}` already is a socket of `{other}`");
                let diagnostic = Diagnostic::new(Code::UnitName, &process.location, message);
                diagnostics.push(diagnostic.help("rename one of the sockets"));
            }
            first.entry(unit).or_insert(name);
        }
    }
}
