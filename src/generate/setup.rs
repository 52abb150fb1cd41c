//! A setup step: a oneshot service that what it gates requires.

use sha2::{Digest as _, Sha256};

use super::command::{Startup, line, literal};
use super::context::Context;
use super::process::yes;
use super::specifiers::{Word, source_form};
use crate::basic::scope::NOTIFY_PROGRAM;
use crate::model::{DirectoryKind, FailurePolicy, Pass, Service, Setup};
use crate::unit::name;
use crate::unit::name::ProcessName;
use crate::unit::value::Part;
use crate::unit::{Section, Unit, UnitTree, Value};

/// The unit of one step. The target wants each, also those that gate nobody.
pub(super) fn write(context: &Context, name: &ProcessName, setup: &Setup, tree: &mut UnitTree) {
    let file = name::service(&context.group.name, name);
    tree.file(file.as_str(), &unit(context, name, setup, &file));
    context.want(tree, &file, &file);
    if !setup.service.credentials.is_empty() {
        let again = name::again(&file);
        tree.file(again.as_str(), &again_unit(context, name, setup, &again));
    }
}

fn unit(context: &Context, name: &ProcessName, setup: &Setup, file: &str) -> Unit {
    let mut unit = context.drop_in(file);
    head(context, name, setup, &mut unit);
    unit.push_why(
        Section::Unit,
        "what it gates requires it and would stop with it; to run it again, reload it",
        "RefuseManualStop",
        yes(),
    );
    waits(context, setup, &mut unit);
    if context.group.failure_policy == FailurePolicy::Stop {
        context.judge_failure(&mut unit);
    }
    body(context, name, setup, &mut unit);
    let (why, again) = match setup.service.credentials.is_empty() {
        true => ("a reload runs the step again, and nothing restarts", command(context, name, &setup.service)),
        false => (
            "a reload runs the step again, in a unit of its own, as credentials reach no ExecReload=; nothing restarts",
            start_again(context, file),
        ),
    };
    unit.push_why(Section::Service, why, "ExecReload", again);
    unit.push(Section::Service, "RemainAfterExit", yes());
    tail(context, name, setup, &mut unit);
    unit
}

/// The unit that a reload of a step with credentials starts. At an `ExecReload=` these are what they were when the unit
/// started (seen on 252 and 257, and on 262 without `RefreshOnReload=`, which is 260's), and in a sandbox they can't be
/// read at all.
fn again_unit(context: &Context, name: &ProcessName, setup: &Setup, file: &str) -> Unit {
    let mut unit = context.drop_in(file);
    head(context, name, setup, &mut unit);
    waits(context, setup, &mut unit);
    body(context, name, setup, &mut unit);
    tail(context, name, setup, &mut unit);
    let why = "a reload of the step starts it, as often as it is asked for";
    unit.push_why(Section::Unit, why, "StartLimitIntervalSec", Value::fixed("0"));
    unit
}

/// What a step is.
fn head(context: &Context, name: &ProcessName, setup: &Setup, unit: &mut Unit) {
    unit.push(Section::Unit, "Description", context.describe(name, setup.service.description.as_deref(), false));
    context.documentation(unit);
    context.source(unit);
    unit.push(Section::Unit, "PartOf", Value::plain(&context.target_name));
}

/// What it waits for.
fn waits(context: &Context, setup: &Setup, unit: &mut Unit) {
    context.after_reset(unit);
    context.outside(unit, &setup.after_units);
    context.require_setup(unit, &setup.gated_by);
    context.hold_directories(unit, false);
    context.after_processes(unit, &setup.after);
}

/// Its commands.
fn body(context: &Context, name: &ProcessName, setup: &Setup, unit: &mut Unit) {
    let start = command(context, name, &setup.service);
    context.commands(unit, &setup.service, Startup { kind: "oneshot", notify_access: None, start, wait: None });
}

/// Everything else of the author's.
fn tail(context: &Context, name: &ProcessName, setup: &Setup, unit: &mut Unit) {
    let service = &setup.service;
    context.settings(unit, service);
    if !service.inputs.is_empty() {
        stamp_directory(context, name, service, unit);
    }
    context.belonging(unit, name, false);
    context.pass(unit, &service.pass, |section| matches!(section, Section::Unit | Section::Service));
}

