//! Pass-through: any directive, in systemd's own grammar, checked against the table of directives.

use std::fmt;

use super::command::toml_string;
use super::value;
use super::value::{invalid, shown, wrong_type};
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::group_file::document::{Entry, Node, Table, Value};
use crate::group_file::keys;
use crate::group_file::keys::Shape;
use crate::model::{Pass, PassThrough};
use crate::unit::Section;
use crate::unit::directives;

/// Directives that the design stands on, and why each can't be changed.
const REFUSED: &[(Section, &str, &str)] = &[
    (Section::Unit, "PartOf", "it's what makes stopping the target reach the process"),
    (Section::Unit, "SourcePath", "it names the group file"),
    (Section::Unit, "RefuseManualStop", "copse sets it where a stop by hand would take the group along"),
    (
        Section::Service,
        "Slice",
        "the group's slice is how its processes are counted and stopped; `[slice]` sets its limits",
    ),
    (Section::Service, "Type", "it follows from `ready`"),
    (Section::Service, "RemainAfterExit", "it follows from `ready` and `start`"),
    (Section::Service, "BusName", "it follows from `ready = { dbus = NAME }`"),
    (Section::Service, "PIDFile", "it follows from `ready = { pid-file = PATH }`"),
    (Section::Service, "Sockets", "it follows from `listen`"),
    (Section::Socket, "Service", "a socket of copse's activates its own process"),
    (Section::Socket, "Accept", "copse's sockets are handed over as a whole"),
    (Section::Timer, "Unit", "a timer of copse's starts its own process"),
];

/// Lists that copse's own lines stand in: others can be added, but copse's can't be taken away.
const ADDED_TO: &[(Section, &str)] = &[
    (Section::Unit, "After"),
    (Section::Unit, "Requires"),
    (Section::Unit, "Wants"),
    (Section::Unit, "OnFailure"),
    (Section::Service, "LogExtraFields"),
];

/// Dependencies that carry a restart over, from a process to whoever names it.
const CARRYING: &[&str] = &["Requires", "BindsTo", "Requisite", "PropagatesStopTo", "StopPropagatedFrom", "Upholds"];

/// The tables of a process, setup step, instance or `[defaults]`.
pub fn tables() -> impl Iterator<Item = (&'static str, Section)> {
    keys::KEYS.iter().filter_map(|key| match key.shape {
        Shape::Directives(section) => Some((key.name, section)),
        _ => None,
    })
}

/// Why a directive can't be passed through, if it can't.
pub fn refused(section: Section, directive: &str) -> Option<&'static str> {
    REFUSED.iter().find(|(found, name, _)| *found == section && *name == directive).map(|(_, _, why)| *why)
}

/// Adds the directives of one table. `members` tells whether a unit's name is one of the group's own.
pub fn read(
    section: Section,
    header: &str,
    node: &Node,
    members: &dyn Fn(&str) -> bool,
    pass: &mut PassThrough,
    diagnostics: &mut Diagnostics,
) {
    let Some(table) = node.as_table() else {
        diagnostics.push(wrong_type(header, "a table of directives", node));
        return;
    };
    for entry in table.written_order() {
        let name = &*entry.name;
        if check_name(section, header, name, entry, diagnostics)
            && let Some(value) = pass_of(name, &entry.node, diagnostics)
            && check_kept(section, name, entry, &value, diagnostics)
        {
            check_members(section, name, entry, &value, members, diagnostics);
            pass.0.push((section, name.to_owned(), value));
        }
    }
}

fn check_name(section: Section, header: &str, name: &str, entry: &Entry, diagnostics: &mut Diagnostics) -> bool {
    if let Some(why) = refused(section, name) {
        let message = format!("`{name}=` can't be set here: {why}");
        diagnostics.push(Diagnostic::new(Code::RefusedDirective, &entry.key, message));
        return false;
    }
    // systemd ignores what begins with X-, on purpose: it's for other programs.
    let extension = name.strip_prefix("X-").is_some_and(|rest| {
        !rest.is_empty() && !rest.starts_with("Copse") && rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    });
    if extension || directives::since(section, name).is_some() {
        return true;
    }
    let message = format!("systemd has no directive `{}` in `[{}]`", shown(name), section.text());
    let mut diagnostic = Diagnostic::new(Code::UnknownDirective, &entry.key, message);
    let elsewhere = directives::sections_of(name).next();
    if let Some(near) = directives::nearest(section, name) {
        diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
    } else if let Some(elsewhere) = elsewhere {
        let message = format!(
            "it belongs to `[{}]`: move it from `[{header}]` to {}",
            elsewhere.text(),
            table_of(elsewhere, header)
        );
        diagnostic = diagnostic.help(message);
    }
    diagnostics.push(diagnostic);
    false
}

fn check_kept(section: Section, name: &str, entry: &Entry, pass: &Pass, diagnostics: &mut Diagnostics) -> bool {
    let lines = match pass {
        Pass::Replace(line) => std::slice::from_ref(line),
        Pass::Reset(lines) => lines,
        Pass::Add(_) => return true,
    };
    if !ADDED_TO.contains(&(section, name)) {
        return true;
    }
    let message = format!("copse's own `{name}=` can't be replaced here: the group stands on it");
    let array = lines.iter().map(|line| toml_string(line)).collect::<Vec<_>>().join(", ");
    let diagnostic = Diagnostic::new(Code::RefusedDirective, &entry.key, message);
    diagnostics.push(diagnostic.help(format!("write an array, which adds to it: `{name} = [{array}]`")));
    false
}

