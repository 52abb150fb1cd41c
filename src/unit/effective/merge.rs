//! How lines of several files become the value of a directive.

use std::collections::BTreeMap;

use super::{Line, lines};
use crate::unit::parse;

/// The directives so far.
#[derive(Debug, Default)]
pub struct Merge {
    directives: BTreeMap<(String, String), Vec<String>>,
}

/// How two lines of the same name go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Together {
    /// The last counts; an empty one is the default again.
    Last,
    /// Both count; an empty one forgets those before it.
    List,
    /// Both count, word by word, in any order; nothing forgets them.
    Dependencies,
    /// Both count, in any order, of the same variable the last; an empty one forgets those before it.
    Variables,
}

impl Merge {
    /// Adds a file; it comes after those before.
    pub fn file(&mut self, text: &str) {
        let mut section = "";
        for line in lines(text) {
            match line {
                Line::Section(name) => section = name,
                Line::Assignment(name, value) if counts(section, &name) => self.line(section, &name, &value),
                Line::Assignment(..) | Line::Ignored(_) => {}
            }
        }
    }

    fn line(&mut self, section: &str, name: &str, value: &str) {
        let values = self.directives.entry((section.to_owned(), name.to_owned())).or_default();
        match together(section, name) {
            Together::Dependencies => values.extend(value.split_ascii_whitespace().map(ToOwned::to_owned)),
            _ if value.is_empty() => values.clear(),
            Together::Last => *values = vec![value.to_owned()],
            Together::List | Together::Variables => values.push(value.to_owned()),
        }
    }

    /// All that counts.
    pub fn directives(mut self) -> BTreeMap<(String, String), Vec<String>> {
        for ((section, name), values) in &mut self.directives {
            match together(section, name) {
                Together::Dependencies => {
                    values.sort();
                    values.dedup();
                }
                Together::Variables => *values = variables(values),
                Together::Last | Together::List => {}
            }
        }
        // An empty line of something that wasn't there changes nothing.
        self.directives.retain(|_, values| !values.is_empty());
        self.directives
    }
}

/// Whether systemd acts upon it.
fn counts(section: &str, name: &str) -> bool {
    // What `systemctl enable` reads; a running unit knows nothing of it.
    let section_counts = !section.is_empty() && section != "Install" && !section.starts_with("X-");
    section_counts && !name.starts_with("X-") && !matches!((section, name), ("Unit", "Documentation" | "SourcePath"))
}

fn together(section: &str, name: &str) -> Together {
    match (section, name) {
        ("Unit", "Description" | "FailureAction" | "SuccessAction" | "CollectMode" | "RebootArgument") => {
            Together::Last
        }
        ("Unit", _) if ["StartLimit", "Refuse", "Job", "Allow", "Ignore"].iter().any(|head| name.starts_with(head)) => {
            Together::Last
        }
        ("Unit", "OnFailureJobMode" | "OnSuccessJobMode" | "StopWhenUnneeded" | "DefaultDependencies") => {
            Together::Last
        }
        ("Unit", "SurviveFinalKillSignal" | "FailureActionExitStatus" | "SuccessActionExitStatus") => Together::Last,
        ("Unit", _) if name.starts_with("Condition") || name.starts_with("Assert") => Together::List,
        ("Unit", _) => Together::Dependencies,
        (_, "Environment") => Together::Variables,
        (_, "Sockets") => Together::Dependencies,
        _ if LAST.contains(&name) => Together::Last,
        // A list is the safe guess: one line more is a difference, whichever counts.
        _ => Together::List,
    }
}

