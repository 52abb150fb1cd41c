//! The table of keys: where each may stand, and which directive it is, if it is one.
//!
//! A key that is a directive one to one needs a row here and nothing else: reading, checking and writing follow from it.

use crate::unit::Section;

/// A key of a process, setup step, instance or `[defaults]`.
#[derive(Debug)]
pub struct Key {
    /// As it is written.
    pub name: &'static str,
    /// Where it may stand: a sum of [`PROCESS`], [`SETUP`], [`INSTANCE`] and [`DEFAULTS`].
    pub places: u8,
    /// The directive that it is, and the grammar of its value; `None`: it has a meaning of copse's own.
    pub directive: Option<(Section, &'static str, Kind)>,
}

/// The key may stand in `[process.X]`.
pub const PROCESS: u8 = 1;
/// The key may stand in `[setup.X]`.
pub const SETUP: u8 = 2;
/// The key may stand in `[process.X.instance.N]`.
pub const INSTANCE: u8 = 4;
/// The key may stand in `[defaults]`.
pub const DEFAULTS: u8 = 8;

/// The grammar of a directive's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// systemd.time(7); an integer is seconds.
    Span,
    /// Bytes with `K`, `M`, `G`, `T`, or a percentage, or `infinity`.
    Size,
    /// A whole number within bounds.
    Integer(i64, i64),
    /// A percentage, also above 100.
    Percent,
    /// A whole number, a percentage or `infinity`.
    Tasks,
    /// `N`, `SOFT:HARD` or `infinity`.
    Limit,
    /// `true` or `false`.
    Boolean,
    /// `0755`, as a string.
    Mode,
    /// A signal's name.
    Signal,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Exit statuses and signals: one, or an array.
    Statuses,
    /// Capabilities: one, or an array; `~` in front of the first inverts.
    Capabilities,
    /// Names of units outside.
    Units,
    /// A user's or group's name or number.
    User,
}

const EVERYWHERE: u8 = PROCESS | SETUP | INSTANCE | DEFAULTS;
const RUNNING: u8 = PROCESS | INSTANCE | DEFAULTS;
const WHICH: u8 = PROCESS | SETUP | INSTANCE;

const fn own(name: &'static str, places: u8) -> Key {
    Key { name, places, directive: None }
}

const fn service(name: &'static str, places: u8, directive: &'static str, kind: Kind) -> Key {
    Key { name, places, directive: Some((Section::Service, directive, kind)) }
}

const fn unit(name: &'static str, places: u8, directive: &'static str, kind: Kind) -> Key {
    Key { name, places, directive: Some((Section::Unit, directive, kind)) }
}

/// The words of `restart`.
pub const RESTART: &[&str] = &["no", "on-success", "on-failure", "on-abnormal", "on-watchdog", "on-abort", "always"];

