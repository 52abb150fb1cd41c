//! Reads processes and setup steps.

use std::collections::BTreeMap;

use super::calendar;
use super::context::{GroupContext, Reader, Role};
use super::directories::{first, is_instance};
use super::instances;
use super::instances::MOST_INSTANCES;
use super::member::Member;
use super::service;
use super::value;
use super::value::{Result, conflict, invalid, missing, shown};
use crate::basic::diagnostic::{Diagnostics, SourceLocation};
use crate::group_file::document::{Node, Value};
use crate::group_file::keys;
use crate::model::check::probes;
use crate::model::service::{Ready, Service, TimeSpan};
use crate::model::text::{DirectoryKind, Text};
use crate::model::types::{Change, Percentage, Process, Refresh, Setup, Socket, Start};
use crate::unit::name::InstanceName;

/// A setup step, without its order.
pub fn setup(member: &Member<'_>, group: &GroupContext<'_>, diagnostics: &mut Diagnostics) -> Setup {
    let service = service::read(&member.table, &member.header, member, false, group, diagnostics);
    Setup {
        location: SourceLocation::from(&member.location),
        service: Service { ready: Ready::Oneshot, ..service },
        after: Vec::new(),
        gated_by: Vec::new(),
        after_units: Vec::new(),
    }
}

/// A process, without its order and `controls`.
pub fn process(member: &Member<'_>, group: &GroupContext<'_>, diagnostics: &mut Diagnostics) -> Process {
    let table = &*member.table;
    let mut reader = Reader::new(table, group.name, member.name.as_str(), false, diagnostics);
    let names = reader.instance_names(member.role, group.machine.cpus);
    let has_instances = names.is_some();
    let mut service = service::read(table, &member.header, member, has_instances, group, diagnostics);
    let instances = names.map(|names| instances::each(names, &service, member, group, diagnostics));
    let mut reader = Reader::new(table, group.name, member.name.as_str(), has_instances, diagnostics);
    if instances.is_none() {
        if let Some(entry) = table.get("instance") {
            let diagnostic = missing(entry, "`instance` has no effect without `instances`");
            reader.push(diagnostic.help("add `instances = N`, or `instances = [\"NAME\", …]`"));
        }
        if let Some((port, _)) = reader.port() {
            service.environment.insert("PORT".to_owned(), Text::literal(port.to_string()));
        }
    }
    let mut sockets = Vec::new();
    if let Some(entry) = table.get("listen") {
        reader.placeholders.directories = group.shared.to_vec();
        sockets = reader.sockets(&entry.node, &runtime_directories(&service, group));
    }
    reader.check_non_blocking(instances.as_ref().map_or(1, BTreeMap::len), &sockets);
    reader.placeholders.directories = first(&service.directories, group.shared);
    reader.working_directory.clone_from(&service.working_directory);
    let change = reader.change(has_instances, &service);
    probes::check(table, &service, &change.settled, instances.as_ref(), &sockets, reader.diagnostics);
    let (supervisor_name, own_view) = reader.supervisor_keys(member.name, has_instances, group.has_supervisor);
    reader.check_combination(member.role, instances.as_ref(), &service, &sockets);
    Process {
        location: SourceLocation::from(&member.location),
        start: reader.start(member.role),
        hold: reader.get("hold", value::boolean).unwrap_or(false),
        service,
        instances,
        after: Vec::new(),
        gated_by: Vec::new(),
        after_steps: Vec::new(),
        after_units: Vec::new(),
        sockets,
        controls: Vec::new(),
        supervisor_name,
        own_view,
        change,
    }
}

fn runtime_directories(service: &Service, group: &GroupContext<'_>) -> Vec<Text> {
    let own = service.directories.iter().filter(|directory| directory.kind == DirectoryKind::Runtime);
    let shared = group.shared.iter().filter(|(kind, _)| *kind == DirectoryKind::Runtime).map(|(_, name)| name);
    own.flat_map(|directory| &directory.names).chain(shared).cloned().collect()
}

impl Reader<'_, '_> {
    fn start(&mut self, role: Role) -> Start {
        match (role, self.table.get("on-calendar")) {
            (Role::Timed, Some(entry)) => {
                let times = self.each("on-calendar", event);
                if entry.node.value == Value::Array(Vec::new()) {
                    self.push(invalid(&entry.node, "`on-calendar` has no time"));
                }
                Start::Timed(times)
            }
            (Role::Manual, _) => Start::Manual,
            _ => Start::Auto,
        }
    }

