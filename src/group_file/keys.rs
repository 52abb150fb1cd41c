//! The table of keys: where each may stand, the kind of its value, and the directive that it sets one to one, if any.
//!
//! A key that is a directive one to one needs a row here and nothing else: reading, checking, writing and the schema that
//! editors read follow from it.

use self::KeyKind::*;
use crate::unit::Section;

/// A key of a process, setup step, instance or `[defaults]`.
#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    /// Where it may stand: a sum of [`PROCESS`], [`SETUP`], [`INSTANCE`] and [`DEFAULTS`].
    pub places: u8,
    pub kind: KeyKind,
    /// The directive that it sets one to one.
    pub directive: Option<(Section, &'static str)>,
}

/// The key may stand in `[process.X]`.
pub const PROCESS: u8 = 1;
/// The key may stand in `[setup.X]`.
pub const SETUP: u8 = 2;
/// The key may stand in `[process.X.instance.N]`.
pub const INSTANCE: u8 = 4;
/// The key may stand in `[defaults]`.
pub const DEFAULTS: u8 = 8;

/// The kind of a key's value, which decides how it is read and what `copse schema` writes about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// A time span of systemd.time(7), or an integer of seconds.
    Span,
    /// Bytes, also with `K`, `M`, `G`, `T`; a percentage; or `infinity`.
    Size,
    /// A whole number from the first to the second.
    Integer(i64, i64),
    /// A percentage, also above 100.
    Percent,
    /// A whole number, a percentage or `infinity`.
    Tasks,
    /// `N`, `SOFT:HARD` or `infinity`.
    Limit,
    Boolean,
    /// An octal mode as a string.
    Mode,
    /// The name of a signal.
    Signal,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Exit statuses and signals: one, or an array.
    Statuses,
    /// Capabilities: one, or an array; `~` in front of the first inverts.
    Capabilities,
    /// Names of units outside the group.
    Units,
    /// The name or number of a user or group.
    User,
    /// A string.
    Text,
    /// A string, or an array of them.
    Texts,
    /// A string of plain words, or an array of strings.
    Command,
    /// A command, or an array of commands.
    Commands,
    /// A table of environment variables.
    Variables,
    /// A table of credentials.
    Credentials,
    /// The source of one credential.
    Credential,
    /// A number, `"cpus"`, or an array of names.
    Instances,
    /// A number or a percentage.
    MaxUnavailable,
    /// An address, an array of them, or a table of these.
    Listen,
    /// A word, or a table of probes.
    Ready,
    /// A table of probes with their interval and their failures.
    Health,
    /// A table of probes.
    Settled,
    /// The table of the group's `[supervisor]`.
    Supervisor,
    /// A table of directives, passed through to that section.
    Directives(Section),
    /// A table of the keys of one of the places.
    Keys(u8),
    /// Such tables, by name.
    Named(u8),
}

const EVERYWHERE: u8 = PROCESS | SETUP | INSTANCE | DEFAULTS;
const RUNNING: u8 = PROCESS | INSTANCE | DEFAULTS;
const WHICH: u8 = PROCESS | SETUP | INSTANCE;

const fn own(name: &'static str, places: u8, kind: KeyKind) -> Key {
    Key { name, places, kind, directive: None }
}

const fn service(name: &'static str, places: u8, directive: &'static str, kind: KeyKind) -> Key {
    Key { name, places, kind, directive: Some((Section::Service, directive)) }
}

const fn unit(name: &'static str, places: u8, directive: &'static str, kind: KeyKind) -> Key {
    Key { name, places, kind, directive: Some((Section::Unit, directive)) }
}

/// The words of `start`.
pub const START: &[&str] = &["auto", "manual"];
/// The words of `refresh`.
pub const REFRESH: &[&str] = &["restart", "roll", "keep", "reload"];
/// The words of `hardening`.
pub const HARDENING: &[&str] = &["none", "basic", "strict"];
/// The words of `supervisor-view`.
pub const SUPERVISOR_VIEW: &[&str] = &["shared", "own"];
/// The words of `failure-policy`.
pub const FAILURE_POLICY: &[&str] = &["continue", "stop"];
/// What `port` can be.
pub const PORT: (i64, i64) = (1, 65_535);
/// What `first-instance` can be.
pub const FIRST_INSTANCE: (i64, i64) = (0, i32::MAX as i64);

