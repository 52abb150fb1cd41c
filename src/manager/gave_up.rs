//! Did systemd give this unit up for good? The rule behind `failure-policy = "stop"`, without any D-Bus.
//!
//! `OnFailure=` alone doesn't tell. From systemd 254 on it fires at every crash, also those that `Restart=`
//! repairs; and on all versions it fires when a unit was *asked* to stop or restart and ended badly. Neither
//! must take a group down. What tells the cases apart are the moments in the unit's life:
//!
//! - A unit that was asked to stop leaves `active` first, then its main process ends. One that dies by itself
//!   does it the other way round. (The exceptions are the watchdog and the out-of-memory killer.)
//! - systemd looks at a unit's conditions at every attempt to start it. An attempt after the last end of the
//!   main process means that systemd tried again and the unit didn't get as far as running: the start limit
//!   refused it, or `ExecStartPre=` failed.
//! - A unit that `Restart=` would have brought back, and that wasn't tried again, was told not to come back.

use std::collections::HashMap;

use zbus::OwnedVariant;

use super::unit::{Monotonic, get};

/// A unit that `OnFailure=` fired for, as it stands now. The names are those of its D-Bus properties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// `SubState=`.
    pub sub_state: String,
    /// Whether a job waits or runs for it.
    pub has_job: bool,
    /// `Result=`, the first thing that went wrong.
    pub result: String,
    /// `Restart=`.
    pub restart: String,
    /// `RestartUSec=`, in microseconds.
    pub restart_usec: u64,
    /// `RestartPreventExitStatus=` or a signal in it says that this end is final.
    pub restart_prevented: bool,
    /// `ActiveEnterTimestampMonotonic=`.
    pub active_entered: Monotonic,
    /// `ActiveExitTimestampMonotonic=`.
    pub active_left: Monotonic,
    /// `InactiveEnterTimestampMonotonic=`: when it became `failed`.
    pub failed_at: Monotonic,
    /// `ConditionTimestampMonotonic=`: the last attempt to start it.
    pub attempted: Monotonic,
    /// `ExecMainStartTimestampMonotonic=`.
    pub main_started: Monotonic,
    /// `ExecMainExitTimestampMonotonic=`.
    pub main_exited: Monotonic,
}

impl Failure {
    /// From what `GetAll()` answers.
    pub fn new(properties: &HashMap<String, OwnedVariant>) -> Self {
        let moment = |name| Monotonic(get(properties, name).unwrap_or(0));
        let text = |name| get::<String>(properties, name).unwrap_or_default();
        Failure {
            sub_state: text("SubState"),
            has_job: has_job(properties),
            result: text("Result"),
            restart: text("Restart"),
            restart_usec: get(properties, "RestartUSec").unwrap_or(0),
            restart_prevented: restart_prevented(properties),
            active_entered: moment("ActiveEnterTimestampMonotonic"),
            active_left: moment("ActiveExitTimestampMonotonic"),
            failed_at: moment("InactiveEnterTimestampMonotonic"),
            attempted: moment("ConditionTimestampMonotonic"),
            main_started: moment("ExecMainStartTimestampMonotonic"),
            main_exited: moment("ExecMainExitTimestampMonotonic"),
        }
    }
}

