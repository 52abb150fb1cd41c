//! Why a unit failed.

use std::fmt;

use super::state::UnitResult;
use crate::basic::{exit_status, signal};

/// How a main process ended (`ExecMainCode=` and `ExecMainStatus=`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessEnd {
    /// With this exit status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
}

/// Why a unit failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// `Result=`
    pub result: UnitResult,
    pub main: Option<ProcessEnd>,
}

impl ProcessEnd {
    /// From the `si_code` of waitid(2), and what goes with it. `None` if no process has ended.
    pub fn new(code: i32, status: i32) -> Option<Self> {
        match code {
            libc::CLD_EXITED => Some(Self::Exited(status)),
            libc::CLD_KILLED | libc::CLD_DUMPED => Some(Self::Killed(status)),
            _ => None,
        }
    }
}

impl fmt::Display for Cause {
    /// `signal SEGV`, `exit status 1`, `exit status 203/EXEC`, or else systemd's word.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use UnitResult::{CoreDump, ExitCode, Signal, StartLimitHit};
        match (&self.result, self.main) {
            (ExitCode | StartLimitHit, Some(ProcessEnd::Exited(status))) => match name_of_systemds(status) {
                Some(name) => write!(f, "exit status {status}/{name}"),
                None => write!(f, "exit status {status}"),
            },
            (Signal | CoreDump | StartLimitHit, Some(ProcessEnd::Killed(number))) => {
                write!(f, "signal {}", signal::short_name(number))
            }
            (result, _) => result.fmt(f),
        }
    }
}

impl Cause {
    /// What an exit status of systemd's own means, which it uses if it cannot execute the program as the unit says
    /// (systemd.exec(5), "Process Exit Codes"). The journal does not always have systemd's line: 257 loses most of them.
    pub fn explanation(&self) -> Option<&'static str> {
        let (UnitResult::ExitCode | UnitResult::StartLimitHit, Some(ProcessEnd::Exited(status))) =
            (&self.result, self.main)
        else {
            return None;
        };
        Some(match name_of_systemds(status)? {
            "CHDIR" => "cannot enter its working directory",
            "EXEC" => "its program does not exist or cannot be executed",
            "USER" => "its user does not exist, or switching to that user is not permitted",
            "GROUP" => "its group does not exist, or switching to that group is not permitted",
            "STDIN" | "STDOUT" | "STDERR" => "cannot open its standard input or output",
            "CREDENTIALS" => "cannot read a credential",
            "NAMESPACE" => {
                "cannot set up its mount namespace (a path in its sandbox is missing, or mounting is not permitted)"
            }
            "RUNTIME_DIRECTORY"
            | "STATE_DIRECTORY"
            | "CACHE_DIRECTORY"
            | "LOGS_DIRECTORY"
            | "CONFIGURATION_DIRECTORY" => "cannot create one of its directories",
            _ => "systemd could not set up the process; see \"Process Exit Codes\" in systemd.exec(5)",
        })
    }
}

/// The name of an exit status that systemd gives a process that it could not set up.
fn name_of_systemds(status: i32) -> Option<&'static str> {
    exit_status::name(status).filter(|_| (200..=244).contains(&status))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(result: &str, code: i32, status: i32) -> Cause {
        Cause { result: UnitResult::from(result), main: ProcessEnd::new(code, status) }
    }

    #[test]
    fn how_a_process_ended() {
        for (result, code, status, expected) in [
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
            assert_eq!(cause(result, code, status).to_string(), expected, "{result} {code} {status}");
        }
    }

    #[test]
    fn only_an_exit_status_of_systemds_own_is_explained() {
        let explained = |result, code, status| cause(result, code, status).explanation();
        assert_eq!(explained("exit-code", 1, 203), Some("its program does not exist or cannot be executed"));
        assert!(explained("exit-code", 1, 244).is_some_and(|text| text.contains("Process Exit Codes")));
        assert_eq!([explained("exit-code", 1, 1), explained("signal", 2, 11), explained("timeout", 1, 203)], [None; 3]);
    }
}
