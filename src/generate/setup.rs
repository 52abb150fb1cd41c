//! A setup step: a oneshot service that the processes it gates require.

use super::command::{Startup, line, literal};
use super::context::Context;
use super::marks::yes;
use super::specifiers::Word;
use super::stamp;
use crate::basic::scope::NOTIFY_PROGRAM;
use crate::model::{DirectoryKind, FailurePolicy, Service, Setup};
use crate::unit::name;
use crate::unit::name::ProcessName;
use crate::unit::value::Part;
use crate::unit::{Section, Unit, UnitTree, Value};

/// The unit of a step. The target wants each step, also if no process is gated by it.
pub(super) fn write(context: &Context, name: &ProcessName, setup: &Setup, tree: &mut UnitTree) {
    let file = name::service(&context.group.name, name);
    tree.file(file.as_str(), unit(context, name, setup, &file));
    context.want(tree, &file, &file);
    if !setup.service.credentials.is_empty() {
        tree.file(name::again(&file), again_unit(context, name, setup));
    }
}

fn unit(context: &Context, name: &ProcessName, setup: &Setup, file: &str) -> Unit {
    let mut unit = head(context, name, setup);
    unit.push_why(
        Section::Unit,
        "stopping this step would stop the units that require it; run it again with `systemctl reload`",
        "RefuseManualStop",
        yes(),
    );
    dependencies(context, setup, &mut unit);
    if context.group.failure_policy == FailurePolicy::Stop {
        context.on_failure(&mut unit);
    }
    commands(context, name, setup, &mut unit);
    let (why, again) = match setup.service.credentials.is_empty() {
        true => ("a reload runs the step again, and nothing restarts", command(context, name, &setup.service)),
        false => (
            "a reload runs the step again, in a unit of its own because ExecReload= gets no credentials",
            start_again(context, file),
        ),
    };
    unit.push_why(Section::Service, why, "ExecReload", again);
    unit.push(Section::Service, "RemainAfterExit", yes());
    settings(context, name, setup, &mut unit);
    unit
}

/// The unit that a reload of a step with credentials starts. An `ExecReload=` gets the credentials of the unit's start
/// (seen on 252 and 257, and on 262 without `RefreshOnReload=`, which is new in 260), and cannot read them in a sandbox.
fn again_unit(context: &Context, name: &ProcessName, setup: &Setup) -> Unit {
    let mut unit = head(context, name, setup);
    dependencies(context, setup, &mut unit);
    commands(context, name, setup, &mut unit);
    settings(context, name, setup, &mut unit);
    let why = "no start limit: each reload of the step starts this unit";
    unit.push_why(Section::Unit, why, "StartLimitIntervalSec", Value::fixed("0"));
    unit
}

fn head(context: &Context, name: &ProcessName, setup: &Setup) -> Unit {
    let mut unit = context.unit(context.describe(name, setup.service.description.as_deref(), false));
    unit.push(Section::Unit, "PartOf", context.target.clone());
    unit
}

fn dependencies(context: &Context, setup: &Setup, unit: &mut Unit) {
    context.after_reset(unit);
    context.outside(unit, &setup.after_units);
    context.require_setup(unit, &setup.gated_by);
    context.require_directories(unit, false);
    context.after_processes(unit, &setup.after);
}

fn commands(context: &Context, name: &ProcessName, setup: &Setup, unit: &mut Unit) {
    let start = command(context, name, &setup.service);
    context.commands(unit, &setup.service, Startup { kind: "oneshot", notify_access: None, start, wait: None });
}

/// Everything else of the author's.
fn settings(context: &Context, name: &ProcessName, setup: &Setup, unit: &mut Unit) {
    let service = &setup.service;
    context.settings(unit, service);
    if !service.inputs.is_empty() {
        stamp_directory(context, name, service, unit);
    }
    context.belonging(unit, name, false);
    context.pass(unit, &service.pass, |section| matches!(section, Section::Unit | Section::Service));
}

fn command(context: &Context, name: &ProcessName, service: &Service) -> Value {
    match service.inputs.is_empty() {
        true => context.command(&service.exec),
        false => once(context, name, service),
    }
}

/// With `+`, because the step's user may not start units.
fn start_again(context: &Context, file: &str) -> Value {
    let systemctl = if context.user_scope() { "systemctl --user" } else { "+systemctl" };
    Value::verbatim(format!("{systemctl} start {}", name::again(file)))
}

/// The command, unless nothing changed since it last succeeded.
fn once(context: &Context, name: &ProcessName, service: &Service) -> Value {
    let directory = stamp::directory(&context.group.name, name);
    let mut words = vec![literal(NOTIFY_PROGRAM), literal("once"), literal("--stamp")];
    words.push(Word::Many(vec![
        Part::Specifier(DirectoryKind::State.specifier()),
        Part::Literal("/"),
        Part::Literal(&directory),
        Part::Literal("/"),
        Part::Literal(stamp::FILE),
    ]));
    for input in &service.inputs {
        words.push(literal("--input"));
        words.push(context.parts(input));
    }
    let definition = stamp::definition(service);
    words.extend([literal("--definition"), literal(&definition), literal("--")]);
    words.extend(context.argv(&service.exec));
    line(&words)
}

/// A `StateDirectory=` of its own makes the stamp writable for any user, sandbox or dynamic user of the step, and steps
/// of different users do not chown each other's. It would change `$STATE_DIRECTORY`, which belongs to the author, so that
/// is set to what it would be without.
fn stamp_directory(context: &Context, name: &ProcessName, service: &Service, unit: &mut Unit) {
    let why = "for the stamp of the last successful run";
    let directory = stamp::directory(&context.group.name, name);
    unit.push_why(Section::Service, why, "StateDirectory", Value::words([[Part::Literal(&directory)].as_slice()]));
    if service.environment.contains_key("STATE_DIRECTORY") {
        return;
    }
    match service.directories.iter().find(|directory| directory.kind == DirectoryKind::State) {
        Some(own) => {
            let variable = context.directory_variable(DirectoryKind::State, own);
            unit.push(Section::Service, "Environment", variable);
        }
        None if context.shared(DirectoryKind::State).is_none() => {
            unit.push(Section::Service, "UnsetEnvironment", Value::fixed("STATE_DIRECTORY"));
        }
        None => {}
    }
}
