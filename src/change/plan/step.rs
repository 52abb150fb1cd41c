//! A plan and its steps.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use crate::basic::clock::Realtime;
use crate::change::observe::situation::ChangedFile;
use crate::change::observe::subject::Subject;
use crate::model::Probe;
use crate::unit::effective::Difference;
use crate::unit::name::GroupName;

/// What is to be done with a group, and which units are skipped.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub group: GroupName,
    /// `G.target` is active, or on its way there. Nothing is started in a group that is not.
    pub active: bool,
    /// The service manager has to read the units again before anything else.
    pub daemon_reload: bool,
    /// In the order in which they are carried out.
    pub steps: Vec<Step>,
    pub skipped: Vec<Skipped>,
    /// Group files and drop-ins that changed since the last apply, or since the group's start if there was none.
    pub files: Vec<ChangedFile>,
    /// When the last apply was complete.
    pub applied: Option<Realtime>,
    /// What the plan does not show, or could not find out: a sentence each.
    pub notes: Vec<String>,
}

impl Plan {
    /// What the user requests for an active group, independent of its files.
    pub fn requested(group: GroupName, steps: Vec<Step>, skipped: Vec<Skipped>) -> Self {
        let (files, notes) = (Vec::new(), Vec::new());
        Self { group, active: true, daemon_reload: false, steps, skipped, files, applied: None, notes }
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && !self.daemon_reload
    }
}

/// One action on units of the same process or setup step.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub action: Action,
    /// In the order in which the step reaches them (`web@2` before `web@10`).
    pub units: Vec<Subject>,
    /// Never empty.
    pub reasons: Vec<Reason>,
    pub pace: Pace,
}

/// What is done with units, after the daemon-reload if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// A setup step is run again: reloaded if it is active, else started. Nothing restarts.
    Run,
    Stop,
    Start,
    /// The daemon-reload is all that the unit needs.
    Update,
    Reload,
    /// Restarts all of them at once.
    Restart,
    /// Restarts them at the step's [`Pace`]: each has to be ready and settled before the next.
    Roll,
    /// Stops the services (the step's units), restarts the sockets, then starts the services again that ran: a socket cannot
    /// be restarted while its service is active (systemd.socket(5)).
    Rebind {
        sockets: Vec<Subject>,
    },
}

impl Action {
    /// The word in front of the units, also `"action"` in JSON and `COPSE_ACTION=` in the journal.
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

/// Why a unit has to be touched. In JSON, `kind` and what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Reason {
    /// Its definition is not the one that it runs with: the directives that differ and need the action.
    Definition { directives: Vec<Difference> },
    /// This file, one of its `inputs` or read for it by the service manager, changed since it started.
    Input { path: PathBuf },
    /// Something that a setup step depends on changed since it last succeeded; it is not known what.
    Inputs,
    /// Its program was replaced.
    Program { path: PathBuf },
    /// This setup step, which it is `after`, runs again.
    Setup { step: String },
    /// It came into the group after the group's start.
    New,
    /// The group had it and starts it only now: it was `start = "manual"`, or held.
    Wanted,
    /// It is held, and runs.
    Held,
    /// It runs, and its process or instance is no longer in the group file.
    #[serde(rename = "gone")]
    Orphaned,
    /// It failed.
    Failed { how: String },
    /// An earlier rollout ended before it reached this unit, and left it pinned.
    #[serde(rename = "left-behind")]
    NotReached { since: Realtime },
    /// An interrupted apply stopped it, or gave it up.
    Interrupted,
    /// The user requests it.
    #[serde(rename = "asked")]
    Requested,
}

/// Units that are not touched, and why not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skipped {
    pub units: Vec<Subject>,
    pub why: SkipReason,
    /// What would be reasons to touch them.
    pub reasons: Vec<Reason>,
}

/// Why a unit is not touched, in the order in which a plan lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SkipReason {
    #[serde(rename = "current")]
    UpToDate,
    /// It is inactive: an administrator stopped it.
    Stopped,
    /// It is inactive, and not started by the group.
    Manual,
    /// It is inactive, and its timer starts it; or it runs, and is not interrupted.
    #[serde(rename = "timed")]
    Scheduled,
    /// `refresh = "keep"`
    Keep,
    /// It is inactive, and held.
    Held,
    /// A condition is unmet, or an assertion failed.
    #[serde(rename = "skipped")]
    ConditionUnmet,
    GroupInactive,
    /// It exited with success.
    #[serde(rename = "done")]
    Exited,
    Masked,
    /// It is activating or deactivating, or waits for its automatic restart.
    #[serde(rename = "in-motion")]
    Busy,
    /// It is not known with which definition it was started.
    Unknown,
}

/// How fast the units of one process are restarted.
#[derive(Debug, Clone, PartialEq)]
pub struct Pace {
    /// How many of the step's units may be down or not yet ready at the same time; at least 1.
    pub max_unavailable: usize,
    /// How many units the process has, running or not.
    pub of: usize,
    /// How long a unit has to stay ready before the next one is touched.
    pub min_ready: Duration,
    /// Probes that have to succeed as well, with placeholders for the unit.
    pub settled: Vec<Probe>,
    /// For how long the first unit is watched before the others are touched.
    pub canary: Option<Duration>,
    /// The delay between one batch and the next.
    pub pause: Duration,
}

impl Default for Pace {
    /// All at once, without a delay.
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
