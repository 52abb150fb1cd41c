//! A group file with its drop-ins becomes a [`Group`], or diagnostics.

use std::collections::{BTreeMap, BTreeSet};

use super::directories;
use super::order;
use super::order::Outside;
use super::pass_through;
use super::placeholder::Names;
use super::process;
use super::process::{Merged, Surroundings};
use super::service;
use super::service::span_or;
use super::units;
use super::value;
use super::value::{invalid, shown, wrong_type};
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, SourceLocation};
use crate::basic::scope::Scope;
use crate::basic::suggest;
use crate::group_file::discover::Source;
use crate::group_file::document;
use crate::group_file::document::{Entry, Node, Table, Value};
use crate::group_file::keys;
use crate::model::check::ports;
use crate::model::check::unit_names;
use crate::model::{DirectoryKind, FailurePolicy, Group, PassThrough, Process, Setup, SharedDirectories, Span, Text};
use crate::unit::Section;
use crate::unit::name;
use crate::unit::name::{GroupName, ProcessName};

/// What the machine contributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context {
    /// Which service manager the group is for.
    pub scope: Scope,
    /// What `instances = "cpus"` is.
    pub cpus: u32,
}

/// Reads a group. There is none if any diagnostic is an error: never half a group.
pub fn read(source: &Source, context: &Context) -> (Option<Group>, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let table = document(source, &mut diagnostics);
    let group = table.map(|table| group(source, &table, context, &mut diagnostics));
    diagnostics.sort();
    let good = !diagnostics.has_errors();
    (group.filter(|_| good), diagnostics)
}

/// All files, parsed and merged; `None` if one of them isn't TOML.
pub fn document<'s>(source: &'s Source, diagnostics: &mut Diagnostics) -> Option<Table<'s>> {
    let table = document::parse(&source.file, diagnostics);
    let drop_ins: Vec<_> = source.drop_ins.iter().map(|file| document::parse(file, diagnostics)).collect();
    let mut table = table?;
    for drop_in in drop_ins {
        document::merge_drop_in(&mut table, drop_in?, diagnostics);
    }
    Some(table)
}

fn group(source: &Source, table: &Table, context: &Context, diagnostics: &mut Diagnostics) -> Group {
    check_keys(table, diagnostics);
    let place = SourceLocation::new(&source.file, 0..0);
    let nothing = Table::default();
    let defaults = section("defaults", table, diagnostics).unwrap_or(&nothing);
    process::check_keys(format_args!("defaults"), defaults, keys::DEFAULTS, diagnostics);
    let entries = Entries::read(table, diagnostics);
    if entries.processes.is_empty() && entries.removed.is_empty() {
        let diagnostic = Diagnostic::new(Code::MissingKey, &place, "the group has no process");
        diagnostics.push(diagnostic.help("add `[process.NAME]` with `exec = [\"/path/to/program\"]`"));
    }
    let members = |unit: &str| entries.has_unit(&source.name, unit);
    let shared = shared(table, defaults, &source.name, diagnostics);
    let first = first_of_each_kind(shared.as_ref());
    let around =
        Surroundings { group: source.name.as_str(), defaults, shared: &first, cpus: context.cpus, members: &members };
    let (processes, setup) = read_members(&entries, &around, context.scope, diagnostics);
    directories::check(&processes, &setup, shared.as_ref(), diagnostics);
    unit_names::check(&source.name, &place, &processes, &setup, diagnostics);
    let (scope, own) = (context.scope, Outside { scope: context.scope, own: &members });
    let mut outside = |key: &str| outside(key, table, &entries, &own, diagnostics);
    let (after, requires, wants) = (outside("after"), outside("requires"), outside("wants"));
    let (before, conflicts, wanted_by) = (outside("before"), outside("conflicts"), outside("wanted-by"));
    warn_not_wanted(table, &after, &wants, &requires, diagnostics);
    refuse_user_keys(scope, table, &processes, &setup, diagnostics);
    let mut pass = |key, section| pass_table(key, section, table, &members, diagnostics);
    Group {
        name: source.name.clone(),
        scope,
        files: std::iter::once(&source.file).chain(&source.drop_ins).map(|file| file.path.clone()).collect(),
        place,
        target: pass("target", Section::Unit),
        slice: pass("slice", Section::Slice),
        description: table
            .get("description")
            .and_then(|entry| value::plain("description", &entry.node, diagnostics))
            .map(str::to_owned),
        documentation: documentation(table, diagnostics),
        wanted_by,
        after,
        requires,
        wants,
        before,
        conflicts,
        failure_policy: failure_policy(table, diagnostics),
        timeout_start: gate_timeout(table, diagnostics),
        shared,
        processes,
        setup,
    }
}

