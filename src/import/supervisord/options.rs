//! The options of supervisord, and what becomes of each: `copse import --explain` and copse-import(1) print the table, and
//! the report of an import rests on it.

/// What becomes of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It becomes a key of the group file.
    Imported,
    /// It has no effect, which is not reported.
    Ignored,
    /// It is not imported, which is reported.
    Unsupported,
}

/// Options of one kind of section that share a fate.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Separated by blanks.
    options: &'static str,
    pub fate: Fate,
    /// The key, its directive and a remark, or the reason.
    pub text: &'static str,
}

/// A kind of section.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The whole name, or its beginning, which ends in a colon.
    pub name: &'static str,
    /// Why such sections are not imported.
    pub unsupported: Option<&'static str>,
    pub rows: &'static [Row],
}

impl Row {
    pub fn options(&self) -> impl Iterator<Item = &'static str> {
        self.options.split(' ')
    }

    pub fn sentence(&self) -> String {
        match self.fate {
            Fate::Imported => self.text.to_owned(),
            Fate::Ignored => format!("no effect: {}", self.text),
            Fate::Unsupported => format!("not imported: {}", self.text),
        }
    }
}

impl Kind {
    /// `[program:NAME]`
    pub fn header(&self) -> String {
        let name = if self.name.ends_with(':') { "NAME" } else { "" };
        format!("[{}{name}]", self.name)
    }

    /// What becomes of sections that are not imported.
    pub fn sentence(&self) -> Option<String> {
        self.unsupported.map(|reason| format!("not imported: {reason}"))
    }

    /// A FastCGI program has the options of a program, too.
    pub fn row(&self, option: &str) -> Option<&'static Row> {
        let inherited = if self.name == FCGI { KINDS[0].rows } else { &[] };
        self.rows.iter().chain(inherited).find(|row| row.options().any(|known| known == option))
    }
}

/// The kind of a section.
pub fn kind(section: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == section || kind.name.ends_with(':') && section.starts_with(kind.name))
}

const fn imported(options: &'static str, text: &'static str) -> Row {
    Row { options, fate: Fate::Imported, text }
}

const fn ignored(options: &'static str, text: &'static str) -> Row {
    Row { options, fate: Fate::Ignored, text }
}

const fn unsupported(options: &'static str, text: &'static str) -> Row {
    Row { options, fate: Fate::Unsupported, text }
}

const fn section(name: &'static str, rows: &'static [Row]) -> Kind {
    Kind { name, unsupported: None, rows }
}

const fn unsupported_section(name: &'static str, reason: &'static str) -> Kind {
    Kind { name, unsupported: Some(reason), rows: &[] }
}

const FCGI: &str = "fcgi-program:";

pub const LOGS: &str = "output goes to the journal (`copse logs`); set retention in journald.conf(5)";
const CONTROL: &str = "use systemctl(1), copse(1) or the D-Bus interface of systemd, and polkit for permissions";
const EVENTS: &str = "there are no events; output goes to the journal only";