fn pass_of(name: &str, node: &Node, diagnostics: &mut Diagnostics) -> Option<Pass> {
    let Value::Array(elements) = &node.value else {
        return scalar(name, node, diagnostics).map(Pass::Replace);
    };
    let values: Vec<_> = elements.iter().map(|element| scalar(name, element, diagnostics)).collect();
    let mut values = values.into_iter().collect::<Option<Vec<_>>>()?;
    if values.first().is_some_and(String::is_empty) {
        values.remove(0);
        return Some(Pass::Reset(values));
    }
    Some(Pass::Add(values))
}

fn scalar(name: &str, node: &Node, diagnostics: &mut Diagnostics) -> Option<String> {
    match &node.value {
        Value::Integer(number) => Some(number.to_string()),
        Value::Boolean(value) => Some(if *value { "yes" } else { "no" }.to_owned()),
        Value::Other("a float", text) => Some(text.clone()),
        Value::String(_) => {
            let text = value::text(name, node, diagnostics)?;
            // A line that ends in a backslash would swallow the next one, and a newline would begin another directive.
            if text.chars().any(|c| c.is_control() && c != '\t') || text.ends_with('\\') {
                let message =
                    format!("`{name}` must be one line that doesn't end in a `\\`; write an array for several lines");
                diagnostics.push(invalid(node, message));
                return None;
            }
            Some(text.to_owned())
        }
        _ => {
            diagnostics.push(wrong_type(name, "a string, number, boolean, or an array of them", node));
            None
        }
    }
}

fn check_members(
    section: Section,
    name: &str,
    entry: &Entry,
    pass: &Pass,
    members: &dyn Fn(&str) -> bool,
    diagnostics: &mut Diagnostics,
) {
    if section != Section::Unit || !CARRYING.contains(&name) {
        return;
    }
    let values = match pass {
        Pass::Replace(value) => std::slice::from_ref(value),
        Pass::Add(values) | Pass::Reset(values) => values,
    };
    if let Some(member) = values.iter().flat_map(|value| value.split_ascii_whitespace()).find(|unit| members(unit)) {
        let message = format!(
            "`{name}={}` would carry every restart of that unit over: the group's own units can't be named here",
            shown(member)
        );
        let diagnostic = Diagnostic::new(Code::RefusedDirective, &entry.key, message);
        diagnostics.push(diagnostic.help("order them with the key `after`; they stop together anyway"));
    }
}

/// The pass-through table of a section, for who wrote the directive below `header`.
fn table_of(section: Section, header: &str) -> String {
    let table = tables().find(|(_, found)| *found == section).map_or("slice", |(table, _)| table);
    let member = header.rsplit_once('.').map(|(member, _)| member);
    match (section, member) {
        (Section::Slice, _) => "`[slice]`".to_owned(),
        (Section::Unit, None) => "`[target]`".to_owned(),
        (_, member) => format!("`[{}.{table}]`", member.unwrap_or("process.NAME")),
    }
}

/// More than this of a value isn't repeated in the lines that are offered.
const VALUE_MAX: usize = 400;

/// For a key that doesn't exist: the pass-through lines that would do what was probably meant, or why there are none.
pub fn as_directive(header: &str, key: &str, entry: &Entry) -> Option<String> {
    let (table, section, name) =
        tables().find_map(|(table, section)| Some((table, section, directives::spelled(section, key)?)))?;
    if let Some(why) = refused(section, name) {
        return Some(format!("`{name}=` can't be set: {why}"));
    }
    let written = entry.node.place.text().filter(|text| text.len() <= VALUE_MAX).unwrap_or("…");
    let brackets = ADDED_TO.contains(&(section, name)) && !written.starts_with('[');
    let (open, close) = if brackets { ("[", "]") } else { ("", "") };
    Some(format!("write it as a directive:\n[{header}.{table}]\n{name} = {open}{written}{close}"))
}

/// `NotifyAccess=` belongs to copse-notify where that speaks for a process; elsewhere to the author, whose shell script
/// may have a child of its own send `READY=1`.
pub fn refuse_notify_access(table: &Table, diagnostics: &mut Diagnostics) {
    let service = table.get("service").and_then(|entry| entry.node.as_table());
    if let Some(entry) = service.and_then(|service| service.get("NotifyAccess")) {
        let message = "`NotifyAccess=` can't be set here: it follows from the probes in `ready` or `health`";
        diagnostics.push(Diagnostic::new(Code::RefusedDirective, &entry.key, message));
    }
}

/// Reads all pass-through tables of `table`, whose header is `header`.
pub fn read_all(
    header: fmt::Arguments<'_>,
    table: &Table,
    members: &dyn Fn(&str) -> bool,
    diagnostics: &mut Diagnostics,
) -> PassThrough {
    let mut pass = PassThrough::default();
    for (name, section) in tables() {
        if let Some(entry) = table.get(name) {
            read(section, &format!("{header}.{name}"), &entry.node, members, &mut pass, diagnostics);
        }
    }
    pass
}
