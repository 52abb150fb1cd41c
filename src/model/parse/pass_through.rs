//! Pass-through: any directive, in systemd's own grammar, checked against the table of directives.

use super::command::toml_string;
use super::context::Reader;
use super::value;
use super::value::{Result, did_you_mean, invalid, shown, wrong_type};
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::group_file::document::{Entry, Node, Value};
use crate::group_file::keys;
use crate::group_file::keys::KeyKind;
use crate::model::service::{Pass, PassThrough};
use crate::unit::Section;
use crate::unit::directives;

/// Directives that copse relies on, each with the reason why it cannot be set.
const REFUSED: &[(Section, &str, &str)] = &[
    (Section::Unit, "PartOf", "it makes a stop of the target stop the process"),
    (Section::Unit, "SourcePath", "it names the group file"),
    (Section::Unit, "RefuseManualStop", "copse sets it on units whose stop would stop the group"),
    (Section::Service, "Slice", "the processes of a group share its slice, and `[slice]` sets the limits of that"),
    (Section::Service, "Type", "it follows from `ready`"),
    (Section::Service, "RemainAfterExit", "it follows from `ready` and `start`"),
    (Section::Service, "BusName", "it follows from `ready = { dbus = NAME }`"),
    (Section::Service, "PIDFile", "it follows from `ready = { pid-file = PATH }`"),
    (Section::Service, "Sockets", "it follows from `listen`"),
    (Section::Socket, "Service", "the socket of a process activates that process"),
    (Section::Socket, "Accept", "the process receives the socket itself"),
    (Section::Timer, "Unit", "the timer of a process starts that process"),
];

/// Lists with lines of copse's own: others can be added, but these cannot be removed.
const ADDED_TO: &[(Section, &str)] = &[
    (Section::Unit, "After"),
    (Section::Unit, "Requires"),
    (Section::Unit, "Wants"),
    (Section::Unit, "OnFailure"),
    (Section::Service, "LogExtraFields"),
];

/// Dependencies that propagate a restart to the unit that has them.
const PROPAGATING: &[&str] = &["Requires", "BindsTo", "Requisite", "PropagatesStopTo", "StopPropagatedFrom", "Upholds"];

/// The tables of a process, setup step, instance or `[defaults]`.
pub fn tables() -> impl Iterator<Item = (&'static str, Section)> {
    keys::KEYS.iter().filter_map(|key| match key.kind {
        KeyKind::Directives(section) => Some((key.name, section)),
        _ => None,
    })
}

/// Why a directive cannot be passed through, if it cannot.
pub fn refused(section: Section, directive: &str) -> Option<&'static str> {
    REFUSED.iter().find(|(found, name, _)| *found == section && *name == directive).map(|(_, _, why)| *why)
}

impl Reader<'_, '_> {
    /// All pass-through tables of a table with this header. `has_unit`: true for the name of a unit of the group.
    pub fn pass_through(&mut self, header: &str, has_unit: &dyn Fn(&str) -> bool) -> PassThrough {
        let mut pass = PassThrough::default();
        for (name, section) in tables() {
            if let Some(entry) = self.table.get(name) {
                let header = format!("{header}.{name}");
                pass.0.extend(read(section, &header, &entry.node, has_unit, self.diagnostics));
            }
        }
        pass
    }

    /// `NotifyAccess=` belongs to copse-notify if that notifies for the process. Otherwise it belongs to the author, whose
    /// shell script may have a child that sends `READY=1`.
    pub fn refuse_notify_access(&mut self) {
        let entry = self.table.table("service").and_then(|service| service.get("NotifyAccess"));
        if let Some(entry) = entry {
            self.push(refuse(entry, "it follows from the probes in `ready` or `health`"));
        }
    }
}

/// The directives of one table.
pub fn read(
    section: Section,
    header: &str,
    node: &Node,
    has_unit: &dyn Fn(&str) -> bool,
    diagnostics: &mut Diagnostics,
) -> Vec<(Section, String, Pass)> {
    let Some(table) = node.as_table() else {
        diagnostics.push(wrong_type(header, "a table of directives", node));
        return Vec::new();
    };
    let read = |entry: &Entry| {
        diagnostics.ok(check_name(section, header, entry))?;
        let pass = pass(&entry.name, &entry.node, diagnostics)?;
        diagnostics.ok(check_lines(section, entry, &pass, has_unit))?;
        Some((section, entry.name.to_string(), pass))
    };
    table.written_order().into_iter().filter_map(read).collect()
}

fn refuse(entry: &Entry, why: &str) -> Diagnostic {
    let message = format!("`{}=` cannot be set here: {why}", entry.name);
    Diagnostic::new(Code::RefusedDirective, entry, message)
}

