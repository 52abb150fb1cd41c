//! Is a unit ready, or can it still become ready? The rule of the readiness gate.
//!
//! The rule was measured on systemd 247 to 262. Two things in it are less obvious than they look:
//!
//! - `Result=` does not show whether systemd gave the unit up: before 262 the start limit leaves the last `exit-code` or
//!   `signal` there. A unit is given up if it is *exactly* `failed` or `dead` and no job is queued. While systemd is going
//!   to start it again, it is in another sub state (`auto-restart`, `failed-before-auto-restart`, …).
//! - `inactive` without a job has four meanings: it ran and exited, its condition was unmet, its assertion failed, or it
//!   was never started. Only the times in its properties tell them apart.

use std::fmt;

use super::properties::Properties;
use super::state::{ActiveState, JobType, LoadState, SubState, UnitResult};
use super::unit::UnitInfo;
use crate::basic::clock::Monotonic;

/// What a unit's state means for a start that waits for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// It is up.
    Ready,
    /// It ran since the start began, and exited with success.
    Exited,
    /// A `Condition…=` or `ExecCondition=` is unmet. systemd counts that as a successful start.
    Skipped,
    /// It is masked.
    Masked,
    /// It can still become ready: the states, or the job.
    Pending(String),
    /// It does not become ready without another start.
    Failed(StartFailure),
}

impl Readiness {
    pub fn is_pending(&self) -> bool {
        matches!(self, Self::Pending(_))
    }
}

/// Why a unit does not become ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartFailure {
    NotLoaded(LoadState),
    /// It failed and is not started again.
    Failed,
    AssertionFailed,
    /// Its job was canceled, or a unit that it requires failed.
    NeverStarted,
}

impl fmt::Display for StartFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLoaded(state) => write!(f, "not loaded ({state})"),
            Self::Failed => f.write_str("failed"),
            Self::AssertionFailed => f.write_str("assertion failed"),
            Self::NeverStarted => f.write_str("not started (its job was canceled, or a unit that it requires failed)"),
        }
    }
}

/// What a unit's states alone say. `None` if it is inactive without a job: see [`from_properties`].
pub fn from_info(unit: &UnitInfo) -> Option<Readiness> {
    Some(match (&unit.active, &unit.job) {
        // Before the load state: a process whose unit file was removed or masked while it runs is up.
        (_, None | Some(JobType::Start | JobType::VerifyActive | JobType::Reload)) if unit.is_up() => Readiness::Ready,
        // A stop or restart is queued: what is up now is not what the start brings.
        (ActiveState::Activating | ActiveState::Deactivating, Some(_)) => Readiness::Pending(unit.to_string()),
        (_, Some(job)) => Readiness::Pending(format!("{job} job waiting")),
        (active, None) => match &unit.load {
            LoadState::Masked => Readiness::Masked,
            LoadState::Loaded | LoadState::Merged | LoadState::Stub => match (active, &unit.sub) {
                (ActiveState::Failed, SubState::Failed) => Readiness::Failed(StartFailure::Failed),
                // 254 and later have a sub state for a service that exited and whose descriptor store is kept.
                (ActiveState::Inactive, SubState::Dead | SubState::DeadResourcesPinned) => return None,
                _ => Readiness::Pending(unit.to_string()),
            },
            load => Readiness::Failed(StartFailure::NotLoaded(load.clone())),
        },
    })
}

