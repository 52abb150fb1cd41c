//! The table of supervisord's options: what becomes of each. `copse import --explain` prints it, copse-import(1) has it,
//! and the report is made from it.

/// What becomes of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// A key, and the directive that comes of it.
    Key(&'static str, &'static str),
    /// What it says holds anyway, or only makes sense to supervisord's own parts: it isn't reported.
    Holds(&'static str),
    /// There is something else for it, or nothing: it is reported, with this reason.
    Gone(&'static str),
}

/// One option of one kind of section.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The option.
    pub option: &'static str,
    /// What becomes of it.
    pub fate: Fate,
    /// What else there is to say.
    pub remark: &'static str,
}

impl Row {
    /// What becomes of it, as the manual says it.
    pub fn sentence(&self) -> String {
        let what = match self.fate {
            Fate::Key(key, "") => key.to_owned(),
            Fate::Key(key, directive) => format!("{key}, {directive}"),
            Fate::Holds(why) => format!("nothing: {why}"),
            Fate::Gone(why) => format!("left out: {why}"),
        };
        if self.remark.is_empty() { what } else { format!("{what}: {}", self.remark) }
    }
}

impl Kind {
    /// The header of such a section.
    pub fn header(&self) -> String {
        let name = if self.name.ends_with(':') { "NAME" } else { "" };
        format!("[{}{name}]", self.name)
    }

    /// What becomes of such sections, if they aren't read option by option.
    pub fn sentence(&self) -> Option<String> {
        self.gone.map(|why| format!("left out: {why}"))
    }
}

/// A kind of section, with its options.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// What its name begins with; it is the whole name where there is no colon.
    pub name: &'static str,
    /// Why such sections aren't imported, where they aren't.
    pub gone: Option<&'static str>,
    /// Its options.
    pub rows: &'static [Row],
}

const fn key(option: &'static str, key: &'static str, directive: &'static str, remark: &'static str) -> Row {
    Row { option, fate: Fate::Key(key, directive), remark }
}

const fn gone(option: &'static str, why: &'static str) -> Row {
    Row { option, fate: Fate::Gone(why), remark: "" }
}

const fn holds(option: &'static str, why: &'static str) -> Row {
    Row { option, fate: Fate::Holds(why), remark: "" }
}

/// The journal instead of files.
pub const LOGS: &str = "the journal has what it writes (`copse logs`), and journald.conf(5) says how much is kept";
const CONTROL: &str =
    "systemctl(1), copse(1) and D-Bus, org.freedesktop.systemd1(5), take its place, and polkit says who may do what";
const EVENTS: &str = "there are no events: nothing reads what it writes but the journal";
const DAEMON: &str = "it is about supervisord itself, which isn't there any more";
const PLUGIN: &str = "an option of a plug-in that supervisord itself doesn't have";

const PROGRAM: Kind = Kind {
    name: "program:",
    gone: None,
    rows: &[
        key(
            "command",
            "exec",
            "ExecStart=",
            "the words as they are; `%(process_num)d` is `{instance}`; of `/bin/sh -c`, `shell`",
        ),
        key(
            "process_name",
            "instances",
            "",
            "numbers; formatted where the command, a variable or the directory shows them so",
        ),
        key("numprocs", "instances", "", ""),
        key("numprocs_start", "first-instance", "", ""),
        key("priority", "after", "After=", "later ones wait until earlier ones are started, and stop first"),
        key("autostart", "start", "", "`false` is \"manual\""),
        key("startsecs", "start-limit-interval-sec", "StartLimitIntervalSec=", "starts that end sooner count"),
        key(
            "startretries",
            "start-limit-burst",
            "StartLimitBurst=",
            "one more, where it is started again at all; pauses are `restart-sec` each, and don't grow",
        ),
        key(
            "autorestart",
            "restart",
            "Restart=",
            "true: always, unexpected: on-failure with RestartForceExitStatus= for what systemd takes for a clean end, false: no",
        ),
        key(
            "exitcodes",
            "success-exit-status",
            "SuccessExitStatus=",
            "0 is always one; without it, RestartForceExitStatus=0",
        ),
        key("stopsignal", "kill-signal", "KillSignal=", ""),
        key("stopwaitsecs", "timeout-stop-sec", "TimeoutStopSec=", ""),
        key("stopasgroup", "kill-mode", "KillMode=", "true: control-group, false: mixed"),
        key("killasgroup", "kill-mode", "KillMode=", "mixed; false as well: children don't outlive their process"),
        key("user", "user", "User=", "systemd also sets HOME, USER, LOGNAME and SHELL"),
        key("umask", "umask", "UMask=", ""),
        key("directory", "working-directory", "WorkingDirectory=", ""),
        key(
            "environment",
            "environment",
            "Environment=",
            "PATH also as ExecSearchPath=, where the program is found by name",
        ),
        key("stdout_logfile", "service", "StandardOutput=", "NONE is null; everything else goes to the journal"),
        key("stderr_logfile", "service", "StandardError=", "NONE is null; everything else goes to the journal"),
        holds("redirect_stderr", "both go to the journal"),
        holds("stdout_syslog", "the journal has it"),
        holds("stderr_syslog", "the journal has it"),
        gone("stdout_logfile_maxbytes", LOGS),
        gone("stdout_logfile_backups", LOGS),
        gone("stderr_logfile_maxbytes", LOGS),
        gone("stderr_logfile_backups", LOGS),
        gone("stdout_capture_maxbytes", EVENTS),
        gone("stderr_capture_maxbytes", EVENTS),
        gone("stdout_events_enabled", EVENTS),
        gone("stderr_events_enabled", EVENTS),
        gone(
            "serverurl",
            "the variable SUPERVISOR_SERVER_URL isn't set: `controls` says which process may start which",
        ),
        key("depends_on", "after", "After=", PLUGIN),
        key("dependent_startup", "start", "", PLUGIN),
        key("dependent_startup_wait_for", "after", "After=", PLUGIN),
    ],
};