fn check_name(section: Section, header: &str, entry: &Entry) -> Result<()> {
    let name = &*entry.name;
    if let Some(why) = refused(section, name) {
        return Err(refuse(entry, why));
    }
    // For other programs: systemd ignores X-.
    let extension = name.strip_prefix("X-").is_some_and(|rest| {
        !rest.is_empty() && !rest.starts_with("Copse") && rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    });
    if extension || directives::since(section, name).is_some() {
        return Ok(());
    }
    let message = format!("systemd has no directive `{}` in `[{}]`", shown(name), section.text());
    let diagnostic = Diagnostic::new(Code::UnknownDirective, entry, message);
    let near = directives::nearest(section, name);
    Err(match directives::sections_of(name).next().filter(|_| near.is_none()) {
        Some(elsewhere) => diagnostic.help(format!("move it from `[{header}]` to `[{}]`", table_of(elsewhere, header))),
        None => did_you_mean(diagnostic, near),
    })
}

fn check_lines(section: Section, entry: &Entry, pass: &Pass, has_unit: &dyn Fn(&str) -> bool) -> Result<()> {
    let name = &*entry.name;
    let refuse = |message: String| Diagnostic::new(Code::RefusedDirective, entry, message);
    if ADDED_TO.contains(&(section, name)) && !matches!(pass, Pass::Add(_)) {
        let array = pass.lines().iter().map(|line| toml_string(line)).collect::<Vec<_>>().join(", ");
        let message = format!("the lines of copse's own `{name}=` cannot be replaced");
        return Err(refuse(message).help(format!("write an array, which adds to them, `{name} = [{array}]`")));
    }
    let mut units = pass.lines().iter().flat_map(|line| line.split_ascii_whitespace());
    let propagating = section == Section::Unit && PROPAGATING.contains(&name);
    if let Some(unit) = units.find(|unit| propagating && has_unit(unit)) {
        let unit = shown(unit);
        let message =
            format!("`{name}={unit}` names a unit of the same group: its restarts would restart this one too");
        return Err(refuse(message).help("order them with the key `after`"));
    }
    Ok(())
}

fn pass(name: &str, node: &Node, diagnostics: &mut Diagnostics) -> Option<Pass> {
    let Value::Array(elements) = &node.value else {
        return diagnostics.ok(line(name, node)).map(Pass::Replace);
    };
    let lines: Vec<_> = elements.iter().map(|element| diagnostics.ok(line(name, element))).collect();
    let mut lines = lines.into_iter().collect::<Option<Vec<_>>>()?;
    if lines.first().is_some_and(String::is_empty) {
        lines.remove(0);
        return Some(Pass::Reset(lines));
    }
    Some(Pass::Add(lines))
}

fn line(name: &str, node: &Node) -> Result<String> {
    match &node.value {
        Value::Integer(number) => Ok(number.to_string()),
        Value::Boolean(value) => Ok(if *value { "yes" } else { "no" }.to_owned()),
        Value::Float(text) => Ok(text.clone()),
        Value::String(_) => {
            let text = value::text(name, node)?;
            // A backslash at the end would continue the line, and a newline would begin another directive.
            if text.chars().any(|c| c.is_control() && c != '\t') || text.ends_with('\\') {
                let message = format!("`{name}` must be one line that does not end in `\\`");
                return Err(invalid(node, message).help("write an array for several lines"));
            }
            Ok(text.to_owned())
        }
        _ => Err(wrong_type(name, "a string, number, boolean, or an array of them", node)),
    }
}

/// The header of the pass-through table of a section, next to the table `header`.
fn table_of(section: Section, header: &str) -> String {
    let table = tables().find(|(_, found)| *found == section).map_or("slice", |(table, _)| table);
    let member = header.rsplit_once('.').map(|(member, _)| member);
    match (section, member) {
        (Section::Slice, _) => "slice".to_owned(),
        (Section::Unit, None) => "target".to_owned(),
        (_, member) => format!("{}.{table}", member.unwrap_or("process.NAME")),
    }
}

/// The longest value in bytes that [`as_directive`] repeats.
const VALUE_MAX: usize = 400;

/// For an unknown key: the pass-through lines that are likely meant, or why they are not possible.
pub fn as_directive(header: &str, entry: &Entry) -> Option<String> {
    let (table, section, name) =
        tables().find_map(|(table, section)| Some((table, section, directives::spelled(section, &entry.name)?)))?;
    if let Some(why) = refused(section, name) {
        return Some(format!("remove it, `{name}=` cannot be set: {why}"));
    }
    let written = entry.node.location.text().filter(|text| text.len() <= VALUE_MAX).unwrap_or("…");
    let brackets = ADDED_TO.contains(&(section, name)) && !written.starts_with('[');
    let (open, close) = if brackets { ("[", "]") } else { ("", "") };
    Some(format!("write it as a directive:\n[{header}.{table}]\n{name} = {open}{written}{close}"))
}
