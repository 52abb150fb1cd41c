//! The settled check of a process: a unit with its `settled` probes, which a rollout starts and waits for.
//!
//! The probes see what the process sees: its user, environment (`port`), directory, credentials and network. They are a
//! unit because PID 1 sets all of that up as it does for the process, and not a command in the process's own unit because
//! only rollouts wait for them.

use super::command::{line, literal};
use super::context::Context;
use super::process;
use super::specifiers::Word;
use crate::basic::scope::NOTIFY_PROGRAM;
use crate::model::{Probe, Process, Service};
use crate::unit::name;
use crate::unit::name::ProcessName;
use crate::unit::{Section, Unit, UnitTree, Value};

/// What a probe has in common with the process (systemd.exec(5)). No sandboxing, which could keep it from connecting, and
/// nothing that belongs to one unit alone: a second `RuntimeDirectory=` would empty the first.
const SHARED: &[&str] = &[
    "User",
    "Group",
    "SupplementaryGroups",
    "UMask",
    "WorkingDirectory",
    "RootDirectory",
    "RootImage",
    "Environment",
    "EnvironmentFile",
    "PassEnvironment",
    "UnsetEnvironment",
    "LoadCredential",
    "LoadCredentialEncrypted",
    "SetCredential",
    "SetCredentialEncrypted",
    "ImportCredential",
    "NetworkNamespacePath",
    "PrivateNetwork",
    "PrivateTmp",
    "PrivateIPC",
];

/// Directives of a private namespace, which the probe has to join.
const PRIVATE: &[&str] = &["PrivateNetwork", "PrivateTmp", "PrivateIPC"];

/// The units of a process with `settled`.
pub(super) fn write(context: &Context, name: &ProcessName, process: &Process, tree: &mut UnitTree) {
    if process.change.settled.is_empty() {
        return;
    }
    let group = &context.group.name;
    match &process.instances {
        None => {
            let of = name::service(group, name);
            tree.file(name::settled(&of), unit(context, name, process, &process.service, &of));
        }
        Some(instances) => {
            let template = name::template(group, name);
            let of = name::instantiate(&template, "%i");
            tree.file(name::settled(&template), unit(context, name, process, &process.service, &of));
            for (instance, own) in instances.iter().filter_map(|(instance, own)| Some((instance, own.as_ref()?))) {
                let file = name::settled(&name::instance(group, name, instance));
                tree.file(file, unit(context, name, process, own, &of));
            }
        }
    }
}

/// `of` is the process's unit, `G-P@%i.service` for instances.
fn unit(context: &Context, name: &ProcessName, process: &Process, service: &Service, of: &str) -> Unit {
    let mut unit = context.unit(Value::verbatim(format!("Settled check for {of}")));
    let of_value = Value::verbatim(of).shared();
    unit.push_why(Section::Unit, "stopping the process cancels this check", "PartOf", of_value.clone());
    unit.push(Section::Unit, "After", of_value.clone());
    let why = "no start limit: each rollout starts this check";
    unit.push_why(Section::Unit, why, "StartLimitIntervalSec", Value::fixed("0"));

    unit.push(Section::Service, "Type", Value::fixed("oneshot"));
    let why = "the check sets STATUS= while it waits";
    unit.push_why(Section::Service, why, "NotifyAccess", Value::fixed("exec"));
    let why = "SIGTERM cancels the check; that is not a failure";
    unit.push_why(Section::Service, why, "SuccessExitStatus", Value::fixed("SIGTERM"));
    unit.push(Section::Service, "ExecStart", context.wait(&process.change.settled).for_unit(of));
    unit.push(Section::Service, "TimeoutStartSec", Value::plain(&service.timeout_start.text));

    let own = process::service(context, name, process, service);
    let shared: Vec<_> = own.section(Section::Service).filter(|line| SHARED.contains(&&*line.name)).collect();
    if !shared.is_empty() {
        unit.comment(Section::Service, "from here on, as in the unit of the process");
    }
    for line in &shared {
        unit.push(Section::Service, line.name.clone(), line.value.for_unit(of));
    }
    for directory in &service.directories {
        let variable = context.directory_variable(directory.kind, directory);
        unit.push(Section::Service, "Environment", variable);
    }
    if shared.iter().any(|line| PRIVATE.contains(&&*line.name)) {
        let why = "the probe shares the private /tmp and namespaces of the process";
        unit.push_why(Section::Unit, why, "JoinsNamespaceOf", of_value);
    }
    context.belonging(&mut unit, name, process.instances.is_some());
    unit
}

impl Context<'_> {
    /// copse-notify's command that waits for probes to succeed, without a process to watch.
    fn wait(&self, probes: &[Probe]) -> Value {
        let mut words: Vec<Word<'_>> = [NOTIFY_PROGRAM, "wait", "--pid", "none"].map(literal).into();
        probes.iter().for_each(|probe| self.probe(probe, &mut words));
        line(&words)
    }
}
