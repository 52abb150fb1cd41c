//! The state of a service in supervisord's words: what runs, what ended by itself, what was stopped on request, and what
//! systemd does not start again.
//!
//! systemd has `inactive` for a process that was stopped and for one that exited, and `failed` for one that was stopped and
//! exited with a failure. The times tell them apart. A unit that is asked to stop leaves `active` before its main process
//! ends, a process that exits by itself before its unit leaves `active` (measured on 252, 257 and 262: 0.2 ms after in one
//! case, 5 ms and more before in the other). They survive a daemon-reload.

use std::fmt;

use super::cause::{Cause, ProcessEnd};
use super::gave_up::restart_covers;
use super::properties::{Properties, Times};
use super::state::{ActiveState, LoadState, RestartPolicy, SubState, UnitResult};

/// The states of supervisord (`supervisor.states.ProcessStates`), with their codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProcessState {
    /// Stopped on request, or never started.
    Stopped = 0,
    Starting = 10,
    Running = 20,
    /// It ended, and systemd is about to start it again.
    Backoff = 30,
    Stopping = 40,
    /// It ended by itself.
    Exited = 100,
    /// It could not be started, or is not started again.
    Fatal = 200,
    Unknown = 1000,
}

impl ProcessState {
    pub fn code(self) -> i32 {
        self as i32
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Stopped => "STOPPED",
            Self::Starting => "STARTING",
            Self::Running => "RUNNING",
            Self::Backoff => "BACKOFF",
            Self::Stopping => "STOPPING",
            Self::Exited => "EXITED",
            Self::Fatal => "FATAL",
            Self::Unknown => "UNKNOWN",
        }
    }

    /// Whether it has a process, or will have one without a request: what supervisord's `start` refuses.
    pub fn is_up(self) -> bool {
        matches!(self, Self::Starting | Self::Running | Self::Backoff)
    }

    /// Whether a signal can reach it.
    pub fn is_signallable(self) -> bool {
        matches!(self, Self::Starting | Self::Running | Self::Stopping)
    }
}

/// The state of a service. `reset-failed` clears `Result=` and the failed state, but no times.
pub fn process_state(unit: &Properties) -> ProcessState {
    use ProcessState::{Backoff, Exited, Fatal, Running, Starting, Stopped, Stopping, Unknown};
    match unit.active {
        ActiveState::Active if unit.sub == SubState::Exited => Exited,
        ActiveState::Active | ActiveState::Reloading | ActiveState::Refreshing => Running,
        ActiveState::Activating => match unit.sub {
            SubState::AutoRestart | SubState::AutoRestartQueued => Backoff,
            // Its job lasts until it is done, so that `oneshot` is never active while it runs.
            _ if unit.oneshot && unit.pid.is_some() => Running,
            _ => Starting,
        },
        ActiveState::Deactivating => Stopping,
        ActiveState::Inactive | ActiveState::Failed => match unit.load {
            LoadState::NotFound | LoadState::BadSetting | LoadState::Error => Fatal,
            LoadState::Masked => Stopped,
            _ => ended(unit),
        },
        ActiveState::Maintenance | ActiveState::Other(_) => Unknown,
    }
}

/// Of a unit that is inactive or failed: the first rule that fits.
fn ended(unit: &Properties) -> ProcessState {
    use ProcessState::{Exited, Fatal, Stopped};
    let Times { main_started: began, main_exited: ended, active_left: left, .. } = unit.times;
    let failed = unit.active == ActiveState::Failed;
    if began.is_none() {
        return if failed { Fatal } else { Stopped };
    }
    if unit.result == Some(UnitResult::StartLimitHit) {
        return Fatal;
    }
    if began <= left && left < ended {
        return Stopped;
    }
    let killed = matches!(unit.main_end, Some(ProcessEnd::Killed(_)));
    if !failed && left < began && killed {
        return Stopped;
    }
    // What systemd itself ended, or could not execute.
    let of_systemd = matches!(unit.main_end, Some(ProcessEnd::Exited(200..=245)));
    let result = unit.result.as_ref().map(UnitResult::as_str);
    if failed && matches!(result, Some("timeout" | "protocol" | "resources")) || of_systemd {
        return Fatal;
    }
    let terminated = unit.main_end == Some(ProcessEnd::Killed(libc::SIGTERM));
    if failed && unit.oneshot && terminated {
        return Stopped;
    }
    match (failed, restart_covers(unit)) {
        (true, true) => Fatal,
        // In `auto-restart` when it was stopped, or its failed state was reset since.
        (false, _) if would_restart(unit) => Stopped,
        _ => Exited,
    }
}

