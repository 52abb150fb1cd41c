//! What a change of a group's files means for what runs: which units have to be touched, how, and why.
//!
//! A [`Plan`] is a value. `copse plan` prints it and `copse apply` executes the very same, step by step, in the order in
//! which they stand; whatever executes a plan decides nothing, and what decides awaits nothing. `copse restart` makes
//! plans of its own.

mod decide;
pub mod directive_effect;
#[cfg(test)]
mod fixtures;
pub mod json;
pub mod render;
pub(crate) mod restart;
mod steps;
#[cfg(test)]
mod tests;

use super::observe::members::Subject;
use super::observe::situation::Changed;
use std::path::PathBuf;
use std::time::Duration;

use crate::model::Probe;
use crate::unit::effective::Difference;
use crate::unit::name::GroupName;

pub use self::decide::outdated;
pub use self::steps::plan;
pub(crate) use self::steps::{order, pace};
pub use super::observe::situation::Situation;

/// What is to be done with one group, and what is left alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Which.
    pub group: GroupName,
    /// `G.target` is active, or on its way there. Of a group that isn't, nothing is started.
    pub active: bool,
    /// The service manager has to read the units again before anything else: their definitions, or what is pinned,
    /// aren't what it has loaded.
    pub daemon_reload: bool,
    /// In the order in which they are to be done.
    pub steps: Vec<Step>,
    /// What isn't touched although somebody might expect it.
    pub leave: Vec<Skipped>,
    /// Group files and drop-ins that aren't what they were at the last apply, or at the start of the group if there was
    /// none since.
    pub files: Vec<Changed>,
    /// When the last apply was complete, in microseconds since the epoch.
    pub applied: Option<u64>,
    /// What the caller can't know, and what somebody should know besides: a sentence each.
    pub notes: Vec<String>,
}

impl Plan {
    /// What somebody asks for of an active group, whatever its files say.
    pub fn asked(group: GroupName, steps: Vec<Step>, leave: Vec<Skipped>) -> Self {
        let (files, notes) = (Vec::new(), Vec::new());
        Self { group, active: true, daemon_reload: false, steps, leave, files, applied: None, notes }
    }

    /// Whether there is anything to do.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && !self.daemon_reload
    }
}

/// One thing to do with one or several units of the same process or setup step.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// What.
    pub action: Action,
    /// With which units, in the order in which they are dealt with (`web@2` before `web@10`).
    pub units: Vec<Subject>,
    /// SkipReason. Never empty.
    pub reasons: Vec<Reason>,
    /// How fast, where the action deals with one unit after the other.
    pub pace: Pace,
}

/// What is done with units. All of it comes after the daemon-reload, if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// A setup step is run again: reloaded where it is active, else started. Nothing restarts.
    Run,
    /// Stopped, and not started again.
    Stop,
    /// Started; it isn't active.
    Start,
    /// Nothing: the daemon-reload is all it needs.
    Update,
    /// Reloaded (`ExecReload=`, or `Type=notify-reload`).
    Reload,
    /// Restarted, all of them at once.
    Restart,
    /// Restarted at the step's [`Pace`]: each is waited for until it is ready and settled.
    Roll,
    /// The services (the step's units) are stopped, the sockets restarted, then the services that ran are started again:
    /// a socket can't be restarted under its service (systemd.socket(5)).
    Rebind {
        /// The sockets; those of the step's services whose addresses changed.
        sockets: Vec<Subject>,
    },
}

impl Action {
    /// The word in front of the units: what `copse plan` prints, and `"action"` in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Stop => "stop",
            Self::Start => "start",
            Self::Update => "update",
            Self::Reload => "reload",
            Self::Restart => "restart",
            Self::Roll => "roll",
            Self::Rebind { .. } => "rebind",
        }
    }
}

/// SkipReason a step is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// Its definition isn't the one that it runs with: the directives that differ and need this.
    Definition(Vec<Difference>),
    /// The content of one of its `inputs` changed since it started.
    Input(PathBuf),
    /// Something that a setup step depends on changed since it last succeeded; which of it isn't known.
    Inputs,
    /// The program it runs isn't the file of that name any more.
    Program(PathBuf),
    /// A setup step that it is `after` runs again: what people call the step.
    Setup(String),
    /// It came into the group after the group was started.
    New,
    /// The group had it and starts it only now: it was `start = "manual"`, or held.
    Wanted,
    /// It is held, and runs.
    Held,
    /// It runs, and its group has no such process or instance any more.
    Gone,
    /// It failed: how it ended.
    Failed(String),
    /// An earlier roll-out ended before it came to this unit, and left it pinned to its old definition: when, in
    /// microseconds since the epoch.
    LeftBehind(u64),
    /// An apply that stopped half-way had stopped it, or given it up.
    Interrupted,
    /// Somebody asked for it: `copse restart`.
    Asked,
}

/// A unit that isn't touched, and why not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Which.
    pub units: Vec<Subject>,
    /// SkipReason.
    pub why: SkipReason,
    /// What would be a reason to touch it; empty where there is none.
    pub reasons: Vec<Reason>,
}

/// SkipReason a unit isn't touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    /// It runs just what the files say.
    Current,
    /// Somebody stopped it.
    Stopped,
    /// It is inactive, and its manager or a person starts it.
    Manual,
    /// It is inactive, and its timer starts it; or it runs, and is never interrupted.
    Timed,
    /// `refresh = "keep"`: it goes on with its old definition.
    Keep,
    /// It is inactive, and held.
    Held,
    /// A `Condition…=` or `Assert…=` of its definition isn't met.
    Skipped,
    /// The group isn't active.
    GroupInactive,
    /// It ran and ended well.
    Done,
    /// An administrator masked it.
    Masked,
    /// It was in motion already: a job was queued for it or systemd was about to restart it.
    InMotion,
    /// With which definition it was started can't be known.
    Unknown,
}

/// How fast units of one process are dealt with.
#[derive(Debug, Clone, PartialEq)]
pub struct Pace {
    /// How many of the step's units may be down or not yet ready at the same time; at least 1.
    pub max_unavailable: usize,
    /// How many units the process has, running or not: what `max_unavailable` is seen against.
    pub of: usize,
    /// How long a unit must stay ready before the next is touched.
    pub min_ready: Duration,
    /// What must hold as well before the next is touched. Placeholders stand for the unit that was just dealt with.
    pub settled: Vec<Probe>,
    /// The first unit alone, watched for so long before the others.
    pub canary: Option<Duration>,
    /// Between one unit (or as many as may be down at once) and the next.
    pub pause: Duration,
}

impl Default for Pace {
    /// All at once, and no time in between.
    fn default() -> Self {
        Self {
            max_unavailable: usize::MAX,
            of: 1,
            min_ready: Duration::ZERO,
            settled: Vec::new(),
            canary: None,
            pause: Duration::ZERO,
        }
    }
}
