//! What a roll-out says while it goes on, and how it ends.

use std::fmt;

use crate::basic::signal;
use crate::change::observe::members::Subject;
use crate::change::plan::Reason;
use crate::manager::cause::Cause;
use crate::manager::is_refusal;

/// Something that happened.
#[derive(Debug)]
pub enum Event<'e> {
    /// A unit is being dealt with.
    Begins {
        /// The word of [`Action::word`](crate::change::plan::Action::word).
        action: &'static str,
        /// Which unit.
        subject: &'e Subject,
    },
    /// What is waited for: a state in systemd's words, or what a probe says.
    Waits {
        /// Which unit.
        subject: &'e Subject,
        /// What for.
        what: &'e str,
    },
    /// A unit has been dealt with.
    Ends {
        /// As in [`Event::Begins`].
        action: &'static str,
        /// Which unit.
        subject: &'e Subject,
        /// Why it was touched.
        reasons: &'e [Reason],
        /// What came of it, or what went wrong.
        end: Result<Reached, Problem<'e>>,
    },
    /// A sentence.
    Notes(&'e str),
}

/// Hears the [`Event`]s.
pub trait Reporter {
    /// Is told one. Must not fail: that nobody listens any more is no reason to stop half-way.
    fn tell(&self, event: &Event<'_>);
}

/// What a unit came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// It is up and ready.
    Ready,
    /// It ran and ended well.
    Done,
    /// A `Condition…=` or `ExecCondition=` left it out.
    Skipped,
    /// An administrator masked it.
    Masked,
    /// It is down.
    Stopped,
    /// It is down, and ended badly on the way.
    StoppedBadly,
    /// It read its configuration again.
    Reloaded,
    /// The service manager has its new definition.
    Updated,
    /// Its processes were sent this signal.
    Signalled(i32),
    /// Its failure is forgotten.
    Forgotten,
    /// Its processes are suspended.
    Frozen,
    /// Its processes run on.
    Thawed,
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Signalled(number) => return write!(f, "sent SIG{}", signal::short_name(*number)),
            Self::Forgotten => "failure forgotten",
            Self::Frozen => "frozen",
            Self::Thawed => "runs on",
            Self::Ready => "ready",
            Self::Done => "done",
            Self::Skipped => "left out by a condition",
            Self::Masked => "masked",
            Self::Stopped => "stopped",
            Self::StoppedBadly => "stopped, but ended badly",
            Self::Reloaded => "reloaded",
            Self::Updated => "updated",
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

/// Why a roll-out stopped.
#[derive(Debug)]
pub enum Stop {
    /// A unit didn't come to what it should; it was told as an [`Event::Ends`].
    Failed(Failure),
    /// The caller may not do this to the unit: the service manager's answer.
    Refused(Subject, zbus::Error),
    /// The service manager didn't do what it was asked, or is gone.
    Manager(zbus::Error),
    /// Somebody asked to stop (SIGINT, SIGTERM).
    Interrupted,
    /// What the roll-out has to remember couldn't be written.
    State(String),
}

impl Stop {
    /// From what the manager answered about a unit.
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

/// A unit that didn't come to what it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Which.
    pub subject: Subject,
    /// What happened, in plain words.
    pub what: String,
    /// What systemd recorded, if the unit itself failed.
    pub cause: Option<Cause>,
}

impl Failure {
    pub fn new(subject: &Subject, what: String) -> Self {
        Self { subject: subject.clone(), what, cause: None }
    }
}
