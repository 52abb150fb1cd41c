//! The service of a process or setup step.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use super::text::{Argv, DirectoryKind, Text};
use crate::basic::time_span;
use crate::unit::Section;

/// What a unit runs with: `[defaults]`, its own table and its instance's, merged.
#[derive(Debug, Clone, PartialEq)]
pub struct Service {
    /// `Description=`; without one it is made from the names.
    pub description: Option<String>,
    /// `exec`, or `["/bin/sh", "-c", shell]`.
    pub exec: Argv,
    pub exec_start_pre: Vec<Argv>,
    pub exec_start_post: Vec<Argv>,
    pub exec_reload: Vec<Argv>,
    pub exec_stop: Vec<Argv>,
    pub exec_stop_post: Vec<Argv>,
    /// By name; the names are checked.
    pub environment: BTreeMap<String, Text>,
    /// `environment-file`: true if it is optional, and its path.
    pub environment_files: Vec<(bool, Text)>,
    /// Absolute, or `~`.
    pub working_directory: Option<Text>,
    /// The keys that are directives one to one, in the order of the table of keys, with defaults that are promises filled
    /// in (`Restart=`, `RestartSec=`, `TimeoutStartSec=`, `TimeoutStopSec=`, `KillMode=`, `StartLimit…=`).
    pub directives: Vec<Directive>,
    /// Its own directories.
    pub directories: Vec<Directory>,
    pub ready: Ready,
    pub health: Option<Health>,
    /// Also among the directives.
    pub restart: Restart,
    /// Also among the directives.
    pub timeout_start: TimeSpan,
    /// True if the group is failed once this service failed permanently.
    pub essential: bool,
    pub inputs: Vec<Text>,
    pub hardening: Hardening,
    /// By name.
    pub credentials: BTreeMap<String, Credential>,
    /// `[….service]`, `[….unit]`, `[….socket]`, `[….timer]`.
    pub pass: PassThrough,
}

/// A checked time span of systemd.time(7), with its text for the unit. An integer is in seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeSpan {
    pub text: Cow<'static, str>,
    pub value: time_span::Span,
}

impl TimeSpan {
    /// A default, with its text.
    pub const fn seconds(text: &'static str, seconds: u64) -> Self {
        Self { text: Cow::Borrowed(text), value: time_span::Span::Finite(Duration::from_secs(seconds)) }
    }

    /// No limit.
    pub const INFINITY: Self = Self { text: Cow::Borrowed("infinity"), value: time_span::Span::Infinity };

    /// The duration, if it is neither zero nor infinite.
    pub fn positive(&self) -> Option<Duration> {
        self.value.finite().filter(|duration| !duration.is_zero())
    }
}

/// A line `name=value` of a unit. The value is plain text without control characters, with `%` not yet escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directive {
    pub section: Section,
    pub name: &'static str,
    pub value: Cow<'static, str>,
}

/// The directories of one kind, as `RuntimeDirectory=` and its siblings take them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    pub kind: DirectoryKind,
    /// Relative to the base directory of the kind; in a process they may hold `{instance}`.
    pub names: Vec<Text>,
    /// An octal mode.
    pub mode: Option<Cow<'static, str>>,
}

/// Pass-through: section, directive, and what to do, in the author's order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PassThrough(pub Vec<(Section, String, Pass)>);

/// What a pass-through value does to copse's own lines of that name. The texts are in systemd's grammar, without newlines,
/// and are written unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pass {
    /// A scalar: replaces copse's lines.
    Replace(String),
    /// An array: adds lines.
    Add(Vec<String>),
    /// An array that begins with `""`: drops copse's lines (and systemd's own defaults), then adds.
    Reset(Vec<String>),
}

impl Pass {
    /// The lines that it writes.
    pub fn lines(&self) -> &[String] {
        match self {
            Self::Replace(line) => std::slice::from_ref(line),
            Self::Add(lines) | Self::Reset(lines) => lines,
        }
    }
}

/// `restart`: the values of `Restart=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restart {
    No,
    OnSuccess,
    OnFailure,
    OnAbnormal,
    OnWatchdog,
    OnAbort,
    Always,
}

/// `ready`: when a process counts as started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ready {
    /// Its program was executed.
    Exec,
    /// It sends `READY=1`.
    Notify,
    /// It exited successfully; it stays active if it is started with the group (`RemainAfterExit=`).
    Oneshot,
    /// It took this name on the bus.
    Dbus(String),
    /// It forked and wrote this file.
    PidFile(Text),
    /// All of these succeed.
    Probe(Vec<Probe>),
}

/// A probe for copse-notify.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    /// `HOST:PORT` accepts a connection.
    Tcp(Text),
    /// A socket at this path (or `@abstract`) accepts a connection.
    Unix(Text),
    /// The URL answers with one of these statuses (`200-399`; empty: the default).
    Http(Text, Vec<String>),
    /// The file exists.
    File(Text),
    /// The command exits with 0.
    Command(Argv),
    /// The program writes a newline to this descriptor.
    Fd(u32),
    /// A process of the unit listens on this port.
    Listening(Text),
}

/// `health`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// All must succeed.
    pub probes: Vec<Probe>,
    pub interval: TimeSpan,
    /// The number of failures in a row that stops the watchdog pings.
    pub failures: u32,
}

/// `hardening`: a profile of sandboxing directives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hardening {
    None,
    /// Restricts what an ordinary service does not use.
    Basic,
    /// Leaves what a network service needs that writes only its own directories.
    Strict,
}

/// The source of a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// `LoadCredential=NAME:PATH`; also the bare name of a credential in the store (systemd.exec(5)).
    Load(Text),
    /// `LoadCredentialEncrypted=NAME:PATH`
    Encrypted(Text),
    /// `SetCredential=NAME:TEXT`
    Text(String),
}
