//! Sockets: one unit each, shared by all instances of a process unless `{instance}` is in an address.

use super::context::{Context, first_instance};
use crate::model::{Process, Socket};
use crate::unit::name;
use crate::unit::name::ProcessName;
use crate::unit::value::Part;
use crate::unit::{Section, Unit, UnitTree, Value};

/// The socket units of a process.
pub(super) fn write(context: &Context, name: &ProcessName, process: &Process, tree: &mut UnitTree) {
    for socket in &process.sockets {
        let file = name::socket(&context.group.name, name, socket.name.as_ref(), socket.each_instance);
        tree.file(file.as_str(), unit(context, name, process, socket));
        // Traffic must not start a manual or held process.
        if !process.is_awaited() {
            continue;
        }
        match (&process.instances, socket.each_instance) {
            (Some(instances), true) => {
                for instance in instances.keys() {
                    context.want(tree, &name::instantiate(&file, instance.as_str()), &file);
                }
            }
            _ => context.want(tree, &file, &file),
        }
    }
}

/// The name of a socket in the unit of its service: `G-P.socket`, or `G-P@%i.socket`.
pub(super) fn for_service(context: &Context, name: &ProcessName, socket: &Socket) -> Value {
    let file = name::socket(&context.group.name, name, socket.name.as_ref(), socket.each_instance);
    Value::verbatim(if socket.each_instance { name::instantiate(&file, "%i") } else { file })
}

fn unit(context: &Context, name: &ProcessName, process: &Process, socket: &Socket) -> Unit {
    let mut unit = context.unit(description(context, name, process, socket));
    unit.push(Section::Unit, "PartOf", context.target.clone());
    context.unlimited(&mut unit);
    for (directive, address) in &socket.listen {
        unit.push(Section::Socket, *directive, Value::text(&context.parts(address)));
    }
    if let Some(descriptor) = &socket.name {
        unit.push(Section::Socket, "FileDescriptorName", Value::plain(descriptor.as_str()));
    }
    let group = &context.group.name;
    let instance = |instance| Value::verbatim(name::instantiate(&name::template(group, name), instance));
    match (first_instance(process), socket.each_instance) {
        (Some(_), true) => unit.push(Section::Socket, "Service", instance("%i")),
        (Some(first), false) => {
            let why = "traffic starts this instance if none is running; all instances accept on the socket";
            unit.push_why(Section::Socket, why, "Service", instance(first));
        }
        (None, _) if process.instances.is_some() => {
            let why = "the group file names no instance: traffic starts this one";
            unit.push_why(Section::Socket, why, "Service", instance("1"));
        }
        (None, _) => unit.push(Section::Socket, "Service", Value::plain(&name::service(group, name))),
    }
    unit.push(Section::Socket, "Slice", context.slice.clone());
    context.pass(&mut unit, &process.service.pass, |section| section == Section::Socket);
    unit
}

fn description(context: &Context, name: &ProcessName, process: &Process, socket: &Socket) -> Value {
    let title = process.service.description.as_deref().unwrap_or_else(|| context.title());
    let mut parts = vec![Part::Literal(title), Part::Literal(": socket of "), Part::Literal(name.as_str())];
    if let Some(name) = &socket.name {
        parts.extend([Part::Literal(", "), Part::Literal(name.as_str())]);
    }
    if socket.each_instance {
        parts.extend([Part::Literal(" "), Part::Specifier("%i")]);
    }
    Value::text(&parts)
}
