//! The group itself: its target and slice, its readiness gate, the owner of its shared directories.

use super::context::{Context, services, title};
use super::marks;
use super::marks::{mark, yes};
use crate::model::Group;
use crate::unit::name;
use crate::unit::name::ProcessName;
use crate::unit::value::Part;
use crate::unit::{Entry, Section, Unit, UnitTree, Value};

/// Everything that exists once per group.
pub(super) fn write(context: &Context, tree: &mut UnitTree) {
    let name = context.target.as_str();
    if context.options.static_target {
        tree.file(name::drop_in(name), target(context, true));
    } else {
        tree.file(name, target(context, false));
        // A package's target is enabled by the administrator or a preset.
        for wanting in context.group.wanted_by.iter().filter(|_| !context.compiled) {
            tree.link(format!("{wanting}.wants/{name}"), format!("../{name}"));
        }
    }
    tree.file(context.slice.as_str(), slice(context));
    tree.file(name::drop_in(&name::own("ready", &context.group.name)), gate(context));
    if let Some(owner) = &context.directories {
        tree.file(name::drop_in(owner.as_str()), directories(context));
    }
}

fn target(context: &Context, filled: bool) -> Unit {
    let group = context.group;
    let mut unit = context.drop_in();
    if !filled || group.description.is_some() {
        unit.push(Section::Unit, "Description", Value::plain(context.title()));
    }
    context.documentation(&mut unit);
    context.source_path(&mut unit);
    if !filled && !context.compiled {
        mark_group(&mut unit);
    }
    context.want_reset(&mut unit);
    let gate = Value::plain(&name::own("ready", &group.name));
    unit.push_why(
        Section::Unit,
        "the gate waits for the processes, so that the target does not have to require them",
        "Requires",
        gate.clone(),
    );
    unit.push(Section::Unit, "After", gate);
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
    let mut unit = context.drop_in();
    unit.push(Section::Unit, "Description", Value::plain(context.title()));
    context.documentation(&mut unit);
    mark_group(&mut unit);
    if context.group.wanted_by.is_empty() {
        // Without this the target could not be enabled. `wanted-by` in the group file would overrule `systemctl disable`.
        unit.push(Section::Install, "WantedBy", Value::fixed(context.group.scope.boot_target()));
    }
    install(context, &mut unit);
    tree.file(context.target.as_str(), unit);
}

fn mark_group(unit: &mut Unit) {
    unit.push_why(Section::Unit, "marks targets managed by copse", marks::GROUP, yes());
}

/// Marks the target of `tree`, and adds to its `Description=` why the units are not those of the current group file.
pub fn announce(tree: &mut UnitTree, group: &Group, reason: &'static str, why: &str) {
    let target = name::target(&group.name);
    for path in [name::drop_in(&target), target] {
        if let Some(Entry::File(unit)) = tree.entries.get_mut(&path) {
            let description = Value::plain(&format!("{} ({why})", title(group)));
            unit.push_first(Section::Unit, None, "Description", description);
            mark(unit, reason, None);
        }
    }
}

/// What `systemctl enable` makes links for.
fn install(context: &Context, unit: &mut Unit) {
    for line in Value::names(context.group.wanted_by.iter().map(String::as_str)) {
        unit.push(Section::Install, "WantedBy", line);
    }
}

fn slice(context: &Context) -> Unit {
    let mut unit = context.unit(Value::plain(&format!("{}: all processes", context.title())));
    context.pass(&mut unit, &context.group.slice, |section| matches!(section, Section::Unit | Section::Slice));
    unit
}

/// The drop-in with the processes that the readiness gate waits for.
fn gate(context: &Context) -> Unit {
    let group = context.group;
    let mut unit = context.drop_in();
    context.source_path(&mut unit);
    let early: Vec<_> = group.setup.keys().filter(|step| !context.late.contains(step)).cloned().collect();
    context.require_setup(&mut unit, &early);
    context.require_directories(&mut unit, false);
    unit.push(Section::Service, "Slice", context.slice.clone());
    unit.push(Section::Service, "TimeoutStartSec", Value::plain(&group.timeout_start.text));
    // Steps that wait for a process are waited for like processes: if the gate were `After=` them, its time-out could not
    // begin while systemd still restarts that process.
    for step in &context.late {
        let line = name::service(&group.name, step);
        unit.push(Section::Service, "StandardInputText", Value::input_text(&line));
    }
    for (name, process) in group.processes.iter().filter(|(_, process)| process.is_awaited()) {
        for mut line in services(group, name) {
            if !process.is_essential(&line) {
                line.push_str(" optional");
            }
            unit.push(Section::Service, "StandardInputText", Value::input_text(&line));
        }
    }
    unit
}

/// The drop-in with the shared directories and their owner.
fn directories(context: &Context) -> Unit {
    let mut unit = context.drop_in();
    context.source_path(&mut unit);
    let Some(shared) = &context.group.shared else { return unit };
    unit.push(Section::Service, "Slice", context.slice.clone());
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
        tree.link([self.target.as_str(), ".wants/", unit].concat(), ["../", file].concat());
    }

    /// Sockets and timers are started as often as the group. They cannot be ordered after the reset: a socket comes before
    /// sockets.target, and so before every service; at boot that would be a cycle.
    pub fn unlimited(&self, unit: &mut Unit) {
        let why = "no start limit: each start of the group starts this unit";
        unit.push_why(Section::Unit, why, "StartLimitIntervalSec", Value::fixed("0"));
    }

    /// Units outside of the group: those of the group and those of the unit. The target's own dependencies do not reach
    /// what the target wants.
    pub fn outside(&self, unit: &mut Unit, after: &[String]) {
        self.names(unit, "Requires", &self.group.requires);
        self.names(unit, "After", &self.group.after);
        self.names(unit, "After", after);
    }

    /// Not started unless these steps have succeeded.
    pub fn require_setup(&self, unit: &mut Unit, steps: &[ProcessName]) {
        self.steps(unit, "Requires", steps);
        self.after_setup(unit, steps);
    }

    /// Waits for these steps if they are started as well.
    pub fn after_setup(&self, unit: &mut Unit, steps: &[ProcessName]) {
        self.steps(unit, "After", steps);
    }

    fn steps(&self, unit: &mut Unit, directive: &'static str, steps: &[ProcessName]) {
        let names: Vec<_> = steps.iter().map(|step| name::service(&self.group.name, step)).collect();
        self.names(unit, directive, &names);
    }

    /// Waits for the shared directories. A unit that must not stop with the group only wants them.
    pub fn require_directories(&self, unit: &mut Unit, only_want: bool) {
        if let Some(owner) = &self.directories {
            unit.push(Section::Unit, if only_want { "Wants" } else { "Requires" }, owner.clone());
            unit.push(Section::Unit, "After", owner.clone());
        }
    }

    /// `failure-policy = "stop"`: copse-gave-up@ checks each failure, because systemd may still restart the unit.
    pub fn on_failure(&self, unit: &mut Unit) {
        unit.push_why(
            Section::Unit,
            "failure-policy = \"stop\": stops the group if this unit failed permanently, not after a crash that is restarted",
            "OnFailure",
            Value::text(&[Part::Literal("copse-gave-up@"), Part::Specifier("%N"), Part::Literal(".service")]),
        );
    }
}
