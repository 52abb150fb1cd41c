//! Has systemd given this unit up? The rule behind `failure-policy = "stop"`.
//!
//! `OnFailure=` alone is not enough. From systemd 254 on it fires at every crash, also at those after which `Restart=`
//! starts the unit again. On all versions it fires if a unit was *asked* to stop or restart and ended with a failure.
//! Neither may stop a group. The times of the last events in the unit's life tell the cases apart:
//!
//! - A unit that is asked to stop leaves `active` before its main process ends. If the process ends by itself, the order
//!   is reversed. (The exceptions are the watchdog and the out-of-memory killer.)
//! - systemd checks a unit's conditions at every attempt to start it. An attempt after the last end of the main process
//!   means that systemd tried again and the main process was not started: the start limit was hit, or `ExecStartPre=`
//!   failed.
//! - A unit that `Restart=` covers and that was not tried again was stopped on request.

use super::properties::{Properties, Times};
use super::state::{ActiveState, RestartPolicy, SubState, UnitResult};
use crate::basic::clock::Monotonic;

/// What became of a unit that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Diagnosis {
    /// It is not failed: systemd is going to start it again, or has.
    Restarted,
    /// A job is queued for it.
    Busy,
    /// It was asked to stop, and failed on the way.
    AskedToStop,
    /// It failed by itself, and systemd does not start it again.
    GaveUp,
}

/// Diagnoses a unit that failed.
///
/// One case looks like giving up: a unit without `Restart=` that is asked to stop while it is still starting, and fails.
pub fn diagnose(unit: &Properties) -> Diagnosis {
    let Times { condition_checked: attempted, main_started, main_exited, .. } = unit.times;
    if unit.has_job {
        return Diagnosis::Busy;
    }
    // Exactly `failed`: 254 and later pass through `failed-before-auto-restart` at every crash.
    if unit.sub != SubState::Failed {
        return Diagnosis::Restarted;
    }
    if attempted > main_exited && attempted > main_started {
        return Diagnosis::GaveUp;
    }
    let died_while_starting = unit.times.active_entered < main_started;
    let died_by_itself = unit.times.active_left >= main_exited;
    if !died_while_starting && died_by_itself {
        return Diagnosis::GaveUp;
    }
    let stopped_by_systemd = matches!(unit.result, Some(UnitResult::Watchdog | UnitResult::OomKill));
    if !died_while_starting && !stopped_by_systemd {
        return Diagnosis::AskedToStop;
    }
    if !restart_covers(unit) {
        return Diagnosis::GaveUp;
    }
    // `Restart=` covers this end, and no attempt followed it. RestartMode=direct does not check the conditions again,
    // though, so that an attempt that the start limit refused shows only by its delay.
    let micros = |time: Option<Monotonic>| time.map_or(0, Monotonic::micros);
    let waited = micros(unit.times.inactive_entered).saturating_sub(micros(main_exited));
    match u128::from(waited) >= unit.restart_delay.as_micros() {
        true => Diagnosis::GaveUp,
        false => Diagnosis::AskedToStop,
    }
}

/// Whether a failed unit failed only because it was asked to stop.
pub fn was_asked_to_stop(unit: &Properties) -> bool {
    unit.active == ActiveState::Failed && diagnose(unit) == Diagnosis::AskedToStop
}

