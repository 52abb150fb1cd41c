//! What a unit's states mean to its group.

use super::members::{Kind, Member, Start};
use crate::manager::cause::Cause;
use crate::manager::properties::Properties;
use crate::manager::state::{ActiveState, JobType, LoadState, SubState, UnitResult};
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
    /// It failed and is not started again by itself; why, if that was asked.
    Failed(Option<Cause>),
    /// systemd can't run it: the `LoadState=`.
    NotLoaded(LoadState),
    /// An `Assert…=` refused it.
    Refused,
}

impl State {
    /// What a member's state means.
    pub fn of(member: &Member, listed: &UnitInfo, properties: Option<&Properties>) -> Self {
        let at_rest = || resting(member, properties);
        match &listed.active {
            ActiveState::Active if listed.job == Some(JobType::Stop) => Self::Stopping,
            ActiveState::Active if listed.sub == SubState::Exited && member.kind == Kind::Setup => Self::Done,
            active if active.is_up() || *active == ActiveState::Maintenance => Self::Up,
            _ if listed.sub.awaits_restart() => Self::Restarting,
            ActiveState::Deactivating => Self::Stopping,
            _ if listed.is_starting() || listed.job == Some(JobType::VerifyActive) => Self::Starting,
            ActiveState::Failed => Self::Failed(properties.and_then(Properties::cause)),
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
fn resting(member: &Member, properties: Option<&Properties>) -> State {
    match properties {
        Some(properties) if properties.condition_failed() || properties.result == Some(UnitResult::ExecCondition) => {
            State::Skipped
        }
        Some(properties) if properties.assertion_failed() => State::Refused,
        _ if member.start != Start::Auto => State::Idle,
        Some(properties) if properties.exited_by_itself() => State::Done,
        _ => State::Stopped,
    }
}
