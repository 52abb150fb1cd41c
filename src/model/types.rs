//! A group with its processes and setup steps.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

use super::service::{Directory, PassThrough, Probe, Service, TimeSpan};
use super::supervisor::{Supervisor, SupervisorName};
use super::text::Text;
use crate::basic::diagnostic::SourceLocation;
use crate::basic::scope::Scope;
use crate::unit::name::{GroupName, InstanceName, ProcessName};

/// What the machine contributes to a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Context {
    /// The service manager that the group is for.
    pub scope: Scope,
    /// The value of `instances = "cpus"`.
    pub cpus: u32,
}

/// A group: becomes a target and its members.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The stem of the file's name.
    pub name: GroupName,
    pub scope: Scope,
    /// The group file, then its drop-ins in the order in which they were merged.
    pub files: Vec<PathBuf>,
    /// The first byte of the file: the location of a diagnostic about the whole group.
    pub location: SourceLocation,
    /// `Description=` of the target; the group's name if there is none.
    pub description: Option<String>,
    /// `Documentation=` of every unit: checked URIs.
    pub documentation: Vec<String>,
    /// Units that want the target: links in their `.wants/`.
    pub wanted_by: Vec<String>,
    /// Units outside that each process and setup step (and the target) is ordered after.
    pub after: Vec<String>,
    /// Units outside that each process and setup step (and the target) requires.
    pub requires: Vec<String>,
    /// Units outside that the target wants.
    pub wants: Vec<String>,
    /// Units outside that the target is ordered before.
    pub before: Vec<String>,
    /// Units outside that the target conflicts with.
    pub conflicts: Vec<String>,
    pub failure_policy: FailurePolicy,
    /// The longest wait of the readiness gate.
    pub timeout_start: TimeSpan,
    /// The directories that all members share.
    pub shared: Option<SharedDirectories>,
    /// `[supervisor]`
    pub supervisor: Option<Supervisor>,
    pub processes: BTreeMap<ProcessName, Process>,
    pub setup: BTreeMap<ProcessName, Setup>,
    /// `[target]`: pass-through into the target's `[Unit]`.
    pub target: PassThrough,
    /// `[slice]`: pass-through into the slice's `[Slice]`.
    pub slice: PassThrough,
}

/// `failure-policy`: what follows when an essential process fails permanently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailurePolicy {
    /// The other processes keep running.
    Continue,
    /// The group stops.
    Stop,
}

/// The group's shared directories.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedDirectories {
    pub directories: Vec<Directory>,
    /// `user` of `[defaults]`.
    pub user: Option<Cow<'static, str>>,
    /// `group` of `[defaults]`.
    pub group: Option<Cow<'static, str>>,
}

/// A process: becomes a service, or several.
#[derive(Debug, Clone, PartialEq)]
pub struct Process {
    /// The header of its table.
    pub location: SourceLocation,
    pub start: Start,
    /// `hold`: it is not started with the group, by its socket or by its timer. Its units are the same, but not wanted.
    pub hold: bool,
    /// The service, or what all instances have in common.
    pub service: Service,
    /// `None`: one `G-P.service`. Else `G-P@I.service` each; may be empty if manual. An instance with a service of its own
    /// differs from the template, and gets its own unit file.
    pub instances: Option<BTreeMap<InstanceName, Option<Service>>>,
    /// Processes of the group that it is ordered after.
    pub after: Vec<ProcessName>,
    /// Setup steps that must have succeeded: those that it names, and those without `after`.
    pub gated_by: Vec<ProcessName>,
    /// The setup steps that it names in `after`: it is outdated once one of them has run again. A step that comes before
    /// every process (a check, a migration) has that effect only if it is named.
    pub after_steps: Vec<ProcessName>,
    /// Units outside that it is ordered after.
    pub after_units: Vec<String>,
    pub sockets: Vec<Socket>,
    pub controls: Vec<ProcessName>,
    /// What it is called with `[supervisor]`.
    pub supervisor_name: SupervisorName,
    /// `supervisor-view = "own"`: its calls find manual processes that it did not start itself as stopped.
    pub own_view: bool,
    pub change: Change,
}

impl Process {
    /// True if the target starts it and the group is not ready before it.
    pub fn is_awaited(&self) -> bool {
        self.start == Start::Auto && !self.hold
    }

    /// True if the group is not ready without this service of the process, and is degraded while it is failed.
    pub fn is_essential(&self, service: &str) -> bool {
        let own = self.instances.as_ref().and_then(|instances| {
            let instance = service.strip_suffix(".service")?.split_once('@')?.1;
            instances.get(&InstanceName::new(instance)?)?.as_ref()
        });
        own.unwrap_or(&self.service).essential
    }
}

/// What starts a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// The target.
    Auto,
    /// The group's manager, or an administrator.
    Manual,
    /// A timer with these `OnCalendar=` lines.
    Timed(Vec<String>),
}

/// A socket unit of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Socket {
    /// `FileDescriptorName=`, also part of the unit's name: `G-P-NAME.socket`. `None`: `G-P.socket`.
    pub name: Option<ProcessName>,
    /// The addresses hold `{instance}`: one socket for each instance, `G-P@.socket`.
    pub each_instance: bool,
    /// `ListenStream=` etc., with the address.
    pub listen: Vec<(&'static str, Text)>,
}

/// How `copse apply` brings a change to a process: `refresh` and its companions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub refresh: Refresh,
    pub max_unavailable: Percentage,
    /// `min-ready-sec`
    pub min_ready: TimeSpan,
    /// All must succeed.
    pub settled: Vec<Probe>,
}

/// `refresh`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refresh {
    /// All at once.
    Restart,
    /// Instance by instance.
    Roll,
    /// Kept running, shown as outdated.
    Keep,
    /// Reloaded if only its inputs changed.
    Reload,
}

/// `max-unavailable`: how many instances may be down at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Percentage {
    Count(usize),
    Percent(usize),
}

impl Percentage {
    /// Reads `2` or `25%`; at least 1, at most 100 percent.
    pub fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| text.parse().ok().filter(|number| *number > 0);
        match text.strip_suffix('%') {
            Some(percent) => number(percent).filter(|percent| *percent <= 100).map(Self::Percent),
            None => number(text).map(Self::Count),
        }
    }

    /// The number for that many instances. At least one: with none a rollout could never go on.
    pub fn of(self, instances: usize) -> usize {
        match self {
            Self::Count(count) => count,
            Self::Percent(percent) => (instances * percent / 100).max(1),
        }
    }
}

/// A setup step: a command that has to succeed before the processes that it gates start.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// The header of its table.
    pub location: SourceLocation,
    /// `ready` is always [`Ready::Oneshot`](super::Ready::Oneshot).
    pub service: Service,
    /// Processes of the group that must be ready first.
    pub after: Vec<ProcessName>,
    /// Setup steps that must have succeeded first.
    pub gated_by: Vec<ProcessName>,
    /// Units outside that it is ordered after.
    pub after_units: Vec<String>,
}
