//! Timers. Of a process with `on-calendar`, only the timer belongs to the group.

use super::context::Context;
use crate::model::{Process, Start};
use crate::unit::name;
use crate::unit::name::ProcessName;
use crate::unit::value::Part;
use crate::unit::{Section, Unit, UnitTree, Value};

/// The timer of a timed process; nothing for others.
pub(super) fn write(context: &Context, name: &ProcessName, process: &Process, tree: &mut UnitTree) {
    let Start::Timed(calendar) = &process.start else { return };
    let file = name::timer(&context.group.name, name);
    tree.file(file.as_str(), unit(context, name, process, calendar));
    if !process.hold {
        context.want(tree, &file, &file);
    }
}

fn unit(context: &Context, name: &ProcessName, process: &Process, calendar: &[String]) -> Unit {
    let title = process.service.description.as_deref().unwrap_or_else(|| context.title());
    let parts = [Part::Literal(title), Part::Literal(": timer of "), Part::Literal(name.as_str())];
    let mut unit = context.unit(Value::text(&parts));
    unit.push(Section::Unit, "PartOf", context.target.clone());
    context.unlimited(&mut unit);
    // Not in the service: a running job does not stop with the group.
    context.require_setup(&mut unit, &process.gated_by);
    for line in calendar {
        unit.push(Section::Timer, "OnCalendar", Value::plain(line));
    }
    unit.push_why(Section::Timer, "the default is one minute", "AccuracySec", Value::fixed("1s"));
    context.pass(&mut unit, &process.service.pass, |section| section == Section::Timer);
    unit
}
