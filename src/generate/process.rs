//! A process: a service, or a template with its instances, and what starts it.

use super::context::Context;
use super::marks::yes;
use super::{socket, timer};
use crate::model::{FailurePolicy, Process, Ready, Restart, Service, Start};
use crate::unit::name;
use crate::unit::name::ProcessName;
use crate::unit::{Section, Unit, UnitTree, Value};

/// The units of one process and the links that make the target want them.
pub(super) fn write(context: &Context, name: &ProcessName, process: &Process, tree: &mut UnitTree) {
    let group = &context.group.name;
    match &process.instances {
        None => {
            let file = name::service(group, name);
            tree.file(file.as_str(), service(context, name, process, &process.service));
            want(context, process, tree, &file, &file);
        }
        Some(instances) => {
            let template = name::template(group, name);
            tree.file(template.as_str(), service(context, name, process, &process.service));
            for (instance, own) in instances {
                let file = name::instance(group, name, instance);
                // A whole file, because a drop-in cannot remove dependencies of the template.
                if let Some(own) = own {
                    tree.file(file.as_str(), service(context, name, process, own));
                }
                let target = if own.is_some() { &file } else { &template };
                want(context, process, tree, &file, target);
            }
        }
    }
    socket::write(context, name, process, tree);
    timer::write(context, name, process, tree);
}

fn want(context: &Context, process: &Process, tree: &mut UnitTree, link: &str, file: &str) {
    if process.is_awaited() {
        context.want(tree, link, file);
    }
}

/// The unit of a process, or of an instance.
pub(super) fn service(context: &Context, name: &ProcessName, process: &Process, service: &Service) -> Unit {
    let instances = process.instances.is_some();
    let mut unit = context.unit(context.describe(name, service.description.as_deref(), instances));
    dependencies(context, process, service, &mut unit);

    context.commands(&mut unit, service, context.startup(service));
    if service.ready == Ready::Oneshot && process.start == Start::Auto {
        unit.push_why(
            Section::Service,
            "stays active after its exit, as part of the running group",
            "RemainAfterExit",
            yes(),
        );
    }
    context.supervisor_environment(&mut unit, process, service);
    context.settings(&mut unit, service);
    restart_mode(context, name, service, &mut unit);
    for (index, socket) in process.sockets.iter().enumerate() {
        let value = socket::for_service(context, name, socket);
        match index {
            0 => unit.push_why(Section::Service, "accepts connections on these sockets", "Sockets", value),
            _ => unit.push(Section::Service, "Sockets", value),
        }
    }
    context.belonging(&mut unit, name, instances);
    context.pass(&mut unit, &service.pass, |section| matches!(section, Section::Unit | Section::Service));
    unit
}

/// What it is ordered after and stops with.
fn dependencies(context: &Context, process: &Process, service: &Service, unit: &mut Unit) {
    let timed = matches!(process.start, Start::Timed(_));
    if !timed {
        unit.push(Section::Unit, "PartOf", context.target.clone());
    }
    context.after_reset(unit);
    context.outside(unit, &process.after_units);
    match timed {
        // `Requires=` would stop a running job with the group, to which only the timer belongs.
        true => context.after_setup(unit, &process.gated_by),
        false => context.require_setup(unit, &process.gated_by),
    }
    context.require_directories(unit, timed);
    context.after_processes(unit, &process.after);
    context.after_supervisor(unit, process);
    if service.essential && context.group.failure_policy == FailurePolicy::Stop {
        context.on_failure(unit);
    }
}

/// Without `direct`, units ordered after this one would start after its first attempt, which failed. It has a cost: the
/// timestamps stay those of the first start. So only a process that something waits for gets it, and not if its start is
/// complete as soon as its program is executed.
fn restart_mode(context: &Context, name: &ProcessName, service: &Service, unit: &mut Unit) {
    let slow = service.ready != Ready::Exec && service.restart != Restart::No;
    let waited_for = slow && context.is_awaited(name);
    if waited_for && context.knows(Section::Service, "RestartMode") {
        unit.push_why(
            Section::Service,
            "keeps units ordered after this one waiting while a failed start is retried",
            "RestartMode",
            Value::fixed("direct"),
        );
    }
}
