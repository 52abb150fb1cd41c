//! When a start has succeeded, and with which fault it has not.

use std::path::Path;
use std::time::Duration;

use super::fault::{Code, Fault};
use crate::manager::cause::ProcessEnd;
use crate::manager::process_state::{ProcessState, process_state, reason};
use crate::manager::properties::Properties;
use crate::manager::state::LoadState;

/// What is known of a unit that was started.
#[derive(Debug, Clone, Copy)]
pub struct Attempt<'a> {
    /// Its name at the client.
    pub name: &'a str,
    /// The program that its `ExecStart=` executes.
    pub program: Option<&'a str>,
    /// How long it has to stay up.
    pub settle: Duration,
    /// How long its main process has run.
    pub up: Duration,
    /// systemd is done with the job.
    pub job_done: bool,
}

/// Whether a start is decided by now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Success,
    Wait,
    Fault(Fault),
}

/// Judges a unit after its start was asked for.
pub fn judge(unit: &Properties, attempt: &Attempt<'_>) -> Verdict {
    let state = process_state(unit);
    match state {
        // Its job lasts until its process has ended.
        ProcessState::Running if unit.oneshot => Verdict::Success,
        ProcessState::Running if attempt.job_done && attempt.up >= attempt.settle => Verdict::Success,
        ProcessState::Exited if unit.oneshot && is_success(unit) => Verdict::Success,
        ProcessState::Running | ProcessState::Starting | ProcessState::Stopping => Verdict::Wait,
        _ if !attempt.job_done && state != ProcessState::Backoff => Verdict::Wait,
        _ => Verdict::Fault(fault(unit, state, attempt)),
    }
}

fn is_success(unit: &Properties) -> bool {
    unit.main_end == Some(ProcessEnd::Exited(0))
}

/// Why a unit is not up although its start was asked for.
fn fault(unit: &Properties, state: ProcessState, attempt: &Attempt<'_>) -> Fault {
    let name = attempt.name;
    let spawn_error = |why: &str| Fault::new(Code::SpawnError, format!("{name}: {why}"));
    if unit.load == LoadState::Masked {
        return spawn_error("its unit is masked");
    }
    if unit.condition_failed() || unit.assertion_failed() {
        return spawn_error("a condition of its unit is not met");
    }
    match unit.main_end {
        Some(ProcessEnd::Exited(203)) => match attempt.program {
            Some(program) if !Path::new(program).exists() => Fault::new(Code::NoFile, program),
            Some(program) => Fault::new(Code::NotExecutable, program),
            None => spawn_error(&reason(unit, state)),
        },
        Some(ProcessEnd::Exited(200..=245)) => spawn_error(&reason(unit, state)),
        _ if state == ProcessState::Backoff => Fault::new(Code::SpawnError, name),
        _ => Fault::new(Code::AbnormalTermination, name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basic::clock::Monotonic;
    use crate::manager::properties::Times;
    use crate::manager::state::{ActiveState, SubState};

    const ATTEMPT: Attempt<'static> = Attempt {
        name: "g:p",
        program: Some("/nonexistent"),
        settle: Duration::from_secs(1),
        up: Duration::from_millis(100),
        job_done: true,
    };

    fn unit(active: &str, sub: &str, status: Option<i32>) -> Properties {
        let at = Monotonic::from_micros;
        Properties {
            active: ActiveState::from(active),
            sub: SubState::from(sub),
            main_end: status.map(ProcessEnd::Exited),
            times: Times { main_started: at(1), main_exited: at(2), active_left: at(3), ..Times::default() },
            ..Properties::default()
        }
    }

    fn code(unit: &Properties, attempt: &Attempt<'_>) -> Option<Code> {
        match judge(unit, attempt) {
            Verdict::Fault(fault) => Some(fault.code),
            _ => None,
        }
    }

    #[test]
    fn a_start_has_succeeded_once_the_process_has_stayed_up() {
        let running = unit("active", "running", None);
        assert_eq!(judge(&running, &ATTEMPT), Verdict::Wait);
        assert_eq!(judge(&running, &Attempt { up: Duration::from_secs(1), ..ATTEMPT }), Verdict::Success);
        let early = Attempt { settle: Duration::ZERO, job_done: false, ..ATTEMPT };
        assert_eq!(judge(&running, &early), Verdict::Wait, "an ExecStartPost= still runs");
        let oneshot = Properties { oneshot: true, pid: Some(7), ..unit("activating", "start", None) };
        assert_eq!(judge(&oneshot, &Attempt { job_done: false, ..ATTEMPT }), Verdict::Success);
    }

    #[test]
    fn each_way_to_fail_has_its_fault() {
        let backoff = |status| unit("activating", "auto-restart", Some(status));
        assert_eq!(code(&backoff(1), &ATTEMPT), Some(Code::SpawnError));
        assert_eq!(code(&backoff(203), &ATTEMPT), Some(Code::NoFile));
        assert_eq!(code(&backoff(203), &Attempt { program: Some("/"), ..ATTEMPT }), Some(Code::NotExecutable));
        assert_eq!(code(&backoff(217), &ATTEMPT), Some(Code::SpawnError));
        assert_eq!(code(&unit("failed", "failed", Some(1)), &ATTEMPT), Some(Code::AbnormalTermination));
        assert_eq!(code(&unit("inactive", "dead", Some(0)), &ATTEMPT), Some(Code::AbnormalTermination));
        let masked = Properties { load: LoadState::Masked, ..unit("inactive", "dead", None) };
        assert_eq!(code(&masked, &ATTEMPT), Some(Code::SpawnError));
        assert_eq!(code(&unit("failed", "failed", Some(1)), &Attempt { job_done: false, ..ATTEMPT }), None);
    }
}
