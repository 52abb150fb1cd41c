//! Processes and setup steps: their tables, merged with `[defaults]`, become [`Process`] and [`Setup`].

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use super::calendar;
use super::defaults::Member;
use super::directories;
use super::directories::is_instance;
use super::instances;
use super::instances::MOST_INSTANCES;
use super::pass_through;
use super::placeholder::Names;
use super::probe;
use super::service;
use super::service::{Context, Role, span_or};
use super::socket;
use super::value;
use super::value::{invalid, shown, wrong_type};
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, SourceLocation};
use crate::basic::suggest;
use crate::group_file::document::{Entry, KeySpan, Node, Table, Value, merge_settings};
use crate::group_file::keys;
use crate::model::check::probes;
use crate::model::{
    Change, DirectoryKind, Percentage, Process, Ready, Refresh, Service, Setup, Socket, Span, Start, Text,
};
use crate::unit::directives;
use crate::unit::name::{InstanceName, ProcessName};

/// What the group tells its members.
pub struct Surroundings<'a> {
    /// The group's name.
    pub group: &'a str,
    /// `[defaults]`.
    pub defaults: &'a Table<'a>,
    /// The group's shared directories: the first of each kind.
    pub shared: &'a [(DirectoryKind, Text)],
    /// What `instances = "cpus"` is.
    pub cpus: u32,
    /// Whether a unit's name is one of the group's.
    pub members: &'a dyn Fn(&str) -> bool,
}

/// A member's table with `[defaults]` below it, and what that makes it.
pub struct Merged<'a> {
    /// Its name.
    pub name: &'a ProcessName,
    /// Where its table's header stands.
    pub place: KeySpan<'a>,
    /// Its table, merged; the author's own where there are no defaults for it.
    pub table: Cow<'a, Table<'a>>,
    /// What it is.
    pub role: Role,
}

/// Merges a process's or setup step's own table with the defaults that fit it. Keys that don't exist are reported.
pub fn merge<'a>(
    name: &'a ProcessName,
    entry: &'a Entry<'a>,
    setup: bool,
    defaults: &'a Table<'a>,
    diagnostics: &mut Diagnostics,
) -> Option<Merged<'a>> {
    let kind = if setup { "setup" } else { "process" };
    let Some(own) = entry.node.as_table() else {
        diagnostics.push(wrong_type(&format!("{kind}.{name}"), "a table", &entry.node));
        return None;
    };
    check_keys(format_args!("{kind}.{name}"), own, if setup { keys::SETUP } else { keys::PROCESS }, diagnostics);
    let timed = !setup && own.get("on-calendar").is_some();
    if !setup {
        check_pass_through(format_args!("{kind}.{name}"), own, diagnostics);
    }
    let member = Member { own, defaults, setup };
    let mut fitting = member.fitting().peekable();
    let table = match fitting.peek() {
        None => Cow::Borrowed(own),
        Some(_) => {
            let mut table: Table = fitting.cloned().collect();
            merge_settings(&mut table, own.clone());
            Cow::Owned(table)
        }
    };
    let role = match table.get("start") {
        _ if setup => Role::Setup,
        Some(entry) if timed => {
            let diagnostic =
                Diagnostic::new(Code::Conflict, &entry.key, "`on-calendar` says who starts the process: its timer");
            diagnostics.push(diagnostic.help("leave `start` out"));
            Role::Timed
        }
        _ if timed => Role::Timed,
        Some(entry) => match value::word("start", &entry.node, keys::START, diagnostics) {
            Some("manual") => Role::Manual,
            _ => Role::Auto,
        },
        None => Role::Auto,
    };
    Some(Merged { name, place: entry.key, table, role })
}

/// Directives of a unit that there is none of would be lost without a word.
fn check_pass_through(header: fmt::Arguments<'_>, own: &Table, diagnostics: &mut Diagnostics) {
    for (table, key, example) in [("socket", "listen", "\"tcp:8080\""), ("timer", "on-calendar", "\"daily\"")] {
        if let Some(entry) = own.get(table).filter(|_| own.get(key).is_none()) {
            let message = format!("`[{header}.{table}]` has no effect: without `{key}` there is no {table}");
            diagnostics.push(
                Diagnostic::new(Code::MissingKey, &entry.key, message)
                    .help(format!("add `{key} = {example}` to `[{header}]`")),
            );
        }
    }
}

