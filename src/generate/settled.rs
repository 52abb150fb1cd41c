//! Whether a process is settled: what `settled` asks, in a unit of its own that a roll-out starts and waits for.
//!
//! The probes see what the process sees: its user, its environment (`port`), its directory, its credentials, its network.
//! A unit, because PID 1 sets all of that up as it does for the process itself; not a command in the process's own unit,
//! because being settled is no part of being started, and concerns nobody but a roll-out.

use super::command::line;
use super::context::Context;
use super::{command, process};
use crate::model::{Process, Service};
use crate::unit::name;
use crate::unit::name::ProcessName;
use crate::unit::{Section, Unit, UnitTree, Value};

/// What a probe has to have in common with the process that it asks about (systemd.exec(5)). No fences, which could keep
/// it from asking, and nothing that belongs to one unit alone: a second `RuntimeDirectory=` would empty the first.
const SURROUNDINGS: &[&str] = &[
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

/// The units of a process with `settled`.
pub(super) fn write(context: &Context, name: &ProcessName, process: &Process, tree: &mut UnitTree) {
    if process.change.settled.is_empty() {
        return;
    }
    let group = &context.group.name;
    match &process.instances {
        None => {
            let of = name::service(group, name);
            tree.file(name::settled(&of), &unit(context, name, process, &process.service, &of, &of));
        }
        Some(instances) => {
            let template = name::template(group, name);
            let of = name::instantiate(&template, "%i");
            let file = name::settled(&template);
            tree.file(file, &unit(context, name, process, &process.service, &template, &of));
            for (instance, own) in instances.iter().filter_map(|(instance, own)| Some((instance, own.as_ref()?))) {
                let file = name::instance(group, name, instance);
                tree.file(name::settled(&file), &unit(context, name, process, own, &file, &of));
            }
        }
    }
}

/// `file` is the process's unit file, `of` its unit as the units of its instances say it.
fn unit(context: &Context, name: &ProcessName, process: &Process, service: &Service, file: &str, of: &str) -> Unit {
    let mut unit = context.drop_in(&name::settled(file));
    let title = format!("Whether {of} is settled");
    unit.push(Section::Unit, "Description", Value::verbatim(&title));
    context.documentation(&mut unit);
    context.source(&mut unit);
    let why = "who stops the process doesn't want to know any more";
    unit.push_why(Section::Unit, why, "PartOf", Value::verbatim(of));
    unit.push(Section::Unit, "After", Value::verbatim(of));
    let why = "it is asked as often as something is rolled out";
    unit.push_why(Section::Unit, why, "StartLimitIntervalSec", Value::fixed("0"));

    unit.push(Section::Service, "Type", Value::fixed("oneshot"));
    unit.push_why(Section::Service, "the status text says what it waits for", "NotifyAccess", Value::fixed("exec"));
    let why = "who doesn't want to know any more ends it with SIGTERM; that isn't a failure";
    unit.push_why(Section::Service, why, "SuccessExitStatus", Value::fixed("SIGTERM"));
    let ask = line(&context.ask(&process.change.settled));
    unit.push(Section::Service, "ExecStart", Value::verbatim(&named(ask.as_str(), of)));
    let limit = service.timeout_start.text.as_ref();
    unit.push(Section::Service, "TimeoutStartSec", Value::plain(limit));
    surroundings(context, name, process, service, file, of, &mut unit);
    context.belonging(&mut unit, name, process.instances.is_some());
    unit
}

/// The lines of the process's own unit that are the probe's surroundings as well.
fn surroundings(
    context: &Context,
    name: &ProcessName,
    process: &Process,
    service: &Service,
    file: &str,
    of: &str,
    unit: &mut Unit,
) {
    let own = process::service(context, name, process, service, file);
    let mut shared = false;
    unit.comment(Section::Service, "from here on as in the process's own unit");
    for (directive, value) in own.lines(Section::Service) {
        if SURROUNDINGS.contains(&directive) {
            unit.push(Section::Service, directive, Value::verbatim(&named(value, of)));
            shared |= matches!(directive, "PrivateNetwork" | "PrivateTmp" | "PrivateIPC");
        }
    }
    for directory in &service.directories {
        let variable = context.directory_variable(directory.kind, directory);
        unit.push(Section::Service, "Environment", variable);
    }
    if shared {
        let why = "what is private to the process is the probe's as well";
        unit.push_why(Section::Unit, why, "JoinsNamespaceOf", Value::verbatim(of));
    }
}

/// A value in systemd's grammar, with the unit's own name (`%n`, and `%N` without suffix) replaced by that of `of`.
fn named(value: &str, of: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, after)) = rest.split_once('%') {
        text.push_str(before);
        let specifier = after.chars().next();
        match specifier {
            Some('n') => text.push_str(of),
            Some('N') => text.push_str(of.trim_end_matches(".service")),
            _ => text.push('%'),
        }
        let skip = match specifier {
            Some('n' | 'N') => 1,
            // `%%` is a percent sign; the second one begins nothing.
            Some('%') => {
                text.push('%');
                1
            }
            _ => 0,
        };
        rest = &after[skip..];
    }
    text + rest
}

impl Context<'_> {
    /// copse-notify's words that ask probes without a process to watch.
    fn ask<'p>(&self, probes: &'p [crate::model::Probe]) -> Vec<super::specifiers::Word<'p>> {
        let mut words = ["wait", "--pid", "none"].map(command::literal).to_vec();
        words.insert(0, command::literal(crate::basic::scope::NOTIFY_PROGRAM));
        probes.iter().for_each(|probe| self.probe(probe, &mut words));
        words
    }
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn the_process_is_named_and_not_the_probe() {
        for (value, expected) in [
            ("a %n b", "a g-w@%i.service b"),
            ("%N%i", "g-w@%i%i"),
            ("100%% %%n %%%n", "100%% %%n %%g-w@%i.service"),
            ("%t/x %", "%t/x %"),
            ("ünd %é", "ünd %é"),
        ] {
            assert_eq!(named(value, "g-w@%i.service"), expected, "{value}");
        }
    }
}
