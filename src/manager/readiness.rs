//! Is a unit ready, or will it ever be? The rule of the readiness gate, without any D-Bus.
//!
//! The rule was measured on systemd 247 to 262. Two things in it are less obvious than they look:
//!
//! - `Result=` doesn't tell whether systemd gave up: before 262 the start limit leaves the last
//!   `exit-code` or `signal` there. What tells is that the unit is *exactly* `failed` or `dead` and no job
//!   is queued. While systemd will still restart it, the sub state is another one
//!   (`auto-restart`, `failed-before-auto-restart`, …).
//! - `inactive` without a job has four meanings: it ran and ended well, its condition left it out, its
//!   assertion refused it, or it was never tried. Only the moments in its history tell them apart.

use std::fmt;

use super::properties::Properties;
use super::state::{ActiveState, JobType, LoadState, SubState, UnitResult};
use super::unit::UnitInfo;
use crate::basic::clock::Monotonic;

/// What a unit's state means to those who wait for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It is up.
    Ready,
    /// It ran since the group's start began, and ended well.
    Done,
    /// A `Condition…=` or `ExecCondition=` left it out. systemd counts that as a successful start.
    Skipped,
    /// It is masked: an administrator doesn't want it.
    LeftOut,
    /// Something is still going to happen: the states, or the job.
    Waiting(String),
    /// It won't come up by itself any more: why.
    Lost(Loss),
}

impl Standing {
    /// Nothing more is going to happen to it.
    pub fn is_settled(&self) -> bool {
        !matches!(self, Self::Waiting(_))
    }
}

/// Why a unit won't come up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loss {
    /// systemd couldn't make a unit of its file: the `LoadState=`.
    NotLoaded(LoadState),
    /// It failed and isn't restarted any more.
    Failed,
    /// An `Assert…=` refused it.
    Refused,
    /// Its start was cancelled, or something it requires failed: it never ran.
    NeverStarted,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLoaded(state) => write!(f, "not loaded ({state})"),
            Self::Failed => f.write_str("failed"),
            Self::Refused => f.write_str("refused by an Assert…= of its"),
            Self::NeverStarted => f.write_str("not started (cancelled, or a unit that it requires failed)"),
        }
    }
}

/// What the row in the manager's list says alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FirstLook {
    /// The row is enough.
    Clear(Standing),
    /// Inactive without a job: only its properties tell what that means.
    AskHistory,
}

/// Judges a unit by its row in the manager's list.
pub fn first_look(unit: &UnitInfo) -> FirstLook {
    use FirstLook::{AskHistory, Clear};
    match (&unit.active, &unit.job) {
        // Before the load state: a process whose unit file vanished, or was masked, while it runs is up.
        (_, None | Some(JobType::Start | JobType::VerifyActive | JobType::Reload)) if unit.is_up() => {
            Clear(Standing::Ready)
        }
        // A stop or restart is queued: what is up now isn't what the group is being started with.
        (ActiveState::Activating | ActiveState::Deactivating, Some(_)) => Clear(Standing::Waiting(unit.to_string())),
        (_, Some(job)) => Clear(Standing::Waiting(format!("{job} job waiting"))),
        (active, None) => match &unit.load {
            LoadState::Masked => Clear(Standing::LeftOut),
            LoadState::Loaded | LoadState::Merged | LoadState::Stub => match (active, &unit.sub) {
                (ActiveState::Failed, SubState::Failed) => Clear(Standing::Lost(Loss::Failed)),
                // 254 and later keep the descriptor store of a service that ended in a sub state of its own.
                (ActiveState::Inactive, SubState::Dead | SubState::DeadResourcesPinned) => AskHistory,
                _ => Clear(Standing::Waiting(unit.to_string())),
            },
            load => Clear(Standing::Lost(Loss::NotLoaded(load.clone()))),
        },
    }
}

/// Judges an inactive unit without a job by its properties. `begin` is when the group's start began: what happened before
/// belongs to an earlier start.
pub fn second_look(unit: &Properties, begin: Monotonic) -> Standing {
    let since = |time: Option<Monotonic>| time >= Some(begin);
    if since(unit.times.inactive_left) || since(unit.times.main_started) {
        return if unit.result == Some(UnitResult::ExecCondition) {
            Standing::Skipped
        } else {
            // A bad end would be `failed`, not `inactive`.
            Standing::Done
        };
    }
    if since(unit.times.condition_checked) && !unit.condition_met {
        return Standing::Skipped;
    }
    if since(unit.times.assertion_checked) && !unit.assertion_met {
        return Standing::Lost(Loss::Refused);
    }
    Standing::Lost(Loss::NeverStarted)
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

    fn waiting(what: &str) -> FirstLook {
        FirstLook::Clear(Standing::Waiting(what.to_owned()))
    }

    #[test]
    fn the_row_alone() {
        let ready = || FirstLook::Clear(Standing::Ready);
        let lost = |loss| FirstLook::Clear(Standing::Lost(loss));
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
            // 254 and later pass through these on the way to the next start: not lost.
            ("loaded", "failed", "failed-before-auto-restart", "", waiting("failed, failed-before-auto-restart")),
            ("loaded", "inactive", "dead-before-auto-restart", "", waiting("inactive, dead-before-auto-restart")),
            // Lost.
            ("loaded", "failed", "failed", "", lost(Loss::Failed)),
            ("not-found", "inactive", "dead", "", lost(Loss::NotLoaded("not-found".into()))),
            ("bad-setting", "inactive", "dead", "", lost(Loss::NotLoaded("bad-setting".into()))),
            ("error", "inactive", "dead", "", lost(Loss::NotLoaded("error".into()))),
            // Not wanted.
            ("masked", "inactive", "dead", "", FirstLook::Clear(Standing::LeftOut)),
            ("masked", "failed", "failed", "", FirstLook::Clear(Standing::LeftOut)),
            // Only the history tells.
            ("loaded", "inactive", "dead", "", FirstLook::AskHistory),
            ("loaded", "inactive", "dead-resources-pinned", "", FirstLook::AskHistory),
        ] {
            assert_eq!(first_look(&listed(load, active, sub, job)), expected, "{load} {active} {sub} job={job}");
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
        let never = || Standing::Lost(Loss::NeverStarted);
        for (situation, unit, expected) in [
            ("never heard of", fresh.clone(), never()),
            ("ran and ended well", ran.clone(), Standing::Done),
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
                Standing::Skipped,
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
            ("an unmet assertion", with(&checked, |unit| unit.assertion_met = false), Standing::Lost(Loss::Refused)),
            (
                "ExecCondition= said no",
                with(&ran, |unit| {
                    unit.result = Some(UnitResult::ExecCondition);
                    unit.times.main_started = None;
                }),
                Standing::Skipped,
            ),
            (
                "a socket that was up and is closed again",
                with(&ran, |unit| (unit.result, unit.times.main_started) = (Some(UnitResult::Success), None)),
                Standing::Done,
            ),
            (
                "restarted with RestartMode=direct, which leaves InactiveExit as it was, then ended well",
                with(&ran, |unit| unit.times.inactive_left = Monotonic::from_micros(900)),
                Standing::Done,
            ),
        ] {
            assert_eq!(second_look(&unit, begin), expected, "{situation}");
        }
    }
}
