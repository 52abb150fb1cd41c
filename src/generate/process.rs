//! A process: a service, or a template with its instances, and what starts it.

use super::context::Context;
use super::{socket, timer};
use crate::model::{FailurePolicy, Process, Ready, Restart, Service, Start};
use crate::unit::name;
use crate::unit::name::{ProcessName, in_order};
use crate::unit::{Section, Unit, UnitTree, Value};

/// The units of one process and the links that make the target want them.
pub(super) fn write(context: &Context, name: &ProcessName, process: &Process, tree: &mut UnitTree) {
    let group = &context.group.name;
    match &process.instances {
        None => {
            let file = name::service(group, name);
            tree.file(file.as_str(), &service(context, name, process, &process.service, &file));
            want(context, process, tree, &file, &file);
        }
        Some(instances) => {
            let template = name::template(group, name);
            tree.file(template.as_str(), &service(context, name, process, &process.service, &template));
            for (instance, own) in instances {
                let file = name::instance(group, name, instance);
                // A whole file: dependencies of the template could not be taken back in a drop-in.
                if let Some(own) = own {
                    tree.file(file.as_str(), &service(context, name, process, own, &file));
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

pub(super) fn service(context: &Context, name: &ProcessName, process: &Process, service: &Service, file: &str) -> Unit {
    let instances = process.instances.is_some();
    let mut unit = context.drop_in(file);
    unit.push(Section::Unit, "Description", context.describe(name, service.description.as_deref(), instances));
    context.documentation(&mut unit);
    context.source(&mut unit);
    dependencies(context, process, service, &mut unit);

    context.commands(&mut unit, service, context.startup(service));
    if service.ready == Ready::Oneshot && process.start == Start::Auto {
        unit.push_why(Section::Service, "done, and so still part of the running group", "RemainAfterExit", yes());
    }
    context.settings(&mut unit, service);
    restart_mode(context, name, service, &mut unit);
    for (at, socket) in process.sockets.iter().enumerate() {
        if at == 0 {
            let why = "accepts on them, and so wants them and waits for them";
            unit.comment(Section::Service, why);
        }
        let socket = socket::name_for_service(context, name, socket);
        unit.push(Section::Service, "Sockets", Value::text(&socket.parts()));
    }
    context.belonging(&mut unit, name, instances);
    context.pass(&mut unit, &service.pass, |section| matches!(section, Section::Unit | Section::Service));
    unit
}

/// What it is ordered after and goes down with.
fn dependencies(context: &Context, process: &Process, service: &Service, unit: &mut Unit) {
    let timed = matches!(process.start, Start::Timed(_));
    if !timed {
        unit.push(Section::Unit, "PartOf", Value::plain(&context.target_name));
    }
    context.after_reset(unit);
    context.outside(unit, &process.after_units);
    match timed {
        // `Requires=` would stop a running job together with the group, of which only the timer is a part.
        true => context.after_setup(unit, &process.gated_by),
        false => context.require_setup(unit, &process.gated_by),
    }
    context.hold_directories(unit, timed);
    context.after_processes(unit, &process.after);
    if service.essential && context.group.failure_policy == FailurePolicy::Stop {
        context.judge_failure(unit);
    }
}

/// With `direct`, a start that others wait for isn't over while systemd still tries again; without, they would start
/// after the first attempt that failed. It has a cost (timestamps stay those of the first start), so nobody else gets it,
/// nor does a process whose start is over as soon as its program was executed.
fn restart_mode(context: &Context, name: &ProcessName, service: &Service, unit: &mut Unit) {
    let slow = service.ready != Ready::Exec && service.restart != Restart::No;
    let waited_for = slow && context.awaited.contains(name);
    if waited_for && context.knows(Section::Service, "RestartMode") {
        unit.push_why(
            Section::Service,
            "others are after this: they go on waiting while a start that failed is tried again",
            "RestartMode",
            Value::fixed("direct"),
        );
    }
}

/// The first instance as people count.
pub(super) fn first_instance(process: &Process) -> Option<&str> {
    let instances = process.instances.as_ref()?;
    in_order(instances.keys()).first().map(|instance| instance.as_str())
}

pub(super) fn yes() -> Value<'static> {
    Value::fixed("yes")
}
