//! The group itself: its target and slice, the gate it waits for, the holder of its shared directories.

use super::context::Context;
use super::process::yes;
use crate::unit::name;
use crate::unit::name::ProcessName;
use crate::unit::value::Part;
use crate::unit::{Section, Unit, UnitTree, Value};

/// Everything that exists once per group.
pub(super) fn write(context: &Context, tree: &mut UnitTree) {
    let name = &context.target_name;
    if context.target.static_target {
        tree.file(drop_in_path(name), &target(context, true));
    } else {
        tree.file(name.as_str(), &target(context, false));
        // A package's target is enabled by who installs it, or by a preset.
        for wanting in context.group.wanted_by.iter().filter(|_| !context.compiled) {
            tree.link(format!("{wanting}.wants/{name}"), format!("../{name}"));
        }
    }
    tree.file(context.slice.as_str(), &slice(context));
    let gate = name::own("ready", &context.group.name);
    tree.file(drop_in_path(&gate), &self::gate(context, &gate));
    if let Some(holder) = &context.holder {
        tree.file(drop_in_path(holder), &self::holder(context, holder));
    }
}

/// Where a drop-in for a unit stands.
pub(super) fn drop_in_path(unit: &str) -> String {
    format!("{unit}.d/50-copse.conf")
}

fn target(context: &Context, filled: bool) -> Unit {
    let group = context.group;
    let mut unit = context.drop_in(&context.target_name);
    if !filled || group.description.is_some() {
        unit.push(Section::Unit, "Description", Value::plain(context.title()));
    }
    context.documentation(&mut unit);
    context.source(&mut unit);
    if !filled && !context.compiled {
        mark(&mut unit);
    }
    unit.push_why(
        Section::Unit,
        "a start always tries again, also what gave up a moment ago",
        "Wants",
        Value::plain(&context.reset),
    );
    let gate = name::own("ready", &group.name);
    unit.push_why(
        Section::Unit,
        "the target is reached when the group is ready; the gate asks, so that no process is required",
        "Requires",
        Value::plain(&gate),
    );
    unit.push(Section::Unit, "After", Value::plain(&gate));
    context.names(&mut unit, "Requires", &group.requires);
    context.names(&mut unit, "Wants", &group.wants);
    context.names(&mut unit, "After", &group.after);
    context.names(&mut unit, "Before", &group.before);
    context.names(&mut unit, "Conflicts", &group.conflicts);
    context.pass(&mut unit, &group.target, |section| section == Section::Unit);
    if context.compiled {
        install(context, &mut unit);
    }
    unit
}

/// `G.target` as a package installs it beside its group file.
pub(super) fn write_static(context: &Context, tree: &mut UnitTree) {
    let name = context.target_name.as_str();
    let mut unit = context.drop_in(name);
    unit.push(Section::Unit, "Description", Value::plain(context.title()));
    context.documentation(&mut unit);
    mark(&mut unit);
    if context.group.wanted_by.is_empty() {
        // It is there to be enabled; with `wanted-by` in the file, who disables it would have the file against them.
        unit.push(Section::Install, "WantedBy", Value::fixed(context.group.scope.boot_target()));
    }
    install(context, &mut unit);
    tree.file(name, &unit);
}

fn mark(unit: &mut Unit) {
    unit.push_why(Section::Unit, "how copse knows its own", "X-CopseGroup", yes());
}

/// What `systemctl enable` makes links for.
fn install(context: &Context, unit: &mut Unit) {
    for line in Value::names(context.group.wanted_by.iter().map(String::as_str)) {
        unit.push(Section::Install, "WantedBy", line);
    }
}

fn slice(context: &Context) -> Unit {
    let mut unit = context.unit(&context.slice, &format!("{}: all processes", context.title()));
    context.pass(&mut unit, &context.group.slice, |section| matches!(section, Section::Unit | Section::Slice));
    unit
}

