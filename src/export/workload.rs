//! The objects of a group: workloads, CronJobs, and what they mount.

use sha2::{Digest as _, Sha256};

use super::calendar;
use super::findings::Findings;
use super::manifest::{Manifest, Pod};
use super::names;
use super::options::{ConfigFile, Kind, MIN_READY_OF_STATEFUL_SETS, Options, TIME_ZONES, file_key};
use super::pod::Builder;
use super::secrets::Secrets;
use super::units::Unit;
use super::yaml::{Map, Node};
use crate::basic::time_span::Span;
use crate::model::{Group, Percentage, Restart, Start, TimeSpan};

/// Makes the objects of a group.
pub struct Objects<'b, 'a> {
    pub group: &'b Group,
    pub options: &'b Options,
    pub secrets: &'b Secrets,
    pub found: &'b mut Findings<'a>,
    pub manifests: Vec<Manifest>,
}

/// The default of the group's `timeout-start-sec`, which is also that of `progressDeadlineSeconds`.
const PROGRESS_DEADLINE: i64 = 600;

/// The longest name of an object, so that those that are made from it still have labels.
const LONGEST: usize = names::LONGEST_CRON_JOB;

impl Objects<'_, '_> {
    /// The objects of these units.
    pub fn add(&mut self, units: &[Unit<'_>]) {
        self.files();
        self.texts(units);
        let (timed, running): (Vec<&Unit<'_>>, Vec<&Unit<'_>>) = units.iter().partition(|unit| unit.is_timed());
        let has_process = running.iter().any(|unit| unit.process.is_some());
        if self.options.split {
            self.split(&running);
        } else if has_process {
            let name = names::label(self.group.name.as_str());
            self.workload(&name, "group", &running, self.options.replicas);
        }
        for unit in timed {
            self.cron_job(unit);
        }
    }

    /// A workload for each process.
    fn split(&mut self, units: &[&Unit<'_>]) {
        let shared = self.group.shared.as_ref().map_or(&[][..], |shared| &shared.directories);
        for directory in shared {
            let why = "the processes are in different pods, which share no directory";
            self.found.refuse_group(directory.kind.key(), why, "remove `--split`");
        }
        for unit in units {
            let process = self.group.processes.get(unit.member.name);
            let waits = match (process, self.group.setup.get(unit.member.name)) {
                (Some(process), _) => !process.after.is_empty(),
                (_, Some(step)) => !step.after.is_empty(),
                _ => false,
            };
            if waits {
                let why = "the processes are in different pods, which do not wait for each other";
                self.found.refuse(&unit.member, "after", why, "remove `--split`");
            }
            let Some(process) = process else { continue };
            let is_own = |other: &&&Unit<'_>| {
                other.member.name == unit.member.name
                    || process.gated_by.contains(other.member.name) && other.process.is_none()
            };
            let own: Vec<&Unit<'_>> = units.iter().filter(is_own).copied().collect();
            let (group, name) = (self.group.name.as_str(), unit.member.name.as_str());
            let object = if group == name { names::label(group) } else { names::joined(&[group, name]) };
            let replicas =
                process.instances.as_ref().map_or(1, |instances| u32::try_from(instances.len()).unwrap_or(1));
            self.workload(&object, &names::label(name), &own, replicas);
        }
    }

    fn workload(&mut self, name: &str, component: &str, units: &[&Unit<'_>], replicas: u32) {
        self.check_name(name, units.iter().find(|unit| unit.process.is_some()).copied());
        let (pod, has_state) = Builder::new(self.group, self.options, self.secrets, self.found).build(units);
        let kind = self.kind(has_state);
        let labels = self.labels(component);
        let mut spec = Map::new();
        if kind != Kind::DaemonSet {
            spec = spec.with("replicas", i64::from(replicas));
        }
        spec = spec.with("selector", Map::new().with("matchLabels", labels.clone()));
        spec = self.update(spec, kind, name, units);
        spec = spec.with("template", self.template(&labels, &pod));
        if kind == Kind::StatefulSet {
            spec = spec.list("volumeClaimTemplates", self.claims(&pod));
            self.push_service(name, &labels, component);
        }
        self.push(kind.text(), "apps/v1", name, Some(component), spec);
    }

    fn kind(&mut self, has_state: bool) -> Kind {
        match (self.options.kind, has_state) {
            (None, true) => Kind::StatefulSet,
            (None, false) => Kind::Deployment,
            (Some(Kind::StatefulSet), _) => Kind::StatefulSet,
            (Some(kind), false) => kind,
            (Some(kind), true) => {
                let why = format!("the pods of a {} have no storage of their own", kind.text());
                self.found.refuse_group("state-directory", &why, "remove `--kind`");
                kind
            }
        }
    }

    /// How pods are replaced.
    fn update(&mut self, mut spec: Map, kind: Kind, name: &str, units: &[&Unit<'_>]) -> Map {
        let unavailable = self.max_unavailable(kind, units);
        let min_ready = units.iter().filter_map(|unit| unit.process).map(|process| seconds(&process.change.min_ready));
        let min_ready = min_ready.max().unwrap_or(0);
        match kind {
            Kind::Deployment => {
                let rolling = Map::new().with("maxSurge", 0).with("maxUnavailable", unavailable);
                let why = "as on a machine, an old pod stops before its successor starts";
                spec =
                    spec.with("strategy", Map::new().with("type", "RollingUpdate").why(why, "rollingUpdate", rolling));
            }
            Kind::DaemonSet => {
                let rolling = Map::new().with("maxUnavailable", unavailable);
                spec = spec
                    .with("updateStrategy", Map::new().with("type", "RollingUpdate").with("rollingUpdate", rolling));
            }
            Kind::StatefulSet => {
                spec = spec.why("no pod waits for another one", "podManagementPolicy", "Parallel");
                spec = spec.with("serviceName", name);
            }
        }
        let takes_min_ready = kind != Kind::StatefulSet || self.options.kubernetes >= MIN_READY_OF_STATEFUL_SETS;
        if min_ready > 0 && takes_min_ready {
            spec = spec.why("the longest min-ready-sec", "minReadySeconds", min_ready);
        }
        let deadline = seconds(&self.group.timeout_start);
        if deadline != PROGRESS_DEADLINE {
            match kind {
                Kind::Deployment => spec = spec.with("progressDeadlineSeconds", deadline.max(min_ready + 1)),
                kind => {
                    let what = format!("is left out, because a {} has no deadline", kind.text());
                    self.found.note_group("timeout-start-sec", &what);
                }
            }
        }
        spec
    }

    /// The smallest of those that are written.
    fn max_unavailable(&mut self, kind: Kind, units: &[&Unit<'_>]) -> Node {
        let mut counts = Vec::new();
        let mut percentages = Vec::new();
        for unit in units {
            let Some(process) = unit.process else { continue };
            if self.found.entry(&unit.member, "max-unavailable").is_none() {
                continue;
            }
            match process.change.max_unavailable {
                Percentage::Count(count) => counts.push(i64::try_from(count).unwrap_or(1)),
                Percentage::Percent(percent) => percentages.push(percent),
            }
            if kind == Kind::StatefulSet {
                self.found.note(
                    &unit.member,
                    "max-unavailable",
                    "is left out: a StatefulSet replaces one pod at a time",
                );
            }
        }
        match (counts.into_iter().min(), percentages.into_iter().min()) {
            (Some(count), _) => count.into(),
            (None, Some(percent)) => format!("{percent}%").into(),
            (None, None) => 1.into(),
        }
    }

    fn cron_job(&mut self, unit: &Unit<'_>) {
        let Some(Start::Timed(events)) = unit.process.map(|process| &process.start) else { return };
        let (group, process) = (self.group.name.as_str(), unit.member.name.as_str());
        let name = if group == process { names::label(group) } else { names::joined(&[group, process]) };
        self.check_name(&name, Some(unit));
        self.review_timed(unit);
        let (mut pod, _) = Builder::new(self.group, self.options, self.secrets, self.found).build(&[unit]);
        let restarts = unit.service.restart != Restart::No;
        pod.restart = Some(if restarts { "OnFailure" } else { "Never" });
        let Some((schedule, event)) = self.schedule(unit, events) else { return };
        let labels = self.labels(&unit.name);
        let mut job = Map::new();
        if !restarts {
            job = job.why("restart = \"no\"", "backoffLimit", 0);
        }
        if let Some(limit) = unit.service.timeout_start.positive() {
            job = job.why("timeout-start-sec", "activeDeadlineSeconds", limit.as_millis().div_ceil(1000) as i64);
        }
        job = job.with("template", self.template(&labels, &pod));
        let mut spec = Map::new().why(format!("on-calendar = \"{event}\""), "schedule", &schedule.fields);
        match schedule.zone.as_ref().or(self.options.timezone.as_ref()) {
            Some(zone) if self.options.kubernetes >= TIME_ZONES => spec = spec.with("timeZone", zone),
            Some(_) => {
                let why = format!("a CronJob has no time zone before Kubernetes 1.{TIME_ZONES}");
                let instead = format!("add `--kubernetes 1.{TIME_ZONES}`");
                self.found.refuse(&unit.member, "on-calendar", &why, &instead);
            }
            None => {
                let what = "is in the time zone of the cluster, which is mostly UTC";
                self.found.note_to_do(&unit.member, "on-calendar", what, "add `--timezone ZONE`");
            }
        }
        let why = "a timer does not start a process that still runs";
        spec = spec.why(why, "concurrencyPolicy", "Forbid");
        spec = spec.with("jobTemplate", Map::new().with("spec", job));
        self.push("CronJob", "batch/v1", &name, Some(&unit.name), spec);
    }

    fn schedule(&mut self, unit: &Unit<'_>, events: &[String]) -> Option<(calendar::Schedule, String)> {
        let (why, instead) = match events {
            [event] => match calendar::schedule(event) {
                Some(schedule) => return Some((schedule, event.clone())),
                None => {
                    ("five fields of cron cannot express the time", "write a simpler time in a drop-in for `--with`")
                }
            },
            _ => {
                ("a CronJob has one schedule", "write one time in a drop-in for `--with`, such as `\"*-*-* 6,18:00\"`")
            }
        };
        self.found.refuse(&unit.member, "on-calendar", why, instead);
        None
    }

    /// What a timed process does not have in a pod of its own.
    fn review_timed(&mut self, unit: &Unit<'_>) {
        if self.group.shared.as_ref().is_some_and(|shared| !shared.directories.is_empty()) {
            let why = "its CronJob has pods of its own, which do not share the directories of the group";
            let instead = "write `hold = true` in a drop-in for `--with` to leave the process out";
            self.found.refuse(&unit.member, "on-calendar", why, instead);
        }
        let Some(process) = unit.process else { return };
        if !process.after.is_empty() || !process.after_steps.is_empty() {
            self.found.note(
                &unit.member,
                "after",
                "is left out: a CronJob waits for no other pod, and runs no setup step",
            );
        }
    }

    fn template(&self, labels: &Map, pod: &Pod) -> Map {
        let mut metadata = Map::new().with("labels", labels.clone());
        let uses_files = pod
            .init
            .iter()
            .chain(&pod.containers)
            .any(|container| container.mounts.iter().any(|mount| mount.file.is_some()));
        if uses_files {
            let why = "a change of a file of the ConfigMap replaces the pods";
            metadata = metadata.with("annotations", Map::new().why(why, "copse/files", hash(&self.options.files)));
        }
        Map::new().with("metadata", metadata).with("spec", pod.map())
    }

    fn claims(&self, pod: &Pod) -> Vec<Node> {
        let size = self.options.storage.as_deref().unwrap_or("1Gi");
        let claim = |name: &str| {
            let requests = Map::new().with("requests", Map::new().with("storage", size));
            let spec = Map::new().list("accessModes", ["ReadWriteOnce"]).with("resources", requests);
            Map::new().with("metadata", Map::new().with("name", name)).with("spec", spec).into()
        };
        let is_claim = |volume: &&super::manifest::Volume| volume.source == super::manifest::Source::Claim;
        pod.volumes.iter().filter(is_claim).map(|volume| claim(&volume.name)).collect()
    }

    /// A StatefulSet names the Service that gives its pods their names.
    fn push_service(&mut self, name: &str, labels: &Map, component: &str) {
        let spec = Map::new().why("for the names of the pods", "clusterIP", "None").with("selector", labels.clone());
        self.push("Service", "v1", name, Some(component), spec);
    }

    fn files(&mut self) {
        if self.options.files.is_empty() {
            return;
        }
        let mut data = Map::new();
        for file in &self.options.files {
            data = data.with(file_key(&self.options.files, &file.path), &file.text);
        }
        let name = names::joined(&[self.group.name.as_str(), "files"]);
        self.push_data("ConfigMap", &name, "data", data);
    }

    fn texts(&mut self, units: &[Unit<'_>]) {
        let texts = self.secrets.texts(units);
        if texts.is_empty() {
            return;
        }
        let data = texts.into_iter().fold(Map::new(), |data, (key, text)| data.with(key, text));
        let name = self.secrets.texts.clone();
        self.push_data("Secret", &name, "stringData", data);
    }

    fn check_name(&mut self, name: &str, unit: Option<&Unit<'_>>) {
        if !name.is_empty() && name.len() <= LONGEST {
            return;
        }
        let why = format!("`{name}` is no name for its object, which has 1 to {LONGEST} characters");
        match unit {
            Some(unit) => {
                self.found.refuse_at(unit.member.header.clone(), unit.member.name.as_str(), &why, "rename the group");
            }
            None => self.found.refuse_group(self.group.name.as_str(), &why, "rename the group"),
        }
    }

    fn labels(&self, component: &str) -> Map {
        let name = names::label(self.group.name.as_str());
        Map::new().with("app.kubernetes.io/name", name).with("app.kubernetes.io/component", component)
    }

    fn metadata(&self, name: &str, component: Option<&str>) -> Map {
        let name_label = Map::new().with("app.kubernetes.io/name", names::label(self.group.name.as_str()));
        let labels = component.map_or(name_label, |component| self.labels(component));
        let mut annotations = Map::new();
        if component.is_some() {
            annotations = annotations.maybe("kubernetes.io/description", self.group.description.as_ref());
            if !self.group.documentation.is_empty() {
                annotations = annotations.with("copse/documentation", self.group.documentation.join(" "));
            }
        }
        Map::new()
            .with("name", name)
            .maybe("namespace", self.options.namespace.as_ref())
            .with("labels", labels)
            .map("annotations", annotations)
    }

    fn push(&mut self, kind: &str, version: &str, name: &str, component: Option<&str>, spec: Map) {
        let map = Map::new().with("apiVersion", version).with("kind", kind);
        let map = map.with("metadata", self.metadata(name, component)).with("spec", spec);
        self.manifests.push(Manifest { file: file_name(kind, name), map });
    }

    fn push_data(&mut self, kind: &str, name: &str, key: &str, data: Map) {
        let map = Map::new().with("apiVersion", "v1").with("kind", kind);
        let map = map.with("metadata", self.metadata(name, None)).with(key, data);
        self.manifests.push(Manifest { file: file_name(kind, name), map });
    }
}

fn file_name(kind: &str, name: &str) -> String {
    format!("{}-{name}.yaml", kind.to_ascii_lowercase())
}

fn hash(files: &[ConfigFile]) -> String {
    let mut hash = Sha256::new();
    for file in files {
        for text in [&file.path, &file.text] {
            hash.update(text.len().to_le_bytes());
            hash.update(text);
        }
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Whole seconds, rounded up.
fn seconds(span: &TimeSpan) -> i64 {
    match span.value {
        Span::Finite(span) => i64::try_from(span.as_millis().div_ceil(1000)).unwrap_or(i64::MAX),
        Span::Infinity => i64::from(i32::MAX),
    }
}