/// Reports every key of `table` that can't stand there, with the fix.
pub fn check_keys(header: fmt::Arguments<'_>, table: &Table, place: u8, diagnostics: &mut Diagnostics) {
    for entry in table.entries() {
        let name = &*entry.name;
        if keys::find(name).is_none_or(|key| key.places & place == 0) {
            diagnostics.push_error(|| wrong_key(&header.to_string(), name, entry, place));
        }
    }
}

fn wrong_key(header: &str, name: &str, entry: &Entry, place: u8) -> Diagnostic {
    let new = |code, message: String| Diagnostic::new(code, &entry.key, message);
    if let Some(key) = keys::find(name) {
        return new(Code::MisplacedKey, format!("`{name}` can't stand in `[{header}]`")).help(where_instead(key));
    }
    let of_group = keys::GROUP_KEYS.iter().find(|key| suggest::same_word(key, name));
    if let Some(key) = of_group.filter(|key| **key == name || directives::sections_of(name).next().is_none()) {
        let message = format!("`{key}` is a key of the group, but it stands below the header `[{header}]`");
        let alone =
            pass_through::as_directive(header, name, entry).map(|lines| format!("; for this one alone, {lines}"));
        let help = format!("move it up, above the first line that begins with `[`{}", alone.unwrap_or_default());
        return new(Code::MisplacedKey, message).help(help);
    }
    let diagnostic = new(Code::UnknownKey, format!("there is no key `{}` in `[{header}]`", shown(name)));
    if name.eq_ignore_ascii_case("install") {
        return diagnostic.help(keys::INSTALL);
    }
    if probe::READY.contains(&name) {
        let written = &entry.node.place;
        let written = written.text().unwrap_or("…");
        return diagnostic.help(format!("it is a part of `ready`: `ready = {{ {name} = {} }}`", shown(written)));
    }
    let also_called = keys::ALSO_CALLED.iter().find(|(other, _)| suggest::same_word(other, name)).map(|(_, key)| *key);
    let known = || keys::KEYS.iter().filter(|key| key.places & place != 0).map(|key| key.name);
    let near = also_called.filter(|key| known().any(|known| known == *key)).or_else(|| suggest::nearest(name, known()));
    // A directive whose key exists under its own name (`RestartSec`) is that key; another is pass-through.
    match (near, pass_through::as_directive(header, name, entry)) {
        (Some(near), Some(lines)) if also_called.is_none() && !suggest::same_word(near, name) => diagnostic.help(lines),
        (Some(near), _) => diagnostic.help(format!("did you mean `{near}`?")),
        (None, Some(lines)) => diagnostic.help(lines),
        (None, None) => diagnostic,
    }
}

fn where_instead(key: &keys::Key) -> String {
    let places = [
        (keys::PROCESS, "`[process.NAME]`"),
        (keys::SETUP, "`[setup.NAME]`"),
        (keys::INSTANCE, "`[process.NAME.instance.N]`"),
        (keys::DEFAULTS, "`[defaults]`"),
    ];
    let places: Vec<_> = places.iter().filter(|(bit, _)| key.places & bit != 0).map(|(_, text)| *text).collect();
    format!("it belongs in {}", places.join(", "))
}

/// A setup step, but for its order.
pub fn setup(merged: &Merged<'_>, around: &Surroundings<'_>, diagnostics: &mut Diagnostics) -> Setup {
    let header = format_args!("setup.{}", merged.name);
    let mut service = service(&merged.table, header, merged, false, around, diagnostics);
    service.ready = Ready::Oneshot;
    Setup {
        place: SourceLocation::from(&merged.place),
        service,
        after: Vec::new(),
        gated_by: Vec::new(),
        after_units: Vec::new(),
    }
}

/// The settings of a process or step, or of one instance with its own.
pub fn service(
    table: &Table,
    header: fmt::Arguments<'_>,
    merged: &Merged<'_>,
    instances: bool,
    around: &Surroundings<'_>,
    diagnostics: &mut Diagnostics,
) -> Service {
    let names = names(merged, instances, around);
    let context = Context {
        header,
        place: merged.place,
        role: merged.role,
        names,
        shared: around.shared,
        members: around.members,
    };
    service::read(table, &context, diagnostics)
}

fn names<'a>(merged: &'a Merged<'_>, instances: bool, around: &'a Surroundings<'_>) -> Names<'a> {
    let credentials = service::has_credentials(&merged.table);
    Names { group: around.group, process: merged.name.as_str(), instances, directories: around.shared, credentials }
}

