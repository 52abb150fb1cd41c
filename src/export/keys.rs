//! The keys of the format, and what becomes of each: `copse export kubernetes --explain` and copse-export(1) print the
//! table, and the diagnostics of an export take their texts from it.

/// What becomes of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is exported. Some of its values may get a note, or be refused.
    Mapped,
    /// It is left out or means something else, which is reported.
    Noted,
    /// A group that has it is not exported.
    Refused,
}

/// Keys that share a fate.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Separated by blanks.
    keys: &'static str,
    pub fate: Fate,
    /// The part of the manifest, what differs, or the reason.
    pub text: &'static str,
    /// Of a refused key: an imperative.
    pub instead: &'static str,
}

impl Row {
    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.keys.split(' ')
    }

    pub fn sentence(&self) -> String {
        match self.fate {
            Fate::Mapped => self.text.to_owned(),
            Fate::Noted => format!("with a note: {}", self.text),
            Fate::Refused => format!("refused: {}; {}", self.text, self.instead),
        }
    }
}

const fn mapped(keys: &'static str, text: &'static str) -> Row {
    Row { keys, fate: Fate::Mapped, text, instead: "" }
}

const fn noted(keys: &'static str, text: &'static str) -> Row {
    Row { keys, fate: Fate::Noted, text, instead: "" }
}

const fn refused(keys: &'static str, text: &'static str, instead: &'static str) -> Row {
    Row { keys, fate: Fate::Refused, text, instead }
}

