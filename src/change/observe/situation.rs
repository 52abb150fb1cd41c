//! What a plan is made from: a group's files and what runs of it, as plain values.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::members::Member;
use super::state::State;
use super::subject::Subject;
use crate::basic::clock::Realtime;
use crate::manager::unit::UnitInfo;
use crate::model::Group;
use crate::unit::effective::Definition;
use crate::unit::name::GroupName;

/// A group at one time.
#[derive(Debug, Clone)]
pub struct Situation<'g> {
    pub name: GroupName,
    /// `None` if there is no valid file.
    pub group: Option<&'g Group>,
    /// `G.target` is active, or on its way there.
    pub active: bool,
    /// In the order of [`all_members`](super::members::all_members).
    pub units: Vec<Observed>,
    /// The target, the slice, the gate, and the owner of shared directories.
    pub group_units: Vec<GroupUnit>,
    /// The files say something else than the units that systemd has loaded, be it only which units the target wants.
    pub needs_reload: bool,
    /// The units that an interrupted apply stopped, or was about to stop.
    pub interrupted: BTreeSet<String>,
    /// As in `Plan`.
    pub files: Vec<ChangedFile>,
    /// As in `Plan`.
    pub applied: Option<Realtime>,
    /// Since when the whole group is rolled back.
    pub rolled_back: Option<Realtime>,
    /// As in `Plan`.
    pub notes: Vec<String>,
}

/// A unit of a group.
#[derive(Debug, Clone)]
pub struct Observed {
    pub member: Member,
    pub info: UnitInfo,
    pub state: State,
    /// copse generated it, and its process or instance is no longer in the group file.
    pub orphaned: bool,
    /// It came into the group, or is started by it, only since the group was started.
    pub added: Option<Added>,
    /// It failed because it was asked to stop.
    pub asked_to_stop: bool,
    pub running: Running,
    /// What systemd has loaded, and would start.
    pub loaded: Option<Arc<Definition>>,
    /// What the files say now.
    pub new: Option<Arc<Definition>>,
    /// Those of its `inputs` that changed since it started.
    pub changed_inputs: Vec<PathBuf>,
    /// Those of the files that the service manager reads at its start that changed since.
    pub changed_start_files: Vec<PathBuf>,
    /// Its program, if that was replaced since it started.
    pub changed_program: Option<PathBuf>,
    /// The setup steps that it is `after` and that ran again since it started.
    pub rerun_steps: Vec<String>,
    /// A setup step's last success had this command, these inputs and credentials; `None` if unknown.
    pub stamp_matches: Option<bool>,
    /// Since when it is pinned to an older definition.
    pub pinned: Option<Realtime>,
    pub frozen: bool,
}

/// Why a unit of the group has not run although no administrator stopped it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// The group did not have it.
    New,
    /// The group had it and did not start it (`start = "manual"`, `hold`).
    Wanted,
}

/// With which definition a unit runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Running {
    With(Arc<Definition>),
    Unknown,
    /// It does not run.
    Not,
}

/// A unit that stands for the group as a whole.
#[derive(Debug, Clone)]
pub struct GroupUnit {
    pub subject: Subject,
    pub owns_directories: bool,
    pub up: bool,
    pub running: Running,
    pub loaded: Option<Arc<Definition>>,
    pub new: Option<Arc<Definition>>,
}

/// A file that changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangedFile {
    pub path: PathBuf,
    pub removed: bool,
}
