//! What a unit's states mean to its group.

use super::members::{Kind, Member, Start};
use crate::manager::details::Details;
use crate::manager::unit::Listed;

/// What a unit's state means to its group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It is up, also while it reloads.
    Up,
    /// It ran and ended well by itself, or is a setup step that succeeded.
    Done,
    /// A `Condition…=` or `ExecCondition=` left it out.
    Skipped,
    /// An administrator masked it.
    Masked,
    /// It waits for its manager, a person or a timer to start it.
    Idle,
    /// It should be up, and was stopped or never started.
    Stopped,
    /// It is on its way up.
    Starting,
    /// It ended badly and systemd is going to start it again.
    Restarting,
    /// It is on its way down.
    Stopping,
    /// It failed and isn't started again by itself: how it ended.
    Failed(String),
    /// systemd can't run it: the `LoadState=`.
    NotLoaded(String),
    /// An `Assert…=` refused it.
    Refused,
}

impl State {
    /// What a member's state means.
    pub fn of(member: &Member, listed: &Listed, details: Option<&Details>) -> Self {
        let at_rest = || resting(member, details);
        match (listed.active_state.as_str(), listed.sub_state.as_str(), listed.job.as_deref()) {
            ("active", ..) if listed.job.as_deref() == Some("stop") => Self::Stopping,
            ("active", "exited", _) if member.kind == Kind::Setup => Self::Done,
            ("active" | "reloading" | "refreshing" | "maintenance", ..) => Self::Up,
            (_, "auto-restart" | "auto-restart-queued", _) => Self::Restarting,
            (_, "failed-before-auto-restart" | "dead-before-auto-restart", _) => Self::Restarting,
            ("deactivating", ..) => Self::Stopping,
            ("activating", ..) | (_, _, Some("start" | "restart" | "verify-active")) => Self::Starting,
            ("failed", ..) => Self::Failed(details.map_or_else(String::new, Details::end)),
            _ => match listed.load_state.as_str() {
                "masked" => Self::Masked,
                "loaded" | "merged" | "stub" => at_rest(),
                state => Self::NotLoaded(state.to_owned()),
            },
        }
    }
}

/// What the units say that stand for the group as a whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Whole {
    /// `G.target`
    pub target: Listed,
    /// `copse-ready@G.service`, the readiness gate.
    pub gate: Listed,
    /// The gate's status text: what it waits for.
    pub waits_for: String,
    /// `copse-failed@G.target` is active: the group failed as a whole (`failure-policy = "stop"`).
    pub gave_up: bool,
}

/// What it means that a unit is inactive.
fn resting(member: &Member, details: Option<&Details>) -> State {
    match details {
        Some(details) if details.condition_failed || details.result == "exec-condition" => State::Skipped,
        Some(details) if details.assertion_failed => State::Refused,
        _ if member.start != Start::Auto => State::Idle,
        Some(details) if details.ended_by_itself() => State::Done,
        _ => State::Stopped,
    }
}
