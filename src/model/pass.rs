//! Pass-through: any directive, in systemd's own grammar, checked against the table of directives.

use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::document::{Entry, Node, Table, Value};
use crate::model::value::{self, invalid, shown, wrong_type};
use crate::model::{Pass, PassThrough};
use crate::systemd;
use crate::unit::Section;

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
    (Section::Service, "NotifyAccess", "it follows from `ready`"),
    (Section::Service, "RemainAfterExit", "it follows from `ready` and `start`"),
    (Section::Service, "BusName", "it follows from `ready = { dbus = NAME }`"),
    (Section::Service, "PIDFile", "it follows from `ready = { pid-file = PATH }`"),
    (Section::Service, "Sockets", "it follows from `listen`"),
    (Section::Socket, "Service", "a socket of copse's activates its own process"),
    (Section::Socket, "Accept", "copse's sockets are handed over as a whole"),
    (Section::Timer, "Unit", "a timer of copse's starts its own process"),
];

/// Dependencies that carry a restart over, from a process to whoever names it.
const CARRYING: &[&str] = &["Requires", "BindsTo", "Requisite", "PropagatesStopTo", "StopPropagatedFrom", "Upholds"];

/// The tables of a process, setup step, instance or `[defaults]`.
pub const TABLES: &[(&str, Section)] =
    &[("unit", Section::Unit), ("service", Section::Service), ("socket", Section::Socket), ("timer", Section::Timer)];

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
    for (name, entry) in table.written_order() {
        if check_name(section, header, name, entry, diagnostics)
            && let Some(value) = pass_of(name, &entry.node, diagnostics)
        {
            check_members(section, name, entry, &value, members, diagnostics);
            pass.0.push((section, name.to_owned(), value));
        }
    }
}

fn check_name(section: Section, header: &str, name: &str, entry: &Entry, diagnostics: &mut Diagnostics) -> bool {
    if let Some((_, _, why)) = REFUSED.iter().find(|(found, refused, _)| *found == section && *refused == name) {
        let message = format!("`{name}=` can't be set here: {why}");
        diagnostics.push(Diagnostic::new(Code::RefusedDirective, &entry.key, message));
        return false;
    }
    // systemd ignores what begins with X-, on purpose: it's for other programs.
    let extension = name.strip_prefix("X-").is_some_and(|rest| {
        !rest.is_empty() && !rest.starts_with("Copse") && rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    });
    if extension || systemd::since(section, name).is_some() {
        return true;
    }
    let message = format!("systemd has no directive `{}` in `[{}]`", shown(name), section.text());
    let mut diagnostic = Diagnostic::new(Code::UnknownDirective, &entry.key, message);
    let elsewhere = systemd::sections_of(name).next();
    if let Some(near) = systemd::nearest(section, name) {
        diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
    } else if let Some(elsewhere) = elsewhere {
        let table = TABLES.iter().find(|(_, section)| *section == elsewhere).map_or("slice", |(table, _)| table);
        diagnostic = diagnostic
            .help(format!("it belongs to `[{}]`: move it from `[{header}]` to the table `{table}`", elsewhere.text()));
    }
    diagnostics.push(diagnostic);
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

/// For a key that doesn't exist: the pass-through lines that would do what was probably meant.
#[must_use]
pub fn as_directive(header: &str, key: &str, entry: &Entry) -> Option<String> {
    let camel: String = key.split('-').map(capitalised).collect();
    [key, camel.as_str()].into_iter().find_map(|name| {
        let section = systemd::sections_of(name).find(|section| TABLES.iter().any(|(_, found)| found == section))?;
        let (table, _) = TABLES.iter().find(|(_, found)| *found == section)?;
        let place = &entry.node.place;
        let written = place.file.text.get(place.start as usize..place.end as usize).unwrap_or("…");
        Some(format!("write it as a directive:\n[{header}.{table}]\n{name} = {}", shown(written)))
    })
}

fn capitalised(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + chars.as_str())
}

/// Reads all pass-through tables of `table`, whose header is `header`.
pub fn read_all(
    header: &str,
    table: &Table,
    members: &dyn Fn(&str) -> bool,
    diagnostics: &mut Diagnostics,
) -> PassThrough {
    let mut pass = PassThrough::default();
    for (name, section) in TABLES {
        if let Some(entry) = table.get(name) {
            read(*section, &format!("{header}.{name}"), &entry.node, members, &mut pass, diagnostics);
        }
    }
    pass
}
