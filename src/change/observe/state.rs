//! What a unit's states mean to its group.

use super::members::{Kind, Member, Start};
use crate::manager::details::Details;
use crate::manager::state::{ActiveState, JobType, LoadState, SubState};
use crate::manager::unit::UnitInfo;

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
    NotLoaded(LoadState),
    /// An `Assert…=` refused it.
    Refused,
}

impl State {
    /// What a member's state means.
    pub fn of(member: &Member, listed: &UnitInfo, details: Option<&Details>) -> Self {
        let at_rest = || resting(member, details);
        match &listed.active {
            ActiveState::Active if listed.job == Some(JobType::Stop) => Self::Stopping,
            ActiveState::Active if listed.sub == SubState::Exited && member.kind == Kind::Setup => Self::Done,
            active if active.is_up() || *active == ActiveState::Maintenance => Self::Up,
            _ if listed.sub.awaits_restart() => Self::Restarting,
            ActiveState::Deactivating => Self::Stopping,
            _ if listed.is_starting() || listed.job == Some(JobType::VerifyActive) => Self::Starting,
            ActiveState::Failed => Self::Failed(details.map_or_else(String::new, Details::end)),
            _ => match &listed.load {
                LoadState::Masked => Self::Masked,
                LoadState::Loaded | LoadState::Merged | LoadState::Stub => at_rest(),
                state => Self::NotLoaded(state.clone()),
            },
        }
    }
}

/// What the units say that stand for the group as a whole.
#[derive(Debug, Clone, PartialEq)]
pub struct Whole {
    /// `G.target`
    pub target: UnitInfo,
    /// `copse-ready@G.service`, the readiness gate.
    pub gate: UnitInfo,
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
