//! The table of keys: where each may stand, and which directive it is, if it is one.
//!
//! A key that is a directive one to one needs a row here and nothing else: reading, checking and writing follow from it,
//! and so does the schema that editors read.

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
    /// The form of its value.
    pub shape: Shape,
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

/// The form of a key's value, as far as it can be told without the rest of the file: what `copse schema` says of it.
/// What reads the value, in the modules beside this one, knows its grammar as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// What a directive takes.
    Is(Kind),
    /// A string.
    Text,
    /// A string, or an array of them.
    Texts,
    /// A string of plain words, or an array of strings.
    Command,
    /// A command, or an array of commands.
    Commands,
    /// Values by the names of environment variables.
    Variables,
    /// Where each credential comes from, by its name.
    Credentials,
    /// A number, `"cpus"`, or an array of names.
    Instances,
    /// A number or a percentage.
    MaxUnavailable,
    /// An address, an array of them, or a table of these.
    Listen,
    /// A word, or a table of probes.
    Ready,
    /// A table of probes, and how often they are asked.
    Health,
    /// A table of probes.
    Settled,
    /// Pass-through into that section.
    Directives(Section),
    /// A table of the keys of one of the places.
    Keys(u8),
    /// Tables of these, by name.
    Named(u8),
}

const EVERYWHERE: u8 = PROCESS | SETUP | INSTANCE | DEFAULTS;
const RUNNING: u8 = PROCESS | INSTANCE | DEFAULTS;
const WHICH: u8 = PROCESS | SETUP | INSTANCE;

const fn own(name: &'static str, places: u8, shape: Shape) -> Key {
    Key { name, places, directive: None, shape }
}

const fn service(name: &'static str, places: u8, directive: &'static str, kind: Kind) -> Key {
    Key { name, places, directive: Some((Section::Service, directive, kind)), shape: Shape::Is(kind) }
}

const fn unit(name: &'static str, places: u8, directive: &'static str, kind: Kind) -> Key {
    Key { name, places, directive: Some((Section::Unit, directive, kind)), shape: Shape::Is(kind) }
}

/// The words of `start`.
pub const START: &[&str] = &["auto", "manual"];
/// The words of `refresh`.
pub const REFRESH: &[&str] = &["restart", "roll", "keep", "reload"];
/// The words of `hardening`.
pub const HARDENING: &[&str] = &["none", "basic", "strict"];
/// The words of `failure-policy`.
pub const FAILURE_POLICY: &[&str] = &["continue", "stop"];
/// What `port` can be.
pub const PORT: (i64, i64) = (1, 65_535);
/// What `first-instance` can be.
pub const FIRST_INSTANCE: (i64, i64) = (0, i32::MAX as i64);

/// The words of `restart`.
pub const RESTART: &[&str] = &["no", "on-success", "on-failure", "on-abnormal", "on-watchdog", "on-abort", "always"];