const PROGRAM: &[Row] = &[
    imported("command", "exec, ExecStart=: `%(process_num)d` becomes `{instance}`, and `/bin/sh -c` becomes `shell`"),
    imported("process_name", "instances: numbers, formatted as in the command, a variable or the directory"),
    imported("numprocs", "instances"),
    imported("numprocs_start", "first-instance"),
    imported("priority", "after, After=: processes wait for those with the next lower number, and stop before them"),
    imported("autostart", "start: `false` becomes \"manual\""),
    imported(
        "startsecs",
        "start-limit-interval-sec, StartLimitIntervalSec=: long enough for all starts that `startretries` allows",
    ),
    imported(
        "startretries",
        "start-limit-burst, StartLimitBurst=: the value plus one, if restarts are on; the delay is `restart-sec` and \
         does not grow",
    ),
    imported(
        "autorestart",
        "restart, Restart=: true becomes always, false becomes no, and unexpected becomes on-failure, with \
         RestartForceExitStatus= for signals that systemd counts as a clean exit",
    ),
    imported(
        "exitcodes",
        "success-exit-status, SuccessExitStatus=: 0 is always included; if it is not expected, \
         RestartForceExitStatus=0 is added",
    ),
    imported("stopsignal", "kill-signal, KillSignal="),
    imported("stopwaitsecs", "timeout-stop-sec, TimeoutStopSec="),
    imported("stopasgroup", "kill-mode, KillMode=: true becomes control-group, false becomes mixed"),
    imported("killasgroup", "kill-mode, KillMode=: systemd kills the remaining children in either case"),
    imported("user", "user, User=: systemd also sets HOME, USER, LOGNAME and SHELL"),
    imported("umask", "umask, UMask="),
    imported("directory", "working-directory, WorkingDirectory="),
    imported(
        "environment",
        "environment, Environment=: PATH also becomes ExecSearchPath=, if the program is given without a slash",
    ),
    imported("stdout_logfile", "service, StandardOutput=: NONE becomes null; all other output goes to the journal"),
    imported("stderr_logfile", "service, StandardError=: NONE becomes null; all other output goes to the journal"),
    ignored("redirect_stderr stdout_syslog stderr_syslog", "all output goes to the journal"),
    unsupported("stdout_logfile_maxbytes stdout_logfile_backups stderr_logfile_maxbytes stderr_logfile_backups", LOGS),
    unsupported("stdout_capture_maxbytes stderr_capture_maxbytes stdout_events_enabled stderr_events_enabled", EVENTS),
    unsupported("serverurl", "SUPERVISOR_SERVER_URL is not set; `controls` lets a process start and stop others"),
    imported("depends_on dependent_startup_wait_for", "after, After=: an option of a plug-in"),
    imported("dependent_startup", "start: an option of a plug-in"),
];

/// All kinds of sections that supervisord reads.
pub const KINDS: &[Kind] = &[
    section("program:", PROGRAM),
    section(
        FCGI,
        &[
            imported("socket", "listen, ListenStream=: with StandardInput=socket"),
            imported("socket_owner", "socket, SocketUser= and SocketGroup="),
            imported("socket_mode", "socket, SocketMode="),
            imported("socket_backlog", "socket, Backlog="),
        ],
    ),
    section(
        "group:",
        &[
            ignored("programs", "all programs become processes of one group; the units do not show their `[group:x]`"),
            imported("priority", "after, After="),
        ],
    ),
    section(
        "supervisord",
        &[
            imported("environment", "environment, Environment=: for all processes"),
            imported("user", "user, User=: the default of all processes"),
            imported("umask", "umask, UMask=: the default of all processes"),
            imported("directory", "working-directory, WorkingDirectory=: the default of all processes"),
            imported("minfds", "limit-nofile, LimitNOFILE=: if it is more than 1024, the default of systemd"),
            unsupported(
                "minprocs logfile logfile_maxbytes logfile_backups loglevel pidfile nodaemon silent nocleanup \
                 childlogdir strip_ansi identifier",
                "systemd takes the place of supervisord itself",
            ),
        ],
    ),
    section("include", &[ignored("files", "the files are read")]),
    unsupported_section(
        "eventlistener:",
        "systemd does not have supervisord's event protocol: `on-failure` starts a unit when a process fails, \
         `failure-policy = \"stop\"` stops the group, and systemd sends signals over D-Bus",
    ),
    unsupported_section("unix_http_server", CONTROL),
    unsupported_section(
        "inet_http_server",
        "there is no web page and no port; use `systemctl --host` and `copse --host` over ssh",
    ),
    unsupported_section("supervisorctl", CONTROL),
    unsupported_section("ctlplugin:", "a plug-in of supervisorctl"),
    unsupported_section("rpcinterface:", CONTROL),
];
