//! The parts of manifests that are used, as typed values, and the reasons that are written with them.

use super::yaml::{Map, Node};

/// An object, with the name of its file.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// `deployment-shop.yaml`
    pub file: String,
    pub map: Map,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Container {
    pub name: String,
    pub description: Option<String>,
    pub image: String,
    pub command: Vec<String>,
    pub working_dir: Option<String>,
    /// Sorted by name.
    pub env: Vec<(String, String)>,
    pub env_from: Vec<EnvFrom>,
    pub port: Option<u16>,
    pub cpu: Option<String>,
    pub memory: Option<String>,
    pub startup: Option<Probe>,
    pub readiness: Option<Probe>,
    pub liveness: Option<Probe>,
    pub post_start: Option<Vec<String>>,
    pub pre_stop: Option<Vec<String>>,
    pub security: Security,
    /// Sorted by path.
    pub mounts: Vec<Mount>,
    /// An init container that keeps running.
    pub sidecar: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvFrom {
    pub secret: String,
    pub optional: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    pub path: String,
    pub volume: String,
    /// The file of the volume that is mounted.
    pub file: Option<String>,
    pub read_only: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    pub action: Action,
    pub period: i64,
    pub failures: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Http { host: Option<String>, port: i64, path: String },
    Tcp { host: Option<String>, port: i64 },
    Exec(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Security {
    pub user: Option<i64>,
    pub group: Option<i64>,
    pub non_root: bool,
    pub no_new_privileges: bool,
    pub read_only_root: bool,
    pub default_seccomp: bool,
    pub drop: Vec<String>,
    pub add: Vec<String>,
    /// The profile of `hardening`.
    pub profile: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    pub name: String,
    pub source: Source,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    EmptyDir,
    /// From `volumeClaimTemplates`: no volume of the pod.
    Claim,
    ConfigMap(String),
    /// Secrets, each with its keys and the file of each.
    Secrets(Vec<(String, Vec<(String, String)>)>),
}

/// A pod, without what depends on its workload.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pod {
    pub init: Vec<Container>,
    pub containers: Vec<Container>,
    pub volumes: Vec<Volume>,
    /// `None`: the default, Always.
    pub restart: Option<&'static str>,
    pub grace: i64,
    pub fs_group: Option<i64>,
    /// A container binds ports below 1024 without privileges.
    pub low_ports: bool,
}

fn strings(list: &[String]) -> Vec<Node> {
    list.iter().map(Node::from).collect()
}

impl Container {
    fn map(&self) -> Map {
        let hook = |command: &Vec<String>| Map::new().with("exec", Map::new().with("command", strings(command)));
        let mut map = Map::about(self.description.clone()).with("name", &self.name).with("image", &self.image);
        if self.sidecar {
            map = map.why(
                "a native sidecar: the containers after it wait for its startup probe",
                "restartPolicy",
                "Always",
            );
        }
        map = map.with("command", strings(&self.command)).maybe("workingDir", self.working_dir.as_ref());
        map = map.list("envFrom", self.env_from.iter().map(EnvFrom::map));
        map = map.list("env", self.env.iter().map(|(name, value)| Map::new().with("name", name).with("value", value)));
        map = map.list("ports", self.port.map(|port| Map::new().with("containerPort", i64::from(port))));
        let limits = Map::new().maybe("cpu", self.cpu.as_ref()).maybe("memory", self.memory.as_ref());
        map = map.map("resources", Map::new().map("limits", limits));
        map = map.maybe("startupProbe", self.startup.as_ref().map(Probe::map));
        map = map.maybe("readinessProbe", self.readiness.as_ref().map(Probe::map));
        map = map.maybe("livenessProbe", self.liveness.as_ref().map(Probe::map));
        let hooks = Map::new().maybe("postStart", self.post_start.as_ref().map(hook));
        map = map.map("lifecycle", hooks.maybe("preStop", self.pre_stop.as_ref().map(hook)));
        map = map.map("securityContext", self.security.map());
        map.list("volumeMounts", self.mounts.iter().map(Mount::map))
    }
}

impl EnvFrom {
    fn map(&self) -> Map {
        let secret = Map::new().with("name", &self.secret);
        Map::new().with("secretRef", if self.optional { secret.with("optional", true) } else { secret })
    }
}

impl Mount {
    fn map(&self) -> Map {
        let map = Map::new().with("mountPath", &self.path).with("name", &self.volume);
        let map = map.maybe("subPath", self.file.as_ref());
        if self.read_only { map.with("readOnly", true) } else { map }
    }
}

impl Probe {
    fn map(&self) -> Map {
        let map = match &self.action {
            Action::Http { host, port, path } => {
                let get = Map::new().maybe("host", host.as_ref()).with("path", path).with("port", *port);
                Map::new().with("httpGet", get)
            }
            Action::Tcp { host, port } => {
                Map::new().with("tcpSocket", Map::new().maybe("host", host.as_ref()).with("port", *port))
            }
            Action::Exec(command) => Map::new().with("exec", Map::new().with("command", strings(command))),
        };
        map.with("periodSeconds", self.period).with("failureThreshold", self.failures)
    }
}

impl Security {
    fn map(&self) -> Map {
        let mut map = Map::about(self.profile.map(|profile| format!("hardening = \"{profile}\"")));
        map = map.maybe("runAsUser", self.user).maybe("runAsGroup", self.group);
        if self.non_root {
            map = map.with("runAsNonRoot", true);
        }
        if self.no_new_privileges {
            map = map.with("allowPrivilegeEscalation", false);
        }
        if self.read_only_root {
            map = map.with("readOnlyRootFilesystem", true);
        }
        let capabilities = Map::new().list("drop", strings(&self.drop)).list("add", strings(&self.add));
        map = map.map("capabilities", capabilities);
        if self.default_seccomp {
            map = map.with("seccompProfile", Map::new().with("type", "RuntimeDefault"));
        }
        map
    }
}

/// 0440: the processes read a Secret as members of `fsGroup`.
const SECRET_MODE: i64 = 0o440;

impl Volume {
    fn map(&self) -> Option<Map> {
        let items = |keys: &[(String, String)]| -> Vec<Node> {
            keys.iter().map(|(key, path)| Map::new().with("key", key).with("path", path).into()).collect()
        };
        let mode = "0440, which YAML has no common form for";
        let (kind, source) = match &self.source {
            Source::Claim => return None,
            Source::EmptyDir => ("emptyDir", Map::new()),
            Source::ConfigMap(name) => ("configMap", Map::new().with("name", name)),
            Source::Secrets(secrets) => match secrets.as_slice() {
                [(name, keys)] => {
                    let secret = Map::new().with("secretName", name).with("items", items(keys));
                    ("secret", secret.why(mode, "defaultMode", SECRET_MODE))
                }
                secrets => {
                    let source = |(name, keys): &(String, Vec<(String, String)>)| {
                        Map::new().with("secret", Map::new().with("name", name).with("items", items(keys)))
                    };
                    let sources = Map::new().list("sources", secrets.iter().map(source));
                    ("projected", sources.why(mode, "defaultMode", SECRET_MODE))
                }
            },
        };
        Some(Map::new().with("name", &self.name).with(kind, source))
    }
}

impl Pod {
    /// The `spec` of a pod.
    pub fn map(&self) -> Map {
        let mut map = Map::new().maybe("restartPolicy", self.restart);
        map = map.why(
            "another process is PID 1, so that signals have their default effect on these",
            "shareProcessNamespace",
            true,
        );
        map = map.why("the environment is what the group file says", "enableServiceLinks", false);
        map = map.with("automountServiceAccountToken", false);
        map = map.why("the longest timeout-stop-sec", "terminationGracePeriodSeconds", self.grace);
        let mut security = Map::new();
        if let Some(group) = self.fs_group {
            security = security.with("fsGroup", group);
        }
        if self.low_ports {
            let sysctl = Map::new().with("name", "net.ipv4.ip_unprivileged_port_start").with("value", "0");
            security = security.list("sysctls", [sysctl]);
        }
        map = map.map("securityContext", security);
        map = map.list("initContainers", self.init.iter().map(Container::map));
        map = map.list("containers", self.containers.iter().map(Container::map));
        map.list("volumes", self.volumes.iter().filter_map(Volume::map))
    }
}