/// The row of a key.
pub fn find(rows: &'static [Row], key: &str) -> Option<&'static Row> {
    rows.iter().find(|row| row.keys().any(|name| name == key))
}

/// Of a process or step, an instance, and `[defaults]`.
pub const MEMBER: &[Row] = &[
    mapped("description", "a comment above the container"),
    mapped(
        "exec shell",
        "command: `$` is escaped where Kubernetes would expand it, `{env:NAME}` becomes `$(NAME)`, and `{env:NAME...}` is refused",
    ),
    refused(
        "exec-start-pre",
        "an init container is not run at each restart of a container",
        "run it in `exec`, or in a setup step",
    ),
    noted(
        "exec-start-post",
        "becomes a postStart hook, which may run before the process does; of several commands the group is refused",
    ),
    mapped("exec-stop", "a preStop hook; of several commands the group is refused"),
    noted("exec-reload exec-stop-post", "is left out, because Kubernetes has no such command"),
    mapped("environment", "env, in which `$` is escaped as in commands"),
    mapped(
        "environment-file",
        "envFrom a Secret that has to be created from the file, with a note: its values keep the quotes that systemd removes",
    ),
    mapped("working-directory", "workingDir; `~` is refused"),
    mapped(
        "user group",
        "runAsUser and runAsGroup, which take numbers: of a name, `--user-id` gives them, or the group is refused",
    ),
    noted("umask nice limit-nofile tasks-max memory-high", "is left out, because a container has no such setting"),
    mapped("port", "PORT in env, containerPort, and a startup probe of the port if there is no `ready`"),
    mapped("runtime-directory", "an emptyDir at the same path, for the group of `fsGroup`"),
    noted("cache-directory logs-directory", "becomes an emptyDir, which ends with the pod"),
    mapped(
        "state-directory",
        "a volumeClaimTemplate of the size of `--storage`, and a StatefulSet; without `--storage` it is refused",
    ),
    refused(
        "configuration-directory configuration-directory-mode",
        "configuration is in the image, or in a ConfigMap",
        "remove the key, and add files with `--config-file`",
    ),
    noted(
        "runtime-directory-mode state-directory-mode cache-directory-mode logs-directory-mode",
        "is left out, because a volume has no mode",
    ),
    mapped(
        "start",
        "`\"auto\"` is exported; `\"manual\"` is refused, because Kubernetes starts all containers of a pod: write `hold = true` to leave the process out",
    ),
    mapped("hold", "`true` leaves the process out, with a note"),
    mapped(
        "after",
        "an init container for a setup step, and a native sidecar with a startup probe for a process, with a note; init containers make every container wait, which is noted as well",
    ),
    mapped("instances first-instance instance", "a container each; `\"cpus\"` is refused"),
    mapped(
        "on-calendar",
        "a CronJob, if five fields of cron can express the time; else it is refused, and so is a process that shares a directory with the others, which are in another pod",
    ),
    refused(
        "listen",
        "Kubernetes does not pass sockets to a process",
        "write `listen = false` and `port` in a drop-in for `--with`",
    ),
    mapped("non-blocking", "no effect without `listen`"),
    mapped(
        "ready",
        "startupProbe and readinessProbe for one `http`, `tcp`, `listening`, `command` or `file` probe. A probe of a loopback address is noted, and `\"exec\"` is no probe. Everything else is refused",
    ),
    mapped("health", "livenessProbe: `interval-sec` is periodSeconds, and `failures` is failureThreshold"),
    mapped("essential", "`false` leaves out the readinessProbe"),
    mapped(
        "restart",
        "containers are always restarted, so other values than `\"always\"` are noted; of a timed process, restartPolicy OnFailure or Never",
    ),
    noted(
        "restart-sec restart-max-delay-sec restart-steps start-limit-burst start-limit-interval-sec",
        "is left out: Kubernetes doubles the delay from 10 s to 5 min, and never gives up",
    ),
    noted("success-exit-status on-failure", "is left out, because Kubernetes restarts a container in any case"),
    refused("watchdog-sec", "Kubernetes does not read the pings of a process", "write a probe as `health`"),
    mapped(
        "timeout-start-sec",
        "the failureThreshold of the startup probe, or activeDeadlineSeconds of a timed process; of a setup step it is noted and left out",
    ),
    mapped("timeout-stop-sec", "terminationGracePeriodSeconds of the pod, which is the longest one"),
    mapped("kill-signal", "`\"SIGTERM\"` only; another signal is refused: set STOPSIGNAL in the image"),
    mapped("kill-mode", "`\"mixed\"`; `\"control-group\"` becomes that, with a note, and another value is refused"),
    mapped("send-sighup", "`false` only; `true` is refused"),
    noted(
        "inputs",
        "is left out, because the image is the input, and a setup step runs at each start of a pod; a file that is named by `--config-file` becomes a ConfigMap, and its hash an annotation of the pod",
    ),
    mapped("refresh", "`\"roll\"` and `\"restart\"`; `\"keep\"` and `\"reload\"` are refused"),
    mapped(
        "max-unavailable",
        "maxUnavailable of the Deployment or DaemonSet, which counts pods; noted and left out of a StatefulSet",
    ),
    mapped("min-ready-sec", "minReadySeconds, the longest of the pod"),
    refused(
        "settled",
        "Kubernetes has no gate between pods, and a readiness probe would take healthy pods out",
        "write `settled = false` in a drop-in for `--with`",
    ),
    mapped(
        "hardening",
        "securityContext: `\"basic\"` is allowPrivilegeEscalation false and seccompProfile RuntimeDefault; `\"strict\"` is also readOnlyRootFilesystem, no capabilities, runAsNonRoot for another user than root, and an emptyDir at /tmp",
    ),
    mapped(
        "ambient-capabilities",
        "CAP_NET_BIND_SERVICE, by a sysctl of the pod; others of another user than root are refused",
    ),
    mapped("capability-bounding-set", "capabilities of the container"),
    mapped(
        "credentials",
        "files below /run/credentials: `text` from a Secret in the manifests, a path from a Secret that has to be created, with a note; `encrypted` and names in systemd's store are refused",
    ),
    mapped("memory-max cpu-quota", "limits of the container; a percentage of memory is refused"),
    refused(
        "controls",
        "a process cannot restart another one of its pod",
        "write `controls = false` in a drop-in for `--with`",
    ),
    noted("supervisor-name supervisor-view", "is left out, because copse-supervisor does not run in a pod"),
    mapped(
        "unit service socket timer",
        "each directive is refused, but for those that only tune limits, scheduling, logging and restarts, which are noted and left out: write `DIRECTIVE = false` in a drop-in for `--with`",
    ),
];

/// Of the group itself.
pub const GROUP: &[Row] = &[
    mapped("description documentation", "annotations"),
    noted("supervisor-socket supervisor", "is left out, because copse-supervisor does not run in a pod"),
    mapped("wanted-by", "no effect: Kubernetes starts a workload until it is deleted"),
    noted("after requires wants before conflicts", "is left out, because a pod has no units"),
    mapped("failure-policy", "`\"continue\"`; `\"stop\"` is refused, because Kubernetes never gives a container up"),
    mapped("timeout-start-sec", "progressDeadlineSeconds of a Deployment; noted and left out of other workloads"),
    mapped("runtime-directory", "an emptyDir at the same path for all containers, for the group of `fsGroup`"),
    noted("cache-directory logs-directory", "becomes an emptyDir, which ends with the pod"),
    mapped(
        "state-directory",
        "a volumeClaimTemplate of the size of `--storage`, and a StatefulSet; without `--storage` it is refused",
    ),
    refused(
        "configuration-directory configuration-directory-mode",
        "configuration is in the image, or in a ConfigMap",
        "remove the key, and add files with `--config-file`",
    ),
    noted(
        "runtime-directory-mode state-directory-mode cache-directory-mode logs-directory-mode",
        "is left out, because a volume has no mode",
    ),
    mapped(
        "defaults process setup",
        "containers, whose names are in lower case and have `-` for other characters; refused if two meet, or beyond 63 characters",
    ),
    mapped(
        "target slice",
        "each directive is refused, because a pod has no units: write `DIRECTIVE = false` in a drop-in for `--with`",
    ),
];

/// Pass-through directives that are left out with a note. A `*` stands for any end.
const TUNING: &[&str] = &[
    "Limit*",
    "Nice",
    "OOMScoreAdjust",
    "OOMPolicy",
    "CPUWeight",
    "StartupCPUWeight",
    "IOWeight",
    "StartupIOWeight",
    "CPUScheduling*",
    "IOScheduling*",
    "TasksMax",
    "RestartForceExitStatus",
    "RestartPreventExitStatus",
    "StandardOutput",
    "StandardError",
    "Syslog*",
    "LogLevelMax",
    "LogRateLimit*",
    "LogExtraFields",
    "TimeoutAbortSec",
    "TimeoutStopFailureMode",
    "CoredumpFilter",
    "ExecSearchPath",
    "CPUAccounting",
    "MemoryAccounting",
    "IOAccounting",
    "TasksAccounting",
    "IPAccounting",
    "Documentation",
    "X-*",
];

/// True if a pass-through directive only tunes the unit.
pub fn is_tuning(directive: &str) -> bool {
    TUNING.iter().any(|known| match known.strip_suffix('*') {
        Some(start) => directive.starts_with(start),
        None => *known == directive,
    })
}