/// Whether `Restart=` starts a unit again after its last end, if that was no request. `Result=` may be reset, the exit
/// status is not.
fn would_restart(unit: &Properties) -> bool {
    let good = match unit.main_end {
        Some(ProcessEnd::Exited(status)) => status == 0,
        // systemd.service(5), SuccessExitStatus=
        Some(ProcessEnd::Killed(signal)) => {
            [libc::SIGHUP, libc::SIGINT, libc::SIGTERM, libc::SIGPIPE].contains(&signal)
        }
        None => return false,
    };
    match unit.restart {
        _ if unit.restart_prevented => false,
        RestartPolicy::Always => true,
        RestartPolicy::OnSuccess => good,
        RestartPolicy::OnFailure => !good && unit.result == Some(UnitResult::Success),
        RestartPolicy::OnAbnormal | RestartPolicy::OnAbort => {
            !good && matches!(unit.main_end, Some(ProcessEnd::Killed(_)))
        }
        _ => false,
    }
}

/// Why a unit in this state is not up: supervisord's `spawnerr`. Empty where there is nothing to explain.
pub fn reason(unit: &Properties, state: ProcessState) -> String {
    let last = || match unit.main_end {
        Some(ProcessEnd::Exited(status)) => format!("exit status {status}"),
        Some(ProcessEnd::Killed(signal)) => format!("killed by SIG{}", crate::basic::signal::short_name(signal)),
        None => String::new(),
    };
    match state {
        ProcessState::Exited => match unit.main_end {
            Some(ProcessEnd::Exited(status)) if status != 0 => format!("Bad exit code {status}"),
            _ => String::new(),
        },
        ProcessState::Backoff => match unit.result {
            Some(UnitResult::Timeout) => "not ready in time".to_owned(),
            _ => last(),
        },
        ProcessState::Fatal => fatal(unit, last()),
        _ => String::new(),
    }
}

fn fatal(unit: &Properties, last: String) -> String {
    match (&unit.load, &unit.result) {
        (LoadState::NotFound | LoadState::BadSetting | LoadState::Error, _) => format!("unit is {}", unit.load),
        (_, Some(UnitResult::Timeout)) if unit.times.active_left < unit.times.main_started => {
            "not ready in time".to_owned()
        }
        (_, Some(UnitResult::Timeout)) => "did not stop in time".to_owned(),
        _ if unit.times.main_started.is_none() => match &unit.result {
            Some(result) => Cause { result: result.clone(), main: None }.to_string(),
            None => "failed".to_owned(),
        },
        _ if restart_covers(unit) || unit.result == Some(UnitResult::StartLimitHit) => {
            format!("started too often; last: {last}")
        }
        _ => last,
    }
}

