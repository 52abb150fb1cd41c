//! What a unit's properties say about how it runs, as plain values.

use std::collections::HashMap;

use futures_util::future::try_join_all;
use zbus::OwnedVariant;

use super::Connected;
use super::gave_up::{Failure, Judgement, judge};
use super::unit::{Monotonic, get};
use crate::basic::signal;
use crate::model::parse::grammar;

/// A unit's properties, as far as people want to know them. What a kind of unit doesn't have is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Details {
    /// When it came into its `ActiveState=`, in microseconds since the epoch; zero: never.
    pub since: u64,
    /// `MainPID=`; zero: none.
    pub pid: u32,
    /// `NRestarts=`
    pub restarts: u32,
    /// `MemoryCurrent=`, `MemoryMax=` in bytes, where they are accounted or set.
    pub memory: Option<u64>,
    /// `MemoryMax=`, unless it is `infinity`.
    pub memory_max: Option<u64>,
    /// `CPUUsageNSec=`
    pub cpu_nsec: Option<u64>,
    /// `TasksCurrent=`
    pub tasks: Option<u64>,
    /// `StatusText=`: what it says about itself.
    pub status_text: String,
    /// `Result=`: `success`, `exit-code`, `signal`, `timeout`, …
    pub result: String,
    /// `ExecMainCode=`, as `si_code` of waitid(2).
    pub main_code: i32,
    /// `ExecMainStatus=`: an exit status or a signal's number.
    pub main_status: i32,
    /// `ExecMainExitTimestampMonotonic=`
    pub main_exited: Monotonic,
    /// `ExecMainStartTimestampMonotonic=`
    pub main_started: Monotonic,
    /// `ExecMainStartTimestamp=`, in microseconds since the epoch.
    pub main_started_at: u64,
    /// `ActiveEnterTimestampMonotonic=`
    pub active_entered: Monotonic,
    /// `ActiveExitTimestampMonotonic=`
    pub active_left: Monotonic,
    /// `InactiveExitTimestampMonotonic=`: when it was last started; of a service that restarts with
    /// `RestartMode=direct`, when that began.
    pub left_inactive: Monotonic,
    /// It failed when it was asked to stop: nobody gave it up.
    pub asked_to_stop: bool,
    /// A `Condition…=` was looked at last and wasn't met.
    pub condition_failed: bool,
    /// An `Assert…=` was looked at last and wasn't met.
    pub assertion_failed: bool,
    /// `FreezerState=frozen`, or with its slice: its processes are suspended.
    pub frozen: bool,
    /// `NeedDaemonReload=`: its file changed since systemd read it.
    pub needs_reload: bool,
    /// `FragmentPath=`
    pub fragment: String,
    /// `DropInPaths=`
    pub drop_ins: Vec<String>,
    /// `ConsistsOf=`: what is `PartOf=` it.
    pub consists_of: Vec<String>,
}

/// `si_code` of a process that exited by itself.
const EXITED: i32 = 1;

impl Details {
    /// From what `GetAll()` answers.
    pub fn new(properties: &HashMap<String, OwnedVariant>) -> Self {
        let text = |name| get::<String>(properties, name).unwrap_or_default();
        let number = |name| get::<u64>(properties, name);
        let set = |name| number(name).filter(|value| *value != u64::MAX);
        let moment = |name: &'static str| Monotonic(number(name).unwrap_or(0));
        let truth = |name| get::<bool>(properties, name).unwrap_or(false);
        let list = |name| get::<Vec<String>>(properties, name).unwrap_or_default();
        // The result is `no` before anything was looked at, too.
        let unmet = |when: &'static str, result: &'static str| moment(when).happened() && !truth(result);
        let since = match text("ActiveState").as_str() {
            "active" | "reloading" | "refreshing" => "ActiveEnterTimestamp",
            "inactive" | "failed" => "InactiveEnterTimestamp",
            _ => "StateChangeTimestamp",
        };
        Self {
            since: number(since).unwrap_or(0),
            pid: get(properties, "MainPID").unwrap_or(0),
            restarts: get(properties, "NRestarts").unwrap_or(0),
            memory: set("MemoryCurrent"),
            memory_max: set("MemoryMax"),
            cpu_nsec: set("CPUUsageNSec"),
            tasks: set("TasksCurrent"),
            status_text: text("StatusText"),
            result: text("Result"),
            main_code: get(properties, "ExecMainCode").unwrap_or(0),
            main_status: get(properties, "ExecMainStatus").unwrap_or(0),
            main_exited: moment("ExecMainExitTimestampMonotonic"),
            main_started: moment("ExecMainStartTimestampMonotonic"),
            main_started_at: number("ExecMainStartTimestamp").unwrap_or(0),
            active_entered: moment("ActiveEnterTimestampMonotonic"),
            active_left: moment("ActiveExitTimestampMonotonic"),
            left_inactive: moment("InactiveExitTimestampMonotonic"),
            asked_to_stop: text("ActiveState") == "failed"
                && judge(&Failure::new(properties)) == Judgement::AskedToStop,
            condition_failed: unmet("ConditionTimestampMonotonic", "ConditionResult"),
            assertion_failed: !unmet("ConditionTimestampMonotonic", "ConditionResult")
                && unmet("AssertTimestampMonotonic", "AssertResult"),
            frozen: matches!(text("FreezerState").as_str(), "frozen" | "frozen-by-parent"),
            needs_reload: truth("NeedDaemonReload"),
            fragment: text("FragmentPath"),
            drop_ins: list("DropInPaths"),
            consists_of: list("ConsistsOf"),
        }
    }

