//! The exit statuses, one table for all verbs.

use crate::status::Verdict;
use std::process::ExitCode;

/// How a verb ended. The numbers are part of the command's interface (copse(1), "Exit status").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done, ready, or nothing to do.
    Done,
    /// It didn't work.
    Failed,
    /// The command line makes no sense.
    Usage,
    /// The group is stopped (the number is systemctl's).
    Stopped,
    /// There is no such group (the number is systemctl's).
    NoSuchGroup,
    /// The group's file is invalid.
    Invalid,
    /// A roll-out stopped half-way.
    HalfWay,
    /// Changes are pending, and `--exit-code` asked.
    Pending,
    /// The group is up, but not all of it.
    Degraded,
    /// The group is still starting.
    Starting,
    /// Another copse is at it.
    Locked,
    /// It is imported, and not all of it means the same.
    WithNotes,
    /// The caller may not do this.
    NotAllowed,
    /// As another program ended that it was about: a process of `copse run`, or a copse on another host.
    Of(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Stopped => 3,
            Exit::NoSuchGroup => 4,
            Exit::Invalid => 5,
            Exit::HalfWay => 6,
            Exit::Pending => 7,
            Exit::Degraded => 8,
            Exit::Starting => 9,
            Exit::Locked => 10,
            Exit::WithNotes => 11,
            Exit::NotAllowed => 77,
            Exit::Of(status) => status,
        })
    }
}

/// The exit status that the word about a group stands for.
pub(crate) fn exit_for(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Failed => Exit::Failed,
        Verdict::Degraded => Exit::Degraded,
        Verdict::Starting => Exit::Starting,
        Verdict::Stopping | Verdict::Stopped => Exit::Stopped,
        Verdict::Active => Exit::Done,
    }
}

/// The one of two that needs somebody sooner.
pub(crate) fn worse(one: Exit, other: Exit) -> Exit {
    const ORDER: [Exit; 11] = [
        Exit::NotAllowed,
        Exit::Failed,
        Exit::HalfWay,
        Exit::Locked,
        Exit::Invalid,
        Exit::NoSuchGroup,
        Exit::Degraded,
        Exit::Stopped,
        Exit::Starting,
        Exit::Pending,
        Exit::Done,
    ];
    let rank = |exit| ORDER.iter().position(|of| *of == exit).unwrap_or(0);
    if rank(other) < rank(one) { other } else { one }
}
