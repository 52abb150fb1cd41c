//! What the services of processes and of setup steps have in common: everything from their `[Service]` tables.

use std::borrow::Cow;

use super::command::{Startup, no_watchdog};
use super::context::Context;
use super::hardening;
use crate::model::{Argv, Credential, Directive, Directory, DirectoryKind, Ready, Service};
use crate::unit::name::ProcessName;
use crate::unit::value::Part;
use crate::unit::{Section, Unit, Value};

/// How many health probes fit into `WatchdogSec=`: copse-notify pings after each that succeeds.
const PINGS_PER_WATCHDOG: u32 = 3;

impl Context<'_> {
    /// `Description=` of a process or step: its own, or made from the group's and its name.
    pub fn describe(&self, name: &ProcessName, description: Option<&str>, instances: bool) -> Value {
        if let Some(description) = description {
            return Value::plain(description);
        }
        let (colon, name) = match name.as_str() == self.group.name.as_str() {
            true => ("", ""),
            false => (": ", name.as_str()),
        };
        let (blank, instance) = if instances { (" ", "%i") } else { ("", "") };
        let names = [self.title(), colon, name, blank].map(Part::Literal);
        let [title, colon, name, blank] = names;
        Value::text(&[title, colon, name, blank, Part::Specifier(instance)])
    }

    /// How it is started and stopped: `Type=` and all commands.
    pub fn commands(&self, unit: &mut Unit, service: &Service, startup: Startup) {
        unit.push(Section::Service, "Type", Value::fixed(startup.kind));
        if let Some((why, access)) = startup.notify_access {
            unit.push_why(Section::Service, why, "NotifyAccess", Value::fixed(access));
        }
        match &service.ready {
            Ready::Dbus(name) => unit.push(Section::Service, "BusName", Value::plain(name)),
            Ready::PidFile(path) => unit.push(Section::Service, "PIDFile", Value::text(&self.parts(path))),
            _ => (),
        }
        self.all(unit, "ExecStartPre", &service.exec_start_pre);
        unit.push(Section::Service, "ExecStart", startup.start);
        if let Some(wait) = startup.wait {
            unit.push_why(
                Section::Service,
                "keeps the unit activating until its process is ready or has exited",
                "ExecStartPost",
                wait,
            );
        }
        self.all(unit, "ExecStartPost", &service.exec_start_post);
        self.all(unit, "ExecReload", &service.exec_reload);
        if service.health.is_some() {
            unit.push_why(
                Section::Service,
                "disables the watchdog: a process that is stopping would be killed as hung",
                "ExecStop",
                no_watchdog(),
            );
        }
        self.all(unit, "ExecStop", &service.exec_stop);
        self.all(unit, "ExecStopPost", &service.exec_stop_post);
    }

    fn all(&self, unit: &mut Unit, directive: &'static str, commands: &[Argv]) {
        for argv in commands {
            unit.push(Section::Service, directive, self.command(argv));
        }
    }

    /// Everything else but pass-through: environment, directories, directives, credentials, sandboxing.
    pub fn settings(&self, unit: &mut Unit, service: &Service) {
        if let Some(directory) = &service.working_directory {
            unit.push(Section::Service, "WorkingDirectory", Value::text(&self.parts(directory)));
        }
        self.environment(unit, service);
        for directory in &service.directories {
            self.directory(unit, directory);
        }
        for directive in &service.directives {
            if self.knows(directive.section, directive.name) {
                unit.push(directive.section, directive.name, directive_value(directive));
            }
        }
        self.watchdog(unit, service);
        for (name, credential) in &service.credentials {
            self.credential(unit, name, credential);
        }
        hardening::write(self, unit, service);
    }

    fn environment(&self, unit: &mut Unit, service: &Service) {
        let own = |kind| service.directories.iter().any(|directory| directory.kind == kind);
        let shared = DirectoryKind::ALL.into_iter().filter(|kind| !own(*kind));
        for (index, (kind, directory)) in shared.filter_map(|kind| Some((kind, self.shared(kind)?))).enumerate() {
            let why =
                "only copse-directories@ declares these: a second declaration would chown them and remove them on stop";
            let value = self.directory_variable(kind, directory);
            match index {
                0 => unit.push_why(Section::Service, why, "Environment", value),
                _ => unit.push(Section::Service, "Environment", value),
            }
        }
        for (name, text) in &service.environment {
            unit.push(Section::Service, "Environment", Value::assignment(name, &self.parts(text)));
        }
        for (optional, path) in &service.environment_files {
            let mut parts = vec![Part::Literal(if *optional { "-" } else { "" })];
            parts.extend_from_slice(&self.parts(path));
            unit.push(Section::Service, "EnvironmentFile", Value::text(&parts));
        }
    }

    /// `STATE_DIRECTORY=/var/lib/a:/var/lib/b`, as systemd itself would set it.
    pub fn directory_variable(&self, kind: DirectoryKind, directory: &Directory) -> Value {
        let variable = kind.key().replace('-', "_").to_ascii_uppercase();
        let mut parts = Vec::new();
        for (index, name) in directory.names.iter().enumerate() {
            parts.push(Part::Literal(if index == 0 { "" } else { ":" }));
            parts.extend([Part::Specifier(kind.specifier()), Part::Literal("/")]);
            parts.extend_from_slice(&self.parts(name));
        }
        Value::assignment(&variable, &parts)
    }

    /// `StateDirectory=` and `StateDirectoryMode=`.
    pub fn directory(&self, unit: &mut Unit, directory: &Directory) {
        let names: Vec<_> = directory.names.iter().map(|name| self.parts(name)).collect();
        let directive = directory.kind.directive();
        unit.push(Section::Service, directive, Value::words(names.iter().map(|name| &**name)));
        if let Some(mode) = &directory.mode {
            unit.push(Section::Service, format!("{directive}Mode"), Value::plain(mode));
        }
    }

    fn watchdog(&self, unit: &mut Unit, service: &Service) {
        let Some(interval) = service.health.as_ref().and_then(|health| health.interval.value.finite()) else { return };
        if service.directives.iter().all(|directive| directive.name != "WatchdogSec") {
            unit.push_why(
                Section::Service,
                "copse-notify pings while the health probes succeed; without pings systemd kills the service",
                "WatchdogSec",
                Value::plain(&crate::basic::time_span::format(interval.saturating_mul(PINGS_PER_WATCHDOG))),
            );
        }
    }

    fn credential(&self, unit: &mut Unit, name: &str, credential: &Credential) {
        let (directive, source) = match credential {
            Credential::Text(text) => {
                return unit.push(Section::Service, "SetCredential", Value::credential(name, text));
            }
            Credential::Load(source) => ("LoadCredential", source),
            Credential::Encrypted(source) => ("LoadCredentialEncrypted", source),
        };
        if self.knows(Section::Service, directive) {
            let mut parts = vec![Part::Literal(name), Part::Literal(":")];
            parts.extend_from_slice(&self.parts(source));
            unit.push(Section::Service, directive, Value::text(&parts));
        }
    }

    /// Where the unit is found: in the cgroup tree and in the log.
    pub fn belonging(&self, unit: &mut Unit, name: &ProcessName, instances: bool) {
        unit.push(Section::Service, "Slice", self.slice.clone());
        unit.push(Section::Service, "SyslogIdentifier", Value::fixed("%N"));
        let instance = if instances { " COPSE_INSTANCE=%i" } else { "" };
        // Names need no quotes.
        let fields = ["COPSE_GROUP=", self.group.name.as_str(), " COPSE_PROCESS=", name.as_str(), instance].concat();
        unit.push(Section::Service, "LogExtraFields", Value::verbatim(fields));
    }
}

/// The value of a key that is a directive. Most directives expand specifiers. Those that take a percentage do not, and a
/// doubled `%` is an error there (config_parse_cpu_quota(), config_parse_memory_limit(), config_parse_tasks_max()).
fn directive_value(directive: &Directive) -> Value {
    match (directive.name, &directive.value) {
        ("CPUQuota" | "MemoryMax" | "MemoryHigh" | "TasksMax", value) => Value::verbatim(value.as_ref()),
        // A default, or a word of systemd's.
        (_, Cow::Borrowed(value)) => Value::fixed(value),
        (_, Cow::Owned(value)) => Value::plain(value),
    }
}
