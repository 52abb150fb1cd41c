//! What the command line adds to a group.

use std::collections::BTreeMap;

use super::names;

/// Options of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The image of every container.
    pub image: String,
    /// `None`: a StatefulSet if there are state directories, else a Deployment.
    pub kind: Option<Kind>,
    pub replicas: u32,
    /// A workload for each process.
    pub split: bool,
    /// The size of each state directory.
    pub storage: Option<String>,
    pub namespace: Option<String>,
    /// The minor version of the oldest Kubernetes that takes the manifests.
    pub kubernetes: u32,
    /// Of timers without a time zone of their own.
    pub timezone: Option<String>,
    /// The numbers of users in the image: UID, and GID if it is known.
    pub users: BTreeMap<String, (u32, Option<u32>)>,
    /// Files that become a ConfigMap.
    pub files: Vec<ConfigFile>,
}

/// A file that becomes a ConfigMap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    /// Absolute; the same in the container.
    pub path: String,
    pub text: String,
}

/// A kind of workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Deployment,
    StatefulSet,
    DaemonSet,
}

impl Kind {
    pub fn text(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
        }
    }
}

/// Native sidecars (`restartPolicy: Always` of an init container) are on by default.
pub const SIDECARS: u32 = 29;
/// `minReadySeconds` of a StatefulSet.
pub const MIN_READY_OF_STATEFUL_SETS: u32 = 25;
/// `timeZone` of a CronJob.
pub const TIME_ZONES: u32 = 25;
/// The oldest version: `batch/v1` has had CronJobs since 1.21.
pub const OLDEST: u32 = 21;

/// The key of a file in the ConfigMap: its name, or its path if another one has that name.
pub fn file_key(files: &[ConfigFile], path: &str) -> String {
    let name = |path: &str| names::key(path.rsplit('/').next().unwrap_or(path));
    match files.iter().filter(|file| name(&file.path) == name(path)).count() {
        0 | 1 => name(path),
        _ => names::key(path.trim_start_matches('/')),
    }
}