/// The words of `restart`.
pub const RESTART: &[&str] = &["no", "on-success", "on-failure", "on-abnormal", "on-watchdog", "on-abort", "always"];

/// All keys, in the order of the manual. Directives are written to units in this order.
pub const KEYS: &[Key] = &[
    own("description", WHICH, Text),
    own("exec", WHICH, Command),
    own("shell", WHICH, Text),
    own("exec-start-pre", WHICH, Commands),
    own("exec-start-post", PROCESS | INSTANCE, Commands),
    own("exec-reload", PROCESS | INSTANCE, Commands),
    own("exec-stop", PROCESS | INSTANCE, Commands),
    own("exec-stop-post", WHICH, Commands),
    own("environment", EVERYWHERE, Variables),
    own("environment-file", EVERYWHERE, Texts),
    own("working-directory", EVERYWHERE, Text),
    service("user", EVERYWHERE, "User", User),
    service("group", EVERYWHERE, "Group", User),
    service("umask", EVERYWHERE, "UMask", Mode),
    service("nice", EVERYWHERE, "Nice", Integer(-20, 19)),
    service("limit-nofile", EVERYWHERE, "LimitNOFILE", Limit),
    own("port", PROCESS, Integer(PORT.0, PORT.1)),
    own("runtime-directory", EVERYWHERE, Texts),
    own("runtime-directory-mode", EVERYWHERE, Mode),
    own("state-directory", EVERYWHERE, Texts),
    own("state-directory-mode", EVERYWHERE, Mode),
    own("cache-directory", EVERYWHERE, Texts),
    own("cache-directory-mode", EVERYWHERE, Mode),
    own("logs-directory", EVERYWHERE, Texts),
    own("logs-directory-mode", EVERYWHERE, Mode),
    own("configuration-directory", EVERYWHERE, Texts),
    own("configuration-directory-mode", EVERYWHERE, Mode),
    own("start", PROCESS | DEFAULTS, Word(START)),
    own("hold", PROCESS, Boolean),
    own("after", PROCESS | SETUP, Texts),
    own("instances", PROCESS, Instances),
    own("first-instance", PROCESS, Integer(FIRST_INSTANCE.0, FIRST_INSTANCE.1)),
    own("instance", PROCESS, Named(INSTANCE)),
    own("on-calendar", PROCESS, Texts),
    own("listen", PROCESS, Listen),
    service("non-blocking", PROCESS | DEFAULTS, "NonBlocking", Boolean),
    own("ready", RUNNING, Ready),
    own("health", RUNNING, Health),
    own("essential", PROCESS | DEFAULTS, Boolean),
    service("restart", EVERYWHERE, "Restart", Word(RESTART)),
    service("restart-sec", EVERYWHERE, "RestartSec", Span),
    service("restart-max-delay-sec", EVERYWHERE, "RestartMaxDelaySec", Span),
    service("restart-steps", EVERYWHERE, "RestartSteps", Integer(0, i32::MAX as i64)),
    unit("start-limit-burst", EVERYWHERE, "StartLimitBurst", Integer(0, i32::MAX as i64)),
    unit("start-limit-interval-sec", EVERYWHERE, "StartLimitIntervalSec", Span),
    service("success-exit-status", EVERYWHERE, "SuccessExitStatus", Statuses),
    unit("on-failure", EVERYWHERE, "OnFailure", Units),
    service("watchdog-sec", RUNNING, "WatchdogSec", Span),
    service("timeout-start-sec", EVERYWHERE, "TimeoutStartSec", Span),
    service("timeout-stop-sec", EVERYWHERE, "TimeoutStopSec", Span),
    service("kill-signal", EVERYWHERE, "KillSignal", Signal),
    service("kill-mode", EVERYWHERE, "KillMode", Word(&["control-group", "mixed", "process", "none"])),
    service("send-sighup", EVERYWHERE, "SendSIGHUP", Boolean),
    own("inputs", EVERYWHERE, Texts),
    own("refresh", PROCESS | DEFAULTS, Word(REFRESH)),
    own("max-unavailable", PROCESS | DEFAULTS, MaxUnavailable),
    own("min-ready-sec", PROCESS | DEFAULTS, Span),
    own("settled", PROCESS | DEFAULTS, Settled),
    own("hardening", EVERYWHERE, Word(HARDENING)),
    service("ambient-capabilities", EVERYWHERE, "AmbientCapabilities", Capabilities),
    service("capability-bounding-set", EVERYWHERE, "CapabilityBoundingSet", Capabilities),
    own("credentials", EVERYWHERE, Credentials),
    service("memory-max", EVERYWHERE, "MemoryMax", Size),
    service("memory-high", EVERYWHERE, "MemoryHigh", Size),
    service("cpu-quota", EVERYWHERE, "CPUQuota", Percent),
    service("tasks-max", EVERYWHERE, "TasksMax", Tasks),
    own("controls", PROCESS, Texts),
    own("supervisor-name", PROCESS, Text),
    own("supervisor-view", PROCESS, Word(SUPERVISOR_VIEW)),
    own("unit", EVERYWHERE, Directives(Section::Unit)),
    own("service", EVERYWHERE, Directives(Section::Service)),
    own("socket", PROCESS | DEFAULTS, Directives(Section::Socket)),
    own("timer", PROCESS | DEFAULTS, Directives(Section::Timer)),
];