/// All keys, in the order of the manual; directives are written in this order.
pub const KEYS: &[Key] = &[
    own("description", WHICH, Shape::Text),
    own("exec", WHICH, Shape::Command),
    own("shell", WHICH, Shape::Text),
    own("exec-start-pre", WHICH, Shape::Commands),
    own("exec-start-post", PROCESS | INSTANCE, Shape::Commands),
    own("exec-reload", PROCESS | INSTANCE, Shape::Commands),
    own("exec-stop", PROCESS | INSTANCE, Shape::Commands),
    own("exec-stop-post", WHICH, Shape::Commands),
    own("environment", EVERYWHERE, Shape::Variables),
    own("environment-file", EVERYWHERE, Shape::Texts),
    own("working-directory", EVERYWHERE, Shape::Text),
    service("user", EVERYWHERE, "User", Kind::User),
    service("group", EVERYWHERE, "Group", Kind::User),
    service("umask", EVERYWHERE, "UMask", Kind::Mode),
    service("nice", EVERYWHERE, "Nice", Kind::Integer(-20, 19)),
    service("limit-nofile", EVERYWHERE, "LimitNOFILE", Kind::Limit),
    own("port", PROCESS, Shape::Is(Kind::Integer(PORT.0, PORT.1))),
    own("runtime-directory", EVERYWHERE, Shape::Texts),
    own("runtime-directory-mode", EVERYWHERE, Shape::Is(Kind::Mode)),
    own("state-directory", EVERYWHERE, Shape::Texts),
    own("state-directory-mode", EVERYWHERE, Shape::Is(Kind::Mode)),
    own("cache-directory", EVERYWHERE, Shape::Texts),
    own("cache-directory-mode", EVERYWHERE, Shape::Is(Kind::Mode)),
    own("logs-directory", EVERYWHERE, Shape::Texts),
    own("logs-directory-mode", EVERYWHERE, Shape::Is(Kind::Mode)),
    own("configuration-directory", EVERYWHERE, Shape::Texts),
    own("configuration-directory-mode", EVERYWHERE, Shape::Is(Kind::Mode)),
    own("start", PROCESS | DEFAULTS, Shape::Is(Kind::Word(START))),
    own("hold", PROCESS, Shape::Is(Kind::Boolean)),
    own("after", PROCESS | SETUP, Shape::Texts),
    own("instances", PROCESS, Shape::Instances),
    own("first-instance", PROCESS, Shape::Is(Kind::Integer(FIRST_INSTANCE.0, FIRST_INSTANCE.1))),
    own("instance", PROCESS, Shape::Named(INSTANCE)),
    own("on-calendar", PROCESS, Shape::Texts),
    own("listen", PROCESS, Shape::Listen),
    service("non-blocking", PROCESS | DEFAULTS, "NonBlocking", Kind::Boolean),
    own("ready", RUNNING, Shape::Ready),
    own("health", RUNNING, Shape::Health),
    own("essential", PROCESS | DEFAULTS, Shape::Is(Kind::Boolean)),
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
    own("inputs", EVERYWHERE, Shape::Texts),
    own("refresh", PROCESS | DEFAULTS, Shape::Is(Kind::Word(REFRESH))),
    own("max-unavailable", PROCESS | DEFAULTS, Shape::MaxUnavailable),
    own("min-ready-sec", PROCESS | DEFAULTS, Shape::Is(Kind::Span)),
    own("settled", PROCESS | DEFAULTS, Shape::Settled),
    own("hardening", EVERYWHERE, Shape::Is(Kind::Word(HARDENING))),
    service("ambient-capabilities", EVERYWHERE, "AmbientCapabilities", Kind::Capabilities),
    service("capability-bounding-set", EVERYWHERE, "CapabilityBoundingSet", Kind::Capabilities),
    own("credentials", EVERYWHERE, Shape::Credentials),
    service("memory-max", EVERYWHERE, "MemoryMax", Kind::Size),
    service("memory-high", EVERYWHERE, "MemoryHigh", Kind::Size),
    service("cpu-quota", EVERYWHERE, "CPUQuota", Kind::Percent),
    service("tasks-max", EVERYWHERE, "TasksMax", Kind::Tasks),
    own("controls", PROCESS, Shape::Texts),
    own("unit", EVERYWHERE, Shape::Directives(Section::Unit)),
    own("service", EVERYWHERE, Shape::Directives(Section::Service)),
    own("socket", PROCESS | DEFAULTS, Shape::Directives(Section::Socket)),
    own("timer", PROCESS | DEFAULTS, Shape::Directives(Section::Timer)),
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

/// What to do instead of an `[Install]` section: a generated unit can't have one (systemd.generator(7)).
pub const INSTALL: &str = "units aren't enabled one by one: write `wanted-by = [\"multi-user.target\"]` above the first line that begins with `[`, and the target starts them";

/// The keys of the group itself, with the forms of their values.
pub const GROUP: &[(&str, Shape)] = &[
    ("description", Shape::Text),
    ("documentation", Shape::Texts),
    ("wanted-by", Shape::Is(Kind::Units)),
    ("after", Shape::Is(Kind::Units)),
    ("requires", Shape::Is(Kind::Units)),
    ("wants", Shape::Is(Kind::Units)),
    ("before", Shape::Is(Kind::Units)),
    ("conflicts", Shape::Is(Kind::Units)),
    ("failure-policy", Shape::Is(Kind::Word(FAILURE_POLICY))),
    ("timeout-start-sec", Shape::Is(Kind::Span)),
    ("runtime-directory", Shape::Texts),
    ("runtime-directory-mode", Shape::Is(Kind::Mode)),
    ("state-directory", Shape::Texts),
    ("state-directory-mode", Shape::Is(Kind::Mode)),
    ("cache-directory", Shape::Texts),
    ("cache-directory-mode", Shape::Is(Kind::Mode)),
    ("logs-directory", Shape::Texts),
    ("logs-directory-mode", Shape::Is(Kind::Mode)),
    ("configuration-directory", Shape::Texts),
    ("configuration-directory-mode", Shape::Is(Kind::Mode)),
    ("defaults", Shape::Keys(DEFAULTS)),
    ("process", Shape::Named(PROCESS)),
    ("setup", Shape::Named(SETUP)),
    ("target", Shape::Directives(Section::Unit)),
    ("slice", Shape::Directives(Section::Slice)),
];

/// The names of [`GROUP`].
pub const GROUP_KEYS: &[&str] = &group_keys();

const fn group_keys() -> [&'static str; GROUP.len()] {
    let mut names = [""; GROUP.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = GROUP[at].0;
        at += 1;
    }
    names
}

/// The row of that key.
pub fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}
