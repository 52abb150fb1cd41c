//! A status, as plain values.

use std::path::PathBuf;

use crate::basic::clock::Realtime;
use crate::change::observe::members::Member;
use crate::change::observe::state::State;
use crate::change::plan::Reason;
use crate::manager::properties::Properties;
use crate::manager::unit::UnitInfo;

/// A member of a group.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub member: Member,
    pub info: UnitInfo,
    /// If they were asked for.
    pub properties: Option<Properties>,
    pub state: State,
    /// It runs, and its process or instance is no longer in the group file.
    pub orphaned: bool,
    /// It runs with another definition than the files': why it would have to be touched.
    pub outdated: Vec<Reason>,
    /// Since when it is pinned to an older definition.
    pub pinned: Option<Realtime>,
    /// The last line in the journal of a failed unit.
    pub last_line: Option<String>,
}

impl Row {
    pub fn new(member: Member, info: UnitInfo, properties: Option<Properties>) -> Self {
        let state = State::of(&member, &info, properties.as_ref());
        let outdated = Vec::new();
        Self { member, info, properties, state, orphaned: false, outdated, pinned: None, last_line: None }
    }
}

/// How a group is, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Everything that should be up is.
    Active,
    /// It is up, but not all of it.
    Degraded,
    Starting,
    Stopping,
    /// It was not started, or was stopped.
    Stopped,
    /// Its start failed, or a process that failed permanently stopped it.
    Failed,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Degraded => "degraded",
            Self::Starting => "starting",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
        }
    }
}

/// A group, or a part of one.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    pub group: String,
    pub description: Option<String>,
    /// Its file and drop-ins; none if the file was removed while it runs.
    pub files: Vec<PathBuf>,
    /// How many errors its file has.
    pub errors: usize,
    /// The first of them, with its location.
    pub first_error: Option<String>,
    pub verdict: Verdict,
    /// What the verdict rests on, if that is not obvious.
    pub reason: Option<String>,
    /// Since when `G.target` is active.
    pub since: Option<Realtime>,
    /// Of the group's slice.
    pub resources: Resources,
    /// Since when the group is rolled back (`copse apply --rollback`).
    pub rolled_back: Option<Realtime>,
    /// How many units have a file that changed since systemd read it.
    pub needs_reload: usize,
    /// Unit files and drop-ins that are not copse's: `unit`, path.
    pub overrides: Vec<(String, PathBuf)>,
    /// In the order of [`all_members`](crate::change::observe::members::all_members).
    pub rows: Vec<Row>,
}

/// What a slice uses. `None`: not accounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Resources {
    /// Bytes.
    pub memory: Option<u64>,
    /// Bytes; `None` also for `infinity`.
    pub memory_max: Option<u64>,
    pub cpu_nsec: Option<u64>,
    pub tasks: Option<u64>,
}