/// Names of other programs and of systemd, with the key for each.
pub const ALSO_CALLED: &[(&str, &str)] = &[
    ("exec-start", "exec"),
    ("command", "exec"),
    ("cmd", "exec"),
    ("run", "exec"),
    ("env", "environment"),
    ("directory", "working-directory"),
    ("cwd", "working-directory"),
    ("autostart", "start"),
    ("autorestart", "restart"),
    ("numprocs", "instances"),
    ("replicas", "instances"),
    ("instance-count", "instances"),
    ("num-instances", "instances"),
    ("number-of-instances", "instances"),
    ("count", "instances"),
    ("scale", "instances"),
    ("depends-on", "after"),
    ("stopsignal", "kill-signal"),
    ("stopwaitsecs", "timeout-stop-sec"),
    ("exitcodes", "success-exit-status"),
    ("schedule", "on-calendar"),
];

/// The help for an `[Install]` section, which a generated unit cannot have (systemd.generator(7)).
pub const INSTALL: &str = "write `wanted-by = [\"multi-user.target\"]` above the first line that begins with `[`";

/// The keys of the group itself.
pub const GROUP: &[(&str, KeyKind)] = &[
    ("description", Text),
    ("documentation", Texts),
    ("wanted-by", Units),
    ("after", Units),
    ("requires", Units),
    ("wants", Units),
    ("before", Units),
    ("conflicts", Units),
    ("failure-policy", Word(FAILURE_POLICY)),
    ("timeout-start-sec", Span),
    ("runtime-directory", Texts),
    ("runtime-directory-mode", Mode),
    ("state-directory", Texts),
    ("state-directory-mode", Mode),
    ("cache-directory", Texts),
    ("cache-directory-mode", Mode),
    ("logs-directory", Texts),
    ("logs-directory-mode", Mode),
    ("configuration-directory", Texts),
    ("configuration-directory-mode", Mode),
    ("supervisor-socket", Text),
    ("supervisor", Supervisor),
    ("defaults", Keys(DEFAULTS)),
    ("process", Named(PROCESS)),
    ("setup", Named(SETUP)),
    ("target", Directives(Section::Unit)),
    ("slice", Directives(Section::Slice)),
];

/// The keys of `[supervisor]`.
pub const SUPERVISOR: &[(&str, KeyKind)] = &[
    ("socket", Text),
    ("user", User),
    ("group", User),
    ("mode", Mode),
    ("listen", Text),
    ("username", Text),
    ("password", Credential),
];

/// The names of [`SUPERVISOR`].
pub const SUPERVISOR_KEYS: &[&str] = &names::<{ SUPERVISOR.len() }>(SUPERVISOR);

/// The names of [`GROUP`].
pub const GROUP_KEYS: &[&str] = &names::<{ GROUP.len() }>(GROUP);

const fn names<const N: usize>(keys: &[(&'static str, KeyKind)]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut index = 0;
    while index < N {
        names[index] = keys[index].0;
        index += 1;
    }
    names
}

/// The row of a key of processes, setup steps, instances or `[defaults]`.
pub fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}
