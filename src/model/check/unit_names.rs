//! Whether the names of a group's units are names that systemd takes.

use std::collections::BTreeMap;

use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, SourceLocation};
use crate::model::parse::value::shown;
use crate::model::{Process, Setup};
use crate::unit::name;
use crate::unit::name::{GroupName, ProcessName};

/// Reports what would be too long, or be taken for one of copse's own units.
pub fn check(
    group: &GroupName,
    place: &SourceLocation,
    processes: &BTreeMap<ProcessName, Process>,
    setup: &BTreeMap<ProcessName, Setup>,
    diagnostics: &mut Diagnostics,
) {
    check_group(group, place, diagnostics);
    check_sockets(group, processes, diagnostics);
    // The longest name made from a process's.
    let longest_own = "copse-gave-up@".len();
    let members = processes.iter().map(|(name, process)| {
        let instance =
            process.instances.iter().flatten().map(|(instance, _)| instance.as_str().len() + 1).max().unwrap_or(1);
        let socket = process
            .sockets
            .iter()
            .filter_map(|socket| socket.name.as_ref())
            .map(|name| name.as_str().len() + 1)
            .max()
            .unwrap_or(0);
        (name, &process.place, instance + socket)
    });
    let steps = setup.iter().map(|(name, step)| (name, &step.place, 0));
    for (name, process) in processes.iter().filter(|(_, process)| process.instances.is_some()) {
        let template = name::stem(group, name) + "@";
        if name::OWN_TEMPLATES.contains(&template.as_str()) {
            let message = format!("instances of `{name}` would be named `{template}…`, which are copse's own units");
            diagnostics.push(Diagnostic::new(Code::UnitName, &process.place, message).help("give it another name"));
        }
    }
    for (name, place, more) in members.chain(steps) {
        let length = name::stem(group, name).len() + more + ".service".len() + longest_own;
        if length > name::MAX {
            let message = format!(
                "the names of the units of `{}` would have {length} bytes, and systemd takes {}",
                shown(name.as_str()),
                name::MAX
            );
            diagnostics
                .push(Diagnostic::new(Code::ProcessName, place, message).help("shorten it, or the group's name"));
        }
    }
}

/// Each `-` of a group's name is four bytes in the slice's; and drop-ins for the holder of shared directories need a
/// directory, whose name has no more bytes than a unit's.
fn check_group(group: &GroupName, place: &SourceLocation, diagnostics: &mut Diagnostics) {
    let longest = name::slice(false, group).len().max(name::own("directories", group).len() + ".d".len());
    if longest > name::MAX {
        let message = format!(
            "the group's name is too long: a unit made from it would have {longest} bytes, and systemd takes {}",
            name::MAX
        );
        diagnostics.push(Diagnostic::new(Code::GroupName, place, message).help("shorten the file's name"));
    }
}

/// A socket's own name follows its process's after a dash, which may be in the name of another process as well.
fn check_sockets(group: &GroupName, processes: &BTreeMap<ProcessName, Process>, diagnostics: &mut Diagnostics) {
    let mut first: BTreeMap<String, &ProcessName> = BTreeMap::new();
    for (name, process) in processes {
        for socket in &process.sockets {
            let unit = name::socket(group, name, socket.name.as_ref(), socket.each_instance);
            if let Some(other) = first.get(&unit) {
                let message = format!("`{unit}` is a socket of `{other}` already");
                let diagnostic = Diagnostic::new(Code::UnitName, &process.place, message);
                diagnostics.push(diagnostic.help("name one of the sockets otherwise"));
            }
            first.entry(unit).or_insert(name);
        }
    }
}