/// What has one value: that of the last line. Everything that copse itself writes once, and what people lay over it.
const LAST: &[&str] = &[
    "AccuracySec",
    "Accept",
    "Backlog",
    "BusName",
    "CPUQuota",
    "CPUSchedulingPolicy",
    "CPUSchedulingPriority",
    "CPUWeight",
    "CacheDirectoryMode",
    "ConfigurationDirectoryMode",
    "Delegate",
    "DevicePolicy",
    "DynamicUser",
    "FileDescriptorName",
    "FileDescriptorStoreMax",
    "FinalKillSignal",
    "Group",
    "GuessMainPID",
    "IOSchedulingClass",
    "IOSchedulingPriority",
    "IOWeight",
    "IPAccounting",
    "KeyringMode",
    "KillMode",
    "KillSignal",
    "LimitAS",
    "LimitCORE",
    "LimitCPU",
    "LimitDATA",
    "LimitFSIZE",
    "LimitLOCKS",
    "LimitMEMLOCK",
    "LimitMSGQUEUE",
    "LimitNICE",
    "LimitNOFILE",
    "LimitNPROC",
    "LimitRSS",
    "LimitRTPRIO",
    "LimitRTTIME",
    "LimitSIGPENDING",
    "LimitSTACK",
    "LockPersonality",
    "LogLevelMax",
    "LogNamespace",
    "LogRateLimitBurst",
    "LogRateLimitIntervalSec",
    "LogsDirectoryMode",
    "ManagedOOMMemoryPressure",
    "ManagedOOMMemoryPressureLimit",
    "ManagedOOMPreference",
    "ManagedOOMSwap",
    "MaxConnections",
    "MemoryDenyWriteExecute",
    "MemoryHigh",
    "MemoryLow",
    "MemoryMax",
    "MemoryMin",
    "MemorySwapMax",
    "MemoryZSwapMax",
    "Nice",
    "NoNewPrivileges",
    "NonBlocking",
    "NotifyAccess",
    "OOMPolicy",
    "OOMScoreAdjust",
    "PIDFile",
    "Persistent",
    "PrivateDevices",
    "PrivateIPC",
    "PrivateMounts",
    "PrivateNetwork",
    "PrivatePIDs",
    "PrivateTmp",
    "PrivateUsers",
    "ProcSubset",
    "ProtectClock",
    "ProtectControlGroups",
    "ProtectHome",
    "ProtectHostname",
    "ProtectKernelLogs",
    "ProtectKernelModules",
    "ProtectKernelTunables",
    "ProtectProc",
    "ProtectSystem",
    "RandomizedDelaySec",
    "ReloadSignal",
    "RemainAfterElapse",
    "RemainAfterExit",
    "RemoveIPC",
    "Restart",
    "RestartKillSignal",
    "RestartMaxDelaySec",
    "RestartMode",
    "RestartSec",
    "RestartSteps",
    "RestrictRealtime",
    "RestrictSUIDSGID",
    "ReusePort",
    "RootDirectory",
    "RootImage",
    "RuntimeDirectoryMode",
    "RuntimeDirectoryPreserve",
    "RuntimeMaxSec",
    "RuntimeRandomizedExtraSec",
    "SendSIGHUP",
    "SendSIGKILL",
    "Service",
    "Slice",
    "SocketGroup",
    "SocketMode",
    "SocketUser",
    "StandardError",
    "StandardInput",
    "StandardOutput",
    "StartupCPUWeight",
    "StartupIOWeight",
    "StateDirectoryMode",
    "SyslogFacility",
    "SyslogIdentifier",
    "SyslogLevel",
    "SyslogLevelPrefix",
    "SystemCallErrorNumber",
    "TasksMax",
    "TimeoutAbortSec",
    "TimeoutSec",
    "TimeoutStartSec",
    "TimeoutStartFailureMode",
    "TimeoutStopFailureMode",
    "TimeoutStopSec",
    "Type",
    "UMask",
    "Unit",
    "User",
    "WatchdogSec",
    "WatchdogSignal",
    "WorkingDirectory",
];

/// The assignments of `Environment=` lines: the last of each variable, sorted. Lines that can't be read stay as they are.
fn variables(values: &[String]) -> Vec<String> {
    let mut all = BTreeMap::new();
    for line in values {
        let Ok(words) = parse::words(line) else { return values.to_vec() };
        for word in words {
            let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name).to_owned();
            all.insert(name, word);
        }
    }
    all.into_values().collect()
}
