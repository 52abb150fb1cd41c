//! What there is to decide upon: a group's files and what runs of it, as plain values.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::members::Member;
use super::members::Subject;
use super::state::State;
use crate::manager::unit::UnitInfo;
use crate::model::Group;
use crate::unit::effective::Definition;
use crate::unit::name::{GroupName, ProcessName};

/// A group at one moment.
#[derive(Debug, Clone)]
pub struct Situation<'s> {
    /// Which.
    pub group: GroupName,
    /// What its file means; `None`: there is no file any more.
    pub meaning: Option<&'s Group>,
    /// `G.target` is active, or on its way there.
    pub active: bool,
    /// The units that the file brings about, in the order of [`crate::change::observe::members::members`], then what else is part of it.
    pub units: Vec<Observed>,
    /// What stands for the group as a whole: its target, slice, gate, and the holder of shared directories.
    pub whole: Vec<Whole>,
    /// The units aren't all what systemd has loaded: something changed since the last daemon-reload, be it only which
    /// units the target wants.
    pub unread: bool,
    /// The units that an interrupted apply has stopped, or was about to.
    pub interrupted: BTreeSet<String>,
    /// As in `Plan`.
    pub files: Vec<Changed>,
    /// As in `Plan`.
    pub applied: Option<u64>,
    /// The whole group is rolled back, since then (microseconds since the epoch).
    pub rolled_back: Option<u64>,
    /// As in `Plan`.
    pub notes: Vec<String>,
}

/// A unit of a group.
#[derive(Debug, Clone)]
pub struct Observed {
    /// Which, and who starts it.
    pub member: Member,
    /// The process or setup step that it belongs to; `None`: the file has none.
    pub of: Option<ProcessName>,
    /// Its states in systemd's words.
    pub listed: UnitInfo,
    /// What they mean.
    pub state: State,
    /// It left its group: the file has no such unit, and copse once generated it.
    pub gone: bool,
    /// It didn't run since the group has it, or, where the group had it but didn't start it, since it does.
    pub arrived: Option<Arrived>,
    /// It ended badly when it was asked to stop.
    pub asked_to_stop: bool,
    /// What it runs with.
    pub started: Started,
    /// What systemd has loaded, and would start.
    pub loaded: Option<Arc<Definition>>,
    /// What the files say now.
    pub new: Option<Arc<Definition>>,
    /// Those of its `inputs` that changed since it started.
    pub inputs: Vec<PathBuf>,
    /// Those of the files that the service manager read for it at its start that changed since.
    pub handed: Vec<PathBuf>,
    /// Its program, if that changed since it started.
    pub program: Option<PathBuf>,
    /// Setup steps that it is `after` and that ran again since it started: what people call them.
    pub steps: Vec<String>,
    /// Of a setup step with `inputs`: its last success had this command, these inputs and credentials.
    pub unchanged: Option<bool>,
    /// It is pinned to an older definition, since then (microseconds since the epoch).
    pub pinned: Option<u64>,
    /// Its processes are suspended.
    pub frozen: bool,
}

/// Why a unit that is in the group doesn't run, where nobody stopped it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrived {
    /// The group has it only since.
    New,
    /// The group had it, but didn't start it (`start = "manual"`, `hold`).
    Wanted,
}

/// From which definition a unit was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Started {
    /// This.
    From(Arc<Definition>),
    /// It runs, and that isn't known.
    Unknown,
    /// It doesn't run.
    Not,
}

/// A unit that stands for the group as a whole.
#[derive(Debug, Clone)]
pub struct Whole {
    /// Which.
    pub subject: Subject,
    /// It makes the shared directories.
    pub holder: bool,
    /// It is active.
    pub up: bool,
    /// As in [`Observed::started`].
    pub started: Started,
    /// As in [`Observed::loaded`].
    pub loaded: Option<Arc<Definition>>,
    /// As in [`Observed::new`].
    pub new: Option<Arc<Definition>>,
}

/// A file that isn't what it was.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Changed {
    /// Which.
    pub path: PathBuf,
    /// It isn't there any more.
    pub removed: bool,
}