/// `Job=` is a job's number and path; number zero is none.
fn has_job(properties: &HashMap<String, OwnedVariant>) -> bool {
    properties
        .get("Job")
        .and_then(|job| job.downcast_ref::<zbus::Structure<'_>>().ok())
        .and_then(|job| job.fields().first().and_then(|id| id.downcast_ref::<u32>().ok()))
        .is_some_and(|id| id != 0)
}

/// Whether the main process's end is one of `RestartPreventExitStatus=`: exit statuses, then signals.
fn restart_prevented(properties: &HashMap<String, OwnedVariant>) -> bool {
    // waitid(2): how a process can end.
    const EXITED: i32 = 1;
    let code: i32 = get(properties, "ExecMainCode").unwrap_or(0);
    let status: i32 = get(properties, "ExecMainStatus").unwrap_or(0);
    let Some(prevent) =
        properties.get("RestartPreventExitStatus").and_then(|value| value.downcast_ref::<zbus::Structure<'_>>().ok())
    else {
        return false;
    };
    let list = prevent.fields().get(usize::from(code != EXITED));
    code != 0
        && list
            .and_then(|list| list.try_clone().ok())
            .and_then(|list| Vec::<i32>::try_from(list).ok())
            .is_some_and(|list| list.contains(&status))
}

/// What became of a unit that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// It isn't failed: systemd restarts it, or it is up again.
    Repaired,
    /// A job is queued for it: somebody starts or stops it right now.
    Busy,
    /// It was asked to stop, and ended badly. Nobody gave it up.
    AskedToStop,
    /// It failed by itself, and stays down.
    GaveUp,
}

/// Judges a failed unit.
///
/// One case can't be told from giving up: a unit without `Restart=` that is asked to stop while it is still
/// starting, and ends badly.
pub fn judge(unit: &Failure) -> Judgement {
    if unit.has_job {
        return Judgement::Busy;
    }
    // Exactly `failed`: 254 and later pass through `failed-before-auto-restart` at every crash.
    if unit.sub_state != "failed" {
        return Judgement::Repaired;
    }
    if unit.attempted > unit.main_exited && unit.attempted > unit.main_started {
        return Judgement::GaveUp;
    }
    let died_while_starting = unit.active_entered < unit.main_started;
    let died_by_itself = unit.active_left >= unit.main_exited;
    if !died_while_starting && died_by_itself {
        return Judgement::GaveUp;
    }
    let stopped_by_systemd = matches!(unit.result.as_str(), "watchdog" | "oom-kill");
    if !died_while_starting && !stopped_by_systemd {
        return Judgement::AskedToStop;
    }
    if !restart_covers(unit) {
        return Judgement::GaveUp;
    }
    // `Restart=` covers this end and no attempt followed it. RestartMode=direct doesn't look at the
    // conditions again, though, so an attempt that the start limit refused shows only by its delay.
    let waited = unit.failed_at.0.saturating_sub(unit.main_exited.0);
    if waited >= unit.restart_usec { Judgement::GaveUp } else { Judgement::AskedToStop }
}

/// Whether `Restart=` brings a unit back that ended like this (the table in systemd.service(5)).
fn restart_covers(unit: &Failure) -> bool {
    if unit.restart_prevented {
        return false;
    }
    match unit.restart.as_str() {
        "always" | "on-failure" => true,
        "on-abnormal" => unit.result != "exit-code",
        "on-watchdog" => unit.result == "watchdog",
        "on-abort" => matches!(unit.result.as_str(), "signal" | "core-dump"),
        // `no`, and `on-success`: this is about units that failed.
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A unit that became active, then died by itself, with systemd's defaults for the rest.
    fn crashed() -> Failure {
        Failure {
            sub_state: "failed".to_owned(),
            has_job: false,
            result: "exit-code".to_owned(),
            restart: "on-failure".to_owned(),
            restart_usec: 1_000_000,
            restart_prevented: false,
            attempted: Monotonic(10_000_000),
            main_started: Monotonic(10_000_100),
            active_entered: Monotonic(10_000_200),
            main_exited: Monotonic(12_000_000),
            active_left: Monotonic(12_000_050),
            failed_at: Monotonic(12_000_050),
        }
    }

    /// The same, asked to stop.
    fn stopped() -> Failure {
        Failure { active_left: Monotonic(11_900_000), ..crashed() }
    }

    /// Died or was stopped before it got active.
    fn starting() -> Failure {
        Failure { active_entered: Monotonic(5_000_000), active_left: Monotonic(6_000_000), ..crashed() }
    }

    fn refused_at(attempt: u64, unit: Failure) -> Failure {
        Failure { attempted: Monotonic(attempt), failed_at: Monotonic(attempt + 10), ..unit }
    }

    #[test]
    fn what_became_of_it() {
        use Judgement::{AskedToStop, Busy, GaveUp, Repaired};
        let text = str::to_owned;
        for (situation, unit, expected) in [
            ("waits for its restart", Failure { sub_state: text("auto-restart"), ..crashed() }, Repaired),
            (
                "254: between crash and restart",
                Failure { sub_state: text("failed-before-auto-restart"), ..crashed() },
                Repaired,
            ),
            ("runs again", Failure { sub_state: text("running"), ..crashed() }, Repaired),
            ("being restarted by hand", Failure { has_job: true, ..stopped() }, Busy),
            ("crashed, no Restart=", Failure { restart: text("no"), ..crashed() }, GaveUp),
            ("crashed, the start limit refused the next start", refused_at(13_000_050, crashed()), GaveUp),
            (
                "crashed, RestartMode=direct, start limit",
                Failure { failed_at: Monotonic(13_000_050), ..crashed() },
                GaveUp,
            ),
            ("stopped, exits 1 on SIGTERM", stopped(), AskedToStop),
            ("stopped, exits 1 on SIGTERM, no Restart=", Failure { restart: text("no"), ..stopped() }, AskedToStop),
            ("stopped, had to be killed", Failure { result: text("timeout"), ..stopped() }, AskedToStop),
            ("restarted by hand, exits 1, then ExecStartPre= fails", refused_at(12_500_000, stopped()), GaveUp),
            (
                "ExecStartPre= failed at the very first start",
                Failure {
                    main_started: Monotonic(0),
                    main_exited: Monotonic(0),
                    active_entered: Monotonic(0),
                    active_left: Monotonic(0),
                    ..crashed()
                },
                GaveUp,
            ),
            ("never came up, no Restart=", Failure { restart: text("no"), ..starting() }, GaveUp),
            ("never came up, the start limit refused the next start", refused_at(13_000_050, starting()), GaveUp),
            (
                "never came up, RestartMode=direct, start limit",
                Failure { failed_at: Monotonic(13_000_050), ..starting() },
                GaveUp,
            ),
            ("asked to stop while starting, exits 1", starting(), AskedToStop),
            (
                "never came up, its exit status is one not to restart on",
                Failure { restart_prevented: true, ..starting() },
                GaveUp,
            ),
            (
                "never came up, on-abnormal doesn't cover an exit status",
                Failure { restart: text("on-abnormal"), ..starting() },
                GaveUp,
            ),
            ("watchdog, no Restart=", Failure { result: text("watchdog"), restart: text("no"), ..stopped() }, GaveUp),
            (
                "watchdog, the start limit refused the next start",
                refused_at(13_000_050, Failure { result: text("watchdog"), ..stopped() }),
                GaveUp,
            ),
            (
                "out of memory, no Restart=",
                Failure { result: text("oom-kill"), restart: text("no"), ..stopped() },
                GaveUp,
            ),
        ] {
            assert_eq!(judge(&unit), expected, "{situation}");
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
                let unit = Failure { restart: restart.to_owned(), result: (*result).to_owned(), ..crashed() };
                assert_eq!(restart_covers(&unit), expected, "Restart={restart}, {result}");
            }
        }
    }
}
