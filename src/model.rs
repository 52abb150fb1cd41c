//! What a group file means: names resolved, defaults filled in, every value checked.
//!
//! Everything semantic that can be wrong is found on the way here. What is made from a [`Group`] later can't fail.

pub mod check;
pub mod parse;
#[cfg(feature = "cli")]
pub mod schema;
mod service;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

pub use self::check::locate::place_of;
pub use self::check::unsupported::left_out;
pub use self::check::wanted_by::wanted_by;
pub use self::parse::command::{LONGEST_WORD, is_plain_word, toml_string};
pub use self::parse::directories::{
    Directory, DirectoryKind, RuntimeDirectory, SharedDirectories, runtime_directories,
};
pub use self::parse::group::{Context, document, read};
pub use self::parse::instances::MOST_INSTANCES;
pub use self::parse::percentage::Percentage;
pub use self::parse::placeholder::{is_variable, spelled};
pub use self::service::{
    Credential, Directive, Hardening, Health, Pass, PassThrough, Probe, Ready, Restart, Service, is_shell,
};

use crate::basic::diagnostic::SourceLocation;
use crate::basic::scope::Scope;
use crate::unit::name::{GroupName, InstanceName, ProcessName};

/// A group: becomes a target and its members.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The stem of the file's name.
    pub name: GroupName,
    /// The scope it was read for.
    pub scope: Scope,
    /// The group file, then its drop-ins in the order they were merged.
    pub files: Vec<PathBuf>,
    /// The file's first byte: where a diagnostic about the whole group points.
    pub place: SourceLocation,
    /// `Description=` of the target; the group's name if there is none.
    pub description: Option<String>,
    /// `Documentation=` of every unit: checked URIs.
    pub documentation: Vec<String>,
    /// Units that want the target: links in their `.wants/`.
    pub wanted_by: Vec<String>,
    /// Units outside that every process and setup step (and the target) is ordered after.
    pub after: Vec<String>,
    /// Units outside that every process and setup step (and the target) requires.
    pub requires: Vec<String>,
    /// Units outside that the target wants.
    pub wants: Vec<String>,
    /// Units outside that the target is ordered before.
    pub before: Vec<String>,
    /// Units outside that the target conflicts with.
    pub conflicts: Vec<String>,
    /// What giving up of an essential process means.
    pub failure_policy: FailurePolicy,
    /// How long the readiness gate waits at most.
    pub timeout_start: Span,
    /// What all members share; made by one holder.
    pub shared: Option<SharedDirectories>,
    /// By name.
    pub processes: BTreeMap<ProcessName, Process>,
    /// By name.
    pub setup: BTreeMap<ProcessName, Setup>,
    /// `[target]`: pass-through into the target's `[Unit]`.
    pub target: PassThrough,
    /// `[slice]`: pass-through into the slice's `[Slice]`.
    pub slice: PassThrough,
}

/// `failure-policy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailurePolicy {
    /// The siblings go on.
    Continue,
    /// The group stops.
    Stop,
}

/// A time span in systemd's grammar, checked, as its author wrote it (integers: seconds).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// As written, for the unit.
    pub text: Cow<'static, str>,
    /// What it means.
    pub value: crate::basic::time_span::Span,
}

impl Span {
    /// A default: so many seconds, and how systemd writes them.
    pub const fn seconds(text: &'static str, seconds: u64) -> Self {
        Self { text: Cow::Borrowed(text), value: crate::basic::time_span::Span::Finite(Duration::from_secs(seconds)) }
    }

    /// The default of what may take as long as it takes.
    pub const INFINITY: Self = Self { text: Cow::Borrowed("infinity"), value: crate::basic::time_span::Span::Infinity };
}

/// Text with placeholders; `{group}` and `{process}` are already replaced.
#[derive(Debug, Clone)]
pub struct Text(Pieces);

/// Nearly every text is one literal, which needs no list.
#[derive(Debug, Clone)]
enum Pieces {
    One(Piece),
    Many(Vec<Piece>),
}

