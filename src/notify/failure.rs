//! Exit statuses, and the one form in which something that went wrong is said.
//!
//! The numbers are those of sysexits.h, because `systemctl status` prints
//! their names (systemd.exec(5), "Process Exit Codes"): a unit whose probe
//! timed out shows `status=75/TEMPFAIL`.

use std::fmt;

use crate::basic::fingerprint::Unreadable;
use crate::basic::os_error::reason;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(pub u8);

impl Status {
    /// Ready, sent, unchanged, done.
    pub const DONE: Status = Status(0);
    /// The command line isn't one of copse-notify's.
    pub const USAGE: Status = Status(64);
    /// The watched process ended before it was ready.
    pub const GONE: Status = Status(69);
    /// A system call failed.
    pub const SYSTEM: Status = Status(71);
    /// The time-out passed before the probes held.
    pub const TIMED_OUT: Status = Status(75);
    /// `--strict`, and there is no `$NOTIFY_SOCKET`.
    pub const NO_SOCKET: Status = Status(78);
    /// The command is there but can't be executed.
    pub const NOT_EXECUTABLE: Status = Status(126);
    /// The command wasn't found.
    pub const NOT_FOUND: Status = Status(127);
}

/// An exit status with its reason: one sentence, and at most one line of help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What the program exits with.
    pub status: Status,
    /// One lower-case sentence, user text in backticks, no final stop.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Failure {
    /// A failure without help.
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Failure { status, message: message.into(), help: None }
    }

    /// A mistake on the command line.
    pub fn usage(message: impl Into<String>) -> Self {
        Failure::new(Status::USAGE, message)
    }

    /// A system call that failed while doing `what` ("start the watcher").
    pub fn system(what: impl fmt::Display, error: impl fmt::Display) -> Self {
        Failure::new(Status::SYSTEM, format!("can't {what}: {}", reason(error)))
    }

    /// The same failure with a line of help.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl From<Unreadable> for Failure {
    fn from(input: Unreadable) -> Self {
        Failure::system(format!("read the input `{}`", input.path.display()), input.error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "copse-notify: {}", self.message)?;
        match &self.help {
            Some(help) => write!(f, "\nhelp: {help}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_one_sentence_and_its_help() {
        let failure = Failure::system("read `/x`", rustix::io::Errno::ACCESS);
        assert_eq!(
            failure.help("look at its mode").to_string(),
            "copse-notify: can't read `/x`: permission denied\nhelp: look at its mode"
        );
    }
}
