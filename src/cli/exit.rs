//! The exit statuses, one table for all verbs.

use std::process::ExitCode;

/// How a verb ended. The numbers are part of the command's interface (copse(1), "Exit status").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done, ready, or nothing to do.
    Done = 0,
    /// It didn't work.
    Failed = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// The group is stopped (the number is systemctl's).
    Stopped = 3,
    /// There is no such group (the number is systemctl's).
    NoSuchGroup = 4,
    /// The group's file is invalid.
    Invalid = 5,
    /// A roll-out stopped half-way.
    HalfWay = 6,
    /// Changes are pending, and `--exit-code` asked.
    Pending = 7,
    /// The group is up, but not all of it.
    Degraded = 8,
    /// The group is still starting.
    Starting = 9,
    /// Another copse is at it.
    Locked = 10,
    /// The caller may not do this.
    NotAllowed = 77,
}

impl Exit {
    const ALL: [Self; 12] = [
        Self::Done,
        Self::Failed,
        Self::Usage,
        Self::Stopped,
        Self::NoSuchGroup,
        Self::Invalid,
        Self::HalfWay,
        Self::Pending,
        Self::Degraded,
        Self::Starting,
        Self::Locked,
        Self::NotAllowed,
    ];

    /// What a status means that a copse exited with; `None` for a number that no verb gives.
    #[must_use]
    pub fn of(status: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|exit| *exit as i32 == status)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
