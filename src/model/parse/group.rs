//! Reads a group file with its drop-ins into a [`Group`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::context::{GroupContext, Reader, Role};
use super::directive::directive;
use super::directories::first;
use super::member::Member;
use super::order;
use super::pass_through;
use super::process;
use super::supervisor;
use super::units;
use super::unknown_key;
use super::value;
use super::value::{Result, conflict, invalid, missing, shown, wrong_type};
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, SourceFile, SourceLocation};
use crate::basic::scope::Scope;
use crate::group_file::discover::Source;
use crate::group_file::document;
use crate::group_file::document::{Entry, Node, Table, Value};
use crate::group_file::keys;
use crate::group_file::keys::KeyKind;
use crate::model::check::{directories, ports, unit_names};
use crate::model::service::{PassThrough, TimeSpan};
use crate::model::types::{Context, FailurePolicy, Group, Process, Setup, SharedDirectories};
use crate::unit::Section;
use crate::unit::name;
use crate::unit::name::{GroupName, ProcessName};

/// Reads a group. `None` if a diagnostic is an error: never half a group.
pub fn read(source: &Source, context: &Context) -> (Option<Group>, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let table = document(source, &mut diagnostics);
    let group = table.map(|table| group(source, &table, context, &mut diagnostics));
    diagnostics.sort();
    let good = !diagnostics.has_errors();
    (group.filter(|_| good), diagnostics)
}

/// As [`read`], with more drop-ins on top, in which `KEY = false` removes a key that takes no boolean. Also returns the
/// merged files.
pub fn read_with<'s>(
    source: &'s Source,
    with: &'s [Arc<SourceFile>],
    context: &Context,
) -> (Option<Group>, Table<'s>, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let mut table = document(source, &mut diagnostics);
    for file in with {
        let drop_in = document::parse(file, &mut diagnostics);
        if let Some((table, drop_in)) = table.as_mut().zip(drop_in) {
            document::merge_drop_in(table, drop_in, &mut diagnostics);
            document::remove_false(table, &file.path);
        }
    }
    let table = table.unwrap_or_default();
    let mut group = group(source, &table, context, &mut diagnostics);
    group.files.extend(with.iter().map(|file| file.path.clone()));
    diagnostics.sort();
    let good = !diagnostics.has_errors();
    (Some(group).filter(|_| good), table, diagnostics)
}

/// All files, parsed and merged; `None` if one of them is not TOML.
pub fn document<'s>(source: &'s Source, diagnostics: &mut Diagnostics) -> Option<Table<'s>> {
    let table = document::parse(&source.file, diagnostics);
    let drop_ins: Vec<_> = source.drop_ins.iter().map(|file| document::parse(file, diagnostics)).collect();
    let mut table = table?;
    for drop_in in drop_ins {
        document::merge_drop_in(&mut table, drop_in?, diagnostics);
    }
    Some(table)
}

fn group(source: &Source, table: &Table, machine: &Context, diagnostics: &mut Diagnostics) -> Group {
    unknown_key::check_group(table, diagnostics);
    let location = SourceLocation::new(&source.file, 0..0);
    let nothing = Table::default();
    let defaults = section("defaults", table, diagnostics).unwrap_or(&nothing);
    unknown_key::check("defaults", defaults, keys::DEFAULTS, diagnostics);
    let members = Members::new(table, diagnostics);
    if members.processes.is_empty() && members.removed.is_empty() {
        let diagnostic = missing(&location, "the group has no process");
        diagnostics.push(diagnostic.help("add `[process.NAME]` with `exec = [\"/path/to/program\"]`"));
    }
    let shared = shared(table, defaults, &source.name, diagnostics);
    let context = GroupContext {
        name: source.name.as_str(),
        machine: *machine,
        defaults,
        shared: &first(shared.as_ref().map_or(&[], |shared| &shared.directories), &[]),
        has_unit: &|unit| members.has_unit(&source.name, unit),
        has_supervisor: supervisor::opts_in(table),
    };
    let (processes, setup) = members.read(&context, diagnostics);
    directories::check(&processes, &setup, shared.as_ref(), diagnostics);
    unit_names::check(&source.name, &location, &processes, &setup, diagnostics);
    let supervisor = supervisor::read(table, &context, diagnostics);
    if supervisor.is_some() {
        supervisor::check_names(&processes, diagnostics);
    }
    if machine.scope == Scope::User {
        members.refuse_user_keys(defaults, diagnostics);
    }
    let mut reader = Reader::new(table, context.name, "", false, diagnostics);
    let mut outside = |key: &str| reader.each(key, |key, node| members.outside(key, node, &context));
    let (after, requires, wants) = (outside("after"), outside("requires"), outside("wants"));
    let (before, conflicts, wanted_by) = (outside("before"), outside("conflicts"), outside("wanted-by"));
    reader.warn_not_wanted(&after, &wants, &requires);
    Group {
        name: source.name.clone(),
        scope: machine.scope,
        files: std::iter::once(&source.file).chain(&source.drop_ins).map(|file| file.path.clone()).collect(),
        location,
        target: reader.group_directives("target", Section::Unit, &context),
        slice: reader.group_directives("slice", Section::Slice, &context),
        description: reader.get("description", value::plain),
        documentation: reader.each("documentation", uri),
        wanted_by,
        after,
        requires,
        wants,
        before,
        conflicts,
        failure_policy: match reader.get("failure-policy", |key, node| value::word(key, node, keys::FAILURE_POLICY)) {
            Some("stop") => FailurePolicy::Stop,
            _ => FailurePolicy::Continue,
        },
        timeout_start: reader.get("timeout-start-sec", gate_timeout).unwrap_or(TimeSpan::seconds("10min", 600)),
        shared,
        supervisor,
        processes,
        setup,
    }
}

