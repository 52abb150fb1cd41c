//! A plan for programs: one JSON object on one line (copse(1), "copse plan").

use std::borrow::Cow;

use serde::Serialize;

use super::step::{Action, Plan, Reason, Skipped, Step};
use crate::basic::clock::Realtime;
use crate::change::observe::subject::Subject;

#[derive(Serialize)]
struct PlanView<'p> {
    active: bool,
    applied: Option<Realtime>,
    changed: bool,
    daemon_reload: bool,
    errors: usize,
    files: Vec<Cow<'p, str>>,
    group: &'p str,
    leave: &'p [Skipped],
    notes: &'p [String],
    steps: Vec<StepView<'p>>,
}

/// A group whose file is invalid.
#[derive(Serialize)]
struct InvalidView<'p> {
    errors: usize,
    group: &'p str,
}

#[derive(Serialize)]
struct StepView<'p> {
    action: &'static str,
    #[serde(flatten)]
    pace: Option<PaceView>,
    reasons: &'p [Reason],
    #[serde(skip_serializing_if = "Option::is_none")]
    sockets: Option<&'p [Subject]>,
    units: &'p [Subject],
}

/// How fast a step rolls.
#[derive(Serialize)]
struct PaceView {
    max_unavailable: usize,
    /// Microseconds.
    min_ready: u64,
    of: usize,
}

/// The plan as one line of JSON, without a newline at its end.
pub fn render(plan: &Plan) -> String {
    line(&PlanView {
        active: plan.active,
        applied: plan.applied,
        changed: !plan.is_empty(),
        daemon_reload: plan.daemon_reload,
        errors: 0,
        files: plan.files.iter().map(|file| file.path.to_string_lossy()).collect(),
        group: plan.group.as_str(),
        leave: &plan.skipped,
        notes: &plan.notes,
        steps: plan.steps.iter().map(step).collect(),
    })
}

/// The line for a group whose file is invalid: nothing is planned for it.
pub fn invalid(group: &str, errors: usize) -> String {
    line(&InvalidView { errors, group })
}

fn line(view: &impl Serialize) -> String {
    // Paths in reasons are texts of a group file, and the keys of all objects are texts: that cannot fail.
    serde_json::to_string(view).unwrap_or_default()
}

fn step(step: &Step) -> StepView<'_> {
    let pace = || PaceView {
        max_unavailable: step.pace.max_unavailable,
        min_ready: u64::try_from(step.pace.min_ready.as_micros()).unwrap_or(u64::MAX),
        of: step.pace.of,
    };
    let sockets = match &step.action {
        Action::Rebind { sockets } => Some(sockets.as_slice()),
        _ => None,
    };
    StepView {
        action: step.action.word(),
        pace: (step.action == Action::Roll).then(pace),
        reasons: &step.reasons,
        sockets,
        units: &step.units,
    }
}
