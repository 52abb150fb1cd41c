//! The pod of a workload, from the units that it consists of.

use std::collections::BTreeMap;

use super::findings::{Findings, Member};
use super::manifest::{Container, EnvFrom, Mount, Pod, Source, Volume};
use super::names;
use super::options::{Options, file_key};
use super::order::Order;
use super::probes;
use super::secrets::Secrets;
use super::security;
use super::security::directive;
use super::units::Unit;
use crate::basic::time_span::Span;
use crate::model::{Argv, Directory, DirectoryKind, Group, Piece, Text};

/// `terminationGracePeriodSeconds` without end.
const NEVER: i64 = i32::MAX as i64;

/// Builds one pod.
pub struct Builder<'b, 'a> {
    pub group: &'b Group,
    pub options: &'b Options,
    pub secrets: &'b Secrets,
    pub found: &'b mut Findings<'a>,
    pub pod: Pod,
    /// The volume of each path.
    volumes: BTreeMap<String, String>,
}

impl<'b, 'a> Builder<'b, 'a> {
    pub fn new(group: &'b Group, options: &'b Options, secrets: &'b Secrets, found: &'b mut Findings<'a>) -> Self {
        Self { group, options, secrets, found, pod: Pod::default(), volumes: BTreeMap::new() }
    }