fn command(context: &Context, name: &ProcessName, service: &Service) -> Value<'static> {
    match service.inputs.is_empty() {
        true => context.command(&service.exec),
        false => once(context, name, service),
    }
}

/// With `+`: whoever the step runs as may not start units.
fn start_again(context: &Context, file: &str) -> Value<'static> {
    let systemctl = if context.user_scope() { "systemctl --user" } else { "+systemctl" };
    Value::verbatim(&format!("{systemctl} start {}", name::again(file))).into_owned()
}

/// The directory of a step's stamp, below `%S`.
fn stamp_path(context: &Context, name: &ProcessName) -> String {
    format!("copse/setup/{}/{name}", context.group.name)
}

/// The command, unless nothing changed since it last succeeded.
fn once(context: &Context, name: &ProcessName, service: &Service) -> Value<'static> {
    let stamp = stamp_path(context, name);
    let mut words = vec![literal(NOTIFY_PROGRAM), literal("once"), literal("--stamp")];
    words.push(Word::Many(vec![
        Part::Specifier("%S"),
        Part::Literal("/"),
        Part::Literal(&stamp),
        Part::Literal("/stamp"),
    ]));
    for input in &service.inputs {
        words.push(literal("--input"));
        words.push(context.parts(input));
    }
    let definition = definition(service);
    words.extend([literal("--definition"), literal(&definition), literal("--")]);
    words.extend(context.argv(&service.exec));
    line(&words)
}

/// What the step depends on besides its inputs, credentials and arguments, which copse-notify sees itself. Made from
/// what the author wrote and not from the unit's text, so that an upgrade of copse or of systemd runs nothing again.
fn definition(service: &Service) -> String {
    let mut text = String::new();
    for (name, value) in &service.environment {
        text.extend(["environment\0", name, "="]);
        source_form(value, &mut text);
        text.push('\0');
    }
    for (optional, path) in &service.environment_files {
        text.push_str(if *optional { "environment-file\0-" } else { "environment-file\0" });
        source_form(path, &mut text);
        text.push('\0');
    }
    if let Some(directory) = &service.working_directory {
        text.push_str("working-directory\0");
        source_form(directory, &mut text);
        text.push('\0');
    }
    for directive in service.directives.iter().filter(|directive| matches!(directive.name, "User" | "Group")) {
        text.extend([directive.name, "\0", &directive.value, "\0"]);
    }
    for (section, directive, pass) in service.pass.0.iter().filter(|(section, ..)| *section == Section::Service) {
        let (kind, values) = match pass {
            Pass::Replace(value) => ("replace", std::slice::from_ref(value)),
            Pass::Add(values) => ("add", values.as_slice()),
            Pass::Reset(values) => ("reset", values.as_slice()),
        };
        text.extend([section.text(), "\0", directive, "\0", kind, "\0"]);
        values.iter().for_each(|value| text.extend([value.as_str(), "\0"]));
    }
    Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// A `StateDirectory=` of its own makes the stamp writable whatever user, sandbox or dynamic user the step runs with,
/// and steps of different users never chown each other's. It would show in `$STATE_DIRECTORY`, which belongs to the
/// author: that is set to what it would be without.
fn stamp_directory(context: &Context, name: &ProcessName, service: &Service, unit: &mut Unit) {
    let why = "the stamp of the last run that succeeded";
    let stamp = stamp_path(context, name);
    unit.push_why(Section::Service, why, "StateDirectory", Value::words([[Part::Literal(&stamp)].as_slice()]));
    match service.directories.iter().find(|directory| directory.kind == DirectoryKind::State) {
        Some(own) if !service.environment.contains_key("STATE_DIRECTORY") => {
            let variable = context.directory_variable(DirectoryKind::State, own);
            unit.push(Section::Service, "Environment", variable);
        }
        None if context.shared(DirectoryKind::State).is_none()
            && !service.environment.contains_key("STATE_DIRECTORY") =>
        {
            unit.push(Section::Service, "UnsetEnvironment", Value::fixed("STATE_DIRECTORY"));
        }
        _ => (),
    }
}