/// The members as they stand in the file, names checked.
struct Entries<'a> {
    processes: BTreeMap<ProcessName, &'a Entry<'a>>,
    setup: BTreeMap<ProcessName, &'a Entry<'a>>,
    removed: BTreeSet<ProcessName>,
}

impl<'a> Entries<'a> {
    fn read(table: &'a Table<'a>, diagnostics: &mut Diagnostics) -> Self {
        let (mut processes, setup) = (named("process", table, diagnostics), named("setup", table, diagnostics));
        for (name, entry) in &setup {
            if let Some(process) = processes.get(name) {
                let message = format!("`{name}` is the name of a process already: both would be one unit");
                let diagnostic = Diagnostic::new(Code::DuplicateName, &entry.key, message);
                diagnostics.push(diagnostic.related(&process.key, "the process"));
            }
        }
        let is_removed = |entry: &Entry| {
            entry
                .node
                .as_table()
                .and_then(|table| table.get("instances"))
                .is_some_and(|entry| entry.node.value == Value::Integer(0))
        };
        let removed: BTreeSet<_> =
            processes.iter().filter(|(_, entry)| is_removed(entry)).map(|(name, _)| name.clone()).collect();
        processes.retain(|name, _| !removed.contains(name));
        Self { processes, setup, removed }
    }

    /// Whether `unit` is a service, socket or timer of one of the members, the group's target, or an instance of
    /// copse's own templates for it.
    fn has_unit(&self, group: &GroupName, unit: &str) -> bool {
        let is_groups = |rest: &str| rest.strip_prefix(group.as_str()).is_some_and(|suffix| suffix.starts_with('.'));
        let own = name::OWN_TEMPLATES.iter().filter_map(|template| unit.strip_prefix(template)).any(is_groups);
        own || unit == name::target(group)
            || self.processes.keys().chain(self.setup.keys()).any(|process| {
                unit.strip_prefix(name::stem(group, process).as_str()).is_some_and(|rest| rest.starts_with(['.', '@']))
            })
    }
}

fn named<'a>(kind: &str, table: &'a Table<'a>, diagnostics: &mut Diagnostics) -> BTreeMap<ProcessName, &'a Entry<'a>> {
    let mut members = BTreeMap::new();
    for entry in section(kind, table, diagnostics).map_or(&[][..], Table::entries) {
        let text = &*entry.name;
        match ProcessName::new(text) {
            Some(name) => {
                members.insert(name, entry);
            }
            None => {
                let message = format!(
                    "`{}` can't be the name of a {}",
                    shown(text),
                    if kind == "setup" { "setup step" } else { "process" }
                );
                let help = "lower-case letters, digits, `_` and `-`, beginning with a letter or a digit";
                diagnostics.push(Diagnostic::new(Code::ProcessName, &entry.key, message).help(help));
            }
        }
    }
    members
}

/// The table of that key, if it is there and is one.
fn section<'a>(key: &str, table: &'a Table<'a>, diagnostics: &mut Diagnostics) -> Option<&'a Table<'a>> {
    let entry = table.get(key)?;
    if entry.node.as_table().is_none() {
        diagnostics.push(wrong_type(key, "a table", &entry.node));
    }
    entry.node.as_table()
}

fn check_keys(table: &Table, diagnostics: &mut Diagnostics) {
    for entry in table.entries().iter().filter(|entry| !keys::GROUP_KEYS.contains(&&*entry.name)) {
        diagnostics.push_error(|| wrong_key(&entry.name, entry));
    }
}

fn wrong_key(key: &str, entry: &Entry) -> Diagnostic {
    let new = |code, message: String| Diagnostic::new(code, &entry.key, message);
    if keys::find(key).is_some() {
        return new(Code::MisplacedKey, format!("`{key}` is a key of a process, but it stands outside of any"))
            .help("move it below a header such as `[process.NAME]`, or below `[defaults]` for all");
    }
    let diagnostic = new(Code::UnknownKey, format!("a group has no key `{}`", shown(key)));
    if key.eq_ignore_ascii_case("install") {
        return diagnostic.help(keys::INSTALL);
    }
    if let Some(near) = suggest::nearest(key, keys::GROUP_KEYS.iter().copied()) {
        return diagnostic.help(format!("did you mean `{near}`?"));
    }
    if entry.node.as_table().is_some() {
        return diagnostic.help(format!("a process is `[process.{}]`", shown(&key.to_ascii_lowercase())));
    }
    match pass_through::as_directive("process.NAME", key, entry) {
        Some(lines) => diagnostic.help(lines),
        None => diagnostic,
    }
}