/// The tables of the processes and setup steps, names checked.
struct Members<'a> {
    processes: BTreeMap<ProcessName, &'a Entry<'a>>,
    setup: BTreeMap<ProcessName, &'a Entry<'a>>,
    /// Processes with `instances = 0`.
    removed: BTreeSet<ProcessName>,
}

impl<'a> Members<'a> {
    fn new(table: &'a Table<'a>, diagnostics: &mut Diagnostics) -> Self {
        let (mut processes, setup) = (named("process", table, diagnostics), named("setup", table, diagnostics));
        for (name, entry) in &setup {
            if let Some(process) = processes.get(name) {
                let message = format!("`{name}` is both a process and a setup step");
                let diagnostic = Diagnostic::new(Code::DuplicateName, *entry, message);
                diagnostics.push(diagnostic.related(&process.key, "the process is here"));
            }
        }
        let is_removed = |entry: &Entry| {
            let instances = entry.node.as_table().and_then(|table| table.get("instances"));
            instances.is_some_and(|entry| entry.node.value == Value::Integer(0))
        };
        let removed: BTreeSet<_> =
            processes.iter().filter(|(_, entry)| is_removed(entry)).map(|(name, _)| name.clone()).collect();
        processes.retain(|name, _| !removed.contains(name));
        Self { processes, setup, removed }
    }

    /// True if `unit` is a service, socket or timer of a member, the group's target, or an instance of one of copse's own
    /// templates for the group.
    fn has_unit(&self, group: &GroupName, unit: &str) -> bool {
        let is_groups = |rest: &str| rest.strip_prefix(group.as_str()).is_some_and(|suffix| suffix.starts_with('.'));
        let own = name::OWN_TEMPLATES.iter().filter_map(|template| unit.strip_prefix(template)).any(is_groups);
        own || unit == name::target(group)
            || self.processes.keys().chain(self.setup.keys()).any(|process| {
                unit.strip_prefix(name::stem(group, process).as_str()).is_some_and(|rest| rest.starts_with(['.', '@']))
            })
    }

    /// A unit outside, named by a key of the group.
    fn outside(&self, key: &str, node: &Node, context: &GroupContext<'_>) -> Result<String> {
        if let Value::String(text) = &node.value
            && let Some(name) = ProcessName::new(text)
            && (self.processes.contains_key(&name) || self.setup.contains_key(&name))
        {
            let message = format!("`{name}` is part of this group, and the group's `{key}` takes units outside");
            let diagnostic = Diagnostic::new(Code::MisplacedKey, node, message);
            return Err(diagnostic.help("order processes with `after` in `[process.NAME]`"));
        }
        context.outside(key, node).map(str::to_owned)
    }

    /// A user's service manager runs as that user, and cannot become another one.
    fn refuse_user_keys(&self, defaults: &Table, diagnostics: &mut Diagnostics) {
        let members = self.processes.values().chain(self.setup.values()).filter_map(|entry| entry.node.as_table());
        let tables = members.flat_map(|member| {
            let instances = member.table("instance").map_or(&[][..], Table::entries);
            instances.iter().filter_map(|instance| instance.node.as_table()).chain([member])
        });
        for table in tables.chain([defaults]) {
            for entry in ["user", "group", "ambient-capabilities"].iter().filter_map(|key| table.get(key)) {
                let message = format!("`{}` is not possible in a user's service manager", entry.name);
                diagnostics.push(conflict(entry, message).help("remove the key, or install the group system-wide"));
            }
        }
    }

