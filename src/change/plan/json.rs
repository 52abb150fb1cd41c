//! A plan for programs: one JSON object on one line (copse(1), "copse plan").

use serde_json::{Value, json};

use super::{Action, Plan, Reason, SkipReason, Skipped, Step};
use crate::change::observe::members::Subject;
use crate::unit::effective::Difference;

/// The plan as one line of JSON, without a newline at its end. Moments are microseconds since the epoch, spans
/// microseconds. `errors`: of the group's file, in which case nothing is planned.
pub fn render(plan: &Plan) -> String {
    json!({
        "group": plan.group.as_str(),
        "active": plan.active,
        "changed": !plan.is_empty(),
        "daemon_reload": plan.daemon_reload,
        "applied": plan.applied,
        "files": plan.files.iter().map(|file| file.path.display().to_string()).collect::<Vec<_>>(),
        "steps": plan.steps.iter().map(step).collect::<Vec<_>>(),
        "leave": plan.leave.iter().map(leave).collect::<Vec<_>>(),
        "notes": plan.notes,
        "errors": 0,
    })
    .to_string()
}

/// What is printed for a group whose file is invalid: nothing of it is planned.
pub fn invalid(group: &str, errors: usize) -> String {
    json!({ "group": group, "errors": errors }).to_string()
}

fn step(step: &Step) -> Value {
    let mut value = json!({
        "action": step.action.word(),
        "units": units(&step.units),
        "reasons": step.reasons.iter().map(reason).collect::<Vec<_>>(),
    });
    if let Action::Rebind { sockets } = &step.action {
        value["sockets"] = units(sockets);
    }
    if step.action == Action::Roll {
        value["max_unavailable"] = step.pace.max_unavailable.into();
        value["of"] = step.pace.of.into();
        value["min_ready"] = u64::try_from(step.pace.min_ready.as_micros()).unwrap_or(u64::MAX).into();
    }
    value
}

fn leave(leave: &Skipped) -> Value {
    json!({
        "why": why(leave.why),
        "units": units(&leave.units),
        "reasons": leave.reasons.iter().map(reason).collect::<Vec<_>>(),
    })
}

fn units(units: &[Subject]) -> Value {
    units.iter().map(|unit| json!({ "unit": unit.unit, "name": unit.label })).collect()
}

/// One reason: `kind`, and what belongs to it.
pub fn reason(reason: &Reason) -> Value {
    match reason {
        Reason::Definition(differences) => {
            json!({ "kind": "definition", "directives": differences.iter().map(difference).collect::<Vec<_>>() })
        }
        Reason::Input(path) => json!({ "kind": "input", "path": path.display().to_string() }),
        Reason::Inputs => json!({ "kind": "inputs" }),
        Reason::Program(path) => json!({ "kind": "program", "path": path.display().to_string() }),
        Reason::Setup(step) => json!({ "kind": "setup", "step": step }),
        Reason::New => json!({ "kind": "new" }),
        Reason::Wanted => json!({ "kind": "wanted" }),
        Reason::Held => json!({ "kind": "held" }),
        Reason::Gone => json!({ "kind": "gone" }),
        Reason::Failed(how) => json!({ "kind": "failed", "how": how }),
        Reason::LeftBehind(at) => json!({ "kind": "left-behind", "since": at }),
        Reason::Interrupted => json!({ "kind": "interrupted" }),
        Reason::Asked => json!({ "kind": "asked" }),
    }
}

fn difference(difference: &Difference) -> Value {
    let Difference { section, name, old, new } = difference;
    json!({ "section": section, "name": name, "old": old, "new": new })
}

fn why(why: SkipReason) -> &'static str {
    match why {
        SkipReason::Current => "current",
        SkipReason::Stopped => "stopped",
        SkipReason::Manual => "manual",
        SkipReason::Timed => "timed",
        SkipReason::Keep => "keep",
        SkipReason::Held => "held",
        SkipReason::Skipped => "skipped",
        SkipReason::GroupInactive => "group-inactive",
        SkipReason::Done => "done",
        SkipReason::Masked => "masked",
        SkipReason::InMotion => "in-motion",
        SkipReason::Unknown => "unknown",
    }
}
