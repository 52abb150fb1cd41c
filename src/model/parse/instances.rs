//! Instances of a process: their names, ports, and those that differ from the template.

use std::collections::BTreeMap;

use super::process::{Merged, Surroundings, check_keys, service};
use super::service::Role;
use super::value;
use super::value::{invalid, shown, wrong_type};
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::basic::suggest;
use crate::group_file::document::{Entry, KeySpan, Node, Table, Value, merge_settings};
use crate::group_file::keys;
use crate::model::{Service, Text};
use crate::unit::name::InstanceName;

/// More instances than this are a slip of the keyboard.
pub const MOST_INSTANCES: i64 = 10_000;

/// The names that `instances` comes to; `None` without the key.
pub fn names<'t>(
    table: &Table<'t>,
    role: Role,
    cpus: u32,
    diagnostics: &mut Diagnostics,
) -> Option<Vec<(InstanceName, Option<KeySpan<'t>>)>> {
    let first = match table.get("first-instance") {
        Some(entry) => value::integer("first-instance", &entry.node, keys::FIRST_INSTANCE, diagnostics).unwrap_or(1),
        None => 1,
    };
    let Some(entry) = table.get("instances") else {
        if let Some(entry) = table.get("first-instance") {
            diagnostics.push(Diagnostic::new(
                Code::MissingKey,
                &entry.key,
                "`first-instance` without `instances` has no effect",
            ));
        }
        return None;
    };
    let numbered = |count: i64| {
        let numbers = first..first.saturating_add(count);
        numbers.filter_map(|number| Some((InstanceName::new(&number.to_string())?, None))).collect()
    };
    match &entry.node.value {
        Value::String(word) if word == "cpus" => Some(numbered(i64::from(cpus).clamp(1, MOST_INSTANCES))),
        Value::Array(elements) => {
            if let Some(entry) = table.get("first-instance") {
                diagnostics.push(Diagnostic::new(
                    Code::Conflict,
                    &entry.key,
                    "`first-instance` has no meaning where instances have names",
                ));
            }
            if elements.is_empty() && role != Role::Manual {
                let diagnostic =
                    invalid(&entry.node, "`instances` has no name, so nothing of this process would ever run");
                diagnostics.push(diagnostic.help("`instances = 0` takes a process out"));
            }
            Some(named(elements, diagnostics))
        }
        // Where it isn't known how many, there are some: nothing that speaks of them is a second mistake.
        Value::Integer(_) => {
            let count = value::integer("instances", &entry.node, (0, MOST_INSTANCES), diagnostics);
            Some(numbered(count.unwrap_or(1)))
        }
        _ => {
            diagnostics.push(wrong_type("instances", "a number, `\"cpus\"`, or an array of names", &entry.node));
            Some(numbered(1))
        }
    }
}

fn named<'t>(elements: &[Node<'t>], diagnostics: &mut Diagnostics) -> Vec<(InstanceName, Option<KeySpan<'t>>)> {
    let mut names: Vec<(InstanceName, Option<KeySpan<'t>>)> = Vec::new();
    for element in elements {
        let Some(text) = value::text("instances", element, diagnostics) else { continue };
        let Some(name) = InstanceName::new(text) else {
            let message = format!("`{}` can't be an instance's name", shown(text));
            let help = "letters, digits, `_`, `.`, `:` and `-`, beginning with a letter, a digit or `_`";
            diagnostics.push(Diagnostic::new(Code::InstanceName, &element.place, message).help(help));
            continue;
        };
        if let Some((_, first)) = names.iter().find(|(found, _)| *found == name) {
            let mut diagnostic =
                Diagnostic::new(Code::DuplicateName, &element.place, format!("there are two instances named `{name}`"));
            if let Some(first) = first {
                diagnostic = diagnostic.related(first, "the first stands here");
            }
            diagnostics.push(diagnostic);
            continue;
        }
        names.push((name, Some(element.place)));
    }
    names
}

/// The port of the first instance, and where it stands.
pub fn port<'t>(table: &'t Table<'t>, diagnostics: &mut Diagnostics) -> Option<(i64, &'t Entry<'t>)> {
    let entry = table.get("port")?;
    let port = value::integer("port", &entry.node, keys::PORT, diagnostics)?;
    let variable = table.table("environment").and_then(|variables| variables.get("PORT"));
    if let Some(variable) = variable.filter(|variable| variable.node.value != Value::Boolean(false)) {
        let diagnostic = Diagnostic::new(
            Code::Conflict,
            &entry.key,
            "`port` sets the variable `PORT`, which `environment` sets as well",
        );
        diagnostics.push(diagnostic.related(&variable.key, "here"));
    }
    Some((port, entry))
}

