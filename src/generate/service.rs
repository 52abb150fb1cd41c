//! What the services of processes and of setup steps have in common: everything from their `[Service]` tables.

use super::command::{Startup, no_watchdog};
use super::context::Context;
use super::hardening;
use crate::model::{Argv, Credential, Directive, Directory, DirectoryKind, Ready, Service};
use crate::unit::name::ProcessName;
use crate::unit::value::Part;
use crate::unit::{Section, Unit, Value};

/// How often health must be able to answer within `WatchdogSec=`: copse-notify pings after each answer.
const PINGS_PER_WATCHDOG: u32 = 3;

impl Context<'_> {
    /// `Description=` of a process or step: its own, or made from the group's and its name.
    pub fn describe<'v>(&self, name: &ProcessName, description: Option<&'v str>, instances: bool) -> Value<'v> {
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

    /// How it is started: `Type=` and all commands. `start` replaces the `ExecStart=` (and is the `ExecReload=` then).
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
                "keeps the unit activating until its process is ready; ends at once if the process does",
                "ExecStartPost",
                wait,
            );
        }
        self.all(unit, "ExecStartPost", &service.exec_start_post);
        self.all(unit, "ExecReload", &service.exec_reload);
        if service.health.is_some() {
            unit.push_why(
                Section::Service,
                "no watchdog from here on: a ping during the stop would start it anew, and a process that serves no more \
                 and only ends what it has would be taken for hung",
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

    /// Everything else of the author's: surroundings, directives, fences. Pass-through comes later, by the caller.
    pub fn settings(&self, unit: &mut Unit, service: &Service) {
        if let Some(directory) = &service.working_directory {
            unit.push(Section::Service, "WorkingDirectory", Value::text(&self.parts(directory)));
        }
        self.environment(unit, service);
        for directory in &service.directories {
            self.directory(unit, directory);
        }
        for Directive { section, name, value } in &service.directives {
            if self.knows(*section, name) {
                unit.push(*section, name, directive_value(name, value));
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
        for (at, (kind, directory)) in shared.filter_map(|kind| Some((kind, self.shared(kind)?))).enumerate() {
            if at == 0 {
                let why =
                    "shared: only the holder names them, because a second unit that did would empty and chown them";
                unit.comment(Section::Service, why);
            }
            unit.push(Section::Service, "Environment", self.directory_variable(kind, directory));
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
    pub fn directory_variable(&self, kind: DirectoryKind, directory: &Directory) -> Value<'static> {
        let variable = kind.key().replace('-', "_").to_ascii_uppercase();
        let mut parts = Vec::new();
        for (at, name) in directory.names.iter().enumerate() {
            parts.push(Part::Literal(if at == 0 { "" } else { ":" }));
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
            unit.push(Section::Service, &format!("{directive}Mode"), Value::plain(mode));
        }
    }

    fn watchdog(&self, unit: &mut Unit, service: &Service) {
        let Some(interval) = service.health.as_ref().and_then(|health| health.interval.value.finite()) else { return };
        if service.directives.iter().all(|directive| directive.name != "WatchdogSec") {
            unit.push_why(
                Section::Service,
                "the health probe pings; when it has failed too often systemd hears nothing any more, and acts",
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

    /// Where the unit belongs: in the cgroup tree and in the log.
    pub fn belonging(&self, unit: &mut Unit, name: &ProcessName, instances: bool) {
        unit.push(Section::Service, "Slice", Value::verbatim(&self.slice));
        unit.push(Section::Service, "SyslogIdentifier", Value::fixed("%N"));
        let fields = [
            [Part::Literal("COPSE_GROUP="), Part::Literal(self.group.name.as_str())],
            [Part::Literal("COPSE_PROCESS="), Part::Literal(name.as_str())],
            [Part::Literal("COPSE_INSTANCE="), Part::Specifier("%i")],
        ];
        let fields = if instances { &fields[..] } else { &fields[..2] };
        unit.push(Section::Service, "LogExtraFields", Value::words(fields.iter().map(<[_; 2]>::as_slice)));
    }
}

/// The value of a key that is a directive. Most of them know specifiers; those that take a percentage don't, and a
/// doubled `%` would be an error there (config_parse_cpu_quota(), config_parse_memory_limit(), config_parse_tasks_max()).
fn directive_value<'v>(name: &str, value: &'v str) -> Value<'v> {
    match name {
        "CPUQuota" | "MemoryMax" | "MemoryHigh" | "TasksMax" => Value::verbatim(value),
        _ => Value::plain(value),
    }
}