/// The drop-in that tells the gate what to wait for.
fn gate(context: &Context, gate: &str) -> Unit {
    let mut unit = context.drop_in(gate);
    context.source(&mut unit);
    let early: Vec<_> = context.group.setup.keys().filter(|step| !context.late.contains(step)).cloned().collect();
    context.require_setup(&mut unit, &early);
    context.hold_directories(&mut unit, false);
    unit.push(Section::Service, "Slice", Value::verbatim(&context.slice));
    unit.push(Section::Service, "TimeoutStartSec", Value::plain(&context.group.timeout_start.text));
    // Steps that wait for a process are asked like processes: a gate that were `After=` them could not run out of time
    // while systemd still restarts that process.
    for step in &context.late {
        let line = name::service(&context.group.name, step);
        unit.push(Section::Service, "StandardInputText", Value::input_text(&line));
    }
    for (process, definition) in context.group.processes.iter().filter(|(_, process)| process.is_awaited()) {
        for service in &context.services[process] {
            let optional = [service, " optional"];
            let line = if definition.is_essential(service) { service } else { &optional.concat() };
            unit.push(Section::Service, "StandardInputText", Value::input_text(line));
        }
    }
    unit
}

/// The drop-in that tells the holder which directories.
fn holder(context: &Context, holder: &str) -> Unit {
    let mut unit = context.drop_in(holder);
    context.source(&mut unit);
    let Some(shared) = &context.group.shared else { return unit };
    unit.push(Section::Service, "Slice", Value::verbatim(&context.slice));
    for (directive, value) in [("User", &shared.user), ("Group", &shared.group)] {
        if let Some(value) = value {
            unit.push(Section::Service, directive, Value::plain(value));
        }
    }
    for directory in &shared.directories {
        context.directory(&mut unit, directory);
    }
    unit
}

impl Context<'_> {
    /// The link by which the target wants `unit`, whose file is `file`.
    pub fn want(&self, tree: &mut UnitTree, unit: &str, file: &str) {
        tree.link([&self.target_name, ".wants/", unit].concat(), ["../", file].concat());
    }

    /// A start of the target forgets earlier failures first. Said here, in each unit, and not there in one long line.
    pub fn after_reset(&self, unit: &mut Unit) {
        unit.push_why(Section::Unit, "a start forgets earlier failures first", "After", Value::plain(&self.reset));
    }

    /// Sockets and timers can be started as often as the group is. They can't wait for the reset: a socket comes before
    /// sockets.target, and so before every service; at boot that would be a cycle.
    pub fn unlimited(&self, unit: &mut Unit) {
        let why = "starting the group often is no failure of this unit";
        unit.push_why(Section::Unit, why, "StartLimitIntervalSec", Value::fixed("0"));
    }

    /// Units outside the group: the group's own list and the unit's. What is said of the target alone doesn't reach
    /// what the target wants.
    pub fn outside(&self, unit: &mut Unit, after: &[String]) {
        self.names(unit, "Requires", &self.group.requires);
        self.names(unit, "After", &self.group.after);
        self.names(unit, "After", after);
    }

    /// Doesn't start unless these steps have succeeded.
    pub fn require_setup(&self, unit: &mut Unit, steps: &[ProcessName]) {
        self.steps(unit, "Requires", steps);
        self.after_setup(unit, steps);
    }

    /// Waits for these steps if they are being run.
    pub fn after_setup(&self, unit: &mut Unit, steps: &[ProcessName]) {
        self.steps(unit, "After", steps);
    }

    fn steps(&self, unit: &mut Unit, directive: &'static str, steps: &[ProcessName]) {
        let names: Vec<_> = steps.iter().map(|step| name::service(&self.group.name, step)).collect();
        self.names(unit, directive, &names);
    }

    /// Waits for the shared directories. What must not be stopped with the group only wants them.
    pub fn hold_directories(&self, unit: &mut Unit, wanted_only: bool) {
        if let Some(holder) = &self.holder {
            let directive = if wanted_only { "Wants" } else { "Requires" };
            unit.push(Section::Unit, directive, Value::plain(holder));
            unit.push(Section::Unit, "After", Value::plain(holder));
        }
    }

    /// Waits for all services of these processes.
    pub fn after_processes(&self, unit: &mut Unit, processes: &[ProcessName]) {
        for process in processes {
            self.names(unit, "After", self.services.get(process).map_or(&[], Vec::as_slice));
        }
    }

    /// `failure-policy = "stop"`: whatever fails is judged, because not every failure means giving up.
    pub fn judge_failure(&self, unit: &mut Unit) {
        unit.push_why(
            Section::Unit,
            "stops the group if this gave up; a crash that is repaired, or a bad end when asked to stop, is left alone",
            "OnFailure",
            Value::text(&[Part::Literal("copse-gave-up@"), Part::Specifier("%N"), Part::Literal(".service")]),
        );
    }
}
