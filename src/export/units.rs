//! What becomes a container: setup steps, processes and instances, each with its name.

use std::collections::BTreeMap;

use super::findings::{Findings, Member};
use super::names;
use super::options::Options;
use super::text::Expansion;
use crate::group_file::document::Value;
use crate::model::{Group, Piece, Process, Service, Start, Text};
use crate::unit::name;
use crate::unit::name::{InstanceName, ProcessName, in_order};

/// A container to be.
#[derive(Debug, Clone)]
pub struct Unit<'a> {
    pub member: Member<'a>,
    pub service: &'a Service,
    /// `None`: a setup step.
    pub process: Option<&'a Process>,
    pub at: Expansion<'a>,
    /// The name of the container.
    pub name: String,
}

impl Unit<'_> {
    pub fn is_timed(&self) -> bool {
        self.process.is_some_and(|process| matches!(process.start, Start::Timed(_)))
    }
}

/// All units in the order of their names, without processes that are held.
pub fn all<'a>(group: &'a Group, options: &Options, found: &mut Findings<'_>) -> Vec<Unit<'a>> {
    let mut units = Vec::new();
    for (name, step) in &group.setup {
        let member = Member { kind: "setup", name, instance: None, header: &step.location };
        units.push(unit(group, member, &step.service, None));
    }
    for (name, process) in &group.processes {
        let member = Member { kind: "process", name, instance: None, header: &process.location };
        if process.hold {
            found.note(&member, "hold", "leaves the process out");
            continue;
        }
        if process.start == Start::Manual {
            let instead = "write `hold = true` in a drop-in for `--with` to leave the process out";
            found.refuse(&member, "start", "Kubernetes starts all containers of a pod", instead);
        }
        match &process.instances {
            None => units.push(unit(group, member, &process.service, Some(process))),
            Some(instances) => {
                refuse_cpus(&member, found);
                if options.split {
                    units.push(replicated(group, member, process, instances, found));
                    continue;
                }
                for instance in in_order(instances.keys()) {
                    let member = Member { instance: Some(instance.as_str()), ..member };
                    let service = instances[instance].as_ref().unwrap_or(&process.service);
                    units.push(unit(group, member, service, Some(process)));
                }
            }
        }
    }
    check_names(&mut units, found);
    units
}

fn unit<'a>(group: &Group, member: Member<'a>, service: &'a Service, process: Option<&'a Process>) -> Unit<'a> {
    let parts = [Some(member.name.as_str()), member.instance];
    let name = names::joined(&parts.into_iter().flatten().collect::<Vec<_>>());
    let unit = match member.instance.and_then(InstanceName::new) {
        Some(instance) => name::instance(&group.name, member.name, &instance),
        None => name::service(&group.name, member.name),
    };
    let at = Expansion { instance: member.instance, unit, credentials: format!("/run/credentials/{name}") };
    Unit { member, service, process, at, name }
}

fn refuse_cpus(member: &Member<'_>, found: &mut Findings<'_>) {
    let is_cpus = |value: &Value<'_>| matches!(value, Value::String(word) if word == "cpus");
    if found.entry(member, "instances").is_some_and(|entry| is_cpus(&entry.node.value)) {
        let instead = "write a number in a drop-in for `--with`";
        found.refuse(member, "instances", "the nodes of a cluster differ in their number of CPUs", instead);
    }
}

/// One container for all instances, which become replicas.
fn replicated<'a>(
    group: &Group,
    member: Member<'a>,
    process: &'a Process,
    instances: &'a BTreeMap<InstanceName, Option<Service>>,
    found: &mut Findings<'_>,
) -> Unit<'a> {
    // The port of the first one will do for all: each has an address of its own.
    let service = instances.values().next().and_then(Option::as_ref).unwrap_or(&process.service);
    let without_port = |service: &Service| {
        let mut service = service.clone();
        service.environment.remove("PORT");
        service
    };
    let differs = |own: &Service| without_port(own) != without_port(service);
    if let Some((name, _)) = instances.iter().find(|(_, own)| own.as_ref().is_some_and(differs)) {
        let member = Member { instance: Some(name.as_str()), ..member };
        let instead = "remove the settings of the instance in a drop-in for `--with`, or `--split`";
        found.refuse(&member, "instance", "the replicas of a workload are all the same", instead);
    }
    let has_instance = |text: &Text| text.has(|piece| *piece == Piece::Instance);
    if texts(service).any(has_instance) {
        let instead = "remove `{instance}` in a drop-in for `--with`, or `--split`";
        found.refuse(&member, "instances", "the replicas of a workload have no names for `{instance}`", instead);
    }
    unit(group, member, service, Some(process))
}

/// The texts of a service in which `{instance}` may stand.
fn texts(service: &Service) -> impl Iterator<Item = &Text> {
    let commands = [&service.exec_start_post, &service.exec_stop].into_iter().flatten().flatten();
    let directories = service.directories.iter().flat_map(|directory| &directory.names);
    let files = service.environment_files.iter().map(|(_, path)| path);
    let texts = service.exec.iter().chain(commands).chain(service.environment.values()).chain(directories);
    texts.chain(files).chain(&service.working_directory)
}

/// Names that Kubernetes does not take, and names that meet.
fn check_names(units: &mut Vec<Unit<'_>>, found: &mut Findings<'_>) {
    let mut taken: BTreeMap<String, &ProcessName> = BTreeMap::new();
    for unit in units.iter() {
        let longest = if unit.is_timed() { names::LONGEST_CRON_JOB } else { names::LONGEST };
        let mut refuse =
            |why: String| found.refuse_at(unit.member.header.clone(), unit.member.name.as_str(), &why, "rename it");
        if unit.name.is_empty() || unit.name.len() > longest {
            refuse(format!("`{}` is no name for a container, which has 1 to {longest} characters", unit.name));
        }
        if let Some(other) = taken.insert(unit.name.clone(), unit.member.name) {
            refuse(format!("the name of its container `{}` is also that of `{other}`", unit.name));
        }
    }
}
