//! What a rollout reports while it goes on, and how it ends.

use std::fmt;

use crate::basic::signal;
use crate::change::observe::subject::Subject;
use crate::change::plan::Reason;
use crate::manager::cause::Cause;
use crate::manager::is_refusal;

/// Something that happened.
#[derive(Debug)]
pub enum Event<'e> {
    /// A rollout reaches a unit. `action` is an [`Action::word`](crate::change::plan::Action::word).
    Begins { action: &'static str, subject: &'e Subject },
    /// What the rollout waits for: a state in systemd's words, or the status text of a probe.
    Waits { subject: &'e Subject, what: &'e str },
    /// A rollout is done with a unit.
    Ends { action: &'static str, subject: &'e Subject, reasons: &'e [Reason], end: Result<UnitOutcome, Problem<'e>> },
    /// A sentence.
    Notes(&'e str),
}

/// Reports the [`Event`]s of a rollout.
pub trait Reporter {
    /// Does not fail: a closed terminal is no reason to stop half-way.
    fn report(&self, event: &Event<'_>);
}

/// What became of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitOutcome {
    Ready,
    /// A process that exited with success.
    Exited,
    /// A setup step that succeeded.
    Completed,
    /// A condition is unmet.
    Skipped,
    Masked,
    Stopped,
    /// It is down, and failed on the way.
    StoppedFailed,
    Reloaded,
    /// The service manager has its new definition.
    Updated,
    /// This signal was sent to its processes.
    Signaled(i32),
    FailureReset,
    Frozen,
    Thawed,
}

impl UnitOutcome {
    /// The word for programs: `"result"` in JSON, `COPSE_RESULT=` in the journal.
    pub fn word(self) -> String {
        match self {
            Self::Exited | Self::Completed => "done",
            Self::Skipped => "left out by a condition",
            Self::StoppedFailed => "stopped, but ended badly",
            Self::FailureReset => "failure forgotten",
            Self::Thawed => "runs on",
            other => return other.to_string(),
        }
        .to_owned()
    }
}

impl fmt::Display for UnitOutcome {
    /// The text for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ready => "ready",
            Self::Exited => "exited",
            Self::Completed => "completed",
            Self::Skipped => "skipped: condition unmet",
            Self::Masked => "masked",
            Self::Stopped => "stopped",
            Self::StoppedFailed => "stopped, failed on the way",
            Self::Reloaded => "reloaded",
            Self::Updated => "updated",
            Self::Signaled(number) => return write!(f, "sent SIG{}", signal::short_name(*number)),
            Self::FailureReset => "failure reset",
            Self::Frozen => "frozen",
            Self::Thawed => "thawed",
        })
    }
}

/// Why a unit did not come to what it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem<'e> {
    Failed(&'e Failure),
    /// The caller may not do this to the unit.
    NotAllowed,
    /// A unit that it requires is masked.
    DependencyMasked,
    /// The rollout was interrupted before the unit was ready.
    Interrupted,
    /// The service manager or the state directory failed, so the unit was not waited for.
    Abandoned,
}

impl fmt::Display for Problem<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Failed(failure) => &failure.what,
            Self::NotAllowed => "not allowed",
            Self::DependencyMasked => "a unit that it needs is masked",
            Self::Interrupted => "interrupted",
            Self::Abandoned => "given up",
        })
    }
}

/// Why a rollout stopped.
#[derive(Debug)]
pub enum Stop {
    /// A unit did not come to what it should, which was reported as [`Event::Ends`].
    Failed(Failure),
    /// The service manager refuses this to the caller.
    Refused(Subject, zbus::Error),
    /// The service manager failed, or is gone.
    Manager(zbus::Error),
    /// The user interrupted it (SIGINT, SIGTERM).
    Interrupted,
    /// A state file could not be read or written.
    State(String),
}

impl Stop {
    /// From the manager's answer to a call about a unit.
    pub fn of(subject: &Subject, error: zbus::Error) -> Self {
        match is_refusal(&error) {
            true => Self::Refused(subject.clone(), error),
            false => Self::Manager(error),
        }
    }
}

impl From<zbus::Error> for Stop {
    fn from(error: zbus::Error) -> Self {
        Self::Manager(error)
    }
}

/// A unit that did not come to what it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub subject: Subject,
    /// What happened.
    pub what: String,
    /// What systemd recorded, if the unit itself failed.
    pub cause: Option<Cause>,
}

impl Failure {
    pub fn new(subject: &Subject, what: String) -> Self {
        Self { subject: subject.clone(), what, cause: None }
    }
}