const FCGI: &[Row] = &[
    key("socket", "listen", "ListenStream=", "with StandardInput=socket"),
    key("socket_owner", "socket", "SocketUser=", "and SocketGroup="),
    key("socket_mode", "socket", "SocketMode=", ""),
    key("socket_backlog", "socket", "Backlog=", ""),
];

/// All kinds of sections that supervisord reads.
pub const KINDS: &[Kind] = &[
    PROGRAM,
    Kind { name: "fcgi-program:", gone: None, rows: FCGI },
    Kind {
        name: "group:",
        gone: None,
        rows: &[
            holds(
                "programs",
                "all programs are processes of one group; a unit's name doesn't say which `[group:x]` it was in",
            ),
            key("priority", "after", "After=", ""),
        ],
    },
    Kind {
        name: "supervisord",
        gone: None,
        rows: &[
            key("environment", "environment", "Environment=", "of every process"),
            key("user", "user", "User=", "of every process that says no other"),
            key("umask", "umask", "UMask=", "of every process that says no other"),
            key("directory", "working-directory", "WorkingDirectory=", "of every process that says no other"),
            key("minfds", "limit-nofile", "LimitNOFILE=", "where it is more than 1024, which systemd gives anyway"),
            gone("minprocs", DAEMON),
            gone("logfile", DAEMON),
            gone("logfile_maxbytes", DAEMON),
            gone("logfile_backups", DAEMON),
            gone("loglevel", DAEMON),
            gone("pidfile", DAEMON),
            gone("nodaemon", DAEMON),
            gone("silent", DAEMON),
            gone("nocleanup", DAEMON),
            gone("childlogdir", DAEMON),
            gone("strip_ansi", DAEMON),
            gone("identifier", DAEMON),
        ],
    },
    Kind { name: "include", gone: None, rows: &[holds("files", "they are read")] },
    Kind {
        name: "eventlistener:",
        gone: Some(
            "an event listener speaks supervisord's own protocol: `on-failure` names a unit to start when a process fails, `failure-policy = \"stop\"` stops the group when one gave up, and systemd tells everything else over D-Bus",
        ),
        rows: &[],
    },
    Kind { name: "unix_http_server", gone: Some(CONTROL), rows: &[] },
    Kind {
        name: "inet_http_server",
        gone: Some("there is no web page and no port: `systemctl -H` and `journalctl` work over ssh"),
        rows: &[],
    },
    Kind { name: "supervisorctl", gone: Some(CONTROL), rows: &[] },
    Kind { name: "ctlplugin:", gone: Some("a plug-in of supervisorctl, which isn't there any more"), rows: &[] },
    Kind { name: "rpcinterface:", gone: Some(CONTROL), rows: &[] },
];

/// The kind of a section by its name.
pub fn kind(section: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| match kind.name.strip_suffix(':') {
        Some(_) => section.starts_with(kind.name),
        None => section == kind.name,
    })
}

/// The row of an option in a section of that kind. A FastCGI program is a program.
pub fn row(kind: &Kind, option: &str) -> Option<&'static Row> {
    let also = if kind.name == "fcgi-program:" { PROGRAM.rows } else { &[] };
    let own = KINDS.iter().find(|known| known.name == kind.name)?.rows;
    own.iter().chain(also).find(|row| row.option == option)
}
