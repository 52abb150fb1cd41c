//! A setup step: a oneshot service that what it gates requires.

use sha2::{Digest as _, Sha256};

use super::command::{Startup, line, literal};
use super::context::Context;
use super::process::yes;
use super::text::source_form;
use crate::model::{DirectoryKind, FailurePolicy, Service, Setup};
use crate::scope::NOTIFY_PROGRAM;
use crate::unit::name::{self, ProcessName};
use crate::unit::value::Part;
use crate::unit::{Section, Unit, UnitTree, Value};

/// The unit of one step. The target wants each, also those that gate nobody.
pub(super) fn write(context: &Context, name: &ProcessName, setup: &Setup, tree: &mut UnitTree) {
    let file = name::service(&context.group.name, name);
    tree.file(file.as_str(), &unit(context, name, setup, &file));
    context.want(tree, &file, &file);
}

fn unit(context: &Context, name: &ProcessName, setup: &Setup, file: &str) -> Unit {
    let service = &setup.service;
    let mut unit = context.drop_in(file);
    unit.push(Section::Unit, "Description", context.describe(name, service.description.as_deref(), false));
    context.documentation(&mut unit);
    context.source(&mut unit);
    unit.push(Section::Unit, "PartOf", Value::plain(&context.target_name));
    unit.push_why(
        Section::Unit,
        "what it gates requires it and would stop with it; to run it again, reload it",
        "RefuseManualStop",
        yes(),
    );
    context.after_reset(&mut unit);
    context.outside(&mut unit, &setup.after_units);
    context.require_setup(&mut unit, &setup.gated_by);
    context.hold_directories(&mut unit, false);
    context.after_processes(&mut unit, &setup.after);
    if context.group.failure_policy == FailurePolicy::Stop {
        context.judge_failure(&mut unit);
    }

    let start = match service.inputs.is_empty() {
        true => context.command(&service.exec),
        false => once(context, name, service),
    };
    let again = start.clone();
    context.commands(&mut unit, service, Startup { kind: "oneshot", notify_access: None, start, wait: None });
    unit.push_why(Section::Service, "a reload runs the step again, and nothing restarts", "ExecReload", again);
    unit.push(Section::Service, "RemainAfterExit", yes());
    context.settings(&mut unit, service);
    if !service.inputs.is_empty() {
        stamp_directory(context, name, service, &mut unit);
    }
    context.belonging(&mut unit, name, false);
    context.pass(&mut unit, &service.pass, |section| matches!(section, Section::Unit | Section::Service));
    unit
}

/// The directory of a step's stamp, below `%S`.
fn stamp_path(context: &Context, name: &ProcessName) -> String {
    format!("copse/setup/{}/{name}", context.group.name)
}

/// The command, unless nothing changed since it last succeeded.
fn once(context: &Context, name: &ProcessName, service: &Service) -> Value {
    let stamp = stamp_path(context, name);
    let mut words = vec![literal(NOTIFY_PROGRAM), literal("once"), literal("--stamp")];
    words.push(vec![Part::Specifier("%S"), Part::Literal("/"), Part::Literal(&stamp), Part::Literal("/stamp")]);
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