/// A process, but for its order; `None` if `instances = 0` takes it out.
pub fn process(merged: &Merged<'_>, around: &Surroundings<'_>, diagnostics: &mut Diagnostics) -> Process {
    let table = &merged.table;
    let header = format_args!("process.{}", merged.name);
    let names_of_instances = instances::names(table, merged.role, around.cpus, diagnostics);
    let has_instances = names_of_instances.is_some();
    let mut service = service(table, header, merged, has_instances, around, diagnostics);
    let instances = names_of_instances.map(|names| instances::each(names, &service, merged, around, diagnostics));
    if instances.is_none() {
        if let Some(entry) = table.get("instance") {
            let diagnostic = Diagnostic::new(Code::MissingKey, &entry.key, format!("`[{header}]` has no instances"));
            diagnostics.push(diagnostic.help("add `instances = N`, or `instances = [\"NAME\", …]`"));
        }
        if let Some((port, _)) = instances::port(table, diagnostics) {
            service.environment.insert("PORT".to_owned(), Text::literal(port.to_string()));
        }
    }
    let names = names(merged, has_instances, around);
    let sockets = table.get("listen").map_or_else(Vec::new, |entry| socket::read(&entry.node, &names, diagnostics));
    if let Some(entry) = table.get("listen") {
        let own = service.directories.iter().filter(|directory| directory.kind == DirectoryKind::Runtime);
        let shared = around.shared.iter().filter(|(kind, _)| *kind == DirectoryKind::Runtime).map(|(_, name)| name);
        let runtime: Vec<_> = own.flat_map(|directory| &directory.names).chain(shared).collect();
        socket::check_places(&sockets, &runtime, entry.node.place, diagnostics);
    }
    socket::check_mode(table, instances.as_ref().map_or(1, BTreeMap::len), &sockets, diagnostics);
    let first = directories::first(&service.directories, around.shared);
    let names = Names { directories: &first, ..names };
    let change = change(table, has_instances, &service, &names, diagnostics);
    probes::check(table, &service, &change.settled, instances.as_ref(), &sockets, diagnostics);
    check_combination(merged, &instances, &service, &sockets, diagnostics);
    Process {
        place: SourceLocation::from(&merged.place),
        start: start(merged, diagnostics),
        hold: table.get("hold").and_then(|entry| value::boolean("hold", &entry.node, diagnostics)).unwrap_or(false),
        service,
        instances,
        after: Vec::new(),
        gated_by: Vec::new(),
        after_steps: Vec::new(),
        after_units: Vec::new(),
        sockets,
        controls: Vec::new(),
        change,
    }
}

fn start(merged: &Merged<'_>, diagnostics: &mut Diagnostics) -> Start {
    match (merged.role, merged.table.get("on-calendar")) {
        (Role::Timed, Some(entry)) => {
            let nodes = value::one_or_many("on-calendar", &entry.node, diagnostics);
            let times: Vec<_> = nodes.into_iter().filter_map(|node| event(node, diagnostics)).collect();
            if times.is_empty() && entry.node.value == Value::Array(Vec::new()) {
                diagnostics.push(invalid(&entry.node, "`on-calendar` has no time"));
            }
            Start::Timed(times)
        }
        (Role::Manual, _) => Start::Manual,
        _ => Start::Auto,
    }
}

fn event(node: &Node, diagnostics: &mut Diagnostics) -> Option<String> {
    let text = value::plain("on-calendar", node, diagnostics)?;
    if !calendar::is_event(text) {
        let message = format!("`{}` isn't a calendar event of systemd.time(7)", shown(text));
        let help = "write it like `\"daily\"`, `\"Mon..Fri 10:00\"`, `\"*:0/15\"` or `\"*-*-1 04:30\"`; `systemd-analyze calendar` shows when it elapses";
        diagnostics.push(invalid(node, message).help(help));
        return None;
    }
    Some(text.to_owned())
}