fn read_members(
    entries: &Entries<'_>,
    around: &Surroundings<'_>,
    scope: Scope,
    diagnostics: &mut Diagnostics,
) -> (BTreeMap<ProcessName, Process>, BTreeMap<ProcessName, Setup>) {
    let mut merged: Vec<Merged<'_>> = Vec::new();
    for (setup, list) in [(false, &entries.processes), (true, &entries.setup)] {
        merged.extend(
            list.iter().filter_map(|(name, entry)| process::merge(name, entry, setup, around.defaults, diagnostics)),
        );
    }
    let outside = Outside { scope, own: around.members };
    let orders = order::resolve(&merged, &entries.removed, &outside, diagnostics);
    let named = |list: &[usize]| list.iter().map(|at| merged[*at].name.clone()).collect();
    let names: BTreeSet<&ProcessName> = entries.processes.keys().collect();
    let (mut processes, mut setup) = (BTreeMap::new(), BTreeMap::new());
    for (member, order) in merged.iter().zip(orders) {
        let (after, gated_by, after_units) = (named(&order.after), named(&order.gated_by), order.units);
        if member.role == service::Role::Setup {
            let mut step = process::setup(member, around, diagnostics);
            (step.after, step.gated_by, step.after_units) = (after, gated_by, after_units);
            setup.insert(member.name.clone(), step);
        } else {
            let mut process = process::process(member, around, diagnostics);
            (process.after, process.gated_by, process.after_units) = (after, gated_by, after_units);
            process.after_steps = named(&order.steps);
            process.controls = order::controls(&member.table, &names, &entries.removed, diagnostics);
            processes.insert(member.name.clone(), process);
        }
    }
    ports::check(&merged, &processes, diagnostics);
    (processes, setup)
}

fn shared(
    table: &Table,
    defaults: &Table,
    group: &GroupName,
    diagnostics: &mut Diagnostics,
) -> Option<SharedDirectories> {
    let names = Names { group: group.as_str(), process: "", instances: false, directories: &[], credentials: false };
    let directories = directories::read(table, &names, diagnostics);
    let user = |key: &str, diagnostics: &mut Diagnostics| {
        let entry = defaults.get(key)?;
        value::directive(key, keys::Kind::User, &entry.node, diagnostics)
    };
    let (user, group) = (user("user", diagnostics), user("group", diagnostics));
    (!directories.is_empty()).then_some(SharedDirectories { directories, user, group })
}

fn first_of_each_kind(shared: Option<&SharedDirectories>) -> Vec<(DirectoryKind, Text)> {
    let directories = shared.map_or(&[][..], |shared| &shared.directories);
    directories.iter().filter_map(|directory| Some((directory.kind, directory.names.first()?.clone()))).collect()
}

/// Names of units outside the group.
fn outside(
    key: &str,
    table: &Table,
    entries: &Entries<'_>,
    outside: &Outside<'_>,
    diagnostics: &mut Diagnostics,
) -> Vec<String> {
    let Some(entry) = table.get(key) else { return Vec::new() };
    let mut names = Vec::new();
    for node in value::one_or_many(key, &entry.node, diagnostics) {
        let Value::String(text) = &node.value else { continue };
        let member = ProcessName::new(text)
            .is_some_and(|name| entries.processes.contains_key(&name) || entries.setup.contains_key(&name));
        if member {
            let message = format!("`{text}` is one of the group's own; a group's `{key}` names units outside");
            diagnostics.push(
                Diagnostic::new(Code::MisplacedKey, &node.place, message)
                    .help("order processes with `after` below `[process.NAME]`"),
            );
            continue;
        }
        let Some(name) = outside.unit(key, node, diagnostics) else { continue };
        if key == "wanted-by" {
            units::warn_no_target(name, node, diagnostics);
        }
        names.push(name.to_owned());
    }
    names
}