    /// The pod of these units, and whether it has state.
    pub fn build(mut self, units: &[&Unit<'_>]) -> (Pod, bool) {
        let order = Order::new(self.group, units);
        order.review(self.group, units, self.options, self.found);
        for name in &order.init {
            for unit in units.iter().filter(|unit| unit.member.name == *name) {
                let sidecar = order.sidecars.contains(name);
                let container = Container { sidecar, ..self.container(unit) };
                self.check_sidecar(&container, unit);
                self.pod.init.push(container);
            }
        }
        for unit in units.iter().filter(|unit| !order.init.contains(&unit.member.name)) {
            let container = self.container(unit);
            self.pod.containers.push(container);
        }
        let has_volumes = !self.pod.volumes.is_empty();
        self.pod.fs_group = self.pod.fs_group.filter(|_| has_volumes);
        let has_state = self.pod.volumes.iter().any(|volume| volume.source == Source::Claim);
        (self.pod, has_state)
    }

    /// Without a startup probe, those after a sidecar would only wait until it was executed.
    fn check_sidecar(&mut self, container: &Container, unit: &Unit<'_>) {
        if container.sidecar && container.startup.is_none() && !self.found.diagnostics.has_errors() {
            let instead = "write `ready` as a probe in a drop-in for `--with`";
            self.found.note_to_do(
                &unit.member,
                "ready",
                "is \"exec\": the containers after it start as soon as the process was executed",
                instead,
            );
        }
    }

    fn container(&mut self, unit: &Unit<'_>) -> Container {
        let (member, service) = (&unit.member, unit.service);
        let mut mounts = self.mounts(unit);
        let (security, low_ports) = security::context(member, service, self.options, self.found);
        if security.read_only_root {
            let name = format!("tmp-{}", unit.name);
            mounts.push(self.volume("/tmp", name, Source::EmptyDir));
            // Each container has its own.
            self.volumes.remove("/tmp");
        }
        mounts.sort_by(|a, b| a.path.cmp(&b.path));
        self.pod.low_ports |= low_ports;
        if let Some(user) = security.user.filter(|user| *user != 0) {
            self.pod.fs_group.get_or_insert(security.group.unwrap_or(user));
        }
        self.pod.grace = self.pod.grace.max(grace(directive(service, "TimeoutStopSec")));
        let mut container = Container {
            name: unit.name.clone(),
            description: service.description.clone().or_else(|| described(unit)),
            image: self.options.image.clone(),
            command: self.command(member, &service.exec, unit),
            working_dir: service.working_directory.as_ref().map(|path| unit.at.literal(path)),
            env: self.environment(unit),
            env_from: self.environment_files(unit),
            port: port(unit).filter(|_| self.found.entry(member, "port").is_some()),
            cpu: directive(service, "CPUQuota").and_then(cpu),
            memory: self.memory(unit),
            post_start: self.hook(unit, "exec-start-post", &service.exec_start_post),
            pre_stop: self.hook(unit, "exec-stop", &service.exec_stop),
            security,
            mounts,
            ..Container::default()
        };
        if container.working_dir.as_deref().is_some_and(|path| path.starts_with('~')) {
            let instead = "write the absolute path in a drop-in for `--with`";
            self.found.refuse(member, "working-directory", "Kubernetes does not know the home of a user", instead);
        }
        if unit.process.is_some() && !unit.is_timed() {
            probes::add(&mut container, member, service, &unit.at, self.found);
        }
        container
    }

    /// The arguments of a container's command.
    fn command(&mut self, member: &Member<'_>, argv: &Argv, unit: &Unit<'_>) -> Vec<String> {
        let key = if self.found.entry(member, "shell").is_some() { "shell" } else { "exec" };
        for piece in argv.iter().flat_map(Text::pieces) {
            match piece {
                Piece::EnvWords(name) => {
                    let why = format!("Kubernetes does not split the value of `{{env:{name}...}}`");
                    self.found.refuse(
                        member,
                        key,
                        &why,
                        &format!("let a shell split it: `shell = \"exec program ${name}\"`"),
                    );
                }
                Piece::Env(name)
                    if !unit.service.environment.contains_key(name) && unit.service.environment_files.is_empty() =>
                {
                    let (why, instead) = probes::no_value(name);
                    self.found.refuse(member, key, &why, instead);
                }
                Piece::Unit => self.found.note(member, key, "has `{unit}`, the name of the unit on a machine"),
                _ => {}
            }
        }
        argv.iter().map(|text| unit.at.expanded(text)).collect()
    }

    /// The command of a hook, whose variables nothing expands.
    fn hook(&mut self, unit: &Unit<'_>, key: &str, commands: &[Argv]) -> Option<Vec<String>> {
        let argv = commands.first()?;
        if commands.len() > 1 {
            let instead = "join the commands in a script, in a drop-in for `--with`";
            self.found.refuse(&unit.member, key, "a container has one such hook", instead);
        }
        let words: Result<Vec<String>, &str> =
            argv.iter().map(|text| unit.at.resolved(text, &unit.service.environment)).collect();
        if let Err(name) = &words {
            let (why, instead) = probes::no_value(name);
            self.found.refuse(&unit.member, key, &why, instead);
        }
        words.ok()
    }

    fn environment(&self, unit: &Unit<'_>) -> Vec<(String, String)> {
        let mut env = BTreeMap::new();
        for kind in DirectoryKind::ALL {
            let paths = self.directories(unit, kind);
            if !paths.is_empty() {
                env.insert(kind.key().replace('-', "_").to_ascii_uppercase(), paths.join(":"));
            }
        }
        if !unit.service.credentials.is_empty() {
            env.insert("CREDENTIALS_DIRECTORY".to_owned(), unit.at.credentials.clone());
        }
        let own = unit.service.environment.iter();
        env.extend(own.map(|(name, value)| (name.clone(), unit.at.expanded(value))));
        env.into_iter().collect()
    }

    fn environment_files(&self, unit: &Unit<'_>) -> Vec<EnvFrom> {
        let file = |(optional, path): &(bool, Text)| EnvFrom {
            secret: Secrets::environment_of(self.group, &unit.at.literal(path)),
            optional: *optional,
        };
        unit.service.environment_files.iter().map(file).collect()
    }

    /// The paths of the directories of a kind, as systemd lists them in a variable.
    fn directories(&self, unit: &Unit<'_>, kind: DirectoryKind) -> Vec<String> {
        let of_kind = |directories: &[Directory]| -> Vec<String> {
            let names = directories.iter().filter(|directory| directory.kind == kind);
            let names = names.flat_map(|directory| &directory.names);
            names.map(|name| format!("{}{}", kind.base(), unit.at.literal(name))).collect()
        };
        let own = of_kind(&unit.service.directories);
        match &self.group.shared {
            Some(shared) if own.is_empty() => of_kind(&shared.directories),
            _ => own,
        }
    }

    fn mounts(&mut self, unit: &Unit<'_>) -> Vec<Mount> {
        let mut mounts = Vec::new();
        let group = self.group;
        let shared = group.shared.as_ref().map_or(&[][..], |shared| &shared.directories);
        let own = unit.service.directories.iter().map(|directory| (directory, false));
        for (directory, is_shared) in own.chain(shared.iter().map(|directory| (directory, true))) {
            mounts.extend(self.directory(unit, directory, is_shared));
        }
        let secrets = self.secrets.of(unit);
        if !secrets.is_empty() {
            let volume = format!("credentials-{}", unit.name);
            let mount = self.volume(&unit.at.credentials, volume, Source::Secrets(secrets));
            mounts.push(Mount { read_only: true, ..mount });
        }
        let inputs: Vec<String> = unit.service.inputs.iter().map(|path| unit.at.literal(path)).collect();
        for file in &self.options.files {
            // A file that is no input of any process is for all of them.
            let is_input = inputs.contains(&file.path);
            if is_input || !self.is_input(&file.path) {
                let map = names::joined(&[self.group.name.as_str(), "files"]);
                let mut mount = self.volume("", "files".to_owned(), Source::ConfigMap(map));
                mount.path.clone_from(&file.path);
                mount.file = Some(file_key(&self.options.files, &file.path));
                mounts.push(Mount { read_only: true, ..mount });
            }
        }
        mounts
    }

    fn directory(&mut self, unit: &Unit<'_>, directory: &Directory, is_shared: bool) -> Vec<Mount> {
        let (kind, key) = (directory.kind, directory.kind.key());
        let source = match kind {
            DirectoryKind::State => {
                self.check_storage(unit, is_shared, key);
                Source::Claim
            }
            _ => Source::EmptyDir,
        };
        let names = directory.names.iter().map(|name| unit.at.literal(name));
        let mount = |name: String| {
            let path = format!("{}{name}", kind.base());
            let volume = names::joined(&[key.trim_end_matches("-directory"), &name]);
            self.volume(&path, volume, source.clone())
        };
        names.map(mount).collect()
    }

    /// True if a process or step of the group has the file as an input.
    fn is_input(&self, path: &str) -> bool {
        let services = self.group.processes.values().map(|process| &process.service);
        let mut services = services.chain(self.group.setup.values().map(|step| &step.service));
        services.any(|service| service.inputs.iter().any(|input| input.is_literal() && input.leading() == path))
    }

    fn check_storage(&mut self, unit: &Unit<'_>, is_shared: bool, key: &str) {
        // A timed process that shares directories is refused for that.
        if self.options.storage.is_some() && !unit.is_timed() || is_shared && unit.is_timed() {
            return;
        }
        let (why, instead) = match unit.is_timed() {
            true => ("a CronJob has no volume of its own", "write `hold = true` in a drop-in for `--with`"),
            false => ("the size of the volume is not known", "add `--storage SIZE`, such as `--storage 10Gi`"),
        };
        match is_shared {
            true => self.found.refuse_group(key, why, instead),
            false => self.found.refuse(&unit.member, key, why, instead),
        }
    }

    /// A mount of the volume for `path`, which is added if there is none yet.
    fn volume(&mut self, path: &str, name: String, source: Source) -> Mount {
        let taken = |pod: &Pod, name: &str| pod.volumes.iter().any(|volume| volume.name == name);
        let volume = match self.volumes.get(path) {
            Some(name) => name.clone(),
            None => {
                let mut name: String = name.chars().take(names::LONGEST - 3).collect();
                name.truncate(name.trim_end_matches('-').len());
                // Different paths with one name.
                let numbered = (2..).map(|number| format!("{name}-{number}"));
                let unique = std::iter::once(name.clone()).chain(numbered).find(|name| !taken(&self.pod, name));
                let name = unique.unwrap_or(name);
                self.pod.volumes.push(Volume { name: name.clone(), source });
                self.volumes.insert(path.to_owned(), name.clone());
                name
            }
        };
        Mount { path: path.to_owned(), volume, file: None, read_only: false }
    }

    fn memory(&mut self, unit: &Unit<'_>) -> Option<String> {
        let value = directive(unit.service, "MemoryMax").filter(|value| *value != "infinity")?;
        if value.ends_with('%') {
            let instead = "write a size such as `\"512M\"` in a drop-in for `--with`";
            self.found.refuse(&unit.member, "memory-max", "the memory of the nodes differs", instead);
            return None;
        }
        // systemd counts by 1024.
        Some(match value.strip_suffix(['K', 'M', 'G', 'T', 'P', 'E']) {
            Some(number) => format!("{number}{}i", &value[number.len()..]),
            None => value.trim_end_matches('B').to_owned(),
        })
    }
}

/// A comment for a container whose name is not that of the process.
fn described(unit: &Unit<'_>) -> Option<String> {
    let own = unit.member.name.as_str();
    match unit.member.instance {
        Some(instance) if unit.name != format!("{own}-{instance}") => Some(format!("{own}@{instance}")),
        None if unit.name != own => Some(own.to_owned()),
        _ => None,
    }
}

/// `$PORT` of a process that has a `port`.
fn port(unit: &Unit<'_>) -> Option<u16> {
    let value = unit.service.environment.get("PORT").filter(|value| value.is_literal())?;
    value.leading().parse().ok().filter(|_| unit.process.is_some())
}

/// `150%` is one and a half CPU.
fn cpu(quota: &str) -> Option<String> {
    let hundredths: f64 = quota.strip_suffix('%')?.parse().ok()?;
    let milli = (hundredths * 10.0).round().max(1.0) as i64;
    Some(if milli % 1000 == 0 { (milli / 1000).to_string() } else { format!("{milli}m") })
}

fn grace(text: Option<&str>) -> i64 {
    match text.map(crate::basic::time_span::parse) {
        // Zero is no limit.
        Some(Ok(Span::Finite(span))) if span.is_zero() => NEVER,
        Some(Ok(Span::Finite(span))) => (span.as_millis().div_ceil(1000) as i64).min(NEVER),
        Some(Ok(Span::Infinity)) => NEVER,
        _ => 0,
    }
}
