//! Which change of a directive needs what: one table, a reason for each row.
//!
//! At a daemon-reload systemd reads a unit's definition anew while its processes run on. What it only *looks up* when
//! something happens (a process ends, a stop is asked for, a limit is reached) is the new one from then on; what it hands
//! to a process, or to the kernel on its behalf, when it starts it stays as it was. The rows were measured on 252, 257
//! and 262 where the manual pages don't say it; the situations `a_daemon_reload_…` show it.

#[cfg(test)]
mod tests;

use crate::basic::scope::NOTIFY_PROGRAM;
use crate::unit::effective::Difference;

/// What a changed directive needs, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// That systemd has read it.
    DaemonReload,
    /// That the unit is restarted.
    Restart,
    /// That the socket is made anew, which its services must not be using meanwhile (systemd.socket(5)).
    Rebind,
}

/// Directives of a section that need the same for the same reason. A name may end in `*`.
struct Row {
    section: &'static str,
    names: &'static [&'static str],
    effect: Effect,
    why: &'static str,
}

const fn row(section: &'static str, names: &'static [&'static str], effect: Effect, why: &'static str) -> Row {
    Row { section, names, effect, why }
}

use Effect::{DaemonReload, Rebind, Restart};

/// The first row that a directive is in counts.
const TABLE: &[Row] = &[
    // [Unit]
    row("Unit", &["JoinsNamespaceOf"], Restart, "a process joins the other's namespaces when it is executed"),
    row("Unit", &["Description"], DaemonReload, "only shown"),
    row("Unit", &["Condition*", "Assert*"], DaemonReload, "looked at by each start"),
    row("Unit", &["StartLimit*"], DaemonReload, "counted at each start"),
    row(
        "Unit",
        &["OnFailure*", "OnSuccess*", "FailureAction*", "SuccessAction*", "RebootArgument"],
        DaemonReload,
        "looked up when the unit fails or ends",
    ),
    row("Unit", &["Job*"], DaemonReload, "for jobs that are queued from now on"),
    row(
        "Unit",
        &[
            "After",
            "Before",
            "Wants",
            "Requires*",
            "Requisite*",
            "BindsTo",
            "BindTo",
            "PartOf",
            "Upholds",
            "Conflicts",
            "Propagate*",
            "ReloadPropagatedFrom",
            "StopPropagatedFrom",
            "WantsMountsFor",
            "DefaultDependencies",
        ],
        DaemonReload,
        "dependencies are followed when a job is queued",
    ),
    row(
        "Unit",
        &[
            "Refuse*",
            "AllowIsolate",
            "IgnoreOnIsolate",
            "StopWhenUnneeded",
            "CollectMode",
            "SurviveFinalKillSignal",
            "SourcePath",
            "Documentation",
        ],
        DaemonReload,
        "the service manager's own business",
    ),
    // [Service]: what is looked up when something happens to the process
    row(
        "Service",
        &["Restart", "RestartSec", "RestartSteps", "RestartMaxDelaySec", "RestartRandomizedDelaySec", "RestartMode"],
        DaemonReload,
        "looked up when the process ends",
    ),
    row(
        "Service",
        &["SuccessExitStatus", "RestartPreventExitStatus", "RestartForceExitStatus"],
        DaemonReload,
        "looked up when the process ends",
    ),
    row(
        "Service",
        &["TimeoutStopSec", "TimeoutAbortSec", "TimeoutStopFailureMode", "TimeoutCleanSec"],
        DaemonReload,
        "for the next stop",
    ),
    row("Service", &["TimeoutStartSec", "TimeoutStartFailureMode", "TimeoutSec"], DaemonReload, "for the next start"),
    row(
        "Service",
        &[
            "KillMode",
            "KillSignal",
            "RestartKillSignal",
            "FinalKillSignal",
            "WatchdogSignal",
            "SendSIGKILL",
            "SendSIGHUP",
        ],
        DaemonReload,
        "for the next stop",
    ),
    row("Service", &["ExecStop", "ExecStopPost"], DaemonReload, "run by the next stop"),
    row(
        "Service",
        &["ExecReload", "ExecReloadPost", "ReloadSignal", "RefreshOnReload"],
        DaemonReload,
        "for the next reload",
    ),
    row("Service", &["ExecCondition"], DaemonReload, "run by each start"),
    row("Service", &["RuntimeMaxSec", "RuntimeRandomizedExtraSec"], DaemonReload, "the timer is set anew"),
    row("Service", &["RuntimeDirectoryPreserve"], DaemonReload, "looked up when the unit stops"),
    row("Service", &["StartLimit*", "FailureAction", "RebootArgument"], DaemonReload, "an older place of [Unit]'s"),
    // On 257 with the next start in the same slice; on 252 and 262 at once.
    row("Service", RESOURCES, DaemonReload, "the kernel is told anew"),
    row("Slice", &["*"], DaemonReload, "the kernel is told anew; a slice runs nothing"),
    // [Service]: what a process gets when it is executed
    row("Service", &["ExecStart"], Restart, "the program and its arguments"),
    row("Service", &["ExecStartPre"], Restart, "prepares the start"),
    row("Service", &["ExecStartPost"], Restart, "completes the start"),
    row(
        "Service",
        &["Type", "ExitType", "NotifyAccess", "PIDFile", "BusName", "GuessMainPID", "RemainAfterExit", "NonBlocking"],
        Restart,
        "how systemd follows the process from its start on",
    ),
    row(
        "Service",
        &["WatchdogSec"],
        Restart,
        "the process is told when it is executed, and the time is kept from then on",
    ),
    row(
        "Service",
        &["Environment*", "PassEnvironment", "UnsetEnvironment", "SetLoginEnvironment", "ExecSearchPath", "PAMName"],
        Restart,
        "the environment is the process's own from its execution on",
    ),
    row("Service", &["*Credential*"], Restart, "credentials are put in place by the start"),
    row(
        "Service",
        &[
            "User",
            "Group",
            "SupplementaryGroups",
            "DynamicUser",
            "WorkingDirectory",
            "UMask",
            "Root*",
            "Nice",
            "Limit*",
        ],
        Restart,
        "set before the program is executed",
    ),
    row(
        "Service",
        &["StateDirectory*", "CacheDirectory*", "LogsDirectory*", "ConfigurationDirectory*", "RuntimeDirectory*"],
        Restart,
        "directories are made by the start",
    ),
    row(
        "Service",
        &["Slice", "Delegate", "DelegateSubgroup", "DisableControllers"],
        Restart,
        "the place in the tree of control groups is found by the start",
    ),
    row(
        "Service",
        &["Sockets", "OpenFile", "FileDescriptorStore*"],
        Restart,
        "descriptors are handed over by the start",
    ),
    row("Service", &["Log*", "Syslog*", "Standard*", "TTY*", "Utmp*"], Restart, "connected by the start"),
    row("Service", FENCES, Restart, "fences are put up before the program is executed"),
    row("Service", SCHEDULING, Restart, "set before the program is executed"),
    // [Socket]
    row(
        "Socket",
        &[
            "MaxConnections*",
            "TriggerLimit*",
            "PollLimit*",
            "DeferTrigger*",
            "RemoveOnStop",
            "FlushPending",
            "TimeoutSec",
        ],
        DaemonReload,
        "looked up when traffic comes, or at the stop",
    ),
    row("Socket", &["ExecStopPre", "ExecStopPost", "TimeoutCleanSec"], DaemonReload, "for the next stop"),
    row("Socket", RESOURCES, DaemonReload, "the kernel is told anew"),
    row("Socket", &["*"], Rebind, "the socket is made, and handed over, as it was when it was started"),
    // [Timer]: measured; also of a timer that waits.
    row("Timer", &["*"], DaemonReload, "the next time is reckoned anew"),
];

/// The limits of systemd.resource-control(5).
const RESOURCES: &[&str] = &[
    "CPUAccounting",
    "CPUQuota*",
    "CPUShares",
    "CPUWeight",
    "AllowedCPUs",
    "AllowedMemoryNodes",
    "Startup*",
    "Memory*Max",
    "MemoryMax",
    "MemoryHigh",
    "MemoryLow",
    "MemoryMin",
    "MemoryLimit",
    "MemoryAccounting",
    "MemoryZSwapWriteback",
    "DefaultMemory*",
    "DefaultStartupMemory*",
    "TasksMax",
    "TasksAccounting",
    "IOAccounting",
    "IOWeight",
    "IODevice*",
    "IORead*",
    "IOWrite*",
    "BlockIO*",
    "IPAccounting",
    "ManagedOOM*",
];

const FENCES: &[&str] = &[
    "Protect*",
    "Private*",
    "Restrict*",
    "ReadOnly*",
    "ReadWrite*",
    "Inaccessible*",
    "ExecPaths",
    "NoExecPaths",
    "TemporaryFileSystem",
    "Bind*",
    "Mount*",
    "Extension*",
    "NoNewPrivileges",
    "LockPersonality",
    "Personality",
    "MemoryDenyWriteExecute",
    "SystemCall*",
    "Capability*",
    "AmbientCapabilities",
    "SecureBits",
    "KeyringMode",
    "RemoveIPC",
    "ProcSubset",
    "IPC*",
    "IPAddress*",
    "IPIngress*",
    "IPEgress*",
    "NetworkNamespacePath",
    "UserNamespacePath",
    "DelegateNamespaces",
    "Device*",
    "BPF*",
    "NFTSet",
    "SocketBind*",
    "SELinuxContext",
    "AppArmorProfile",
    "Smack*",
    "PermissionsStartOnly",
    "USBFunction*",
    "LUOSession",
];

const SCHEDULING: &[&str] = &[
    "CPUScheduling*",
    "CPUAffinity",
    "CPUSetPartition",
    "NUMA*",
    "IOScheduling*",
    "OOM*",
    "TimerSlackNSec",
    "IgnoreSIGPIPE",
    "Coredump*",
    "MemoryKSM",
    "MemoryTHP",
    "*Pressure*",
];

/// What a change of this directive needs, and why. What isn't in the table is assumed to be handed to the process.
pub fn of(section: &str, name: &str) -> (Effect, &'static str) {
    let row = TABLE.iter().find(|row| row.section == section && row.names.iter().any(|pattern| matches(pattern, name)));
    row.map_or((Restart, "not known to copse"), |row| (row.effect, row.why))
}

/// Whether `name` is meant; a `*` stands for any letters.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == name };
    let Some(rest) = name.strip_prefix(head) else { return false };
    tail.strip_suffix('*').map_or(rest.ends_with(tail), |middle| rest.contains(middle))
}

/// What a difference needs: as [`of`] says, but for commands of copse's own that only ask.
pub fn of_difference(difference: &Difference) -> Effect {
    let Difference { section, name, old, new } = difference;
    if section == "Service" && name == "ExecStartPost" {
        // How readiness is asked for matters to the next start only.
        let asks = |value: &&String| {
            value
                .trim_start_matches([':', '-'])
                .strip_prefix(NOTIFY_PROGRAM)
                .is_some_and(|rest| rest.starts_with(" wait "))
        };
        let others = |values: &[String]| values.iter().filter(|value| !asks(value)).cloned().collect::<Vec<_>>();
        if others(old) == others(new) {
            return DaemonReload;
        }
    }
    of(section, name).0
}