impl fmt::Display for ProcessState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basic::clock::Monotonic;

    const BEGAN: u64 = 1_000_000;
    const ENDED: u64 = 5_000_000;

    fn at(micros: u64) -> Option<Monotonic> {
        Monotonic::from_micros(micros)
    }

    /// A service whose main process ended so, and whose unit left `active` at `left` (0: it never was).
    fn unit(active: &str, result: &str, left: u64, main_end: ProcessEnd) -> Properties {
        Properties {
            active: ActiveState::from(active),
            sub: SubState::from(if active == "failed" { "failed" } else { "dead" }),
            result: Some(UnitResult::from(result)),
            main_end: Some(main_end),
            times: Times { main_started: at(BEGAN), main_exited: at(ENDED), active_left: at(left), ..Times::default() },
            ..Properties::default()
        }
    }

    /// As seen on 252, 257 and 262.
    #[test]
    fn what_ended_by_itself_and_what_was_stopped() {
        use ProcessEnd::{Exited as Exit, Killed};
        use ProcessState::{Exited, Fatal, Stopped};
        use RestartPolicy::{Always, No, OnFailure};
        let (itself, asked, never) = (ENDED + 200, ENDED - 7_000, 0);
        for (name, active, result, left, end, restart, expected) in [
            ("stopped", "inactive", "success", asked, Killed(15), No, Stopped),
            ("exit 0", "inactive", "success", itself, Exit(0), No, Exited),
            ("exit 3", "failed", "exit-code", itself, Exit(3), No, Exited),
            ("crash", "failed", "signal", itself, Killed(11), No, Exited),
            ("exits 0 when stopped", "inactive", "success", asked, Exit(0), Always, Stopped),
            ("exits 5 when stopped", "failed", "exit-code", asked, Exit(5), No, Stopped),
            ("exits 5 when stopped, with Restart=", "failed", "exit-code", asked, Exit(5), OnFailure, Stopped),
            ("does not stop in time", "failed", "timeout", asked, Killed(9), No, Stopped),
            ("killed from outside", "failed", "signal", itself, Killed(9), No, Exited),
            ("gave up", "failed", "exit-code", itself, Exit(3), OnFailure, Fatal),
            ("gave up, 262", "failed", "start-limit-hit", itself, Exit(0), Always, Fatal),
            ("stopped between two starts", "inactive", "success", itself, Exit(0), Always, Stopped),
            ("no program", "failed", "exit-code", itself, Exit(203), No, Fatal),
            ("no user", "failed", "exit-code", never, Exit(217), OnFailure, Fatal),
            ("not ready in time", "failed", "timeout", never, Killed(15), No, Fatal),
            ("stopped before it was ready", "inactive", "success", never, Killed(15), No, Stopped),
            ("exit 3 after reset-failed", "inactive", "success", itself, Exit(3), No, Exited),
        ] {
            let unit = Properties { restart, ..unit(active, result, left, end) };
            assert_eq!(process_state(&unit), expected, "{name}");
        }
    }

    #[test]
    fn a_oneshot_is_never_active_while_it_runs() {
        let oneshot = |unit: Properties| Properties { oneshot: true, ..unit };
        let running = Properties { active: ActiveState::Activating, pid: Some(7), ..Properties::default() };
        assert_eq!(process_state(&oneshot(running.clone())), ProcessState::Running);
        assert_eq!(process_state(&running), ProcessState::Starting);
        let done = unit("inactive", "success", 0, ProcessEnd::Exited(0));
        assert_eq!(process_state(&oneshot(done)), ProcessState::Exited);
        let kept = Properties { sub: SubState::Exited, active: ActiveState::Active, ..Properties::default() };
        assert_eq!(process_state(&oneshot(kept)), ProcessState::Exited);
        let stopped = unit("failed", "signal", 0, ProcessEnd::Killed(libc::SIGTERM));
        assert_eq!(process_state(&oneshot(stopped)), ProcessState::Stopped);
        let failed = unit("failed", "exit-code", 0, ProcessEnd::Exited(3));
        assert_eq!(process_state(&oneshot(failed)), ProcessState::Exited);
    }

    #[test]
    fn what_did_not_run_at_all() {
        let of = |active: &str, load: &str| {
            let (active, load) = (ActiveState::from(active), LoadState::from(load));
            process_state(&Properties { active, load, ..Properties::default() })
        };
        assert_eq!(of("inactive", "loaded"), ProcessState::Stopped);
        assert_eq!(of("failed", "loaded"), ProcessState::Fatal);
        assert_eq!(of("inactive", "not-found"), ProcessState::Fatal);
        assert_eq!(of("inactive", "bad-setting"), ProcessState::Fatal);
        assert_eq!(of("inactive", "masked"), ProcessState::Stopped);
        assert_eq!(of("active", "masked"), ProcessState::Running);
        assert_eq!(of("maintenance", "loaded"), ProcessState::Unknown);
        assert_eq!(of("deactivating", "loaded"), ProcessState::Stopping);
        assert_eq!(of("refreshing", "loaded"), ProcessState::Running);
    }

    #[test]
    fn why_it_is_not_up() {
        let exited = unit("failed", "exit-code", ENDED + 200, ProcessEnd::Exited(3));
        let covered = Properties { restart: RestartPolicy::OnFailure, ..exited.clone() };
        assert_eq!(reason(&exited, ProcessState::Exited), "Bad exit code 3");
        assert_eq!(reason(&covered, ProcessState::Fatal), "started too often; last: exit status 3");
        assert_eq!(reason(&covered, ProcessState::Backoff), "exit status 3");
        let crashed = unit("failed", "signal", ENDED + 200, ProcessEnd::Killed(11));
        assert_eq!(reason(&crashed, ProcessState::Backoff), "killed by SIGSEGV");
        let late = unit("failed", "timeout", 0, ProcessEnd::Killed(15));
        assert_eq!(reason(&late, ProcessState::Fatal), "not ready in time");
        assert_eq!(reason(&exited, ProcessState::Stopped), "");
    }
}
