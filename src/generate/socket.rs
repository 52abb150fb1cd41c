//! Sockets: one unit each, shared by all instances of a process unless `{instance}` is in an address.

use super::context::Context;
use super::process::first_instance;
use crate::model::{Process, Socket};
use crate::unit::name;
use crate::unit::name::ProcessName;
use crate::unit::value::Part;
use crate::unit::{Section, Unit, UnitTree, Value};

/// The socket units of a process.
pub(super) fn write(context: &Context, name: &ProcessName, process: &Process, tree: &mut UnitTree) {
    for socket in &process.sockets {
        let file = name::socket(&context.group.name, name, socket.name.as_ref(), socket.each_instance);
        tree.file(file.as_str(), &unit(context, name, process, socket, &file));
        // Traffic must not start what only a manager or a person may start, or what is held.
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

/// The name of a socket as its service says it.
pub(super) struct SocketName {
    before: String,
    instance: bool,
    after: &'static str,
}

impl SocketName {
    /// For a value.
    pub fn parts(&self) -> Vec<Part<'_>> {
        let mut parts = vec![Part::Literal(&self.before)];
        if self.instance {
            parts.push(Part::Specifier("%i"));
        }
        parts.push(Part::Literal(self.after));
        parts
    }
}

/// `G-P.socket`, or `G-P@%i.socket`.
pub(super) fn name_for_service(context: &Context, name: &ProcessName, socket: &Socket) -> SocketName {
    let mut before = name::socket(&context.group.name, name, socket.name.as_ref(), socket.each_instance);
    before.truncate(before.len() - ".socket".len());
    SocketName { before, instance: socket.each_instance, after: ".socket" }
}

fn unit(context: &Context, name: &ProcessName, process: &Process, socket: &Socket, file: &str) -> Unit {
    let mut unit = context.drop_in(file);
    unit.push(Section::Unit, "Description", description(context, name, process, socket));
    context.documentation(&mut unit);
    context.source(&mut unit);
    unit.push(Section::Unit, "PartOf", Value::plain(&context.target_name));
    context.unlimited(&mut unit);
    for (directive, address) in &socket.listen {
        unit.push(Section::Socket, directive, Value::text(&context.parts(address)));
    }
    if let Some(descriptor) = &socket.name {
        unit.push(Section::Socket, "FileDescriptorName", Value::plain(descriptor.as_str()));
    }
    let group = &context.group.name;
    match (first_instance(process), socket.each_instance) {
        (Some(_), true) => {
            let stem = name::stem(group, name);
            let parts = [Part::Literal(&stem), Part::Literal("@"), Part::Specifier("%i"), Part::Literal(".service")];
            unit.push(Section::Socket, "Service", Value::text(&parts));
        }
        (Some(first), false) => {
            let why = "what traffic starts if none is running; all instances accept on this socket";
            let service = name::instantiate(&name::template(group, name), first);
            unit.push_why(Section::Socket, why, "Service", Value::plain(&service));
        }
        (None, _) if process.instances.is_some() => {
            let why = "no instance is known in advance: traffic starts the first";
            let service = name::instantiate(&name::template(group, name), "1");
            unit.push_why(Section::Socket, why, "Service", Value::plain(&service));
        }
        (None, _) => unit.push(Section::Socket, "Service", Value::plain(&name::service(group, name))),
    }
    unit.push(Section::Socket, "Slice", Value::verbatim(&context.slice));
    context.pass(&mut unit, &process.service.pass, |section| section == Section::Socket);
    unit
}

fn description(context: &Context, name: &ProcessName, process: &Process, socket: &Socket) -> Value<'static> {
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
