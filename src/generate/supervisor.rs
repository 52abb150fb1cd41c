//! supervisord's interface in front of a group: drop-ins of the socket and the service of copse-supervisor, and what its
//! processes are told of it.

use super::context::{Context, services};
use crate::basic::scope::Scope;
use crate::model::supervisor::Supervisor;
use crate::model::supervisor_table::{is_client, table};
use crate::model::{Credential, Process, Service};
use crate::unit::name;
use crate::unit::value::Part;
use crate::unit::{Section, Unit, UnitTree, Value};

/// The drop-ins, and the link by which the target wants the socket.
pub(super) fn write(context: &Context, tree: &mut UnitTree) {
    let Some(supervisor) = &context.group.supervisor else { return };
    let socket_name = name::supervisor_socket(&context.group.name);
    tree.file(name::drop_in(&socket_name), socket(context, supervisor));
    tree.file(name::drop_in(&name::own("supervisor", &context.group.name)), service(context, supervisor));
    context.want(tree, &socket_name, &socket_name);
}

fn socket(context: &Context, supervisor: &Supervisor) -> Unit {
    let mut unit = context.drop_in();
    context.source_path(&mut unit);
    if supervisor.link.as_ref().is_some_and(|link| !link.is_literal()) {
        context.require_directories(&mut unit, false);
    }
    before_processes(
        context,
        &mut unit,
        "open until the last process has stopped; systemd keeps the state of units that it names, also of those that ended well",
    );
    if let Some(address) = supervisor.listen {
        unit.push(Section::Socket, "ListenStream", Value::plain(&address.to_string()));
    }
    let rights =
        [("SocketUser", &supervisor.user), ("SocketGroup", &supervisor.group), ("SocketMode", &supervisor.mode)];
    for (directive, value) in rights {
        if let Some(value) = value {
            unit.push(Section::Socket, directive, Value::plain(value));
        }
    }
    if let Some(link) = &supervisor.link {
        unit.push(Section::Socket, "Symlinks", Value::words([&*context.parts(link)]));
    }
    unit
}

fn service(context: &Context, supervisor: &Supervisor) -> Unit {
    let mut unit = context.drop_in();
    context.source_path(&mut unit);
    before_processes(context, &mut unit, "answers until the last process has stopped");
    for line in table(context.group) {
        unit.push(Section::Service, "StandardInputText", Value::input_text(&line.to_string()));
    }
    if let Some(login) = &supervisor.login {
        let (directive, source) = match &login.password {
            Credential::Encrypted(source) => ("LoadCredentialEncrypted", source),
            Credential::Load(source) => ("LoadCredential", source),
            Credential::Text(_) => return unit,
        };
        let mut parts = vec![Part::Literal("password:")];
        parts.extend_from_slice(&context.parts(source));
        unit.push(Section::Service, directive, Value::text(&parts));
    }
    unit
}

fn before_processes(context: &Context, unit: &mut Unit, why: &'static str) {
    let names = context.group.processes.keys().flat_map(|process| services(context.group, process));
    let names: Vec<String> = names.collect();
    for (index, line) in Value::names(names.iter().map(String::as_str)).into_iter().enumerate() {
        match index {
            0 => unit.push_why(Section::Unit, why, "Before", line),
            _ => unit.push(Section::Unit, "Before", line),
        }
    }
}

impl Context<'_> {
    /// A process that is a client itself starts after the service, and so stops before it.
    pub fn after_supervisor(&self, unit: &mut Unit, process: &Process) {
        if self.group.supervisor.is_some() && is_client(process) {
            let supervisor = Value::plain(&name::own("supervisor", &self.group.name));
            let why = "it calls supervisord's interface, which has to answer until it has stopped";
            unit.push_why(Section::Unit, why, "Wants", supervisor.clone());
            unit.push(Section::Unit, "After", supervisor);
        }
    }

    /// The variables that supervisord sets; without those that the group file sets itself.
    pub fn supervisor_environment(&self, unit: &mut Unit, process: &Process, service: &Service) {
        let Some(supervisor) = &self.group.supervisor else { return };
        let name = &process.supervisor_name;
        let own = match self.group.scope {
            Scope::System => [Part::Literal("unix:///run"), Part::Literal("/copse/supervisor/")],
            Scope::User => [Part::Literal("unix://"), Part::Specifier("%t/copse/supervisor/")],
        };
        let link = supervisor.link.as_ref().map(|link| self.parts(link));
        let url = match &link {
            Some(link) => [&[Part::Literal("unix://")], &**link].concat(),
            None => [&own[..], &[Part::Literal(self.group.name.as_str()), Part::Literal(".sock")]].concat(),
        };
        let plain = name.process(None);
        let process_name = match (&process.instances, name.around_instance()) {
            (None, _) => Some(vec![Part::Literal(&plain)]),
            (Some(_), Some((before, after))) => {
                Some(vec![Part::Literal(before), Part::Specifier("%i"), Part::Literal(after)])
            }
            // systemd cannot fill a number with zeros.
            (Some(_), None) => None,
        };
        let variables = [
            ("SUPERVISOR_ENABLED", Some(vec![Part::Literal("1")])),
            ("SUPERVISOR_SERVER_URL", Some(url)),
            ("SUPERVISOR_GROUP_NAME", Some(vec![Part::Literal(&name.group)])),
            ("SUPERVISOR_PROCESS_NAME", process_name),
        ];
        for (variable, parts) in variables {
            if let Some(parts) = parts.filter(|_| !service.environment.contains_key(variable)) {
                unit.push(Section::Service, "Environment", Value::assignment(variable, &parts));
            }
        }
    }
}