/// All keys, in the order of the manual; directives are written in this order.
pub const KEYS: &[Key] = &[
    own("description", WHICH),
    own("exec", WHICH),
    own("shell", WHICH),
    own("exec-start-pre", WHICH),
    own("exec-start-post", PROCESS | INSTANCE),
    own("exec-reload", PROCESS | INSTANCE),
    own("exec-stop", PROCESS | INSTANCE),
    own("exec-stop-post", WHICH),
    own("environment", EVERYWHERE),
    own("environment-file", EVERYWHERE),
    own("working-directory", EVERYWHERE),
    service("user", EVERYWHERE, "User", Kind::User),
    service("group", EVERYWHERE, "Group", Kind::User),
    service("umask", EVERYWHERE, "UMask", Kind::Mode),
    service("nice", EVERYWHERE, "Nice", Kind::Integer(-20, 19)),
    service("limit-nofile", EVERYWHERE, "LimitNOFILE", Kind::Limit),
    own("port", PROCESS),
    own("runtime-directory", EVERYWHERE),
    own("runtime-directory-mode", EVERYWHERE),
    own("state-directory", EVERYWHERE),
    own("state-directory-mode", EVERYWHERE),
    own("cache-directory", EVERYWHERE),
    own("cache-directory-mode", EVERYWHERE),
    own("logs-directory", EVERYWHERE),
    own("logs-directory-mode", EVERYWHERE),
    own("configuration-directory", EVERYWHERE),
    own("configuration-directory-mode", EVERYWHERE),
    own("start", PROCESS | DEFAULTS),
    own("hold", PROCESS),
    own("after", PROCESS | SETUP),
    own("instances", PROCESS),
    own("first-instance", PROCESS),
    own("instance", PROCESS),
    own("on-calendar", PROCESS),
    own("listen", PROCESS),
    own("ready", RUNNING),
    own("health", RUNNING),
    own("essential", PROCESS | DEFAULTS),
    service("restart", EVERYWHERE, "Restart", Kind::Word(RESTART)),
    service("restart-sec", EVERYWHERE, "RestartSec", Kind::Span),
    service("restart-max-delay-sec", EVERYWHERE, "RestartMaxDelaySec", Kind::Span),
    service("restart-steps", EVERYWHERE, "RestartSteps", Kind::Integer(0, i32::MAX as i64)),
    unit("start-limit-burst", EVERYWHERE, "StartLimitBurst", Kind::Integer(0, i32::MAX as i64)),
    unit("start-limit-interval-sec", EVERYWHERE, "StartLimitIntervalSec", Kind::Span),
    service("success-exit-status", EVERYWHERE, "SuccessExitStatus", Kind::Statuses),
    unit("on-failure", EVERYWHERE, "OnFailure", Kind::Units),
    service("watchdog-sec", RUNNING, "WatchdogSec", Kind::Span),
    service("timeout-start-sec", EVERYWHERE, "TimeoutStartSec", Kind::Span),
    service("timeout-stop-sec", EVERYWHERE, "TimeoutStopSec", Kind::Span),
    service("kill-signal", EVERYWHERE, "KillSignal", Kind::Signal),
    service("kill-mode", EVERYWHERE, "KillMode", Kind::Word(&["control-group", "mixed", "process", "none"])),
    service("send-sighup", EVERYWHERE, "SendSIGHUP", Kind::Boolean),
    own("inputs", EVERYWHERE),
    own("refresh", PROCESS | DEFAULTS),
    own("max-unavailable", PROCESS | DEFAULTS),
    own("min-ready-sec", PROCESS | DEFAULTS),
    own("settled", PROCESS | DEFAULTS),
    own("hardening", EVERYWHERE),
    service("ambient-capabilities", EVERYWHERE, "AmbientCapabilities", Kind::Capabilities),
    service("capability-bounding-set", EVERYWHERE, "CapabilityBoundingSet", Kind::Capabilities),
    own("credentials", EVERYWHERE),
    service("memory-max", EVERYWHERE, "MemoryMax", Kind::Size),
    service("memory-high", EVERYWHERE, "MemoryHigh", Kind::Size),
    service("cpu-quota", EVERYWHERE, "CPUQuota", Kind::Percent),
    service("tasks-max", EVERYWHERE, "TasksMax", Kind::Tasks),
    own("controls", PROCESS),
    own("service", EVERYWHERE),
    own("unit", EVERYWHERE),
    own("socket", PROCESS | DEFAULTS),
    own("timer", PROCESS | DEFAULTS),
];

/// What other programs and systemd call what is a key here: what people write first.
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
    ("depends-on", "after"),
    ("stopsignal", "kill-signal"),
    ("stopwaitsecs", "timeout-stop-sec"),
    ("exitcodes", "success-exit-status"),
    ("schedule", "on-calendar"),
];

/// What to do instead of an `[Install]` section: a generated unit can't have one (systemd.generator(7)).
pub const INSTALL: &str = "units aren't enabled one by one: write `wanted-by = [\"multi-user.target\"]` above the first line that begins with `[`, and the target starts them";

/// The keys of the group itself.
pub const GROUP_KEYS: &[&str] = &[
    "description",
    "documentation",
    "wanted-by",
    "after",
    "requires",
    "wants",
    "before",
    "conflicts",
    "failure-policy",
    "timeout-start-sec",
    "runtime-directory",
    "runtime-directory-mode",
    "state-directory",
    "state-directory-mode",
    "cache-directory",
    "cache-directory-mode",
    "logs-directory",
    "logs-directory-mode",
    "configuration-directory",
    "configuration-directory-mode",
    "defaults",
    "process",
    "setup",
    "target",
    "slice",
];

/// The row of that key.
#[must_use]
pub fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}
