//! The exit statuses of all commands (copse(1), EXIT STATUS).

use std::process::ExitCode;

use crate::status::Verdict;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Success; of a group: active.
    Done,
    Failed,
    /// The command line is wrong.
    Usage,
    /// The group is stopped (the same number as systemctl's).
    Stopped,
    /// There is no such group (the same number as systemctl's).
    NoSuchGroup,
    /// The group file is invalid.
    Invalid,
    /// A rollout stopped before it was complete.
    Incomplete,
    /// There are changes to apply (`copse plan --exit-code`).
    Pending,
    /// The group is active, but not all of it.
    Degraded,
    Starting,
    /// Another `copse apply` of the group runs.
    Locked,
    /// The import has notes or warnings.
    WithNotes,
    /// The caller may not do this.
    NotAllowed,
    /// The exit status of another program: of a process of `copse run`, or of copse on another host.
    Status(u8),
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
            Exit::Incomplete => 6,
            Exit::Pending => 7,
            Exit::Degraded => 8,
            Exit::Starting => 9,
            Exit::Locked => 10,
            Exit::WithNotes => 11,
            Exit::NotAllowed => 77,
            Exit::Status(status) => status,
        })
    }
}

impl From<Verdict> for Exit {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Failed => Self::Failed,
            Verdict::Degraded => Self::Degraded,
            Verdict::Starting => Self::Starting,
            Verdict::Stopping | Verdict::Stopped => Self::Stopped,
            Verdict::Active => Self::Done,
        }
    }
}

impl Exit {
    /// The more serious of two.
    pub(crate) fn worse(self, other: Self) -> Self {
        const ORDER: [Exit; 11] = [
            Exit::NotAllowed,
            Exit::Failed,
            Exit::Incomplete,
            Exit::Locked,
            Exit::Invalid,
            Exit::NoSuchGroup,
            Exit::Degraded,
            Exit::Stopped,
            Exit::Starting,
            Exit::Pending,
            Exit::Done,
        ];
        let rank = |exit| ORDER.iter().position(|other| *other == exit).unwrap_or(0);
        if rank(other) < rank(self) { other } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_serious_of_several_counts() {
        for (all, expected) in [
            (&[Exit::Done, Exit::Done][..], Exit::Done),
            (&[Exit::Done, Exit::Starting, Exit::Stopped], Exit::Stopped),
            (&[Exit::Degraded, Exit::Failed, Exit::Done], Exit::Failed),
            (&[Exit::NoSuchGroup, Exit::Degraded], Exit::NoSuchGroup),
        ] {
            assert_eq!(all.iter().copied().fold(Exit::Done, Exit::worse), expected, "{all:?}");
        }
    }
}