/// What the properties of an inactive unit without a job say. `begin` is when the start began: what happened before belongs
/// to an earlier start.
pub fn from_properties(unit: &Properties, begin: Monotonic) -> Readiness {
    let since = |time: Option<Monotonic>| time >= Some(begin);
    if since(unit.times.inactive_left) || since(unit.times.main_started) {
        return match unit.result {
            Some(UnitResult::ExecCondition) => Readiness::Skipped,
            // A failure would be `failed`, not `inactive`.
            _ => Readiness::Exited,
        };
    }
    if since(unit.times.condition_checked) && !unit.condition_met {
        return Readiness::Skipped;
    }
    if since(unit.times.assertion_checked) && !unit.assertion_met {
        return Readiness::Failed(StartFailure::AssertionFailed);
    }
    Readiness::Failed(StartFailure::NeverStarted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(load: &str, active: &str, sub: &str, job: &str) -> UnitInfo {
        UnitInfo {
            name: "g-a.service".to_owned(),
            load: load.into(),
            active: active.into(),
            sub: sub.into(),
            job: (!job.is_empty()).then(|| job.into()),
        }
    }

    fn waiting(what: &str) -> Option<Readiness> {
        Some(Readiness::Pending(what.to_owned()))
    }

    #[test]
    fn the_states_alone() {
        let ready = || Some(Readiness::Ready);
        let failed = |why| Some(Readiness::Failed(why));
        for (load, active, sub, job, expected) in [
            // Up.
            ("loaded", "active", "running", "", ready()),
            ("loaded", "active", "exited", "", ready()),
            ("loaded", "reloading", "reload", "", ready()),
            ("loaded", "reloading", "reload-notify", "reload", ready()),
            ("loaded", "refreshing", "refresh-extensions", "", ready()),
            ("loaded", "active", "running", "start", ready()),
            // Up, though its file vanished or was masked: no reason to fail the group.
            ("not-found", "active", "running", "", ready()),
            ("masked", "active", "running", "", ready()),
            // `systemctl restart G.target`: still up, but about to go.
            ("loaded", "active", "running", "restart", waiting("restart job waiting")),
            ("loaded", "active", "running", "stop", waiting("stop job waiting")),
            // Queued.
            ("loaded", "inactive", "dead", "start", waiting("start job waiting")),
            ("loaded", "failed", "failed", "start", waiting("start job waiting")),
            ("not-found", "inactive", "dead", "start", waiting("start job waiting")),
            // On its way.
            ("loaded", "activating", "start", "", waiting("activating, start")),
            ("loaded", "activating", "start-post", "start", waiting("activating, start-post")),
            ("loaded", "activating", "auto-restart", "", waiting("activating, auto-restart")),
            ("loaded", "activating", "auto-restart-queued", "", waiting("activating, auto-restart-queued")),
            ("loaded", "deactivating", "stop-sigterm", "", waiting("deactivating, stop-sigterm")),
            ("loaded", "activating", "activating", "", waiting("activating")),
            // 254 and later pass through these on the way to the next start: not failed.
            ("loaded", "failed", "failed-before-auto-restart", "", waiting("failed, failed-before-auto-restart")),
            ("loaded", "inactive", "dead-before-auto-restart", "", waiting("inactive, dead-before-auto-restart")),
            // Failed.
            ("loaded", "failed", "failed", "", failed(StartFailure::Failed)),
            ("not-found", "inactive", "dead", "", failed(StartFailure::NotLoaded("not-found".into()))),
            ("bad-setting", "inactive", "dead", "", failed(StartFailure::NotLoaded("bad-setting".into()))),
            ("error", "inactive", "dead", "", failed(StartFailure::NotLoaded("error".into()))),
            // Not wanted.
            ("masked", "inactive", "dead", "", Some(Readiness::Masked)),
            ("masked", "failed", "failed", "", Some(Readiness::Masked)),
            // Only its properties tell.
            ("loaded", "inactive", "dead", "", None),
            ("loaded", "inactive", "dead-resources-pinned", "", None),
        ] {
            assert_eq!(from_info(&listed(load, active, sub, job)), expected, "{load} {active} {sub} job={job}");
        }
    }

    #[test]
    fn the_properties_of_an_inactive_unit() {
        let begin = Monotonic::from_micros(1_000).unwrap();
        let fresh = Properties { result: Some(UnitResult::Success), ..Properties::default() };
        let with = |unit: &Properties, change: fn(&mut Properties)| {
            let mut unit = unit.clone();
            change(&mut unit);
            unit
        };
        let checked = with(&fresh, |unit| {
            (unit.condition_met, unit.times.condition_checked) = (true, Monotonic::from_micros(1_500));
            (unit.assertion_met, unit.times.assertion_checked) = (true, Monotonic::from_micros(1_501));
        });
        let ran = with(&checked, |unit| {
            unit.times.inactive_left = Monotonic::from_micros(1_600);
            unit.times.main_started = Monotonic::from_micros(1_601);
        });
        let never = || Readiness::Failed(StartFailure::NeverStarted);
        for (situation, unit, expected) in [
            ("never heard of", fresh.clone(), never()),
            ("ran and ended well", ran.clone(), Readiness::Exited),
            (
                "ran in an earlier start, then a setup step failed",
                with(&ran, |unit| {
                    unit.times.inactive_left = Monotonic::from_micros(500);
                    unit.times.main_started = Monotonic::from_micros(501);
                    unit.times.condition_checked = Monotonic::from_micros(499);
                    unit.times.assertion_checked = Monotonic::from_micros(499);
                }),
                never(),
            ),
            (
                "an unmet condition",
                with(&checked, |unit| {
                    (unit.condition_met, unit.assertion_met) = (false, false);
                    unit.times.assertion_checked = None;
                }),
                Readiness::Skipped,
            ),
            (
                "an unmet condition of an earlier start",
                with(&checked, |unit| {
                    (unit.condition_met, unit.assertion_met) = (false, false);
                    unit.times.condition_checked = Monotonic::from_micros(999);
                    unit.times.assertion_checked = None;
                }),
                never(),
            ),
            (
                "an unmet assertion",
                with(&checked, |unit| unit.assertion_met = false),
                Readiness::Failed(StartFailure::AssertionFailed),
            ),
            (
                "ExecCondition= said no",
                with(&ran, |unit| {
                    unit.result = Some(UnitResult::ExecCondition);
                    unit.times.main_started = None;
                }),
                Readiness::Skipped,
            ),
            (
                "a socket that was up and is closed again",
                with(&ran, |unit| (unit.result, unit.times.main_started) = (Some(UnitResult::Success), None)),
                Readiness::Exited,
            ),
            (
                "restarted with RestartMode=direct, which leaves InactiveExit as it was, then ended well",
                with(&ran, |unit| unit.times.inactive_left = Monotonic::from_micros(900)),
                Readiness::Exited,
            ),
        ] {
            assert_eq!(from_properties(&unit, begin), expected, "{situation}");
        }
    }
}