    fn change(&mut self, instances: bool, service: &Service) -> Change {
        let word = self.get("refresh", |key, node| value::word(key, node, keys::REFRESH));
        let can_reload = !service.exec_reload.is_empty() || service.ready == Ready::Notify;
        match (word, self.table.get("refresh")) {
            (Some("roll"), Some(entry)) if !instances => {
                self.push(conflict(entry, "`refresh = \"roll\"` requires `instances`").help("add `instances = N`"));
            }
            (Some("reload"), Some(entry)) if !can_reload => {
                let diagnostic = missing(entry, "`refresh = \"reload\"` requires `exec-reload`");
                self.push(diagnostic.help("add `exec-reload = [\"/bin/kill\", \"-HUP\", \"{env:MAINPID}\"]`"));
            }
            _ => {}
        }
        let min_ready = if service.ready == Ready::Exec { ("1s", 1) } else { ("0", 0) };
        let settled = self.table.get("settled").and_then(|entry| self.settled(&entry.node));
        Change {
            refresh: match word {
                Some("roll") => Refresh::Roll,
                Some("keep") => Refresh::Keep,
                Some("reload") => Refresh::Reload,
                None if instances => Refresh::Roll,
                _ => Refresh::Restart,
            },
            max_unavailable: self.get("max-unavailable", max_unavailable).unwrap_or(Percentage::Count(1)),
            min_ready: self.span_or("min-ready-sec", TimeSpan::seconds(min_ready.0, min_ready.1)),
            settled: settled.unwrap_or_default(),
        }
    }

    fn check_combination(
        &mut self,
        role: Role,
        instances: Option<&BTreeMap<InstanceName, Option<Service>>>,
        service: &Service,
        sockets: &[Socket],
    ) {
        let mut refuse = |key: &str, message: &str| {
            if let Some(entry) = self.table.get(key) {
                self.diagnostics.push(conflict(entry, format!("`{key}` {message}")));
            }
        };
        if role == Role::Timed {
            for key in ["instances", "listen", "health", "watchdog-sec"] {
                refuse(key, "cannot be combined with `on-calendar`");
            }
        }
        if service.health.is_some() {
            let why = "cannot be combined with `health`: it follows from `interval-sec` and `failures`";
            refuse("watchdog-sec", why);
            if matches!(service.ready, Ready::Oneshot | Ready::Dbus(_) | Ready::PidFile(_)) {
                let why = "requires a program in the foreground: `ready` must be `exec`, `notify` or a probe";
                refuse("health", why);
            }
        }
        if !matches!(service.ready, Ready::Exec | Ready::Notify | Ready::Probe(_)) {
            refuse("watchdog-sec", "requires a program in the foreground");
        }
        if service.ready == Ready::Oneshot && !sockets.is_empty() {
            refuse("listen", "cannot be combined with `ready = \"oneshot\"`: the process exits");
        }
        if instances.is_some_and(|instances| instances.len() > 1) {
            let mut directories = service.directories.iter();
            let shared = directories.find(|directory| directory.names.iter().any(|name| !name.has(is_instance)));
            if let Some(entry) = shared.and_then(|directory| self.table.get(directory.kind.key())) {
                let message = format!(
                    "the instances share this `{}`: a restart of one would empty it or change its owner",
                    entry.name
                );
                let help = "put `{instance}` into the name, or move the key to the group's own keys";
                self.push(conflict(entry, message).help(help));
            }
        }
        if let Some(entry) = self.table.get("controls").filter(|_| self.table.get("user").is_none()) {
            let diagnostic = missing(entry, "`controls` requires `user`: it grants rights to that user");
            self.push(diagnostic.help("add `user = \"…\"`, or remove `controls` (root does not need it)"));
        }
    }
}

fn event(key: &str, node: &Node) -> Result<String> {
    let text = value::plain(key, node)?;
    if !calendar::is_event(&text) {
        let message = format!("`{}` is not a calendar event of systemd.time(7)", shown(&text));
        let help = "write it like `\"daily\"`, `\"Mon..Fri 10:00\"`, `\"*:0/15\"` or `\"*-*-1 04:30\"`, and check it with \
                    `systemd-analyze calendar`";
        return Err(invalid(node, message).help(help));
    }
    Ok(text)
}

fn max_unavailable(key: &str, node: &Node) -> Result<Percentage> {
    let share = match &node.value {
        Value::Integer(number @ 1..=MOST_INSTANCES) => usize::try_from(*number).ok().map(Percentage::Count),
        Value::String(text) => Percentage::parse(text).filter(|share| matches!(share, Percentage::Percent(_))),
        _ => None,
    };
    let expected = "a number of instances, or a percentage from `\"1%\"` to `\"100%\"`";
    share.ok_or_else(|| invalid(node, format!("`{key}` takes {expected}")))
}