fn warn_not_wanted(
    table: &Table,
    after: &[String],
    wants: &[String],
    requires: &[String],
    diagnostics: &mut Diagnostics,
) {
    const TARGET: &str = "network-online.target";
    let has = |list: &[String]| list.iter().any(|name| name == TARGET);
    if let Some(entry) = table.get("after").filter(|_| has(after) && !has(wants) && !has(requires)) {
        let message = format!(
            "the group is after `{TARGET}`, but doesn't want it: where nothing else does, it is never reached and not waited for"
        );
        diagnostics.push(
            Diagnostic::new(Code::NotWanted, &entry.node.place, message).help(format!("add `wants = [\"{TARGET}\"]`")),
        );
    }
}

fn instance_tables<'a>(member: &'a Table<'a>) -> impl Iterator<Item = &'a Table<'a>> {
    let instances = member.table("instance").into_iter().flat_map(Table::entries);
    instances.filter_map(|instance| instance.node.as_table())
}

/// A user's service manager runs as that user and can't become another.
fn refuse_user_keys(
    scope: Scope,
    table: &Table,
    processes: &BTreeMap<ProcessName, Process>,
    setup: &BTreeMap<ProcessName, Setup>,
    diagnostics: &mut Diagnostics,
) {
    if scope == Scope::System {
        return;
    }
    let names = processes.keys().map(|name| ("process", name)).chain(setup.keys().map(|name| ("setup", name)));
    let members = names.filter_map(|(kind, name)| table.table(kind)?.table(name.as_str()));
    let tables = members.flat_map(|member| std::iter::once(member).chain(instance_tables(member)));
    let tables = tables.chain(table.table("defaults"));
    for entry in tables.flat_map(|table| ["user", "group", "ambient-capabilities"].map(|key| table.get(key))).flatten()
    {
        let message = "a user's service manager can't run programs as somebody else, or with more rights";
        diagnostics.push(
            Diagnostic::new(Code::Conflict, &entry.key, message)
                .help("leave the key out, or install the group system-wide"),
        );
    }
}

fn pass_table(
    key: &str,
    section: Section,
    table: &Table,
    members: &dyn Fn(&str) -> bool,
    diagnostics: &mut Diagnostics,
) -> PassThrough {
    let mut pass = PassThrough::default();
    if let Some(entry) = table.get(key) {
        pass_through::read(section, key, &entry.node, members, &mut pass, diagnostics);
    }
    pass
}

fn documentation(table: &Table, diagnostics: &mut Diagnostics) -> Vec<String> {
    const SCHEMES: [&str; 5] = ["http://", "https://", "file:", "info:", "man:"];
    let Some(entry) = table.get("documentation") else { return Vec::new() };
    let mut uris = Vec::new();
    for node in value::one_or_many("documentation", &entry.node, diagnostics) {
        let Some(uri) = value::plain("documentation", node, diagnostics) else { continue };
        let known = SCHEMES.iter().any(|scheme| uri.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()));
        if !known || uri.contains(|c: char| c.is_whitespace() || "\"'\\".contains(c)) {
            let message = format!("`{}` isn't a URI that systemd takes as documentation", shown(uri));
            diagnostics.push(invalid(node, message).help("write `man:NAME(SECTION)`, `https://…` or `file:/…`"));
        } else {
            uris.push(uri.to_owned());
        }
    }
    uris
}

fn failure_policy(table: &Table, diagnostics: &mut Diagnostics) -> FailurePolicy {
    let word = |node: &Node, diagnostics: &mut Diagnostics| {
        value::word("failure-policy", node, keys::FAILURE_POLICY, diagnostics)
    };
    match table.get("failure-policy").and_then(|entry| word(&entry.node, diagnostics)) {
        Some("stop") => FailurePolicy::Stop,
        _ => FailurePolicy::Continue,
    }
}

/// The gate must end: a group may never keep the boot from finishing.
fn gate_timeout(table: &Table, diagnostics: &mut Diagnostics) -> Span {
    let span = span_or("timeout-start-sec", table, Span::seconds("10min", 600), diagnostics);
    if let Some(entry) = table.get("timeout-start-sec")
        && span.value.finite().is_none_or(|duration| duration.is_zero())
    {
        let message =
            "the group's `timeout-start-sec` must end: a start that waits for ever would keep the machine from booting";
        diagnostics.push(invalid(&entry.node, message));
    }
    span
}