fn change(
    table: &Table,
    instances: bool,
    service: &Service,
    names: &Names<'_>,
    diagnostics: &mut Diagnostics,
) -> Change {
    let refresh =
        table.get("refresh").and_then(|entry| value::word("refresh", &entry.node, keys::REFRESH, diagnostics));
    if let (Some("roll"), false, Some(entry)) = (refresh, instances, table.get("refresh")) {
        diagnostics.push(Diagnostic::new(
            Code::Conflict,
            &entry.key,
            "`refresh = \"roll\"` goes instance by instance, and there are none",
        ));
    }
    if let (Some("reload"), true, Some(entry)) =
        (refresh, service.exec_reload.is_empty() && service.ready != Ready::Notify, table.get("refresh"))
    {
        let diagnostic = Diagnostic::new(Code::MissingKey, &entry.key, "`refresh = \"reload\"` needs `exec-reload`");
        diagnostics.push(diagnostic.help("add `exec-reload = [\"/bin/kill\", \"-HUP\", \"{env:MAINPID}\"]`"));
    }
    let refresh = match refresh {
        Some("roll") => Refresh::Roll,
        Some("keep") => Refresh::Keep,
        Some("reload") => Refresh::Reload,
        None if instances => Refresh::Roll,
        _ => Refresh::Restart,
    };
    let around = super::command::Surroundings { names, working_directory: service.working_directory.as_ref() };
    let min_ready = if service.ready == Ready::Exec { Span::seconds("1s", 1) } else { Span::seconds("0", 0) };
    Change {
        refresh,
        max_unavailable: max_unavailable(table, diagnostics),
        min_ready: span_or("min-ready-sec", table, min_ready, diagnostics),
        settled: table
            .get("settled")
            .and_then(|entry| probe::settled(&entry.node, &around, diagnostics))
            .unwrap_or_default(),
    }
}

fn max_unavailable(table: &Table, diagnostics: &mut Diagnostics) -> Percentage {
    let Some(entry) = table.get("max-unavailable") else { return Percentage::Count(1) };
    let share = match &entry.node.value {
        Value::Integer(number @ 1..=MOST_INSTANCES) => usize::try_from(*number).ok().map(Percentage::Count),
        // A number is written as one.
        Value::String(text) => Percentage::parse(text).filter(|share| matches!(share, Percentage::Percent(_))),
        _ => None,
    };
    share.unwrap_or_else(|| {
        diagnostics.push(invalid(
            &entry.node,
            "`max-unavailable` takes a number of instances, or a percentage from `\"1%\"` to `\"100%\"`",
        ));
        Percentage::Count(1)
    })
}

fn check_combination(
    merged: &Merged<'_>,
    instances: &Option<BTreeMap<InstanceName, Option<Service>>>,
    service: &Service,
    sockets: &[Socket],
    diagnostics: &mut Diagnostics,
) {
    let table = &merged.table;
    let mut conflict = |key: &str, message: &str| {
        if let Some(entry) = table.get(key) {
            diagnostics.push(Diagnostic::new(Code::Conflict, &entry.key, message));
        }
    };
    if merged.role == Role::Timed {
        for key in ["instances", "listen", "health", "watchdog-sec"] {
            conflict(key, &format!("`{key}` doesn't go with `on-calendar`"));
        }
    }
    if service.health.is_some() {
        conflict(
            "watchdog-sec",
            "`health` sets the watchdog: `watchdog-sec` follows from its `interval-sec` and `failures`",
        );
        if matches!(service.ready, Ready::Oneshot | Ready::Dbus(_) | Ready::PidFile(_)) {
            conflict(
                "health",
                "`health` needs a program that stays in the foreground: `ready` can be `exec`, `notify` or a probe",
            );
        }
    }
    if !matches!(service.ready, Ready::Exec | Ready::Notify | Ready::Probe(_)) {
        conflict("watchdog-sec", "a watchdog needs a program that stays in the foreground");
    }
    if service.ready == Ready::Oneshot && !sockets.is_empty() {
        conflict("listen", "a process that runs to its end can't serve a socket");
    }
    if let Some(instances) = instances {
        let shared = |directory: &&crate::model::Directory| {
            instances.len() > 1 && directory.names.iter().any(|name| !name.has(is_instance))
        };
        if let Some(directory) = service.directories.iter().find(shared) {
            let key = directory.kind.key();
            conflict(
                key,
                &format!(
                    "the instances would share this `{key}`, and each restart would empty or re-own it: put `{{instance}}` into the name, or move the key to the group"
                ),
            );
        }
    }
    if let Some(entry) = table.get("controls").filter(|_| table.get("user").is_none()) {
        let diagnostic = Diagnostic::new(
            Code::MissingKey,
            &entry.key,
            "`controls` gives rights to the process's user, and there is no `user`",
        );
        diagnostics.push(diagnostic.help("add `user = \"…\"`; root needs no `controls`"));
    }
}