    fn read(
        &self,
        context: &GroupContext<'_>,
        diagnostics: &mut Diagnostics,
    ) -> (BTreeMap<ProcessName, Process>, BTreeMap<ProcessName, Setup>) {
        let mut members: Vec<Member<'_>> = Vec::new();
        for (setup, list) in [(false, &self.processes), (true, &self.setup)] {
            let merged =
                list.iter().map(|(name, entry)| Member::new(name, entry, setup, context.defaults, diagnostics));
            members.extend(merged.flatten());
        }
        let orders = order::resolve(&members, &self.removed, context, diagnostics);
        let names = |indices: &[usize]| indices.iter().map(|index| members[*index].name.clone()).collect();
        let known: BTreeSet<&ProcessName> = self.processes.keys().collect();
        let (mut processes, mut setup) = (BTreeMap::new(), BTreeMap::new());
        for (member, order) in members.iter().zip(orders) {
            let (after, gated_by, after_units) = (names(&order.after), names(&order.gated_by), order.units);
            if member.role == Role::Setup {
                let step = process::setup(member, context, diagnostics);
                setup.insert(member.name.clone(), Setup { after, gated_by, after_units, ..step });
            } else {
                let process = process::process(member, context, diagnostics);
                let mut reader = Reader::new(&member.table, context.name, "", false, diagnostics);
                let controls = reader.controls(&known, &self.removed);
                let after_steps = names(&order.steps);
                let process = Process { after, gated_by, after_units, after_steps, controls, ..process };
                processes.insert(member.name.clone(), process);
            }
        }
        ports::check(&members, &processes, diagnostics);
        (processes, setup)
    }
}

fn named<'a>(kind: &str, table: &'a Table<'a>, diagnostics: &mut Diagnostics) -> BTreeMap<ProcessName, &'a Entry<'a>> {
    let mut members = BTreeMap::new();
    for entry in section(kind, table, diagnostics).map_or(&[][..], Table::entries) {
        match ProcessName::new(&entry.name) {
            Some(name) => drop(members.insert(name, entry)),
            None => {
                let what = if kind == "setup" { "setup step" } else { "process" };
                let message = format!("`{}` is not a valid {what} name", shown(&entry.name));
                let help = "use lower-case letters, digits, `_` and `-`, with a letter or a digit first";
                diagnostics.push(Diagnostic::new(Code::ProcessName, entry, message).help(help));
            }
        }
    }
    members
}

/// The table of that key, if it is there.
fn section<'a>(key: &str, table: &'a Table<'a>, diagnostics: &mut Diagnostics) -> Option<&'a Table<'a>> {
    let entry = table.get(key)?;
    if entry.node.as_table().is_none() {
        diagnostics.push(wrong_type(key, "a table", &entry.node));
    }
    entry.node.as_table()
}

fn shared(
    table: &Table,
    defaults: &Table,
    group: &GroupName,
    diagnostics: &mut Diagnostics,
) -> Option<SharedDirectories> {
    let directories = Reader::new(table, group.as_str(), "", false, diagnostics).directories();
    let mut user = |key: &str| directive(key, KeyKind::User, &defaults.get(key)?.node, diagnostics);
    let (user, group) = (user("user"), user("group"));
    (!directories.is_empty()).then_some(SharedDirectories { directories, user, group })
}

impl Reader<'_, '_> {
    fn warn_not_wanted(&mut self, after: &[String], wants: &[String], requires: &[String]) {
        const TARGET: &str = "network-online.target";
        let has = |list: &[String]| list.iter().any(|name| name == TARGET);
        if let Some(entry) = self.table.get("after").filter(|_| has(after) && !has(wants) && !has(requires)) {
            let message = format!(
                "the group is ordered after `{TARGET}` but does not pull it in, so the ordering may have no effect"
            );
            let diagnostic = Diagnostic::new(Code::NotWanted, &entry.node, message);
            self.push(diagnostic.help(format!("add `wants = [\"{TARGET}\"]`")));
        }
        for node in self.strings("wanted-by") {
            if let Value::String(name) = &node.value {
                units::target_as_service(name, node).into_iter().for_each(|warning| self.push(warning));
            }
        }
    }

    /// The pass-through table of a key of the group.
    fn group_directives(&mut self, key: &str, section: Section, context: &GroupContext<'_>) -> PassThrough {
        let entry = self.table.get(key);
        let read = |entry: &Entry| pass_through::read(section, key, &entry.node, context.has_unit, self.diagnostics);
        PassThrough(entry.map_or_else(Vec::new, read))
    }
}

fn uri(key: &str, node: &Node) -> Result<String> {
    const SCHEMES: [&str; 5] = ["http://", "https://", "file:", "info:", "man:"];
    let uri = value::plain(key, node)?;
    let known = SCHEMES.iter().any(|scheme| uri.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()));
    if !known || uri.contains(|c: char| c.is_whitespace() || "\"'\\".contains(c)) {
        let message = format!("`{}` is not a URI that systemd accepts", shown(&uri));
        return Err(invalid(node, message).help("write `man:NAME(SECTION)`, `https://…` or `file:/…`"));
    }
    Ok(uri)
}

/// The gate has to end: no group may keep the boot from finishing.
fn gate_timeout(key: &str, node: &Node) -> Result<TimeSpan> {
    let span = value::span(key, node)?;
    match span.positive() {
        Some(_) => Ok(span),
        None => Err(invalid(node, format!("the group's `{key}` must be finite, or the boot would wait forever"))),
    }
}