/// A part of a [`Text`]. Neighbouring literals are one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Reaches the process byte for byte.
    Literal(String),
    /// `{instance}`: `%i`
    Instance,
    /// `{unit}`: `%n`
    Unit,
    /// `{runtime-directory}` …: the first directory of that kind, the process's own or else the group's: `%t/NAME`.
    Directory(DirectoryKind, Box<Text>),
    /// `{credentials-directory}`
    CredentialsDirectory,
    /// `{env:NAME}`: replaced by systemd when the process starts, as (part of) one word. Only in argvs.
    Env(String),
    /// `{env:NAME...}`: its words. Only as a whole element of an argv.
    EnvWords(String),
}

/// A command: never empty, the first element is the program (absolute, or a bare name).
pub type Argv = Vec<Text>;

/// A process: becomes a service, or several.
#[derive(Debug, Clone, PartialEq)]
pub struct Process {
    /// Where its table begins.
    pub place: SourceLocation,
    /// Who starts it.
    pub start: Start,
    /// `hold`: whoever that is, for now it stays stopped. Its units are the same ones, only nobody wants them.
    pub hold: bool,
    /// The service, or what all instances have in common.
    pub service: Service,
    /// `None`: one `G-P.service`. Else `G-P@I.service` each; may be empty when manual. `Some(service)`: an instance
    /// that differs from the template, and so gets a unit file of its own.
    pub instances: Option<BTreeMap<InstanceName, Option<Service>>>,
    /// Processes of the group that it is ordered after.
    pub after: Vec<ProcessName>,
    /// Setup steps that must have succeeded: those it names, and those without `after`.
    pub gated_by: Vec<ProcessName>,
    /// The setup steps that it names in its `after`: running one of them again is a change of what this process was
    /// started from. A step that comes before every process anyway (a check, a migration of all) isn't, unless named.
    pub after_steps: Vec<ProcessName>,
    /// Units outside.
    pub after_units: Vec<String>,
    /// Its sockets.
    pub sockets: Vec<Socket>,
    /// `controls`
    pub controls: Vec<ProcessName>,
    /// How a change is brought to it.
    pub change: Change,
}

impl Process {
    /// Whether the target starts it and the group isn't ready without waiting for it.
    pub fn is_awaited(&self) -> bool {
        self.start == Start::Auto && !self.hold
    }

    /// Whether the group isn't ready without this service of it, and counts as degraded when it failed.
    pub fn is_essential(&self, service: &str) -> bool {
        let own = self.instances.as_ref().and_then(|instances| {
            let instance = service.strip_suffix(".service")?.split_once('@')?.1;
            instances.get(&InstanceName::new(instance)?)?.as_ref()
        });
        own.unwrap_or(&self.service).essential
    }
}

/// Who starts a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// The target.
    Auto,
    /// The group's manager, or a person.
    Manual,
    /// A timer: `OnCalendar=` lines.
    Timed(Vec<String>),
}

/// A socket unit of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Socket {
    /// `FileDescriptorName=`, which is also part of the unit's name: `G-P-NAME.socket`; `None`: `G-P.socket`.
    pub name: Option<ProcessName>,
    /// `{instance}` is in an address: one socket each, `G-P@.socket`.
    pub each_instance: bool,
    /// `ListenStream=` etc.
    pub listen: Vec<(&'static str, Text)>,
}

/// `refresh` and its companions; what `apply` goes by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// `refresh`
    pub refresh: Refresh,
    /// `max-unavailable`
    pub max_unavailable: Percentage,
    /// `min-ready-sec`
    pub min_ready: Span,
    /// `settled`: all must hold.
    pub settled: Vec<Probe>,
}

/// `refresh`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refresh {
    /// All at once.
    Restart,
    /// Instance by instance.
    Roll,
    /// Left running, shown as outdated.
    Keep,
    /// Reloaded when only its inputs changed.
    Reload,
}

/// A setup step: runs to its end before what it gates.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// Where its table begins.
    pub place: SourceLocation,
    /// `ready` is always [`Ready::Oneshot`].
    pub service: Service,
    /// Processes of the group that must be ready first.
    pub after: Vec<ProcessName>,
    /// Setup steps that must have succeeded first.
    pub gated_by: Vec<ProcessName>,
    /// Units outside.
    pub after_units: Vec<String>,
}
