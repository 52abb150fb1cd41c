//! Instances of a process: their names, ports, and those that differ from the template.

use std::collections::BTreeMap;

use super::context::{GroupContext, Reader, Role};
use super::member::Member;
use super::service;
use super::unknown_key;
use super::value;
use super::value::{conflict, did_you_mean, invalid, missing, shown, wrong_type};
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::basic::suggest;
use crate::group_file::document::{Entry, KeySpan, Node, Table, Value, merge_settings};
use crate::group_file::keys;
use crate::model::service::Service;
use crate::model::text::Text;
use crate::unit::name::InstanceName;

pub const MOST_INSTANCES: i64 = 10_000;

impl<'a> Reader<'a, '_> {
    /// The names that `instances` stands for; `None` without the key.
    pub fn instance_names(&mut self, role: Role, cpus: u32) -> Option<Vec<InstanceName>> {
        let first_instance = self.table.get("first-instance");
        let range = keys::FIRST_INSTANCE;
        let first = self.get("first-instance", |key, node| value::integer(key, node, range)).unwrap_or(1);
        let Some(entry) = self.table.get("instances") else {
            if let Some(entry) = first_instance {
                self.push(missing(entry, "`first-instance` has no effect without `instances`"));
            }
            return None;
        };
        let numbered = |count: i64| {
            let numbers = first..first.saturating_add(count);
            numbers.filter_map(|number| InstanceName::new(&number.to_string())).collect()
        };
        Some(match &entry.node.value {
            Value::String(word) if word == "cpus" => numbered(i64::from(cpus).clamp(1, MOST_INSTANCES)),
            Value::Array(elements) => {
                if let Some(entry) = first_instance {
                    self.push(conflict(entry, "`first-instance` has no effect if `instances` lists names"));
                }
                if elements.is_empty() && role != Role::Manual {
                    let diagnostic = invalid(&entry.node, "`instances` is empty, so the process never runs");
                    self.push(diagnostic.help("write `instances = 0` to remove the process"));
                }
                self.listed_names(elements)
            }
            // With a number that is not valid there is one, so that what refers to it is not a second error.
            Value::Integer(_) => {
                let count = value::integer("instances", &entry.node, (0, MOST_INSTANCES));
                numbered(self.diagnostics.ok(count).unwrap_or(1))
            }
            _ => {
                self.push(wrong_type("instances", "a number, `\"cpus\"`, or an array of names", &entry.node));
                numbered(1)
            }
        })
    }

    fn listed_names(&mut self, elements: &[Node]) -> Vec<InstanceName> {
        let mut names: Vec<(InstanceName, KeySpan)> = Vec::new();
        for element in elements {
            let Some(text) = self.diagnostics.ok(value::text("instances", element)) else { continue };
            let Some(name) = InstanceName::new(text) else {
                let message = format!("`{}` is not a valid instance name", shown(text));
                let help = "use letters, digits, `_`, `.`, `:` and `-`, with a letter, a digit or `_` first";
                self.push(Diagnostic::new(Code::InstanceName, element, message).help(help));
                continue;
            };
            match names.iter().find(|(found, _)| *found == name) {
                None => names.push((name, element.location)),
                Some((_, first)) => {
                    let message = format!("duplicate instance `{name}`");
                    let diagnostic = Diagnostic::new(Code::DuplicateName, element, message);
                    self.push(diagnostic.related(first, "the first one is here"));
                }
            }
        }
        names.into_iter().map(|(name, _)| name).collect()
    }

    /// The port of the first instance, with its entry.
    pub fn port(&mut self) -> Option<(i64, &'a Entry<'a>)> {
        let entry = self.table.get("port")?;
        let port = self.get("port", |key, node| value::integer(key, node, keys::PORT))?;
        let variable = self.table.table("environment").and_then(|variables| variables.get("PORT"));
        if let Some(variable) = variable.filter(|variable| variable.node.value != Value::Boolean(false)) {
            let diagnostic = conflict(entry, "`port` and `environment` both set the variable `PORT`");
            self.push(diagnostic.related(&variable.key, "here"));
        }
        Some((port, entry))
    }
}

/// Each instance, with a service of its own if it differs from the template.
pub fn each(
    names: Vec<InstanceName>,
    template: &Service,
    member: &Member<'_>,
    group: &GroupContext<'_>,
    diagnostics: &mut Diagnostics,
) -> BTreeMap<InstanceName, Option<Service>> {
    let nothing = Table::default();
    let tables = member.table.get("instance").and_then(|entry| {
        if entry.node.as_table().is_none() {
            diagnostics.push(wrong_type("instance", "tables such as `[process.X.instance.N]`", &entry.node));
        }
        entry.node.as_table()
    });
    let tables = tables.unwrap_or(&nothing);
    for entry in tables.entries().iter().filter(|entry| !may_be_missing(member, entry)) {
        let known = names.iter().map(InstanceName::as_str);
        if !known.clone().any(|known| known == entry.name) {
            let message = format!("there is no instance `{}`", shown(&entry.name));
            let near = suggest::nearest(&entry.name, known);
            diagnostics.push(did_you_mean(Diagnostic::new(Code::UnknownName, entry, message), near));
        }
    }
    let port = Reader::new(&member.table, group.name, "", true, diagnostics).port();
    if let Some((port, entry)) = port
        && port + i64::try_from(names.len()).unwrap_or(0) > 65_536
    {
        let message = format!("{} instances from port {port} on exceed port 65535", names.len());
        diagnostics.push(invalid(&entry.node, message));
    }
    // The instances of a manual process may be described without being listed: any of them can be started.
    let mut described: Vec<_> = tables.names().filter_map(InstanceName::new).collect();
    described.retain(|name| member.role == Role::Manual && !names.contains(name));
    let mut instances = BTreeMap::new();
    for (index, name) in names.into_iter().chain(described).enumerate() {
        let mut service = tables.table(name.as_str()).map(|own| {
            let header = format!("{}.instance.{name}", member.header);
            unknown_key::check(&header, own, keys::INSTANCE, diagnostics);
            let mut table = Table::clone(&member.table);
            merge_settings(&mut table, own.clone());
            service::read(&table, &header, member, true, group, diagnostics)
        });
        if let Some((first, _)) = port {
            let number = first + i64::try_from(index).unwrap_or(0);
            let service = service.get_or_insert_with(|| template.clone());
            service.environment.entry("PORT".to_owned()).or_insert_with(|| Text::literal(number.to_string()));
        }
        instances.insert(name, service);
    }
    instances
}

/// True if `[….instance.NAME]` may describe an instance that does not exist: of a manual process any instance can be
/// started, another machine may have more CPUs, and a drop-in may have reduced the number. With an invalid `instances`
/// the names are unknown.
fn may_be_missing(member: &Member<'_>, entry: &Entry) -> bool {
    let Some(instances) = member.table.get("instances") else { return member.role == Role::Manual };
    let from_elsewhere = ![member.location.path(), entry.key.path()].contains(&instances.key.path());
    let unknown = match &instances.node.value {
        Value::String(word) => word != "cpus" || entry.name.bytes().all(|byte| byte.is_ascii_digit()),
        Value::Array(_) => false,
        Value::Integer(count) => !(0..=MOST_INSTANCES).contains(count),
        _ => true,
    };
    member.role == Role::Manual || from_elsewhere || unknown
}