    /// How the main process of a failed unit ended: `signal SEGV`, `exit status 1`, `exit status 203/EXEC`, or else systemd's `Result=`.
    pub fn end(&self) -> String {
        match (self.result.as_str(), self.main_code) {
            ("exit-code" | "start-limit-hit", EXITED) => exit_status(self.main_status),
            ("signal" | "core-dump" | "start-limit-hit", 2 | 3) => {
                format!("signal {}", signal::short_name(self.main_status))
            }
            (result, _) => result.to_owned(),
        }
    }

    /// Whether a service that is inactive now ended well by itself: one that is asked to stop leaves `active` first,
    /// and its process ends then.
    pub fn ended_by_itself(&self) -> bool {
        self.result == "success" && self.main_exited.happened() && self.active_left >= self.main_exited
    }
}

/// An exit status; with its name as `systemctl status` has it where systemd itself ended the process before the program
/// was executed (systemd.exec(5), "Process Exit Codes").
fn exit_status(status: i32) -> String {
    match ended_by_systemd(status) {
        Some(name) => format!("exit status {status}/{name}"),
        None => format!("exit status {status}"),
    }
}

/// The name of the exit status of a process that systemd itself ended because it couldn't be made what its unit says.
fn ended_by_systemd(status: i32) -> Option<&'static str> {
    const FIRST: i32 = 200;
    const LAST: i32 = 244;
    const UNUSED: [i32; 2] = [223, 234];
    if !(FIRST..=LAST).contains(&status) || UNUSED.contains(&status) {
        return None;
    }
    let place = (FIRST..status).filter(|status| !UNUSED.contains(status)).count();
    grammar::STATUSES.iter().copied().skip_while(|name| *name != "CHDIR").nth(place)
}

/// What it means that a process ended so before its program was executed; `end` as [`Details::end`] has it. systemd says
/// more in the journal, but not always: of 257's executor, most of these lines get lost.
pub fn before_exec(end: &str) -> Option<&'static str> {
    let (_, name) = end.rsplit_once("exit status ")?.1.split_once('/')?;
    Some(match name {
        "CHDIR" => "its working directory can't be entered",
        "EXEC" => "its program isn't there, or can't be executed",
        "USER" => "its user isn't known, or it can't become that user",
        "GROUP" => "its group isn't known, or it can't become part of it",
        "STDIN" | "STDOUT" | "STDERR" => "where it reads from or writes to can't be opened",
        "CREDENTIALS" => "a credential can't be read",
        "NAMESPACE" => {
            "what it may see of the file system can't be set up: a path in its sandbox isn't there, or it is refused"
        }
        "RUNTIME_DIRECTORY" | "STATE_DIRECTORY" | "CACHE_DIRECTORY" | "LOGS_DIRECTORY" | "CONFIGURATION_DIRECTORY" => {
            "a directory of its own can't be made"
        }
        _ => "systemd couldn't make it what its unit says: systemd.exec(5), \"Process Exit Codes\"",
    })
}

/// The details of units, in their order. All questions are asked at once, and the manager answers them in one go.
///
/// # Errors
/// What the connection or the manager refuses.
pub async fn details(systemd: &Connected, units: &[String]) -> zbus::Result<Vec<Details>> {
    let asked = units.iter().map(|unit| async move { Ok(Details::new(&systemd.properties(unit).await?)) });
    try_join_all(asked).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_process_ended() {
        for (result, main_code, main_status, expected) in [
            ("exit-code", 1, 3, "exit status 3"),
            ("signal", 2, 11, "signal SEGV"),
            ("core-dump", 3, 6, "signal ABRT"),
            ("signal", 2, 40, "signal 40"),
            ("timeout", 2, 15, "timeout"),
            ("exit-code", 1, 199, "exit status 199"),
            ("exit-code", 1, 200, "exit status 200/CHDIR"),
            ("exit-code", 1, 203, "exit status 203/EXEC"),
            ("exit-code", 1, 217, "exit status 217/USER"),
            ("exit-code", 1, 243, "exit status 243/CREDENTIALS"),
            ("exit-code", 1, 255, "exit status 255"),
            ("start-limit-hit", 1, 1, "exit status 1"),
            ("start-limit-hit", 0, 0, "start-limit-hit"),
            ("protocol", 1, 0, "protocol"),
        ] {
            let details = Details { result: result.to_owned(), main_code, main_status, ..Details::default() };
            assert_eq!(details.end(), expected, "{result} {main_code} {main_status}");
        }
    }

    #[test]
    fn what_happened_before_the_program() {
        assert_eq!(before_exec("failed: exit status 203/EXEC"), Some("its program isn't there, or can't be executed"));
        assert!(before_exec("exit status 244/BPF").is_some_and(|text| text.contains("Process Exit Codes")));
        assert_eq!([before_exec("exit status 1"), before_exec("signal SEGV"), before_exec("timeout")], [None; 3]);
    }

    #[test]
    fn who_is_asked_to_stop_leaves_active_first() {
        let ended = |result: &str, active_left, main_exited| {
            let result = result.to_owned();
            let (active_left, main_exited) = (Monotonic(active_left), Monotonic(main_exited));
            Details { result, active_left, main_exited, ..Details::default() }.ended_by_itself()
        };
        assert!(ended("success", 11, 10));
        assert!(!ended("success", 10, 11));
        assert!(!ended("success", 0, 0));
        assert!(!ended("signal", 11, 10));
    }
}
