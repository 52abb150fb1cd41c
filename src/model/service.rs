//! What a unit of a group runs with.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{Argv, Directory, Span, Text};
use crate::unit::Section;

/// What exactly a unit of a process or setup step runs with: `[defaults]`, its table, and its instance's, merged.
#[derive(Debug, Clone, PartialEq)]
pub struct Service {
    /// `Description=`; if there is none one is made up from the names.
    pub description: Option<String>,
    /// `exec`, or `["/bin/sh", "-c", shell]`.
    pub exec: Argv,
    /// `exec-start-pre`
    pub exec_start_pre: Vec<Argv>,
    /// `exec-start-post`
    pub exec_start_post: Vec<Argv>,
    /// `exec-reload`
    pub exec_reload: Vec<Argv>,
    /// `exec-stop`
    pub exec_stop: Vec<Argv>,
    /// `exec-stop-post`
    pub exec_stop_post: Vec<Argv>,
    /// Names checked; by name.
    pub environment: BTreeMap<String, Text>,
    /// `environment-file`: whether it is optional, and its path.
    pub environment_files: Vec<(bool, Text)>,
    /// `working-directory` (absolute, or `~`).
    pub working_directory: Option<Text>,
    /// The keys that are directives one to one, checked, in the order of the table of keys, with defaults that are
    /// promises filled in (`Restart=`, `RestartSec=`, `TimeoutStartSec=`, `TimeoutStopSec=`, `KillMode=`, `StartLimit…=`).
    pub directives: Vec<Directive>,
    /// Own directories.
    pub directories: Vec<Directory>,
    /// `ready`
    pub ready: Ready,
    /// `health`
    pub health: Option<Health>,
    /// `restart`, which is also among the directives.
    pub restart: Restart,
    /// `timeout-start-sec`, which is also among the directives.
    pub timeout_start: Span,
    /// Whether the group is failed when this gave up.
    pub essential: bool,
    /// `inputs`
    pub inputs: Vec<Text>,
    /// `hardening`
    pub hardening: Hardening,
    /// `credentials`, by name.
    pub credentials: BTreeMap<String, Credential>,
    /// `[….service]`, `[….unit]`, `[….socket]`, `[….timer]`.
    pub pass: PassThrough,
}

/// A line `name=value` of a unit; the value is plain text that holds no control characters: `%` isn't escaped yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directive {
    /// Its section.
    pub section: Section,
    /// `RestartSec`
    pub name: &'static str,
    /// In systemd's grammar.
    pub value: Cow<'static, str>,
}

/// Whether a shell reads the command: unless it was written with `exec`, the program is a child of the shell.
pub fn is_shell(argv: &Argv) -> bool {
    let word = |at: usize| argv.get(at).filter(|word| word.pieces().len() == 1).map(Text::leading);
    word(0) == Some("/bin/sh") && word(1) == Some("-c")
}

/// Pass-through: section → directive → what to do, in the author's order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PassThrough(pub Vec<(Section, String, Pass)>);

/// What a pass-through value does to copse's own lines of that name.
/// The texts are in systemd's own grammar and go out as they are; they hold no newline (checked).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pass {
    /// A scalar: replaces copse's lines.
    Replace(String),
    /// An array: adds lines.
    Add(Vec<String>),
    /// An array that begins with `""`: drops copse's lines (and systemd's own defaults), then adds.
    Reset(Vec<String>),
}

/// `restart`, in systemd's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restart {
    /// `no`
    No,
    /// `on-success`
    OnSuccess,
    /// `on-failure`
    OnFailure,
    /// `on-abnormal`
    OnAbnormal,
    /// `on-watchdog`
    OnWatchdog,
    /// `on-abort`
    OnAbort,
    /// `always`
    Always,
}

/// `ready`: when a process counts as started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ready {
    /// Its program was executed.
    Exec,
    /// It says `READY=1`.
    Notify,
    /// It ended well; stays active when auto (`RemainAfterExit=`).
    Oneshot,
    /// It took this name on the bus.
    Dbus(String),
    /// It forked and wrote this file.
    PidFile(Text),
    /// All of these hold.
    Probe(Vec<Probe>),
}

/// A probe for copse-notify.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    /// `HOST:PORT` accepts.
    Tcp(Text),
    /// A socket at this path (or `@abstract`) accepts.
    Unix(Text),
    /// The URL answers with one of these statuses (`200-399`; empty: the default).
    Http(Text, Vec<String>),
    /// The file exists.
    File(Text),
    /// The command exits 0.
    Command(Argv),
    /// The program writes a newline to this descriptor.
    Fd(u32),
    /// A process of the unit listens on this port.
    Listening(Text),
}

/// `health`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// All must hold.
    pub probes: Vec<Probe>,
    /// `interval-sec`
    pub interval: Span,
    /// `failures` tolerated in a row.
    pub failures: u32,
}

/// `hardening`: a profile of sandboxing directives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hardening {
    /// Nothing is fenced.
    None,
    /// What no ordinary service misses.
    Basic,
    /// What a network service that writes only its own directories needs.
    Strict,
}

/// Where a credential comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// `LoadCredential=NAME:PATH`; also a bare credstore name (249+: `LoadCredential=NAME`… see systemd.exec(5)).
    Load(Text),
    /// `LoadCredentialEncrypted=NAME:PATH` (250+)
    Encrypted(Text),
    /// `SetCredential=NAME:TEXT`
    Text(String),
}