/// Whether `[….instance.NAME]` may describe one that isn't there: any instance of a manual process may be started, the
/// machine may have fewer processors than another, and a drop-in may have taken some out. And where `instances` is wrong,
/// nobody knows which there are.
fn may_be_missing(merged: &Merged<'_>, entry: &Entry) -> bool {
    let number = entry.name.bytes().all(|byte| byte.is_ascii_digit());
    let fewer = merged.table.get("instances").is_some_and(|instances| {
        let said_later = ![merged.place.path(), entry.key.path()].contains(&instances.key.path());
        let may = match &instances.node.value {
            Value::String(word) => word != "cpus" || number,
            Value::Array(_) => false,
            Value::Integer(count) => !(0..=MOST_INSTANCES).contains(count),
            _ => true,
        };
        may || said_later
    });
    fewer || merged.role == Role::Manual
}

/// Each instance; those that differ from the template have a service of their own.
pub fn each(
    names: Vec<(InstanceName, Option<KeySpan<'_>>)>,
    template: &Service,
    merged: &Merged<'_>,
    around: &Surroundings<'_>,
    diagnostics: &mut Diagnostics,
) -> BTreeMap<InstanceName, Option<Service>> {
    let nothing = Table::default();
    let tables = merged.table.get("instance").map_or(&nothing, |entry| {
        entry.node.as_table().unwrap_or_else(|| {
            diagnostics.push(wrong_type("instance", "tables: `[process.X.instance.N]`", &entry.node));
            &nothing
        })
    });
    for entry in tables.entries().iter().filter(|entry| !may_be_missing(merged, entry)) {
        let name = &*entry.name;
        let known = names.iter().map(|(name, _)| name.as_str());
        if !known.clone().any(|known| known == name) {
            let mut diagnostic =
                Diagnostic::new(Code::UnknownName, &entry.key, format!("there is no instance `{}`", shown(name)));
            if let Some(near) = suggest::nearest(name, known) {
                diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
            }
            diagnostics.push(diagnostic);
        }
    }
    let port = port(&merged.table, diagnostics);
    if let Some((port, entry)) = port
        && port + i64::try_from(names.len()).unwrap_or(0) > 65_536
    {
        diagnostics
            .push(invalid(&entry.node, format!("{} instances from port {port} on go beyond 65535", names.len())));
    }
    let mut all: Vec<InstanceName> = names.into_iter().map(|(name, _)| name).collect();
    // A manual process's instances may be described without being listed: any of them may be started.
    all.extend(
        tables
            .names()
            .filter_map(InstanceName::new)
            .filter(|name| merged.role == Role::Manual && !all.contains(name))
            .collect::<Vec<_>>(),
    );
    let mut instances = BTreeMap::new();
    for (position, name) in all.into_iter().enumerate() {
        let own = tables.table(name.as_str());
        let mut service = own.map(|own| {
            let header = format_args!("process.{}.instance.{name}", merged.name);
            check_keys(header, own, keys::INSTANCE, diagnostics);
            let mut table = Table::clone(&merged.table);
            merge_settings(&mut table, own.clone());
            service(&table, header, merged, true, around, diagnostics)
        });
        if let Some((first, _)) = port {
            let number = first + i64::try_from(position).unwrap_or(0);
            let service = service.get_or_insert_with(|| template.clone());
            service.environment.entry("PORT".to_owned()).or_insert_with(|| Text::literal(number.to_string()));
        }
        instances.insert(name, service);
    }
    instances
}