/// Whether `Restart=` starts a unit again that failed like this (the table in systemd.service(5)).
pub(super) fn restart_covers(unit: &Properties) -> bool {
    if unit.restart_prevented {
        return false;
    }
    match unit.restart {
        RestartPolicy::Always | RestartPolicy::OnFailure => true,
        RestartPolicy::OnAbnormal => unit.result != Some(UnitResult::ExitCode),
        RestartPolicy::OnWatchdog => unit.result == Some(UnitResult::Watchdog),
        RestartPolicy::OnAbort => matches!(unit.result, Some(UnitResult::Signal | UnitResult::CoreDump)),
        RestartPolicy::No | RestartPolicy::OnSuccess | RestartPolicy::Other(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(micros: u64) -> Option<Monotonic> {
        Monotonic::from_micros(micros)
    }

    /// A unit that became active, then died by itself, with systemd's defaults for the rest.
    fn crashed() -> Properties {
        Properties {
            sub: SubState::Failed,
            result: Some(UnitResult::ExitCode),
            restart: RestartPolicy::OnFailure,
            restart_delay: Duration::from_secs(1),
            times: Times {
                condition_checked: at(10_000_000),
                main_started: at(10_000_100),
                active_entered: at(10_000_200),
                main_exited: at(12_000_000),
                active_left: at(12_000_050),
                inactive_entered: at(12_000_050),
                ..Times::default()
            },
            ..Properties::default()
        }
    }

    fn with(unit: Properties, change: impl FnOnce(&mut Times)) -> Properties {
        let mut unit = unit;
        change(&mut unit.times);
        unit
    }

    /// The same, asked to stop.
    fn stopped() -> Properties {
        with(crashed(), |times| times.active_left = at(11_900_000))
    }

    /// Died or was stopped before it was active.
    fn starting() -> Properties {
        with(crashed(), |times| (times.active_entered, times.active_left) = (at(5_000_000), at(6_000_000)))
    }

    fn refused_at(attempt: u64, unit: Properties) -> Properties {
        with(unit, |times| (times.condition_checked, times.inactive_entered) = (at(attempt), at(attempt + 10)))
    }

    fn failed_at(micros: u64, unit: Properties) -> Properties {
        with(unit, |times| times.inactive_entered = at(micros))
    }

    fn no_restart(unit: Properties) -> Properties {
        Properties { restart: RestartPolicy::No, ..unit }
    }

    fn by(result: UnitResult, unit: Properties) -> Properties {
        Properties { result: Some(result), ..unit }
    }

    #[test]
    fn what_became_of_it() {
        use Diagnosis::{AskedToStop, Busy, GaveUp, Restarted};
        let sub = |sub| Properties { sub, ..crashed() };
        for (situation, unit, expected) in [
            ("waits for its restart", sub(SubState::AutoRestart), Restarted),
            ("254: between crash and restart", sub(SubState::FailedBeforeAutoRestart), Restarted),
            ("runs again", sub(SubState::Running), Restarted),
            ("being restarted by hand", Properties { has_job: true, ..stopped() }, Busy),
            ("crashed, no Restart=", no_restart(crashed()), GaveUp),
            ("crashed, the start limit refused the next start", refused_at(13_000_050, crashed()), GaveUp),
            ("crashed, RestartMode=direct, start limit", failed_at(13_000_050, crashed()), GaveUp),
            ("stopped, exits 1 on SIGTERM", stopped(), AskedToStop),
            ("stopped, exits 1 on SIGTERM, no Restart=", no_restart(stopped()), AskedToStop),
            ("stopped, had to be killed", by(UnitResult::Timeout, stopped()), AskedToStop),
            ("restarted by hand, exits 1, then ExecStartPre= fails", refused_at(12_500_000, stopped()), GaveUp),
            (
                "ExecStartPre= failed at the very first start",
                with(crashed(), |times| {
                    (times.main_started, times.main_exited) = (None, None);
                    (times.active_entered, times.active_left) = (None, None);
                }),
                GaveUp,
            ),
            ("never became active, no Restart=", no_restart(starting()), GaveUp),
            ("never became active, the start limit refused the next start", refused_at(13_000_050, starting()), GaveUp),
            ("never became active, RestartMode=direct, start limit", failed_at(13_000_050, starting()), GaveUp),
            ("asked to stop while starting, exits 1", starting(), AskedToStop),
            (
                "never became active, RestartPreventExitStatus= has its exit status",
                Properties { restart_prevented: true, ..starting() },
                GaveUp,
            ),
            (
                "never became active, on-abnormal does not cover an exit status",
                Properties { restart: RestartPolicy::OnAbnormal, ..starting() },
                GaveUp,
            ),
            ("watchdog, no Restart=", no_restart(by(UnitResult::Watchdog, stopped())), GaveUp),
            (
                "watchdog, the start limit refused the next start",
                refused_at(13_000_050, by(UnitResult::Watchdog, stopped())),
                GaveUp,
            ),
            ("out of memory, no Restart=", no_restart(by(UnitResult::OomKill, stopped())), GaveUp),
        ] {
            assert_eq!(diagnose(&unit), expected, "{situation}");
        }
    }

    #[test]
    fn which_ends_restart_covers() {
        let results = ["exit-code", "signal", "core-dump", "timeout", "watchdog", "oom-kill"];
        for (restart, covered) in [
            ("no", [false; 6]),
            ("on-success", [false; 6]),
            ("on-failure", [true; 6]),
            ("always", [true; 6]),
            ("on-abnormal", [false, true, true, true, true, true]),
            ("on-abort", [false, true, true, false, false, false]),
            ("on-watchdog", [false, false, false, false, true, false]),
        ] {
            for (result, expected) in results.iter().zip(covered) {
                let unit = by((*result).into(), Properties { restart: restart.into(), ..crashed() });
                assert_eq!(restart_covers(&unit), expected, "Restart={restart}, {result}");
            }
        }
    }
}
