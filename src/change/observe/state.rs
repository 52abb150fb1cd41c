//! What the states of a unit mean to its group.

use super::members::{Kind, Member, Start};
use crate::manager::cause::Cause;
use crate::manager::properties::Properties;
use crate::manager::state::{ActiveState, JobType, LoadState, SubState, UnitResult};
use crate::manager::unit::UnitInfo;

/// What the states of a unit mean to its group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It is up, also while it reloads.
    Up,
    /// It ran and exited with success by itself, or is a setup step that succeeded.
    Done,
    /// A `Condition…=` or `ExecCondition=` is unmet.
    Skipped,
    Masked,
    /// It is inactive, and not started by the group.
    Idle,
    /// It is inactive although the group starts it: it was stopped, or never started.
    Stopped,
    Starting,
    /// It failed, and systemd is going to start it again.
    Restarting,
    Stopping,
    /// It failed and is not started again; why, if that was asked.
    Failed(Option<Cause>),
    /// systemd cannot run it.
    NotLoaded(LoadState),
    /// An `Assert…=` failed.
    Refused,
}

impl State {
    /// `properties` are needed only if the unit is inactive or failed.
    pub fn of(member: &Member, info: &UnitInfo, properties: Option<&Properties>) -> Self {
        let at_rest = || resting(member, properties);
        match &info.active {
            ActiveState::Active if info.job == Some(JobType::Stop) => Self::Stopping,
            ActiveState::Active if info.sub == SubState::Exited && member.kind == Kind::Setup => Self::Done,
            active if active.is_up() || *active == ActiveState::Maintenance => Self::Up,
            _ if info.sub.awaits_restart() => Self::Restarting,
            ActiveState::Deactivating => Self::Stopping,
            _ if info.is_starting() || info.job == Some(JobType::VerifyActive) => Self::Starting,
            ActiveState::Failed => Self::Failed(properties.and_then(Properties::cause)),
            _ => match &info.load {
                LoadState::Masked => Self::Masked,
                LoadState::Loaded | LoadState::Merged | LoadState::Stub => at_rest(),
                state => Self::NotLoaded(state.clone()),
            },
        }
    }
}

/// The states of the units that stand for a group as a whole.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupState {
    /// `G.target`
    pub target: UnitInfo,
    /// `copse-ready@G.service`
    pub gate: UnitInfo,
    /// The gate's status text: what it waits for.
    pub waits_for: String,
    /// `copse-failed@G.target` is active: `failure-policy = "stop"` stopped the group.
    pub failed: bool,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basic::clock::Monotonic;
    use crate::change::observe::subject::Subject;
    use crate::manager::cause::ProcessEnd;
    use crate::manager::properties::Times;

    /// `active/running`, `masked:inactive/dead`, with a job behind a blank: `inactive/dead start`.
    fn info(states: &str) -> UnitInfo {
        let (states, job) = states.split_once(' ').map_or((states, None), |(states, job)| (states, Some(job.into())));
        let (active, sub) = states.split_once('/').unwrap();
        let (load, active) = active.split_once(':').unwrap_or(("loaded", active));
        UnitInfo { name: String::new(), load: load.into(), active: active.into(), sub: sub.into(), job }
    }

    fn member(label: &str, kind: Kind, start: Start) -> Member {
        let subject = Subject::new("g", &format!("g-{label}.service"));
        Member { subject, kind, start, process: None, defined: true }
    }

    #[test]
    fn what_the_states_of_a_unit_mean() {
        let auto = || member("a", Kind::Process, Start::Auto);
        let at = Monotonic::from_micros;
        let properties = |result: &str| Properties { result: Some(result.into()), ..Properties::default() };
        let with_times = |times| Properties { times, ..properties("success") };
        let ended = with_times(Times { main_exited: at(5), active_left: at(6), ..Times::default() });
        let stopped = with_times(Times { main_exited: at(6), active_left: at(5), ..Times::default() });
        let skipped = with_times(Times { condition_checked: at(1), ..Times::default() });
        let refused = Properties {
            condition_met: true,
            ..with_times(Times { condition_checked: at(1), assertion_checked: at(2), ..Times::default() })
        };
        let crashed = Properties { main_end: Some(ProcessEnd::Killed(11)), ..properties("signal") };
        let segv = crashed.cause();
        for (member, states, properties, expected) in [
            (auto(), "active/running", properties("success"), State::Up),
            (auto(), "reloading/reload", properties("success"), State::Up),
            // `ready = "oneshot"` stays up when its program has ended; a setup step is done.
            (auto(), "active/exited", properties("success"), State::Up),
            (member("a", Kind::Setup, Start::Auto), "active/exited", properties("success"), State::Done),
            (auto(), "active/running stop", properties("success"), State::Stopping),
            (auto(), "activating/start", properties("success"), State::Starting),
            (auto(), "inactive/dead start", properties("success"), State::Starting),
            (auto(), "activating/auto-restart", crashed.clone(), State::Restarting),
            (auto(), "failed/failed-before-auto-restart", crashed.clone(), State::Restarting),
            (auto(), "deactivating/stop-sigterm", properties("success"), State::Stopping),
            (auto(), "failed/failed", crashed, State::Failed(segv)),
            (auto(), "inactive/dead", ended.clone(), State::Done),
            (auto(), "inactive/dead", stopped, State::Stopped),
            (auto(), "inactive/dead", properties("success"), State::Stopped),
            (auto(), "inactive/dead", skipped, State::Skipped),
            (auto(), "inactive/dead", refused, State::Refused),
            (auto(), "masked:inactive/dead", properties("success"), State::Masked),
            // Masked, or its file removed, while it runs.
            (auto(), "masked:active/running", properties("success"), State::Up),
            (auto(), "not-found:active/running", properties("success"), State::Up),
            (auto(), "bad-setting:inactive/dead", properties("success"), State::NotLoaded(LoadState::BadSetting)),
            (member("a", Kind::Process, Start::Manual), "inactive/dead", ended, State::Idle),
            (member("a", Kind::Process, Start::Timed), "inactive/dead", properties("success"), State::Idle),
            (member("a", Kind::Process, Start::Held), "inactive/dead", properties("success"), State::Idle),
        ] {
            assert_eq!(State::of(&member, &info(states), Some(&properties)), expected, "{states} {properties:?}");
        }
    }
}
