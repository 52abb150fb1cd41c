//! Four machines in one network: a controller, `n1`, and three nodes of Debian 13.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::machines::machine::{Boot, Machine, NoMachine};
use crate::machines::scope::{Output, Scope, Spawned, finish};
use crate::machines::version::Version;

pub const SOON: Duration = Duration::from_secs(60);

/// An apply on three machines, one after the other, with all that goes before it, on a busy machine.
pub const LONG: Duration = Duration::from_secs(400);

pub const NODES: [&str; 3] = ["n2", "n3", "n4"];

/// Where ansible-core looks for collections that packages install.
const COLLECTION: &str = "/usr/share/ansible/collections/ansible_collections/copse/systemd";

pub struct Fleet {
    pub controller: Machine,
    pub nodes: Vec<Machine>,
}

/// What a client under load has seen.
#[derive(Debug)]
pub struct Load {
    pub sent: u64,
    pub lost: u64,
    pub silence: f64,
    pub why: String,
}

impl Fleet {
    /// Boots all machines. The controller is of this suite's root: `fleet`, or `fleet-controller` for Debian 12's
    /// ansible-core, which is without HAProxy.
    pub fn boot(controller: &str) -> Result<Fleet, NoMachine> {
        let key = key();
        let version = if controller == "fleet" { Version::V257 } else { Version::V252 };
        let machine = |name: &str, version, suite: &str| -> Result<Machine, NoMachine> {
            let boot = place(Boot::over(version, root(suite)?)?, name, &key);
            boot.start()
        };
        let mut controller = machine("n1", version, controller)?;
        let mut nodes = Vec::new();
        for name in NODES {
            nodes.push(machine(name, Version::V257, "fleet")?);
        }
        for machine in std::iter::once(&mut controller).chain(&mut nodes) {
            machine.wait_until_booted()?;
        }
        let fleet = Fleet { controller, nodes };
        fleet.connect();
        Ok(fleet)
    }

    /// A bridge in the controller's network, and a link from each node to it.
    fn connect(&self) {
        let n1 = &self.controller;
        n1.sh("ip link add br0 type bridge && ip addr add 10.7.0.1/24 dev br0 && ip link set br0 up");
        for (node, name) in self.nodes.iter().zip(NODES) {
            let number = &name[1..];
            let mut ip = Command::new("nsenter");
            ip.args(["--net", "--target", &node.init().to_string(), "ip", "link", "add", "eth0", "type", "veth"]);
            ip.args(["peer", "name", name, "netns", &n1.init().to_string()]);
            let output = finish(ip, SOON);
            assert_eq!(output.status, 0, "{output:?}");
            node.sh(&format!("ip addr add 10.7.0.{number}/24 dev eth0 && ip link set eth0 up"));
            n1.sh(&format!("ip link set {name} master br0 && ip link set {name} up"));
        }
        for name in NODES {
            n1.wait_until("sshd lets root in", || n1.run(&["ssh", "-n", name, "true"]).status == 0);
        }
    }

    pub fn node(&self, name: &str) -> &Machine {
        &self.nodes[NODES.iter().position(|node| *node == name).expect("a node")]
    }

    /// Starts HAProxy and a client, which goes on until the end of the value.
    pub fn under_load(&self) -> Client<'_> {
        let n1 = &self.controller;
        n1.run(&["systemctl", "stop", "haproxy-test.service", "client.service"]);
        n1.sh("rm -f /run/load");
        n1.ok(&[
            "systemd-run",
            "--unit=haproxy-test.service",
            "--collect",
            "--property=Type=notify",
            "haproxy",
            "-Ws",
            "-f",
            "/root/haproxy.cfg",
        ]);
        n1.wait_until("all servers are up", || {
            n1.run(&["sh", "-c", "echo show stat | socat - /run/haproxy.sock | grep -c '^web,n.*,UP,'"]).stdout.trim()
                == "6"
        });
        n1.ok(&["systemd-run", "--unit=client.service", "--collect", "/root/client", "/run/load"]);
        Client(self)
    }

    /// Runs the playbook of the roll-out, as an administrator does in the directory with the inventory.
    pub fn rollout(&self, arguments: &[&str]) -> Output {
        let words =
            [&["ansible-playbook", "-i", "hosts", "copse.systemd.rollout", "-e", "group=shop"], arguments].concat();
        self.controller.run_within(LONG, &command(&words))
    }

    pub fn spawn_rollout(&self, arguments: &[&str]) -> Spawned {
        let words =
            [&["ansible-playbook", "-i", "hosts", "copse.systemd.rollout", "-e", "group=shop"], arguments].concat();
        self.controller.spawn(&command(&words))
    }

    /// Rolls this release out to all, with a short canary.
    pub fn release(&self, rev: &str) -> Output {
        self.rollout(&["-e", "file=shop.toml.j2", "-e", "canary=1s", "-e", &format!("rev={rev}")])
    }

    /// Runs a module on the hosts of a pattern; returns what each returned, by host.
    pub fn module(&self, pattern: &str, module: &str, arguments: &Value, check: bool) -> Output {
        let (module, arguments) = (format!("copse.systemd.{module}"), arguments.to_string());
        let ansible = ["ansible", "-i", "hosts", pattern, "-m", &module, "-a", &arguments];
        let words = [&ansible[..], if check { &["--check"] } else { &[] }].concat();
        self.controller.run_within(LONG, &command(&words))
    }

    /// Which release a node serves, as its own copse has it installed and running.
    pub fn release_of(&self, name: &str) -> String {
        let node = self.node(name);
        let pid = node.pid("shop-web@1.service");
        let running = node.sh(&format!("tr '\\0' '\\n' </proc/{pid}/cmdline | grep -o 'r[^/]*/web$'"));
        let installed = node.sh("grep -o '/r[^/]*/web' /etc/copse/shop.toml");
        assert_eq!(installed.trim().trim_start_matches('/'), running.trim(), "{name} runs what is installed");
        running.trim().trim_end_matches("/web").to_owned()
    }

    pub fn releases(&self) -> Vec<String> {
        NODES.iter().map(|name| self.release_of(name)).collect()
    }

    /// Everything as before the first release, for the next situation.
    pub fn clear(&self) {
        let n1 = &self.controller;
        n1.run(&["systemctl", "stop", "haproxy-test.service", "client.service"]);
        n1.sh("rm -f /root/hooks /run/load; pkill -f '[s]sh:.*mux' || true");
        for node in &self.nodes {
            node.copse(&["thaw", "shop"]);
            node.sh("for t in /etc/copse/*.toml; do [ -e $t ] && systemctl stop $(basename $t .toml).target; done; \
                     rm -rf /etc/copse /run/copse/*.toml.d; systemctl daemon-reload; systemctl reset-failed; true");
        }
    }
}

/// A client under load, with HAProxy; both end with it.
pub struct Client<'f>(&'f Fleet);

impl Client<'_> {
    /// Ends it, and returns what it saw.
    pub fn end(self) -> Load {
        let n1 = &self.0.controller;
        n1.ok(&["systemctl", "stop", "client.service"]);
        n1.wait_until("the client has written", || n1.exists("/run/load"));
        let value: Value = serde_json::from_str(&n1.read("/run/load")).expect("JSON");
        Load {
            sent: value["sent"].as_u64().expect("a number"),
            lost: value["lost"].as_u64().expect("a number"),
            silence: value["silence"].as_f64().expect("a number"),
            why: value["why"].to_string(),
        }
    }
}

/// In a shell in the administrator's directory, from which relative paths begin.
pub fn command<'w>(words: &[&'w str]) -> Vec<&'w str> {
    let shell = "cd /root && export ANSIBLE_CONFIG=/root/ansible.cfg LC_ALL=C.UTF-8 && exec \"$@\"";
    [&["sh", "-c", shell, "sh"], words].concat()
}

fn root(suite: &str) -> Result<std::path::PathBuf, NoMachine> {
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/roots.sh"));
    command.arg(suite);
    let output = finish(command, Duration::from_secs(900));
    match output.status {
        0 => Ok(output.stdout.trim().into()),
        _ => Err(NoMachine::Unavailable(format!("no root file system `{suite}`:\n{}", output.stderr))),
    }
}

/// One key pair: the controller's, which opens all nodes.
fn key() -> [String; 2] {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("key");
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&path).status();
    assert!(made.expect("ssh-keygen").success());
    [path.clone(), path.with_extension("pub")].map(|path| fs::read_to_string(path).expect("a key just made"))
}

/// The files of every machine: network names, sshd, the collection, and releases 1 to 4 and a bad one.
fn place(mut boot: Boot, name: &str, [private, public]: &[String; 2]) -> Boot {
    let hosts = NODES.map(|name| format!("10.7.0.{} {name}\n", &name[1..])).concat();
    let inventory = NODES.map(|name| format!("{name}\n")).concat();
    let web = include_str!("files/web");
    for (path, text) in [
        ("/etc/hostname", format!("{name}\n")),
        ("/etc/hosts", format!("127.0.0.1 localhost {name}\n10.7.0.1 n1\n{hosts}")),
        ("/root/.ssh/authorized_keys", public.clone()),
        ("/root/.ssh/id_ed25519", private.clone()),
        ("/root/.ssh/config", "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n".to_owned()),
        ("/etc/ssh/host", private.clone()),
        ("/etc/systemd/system/fleet-ssh.service", SSHD.to_owned()),
        ("/root/hosts", format!("[web]\n{inventory}")),
        ("/root/ansible.cfg", include_str!("files/ansible.cfg").to_owned()),
        ("/root/shop.toml.j2", include_str!("files/shop.toml.j2").to_owned()),
        ("/root/drain.yml", include_str!("files/drain.yml").to_owned()),
        ("/root/undrain.yml", include_str!("files/undrain.yml").to_owned()),
        ("/root/haproxy.cfg", include_str!("files/haproxy.cfg").to_owned()),
    ] {
        boot = boot.write(path, text);
    }
    for release in ["r1", "r2", "r3", "r4", "rbad"] {
        boot = boot.write(&format!("/opt/shop/{release}/web"), web);
    }
    boot = boot.write("/root/client", include_str!("files/client"));
    let collection = Path::new(env!("CARGO_MANIFEST_DIR")).join("ansible");
    for path in files(&collection) {
        let relative = path.strip_prefix(&collection).expect("below it");
        let text = fs::read(&path).expect("a file of the collection");
        boot = boot.write(&format!("{COLLECTION}/{}", relative.display()), text);
    }
    boot.link("/etc/systemd/system/multi-user.target.wants/fleet-ssh.service", "../fleet-ssh.service")
}

/// Modes are set at the start: files are placed with 0644.
const SSHD: &str = "\
[Unit]
DefaultDependencies=no
[Service]
ExecStartPre=/bin/sh -c 'mkdir -p /run/sshd; chmod 700 /root/.ssh; chmod 600 /root/.ssh/id_ed25519 /etc/ssh/host; \
chmod 755 /root/client /opt/shop/*/web'
ExecStart=/usr/sbin/sshd -D -e -oHostKey=/etc/ssh/host -oUsePAM=no -oPermitRootLogin=prohibit-password -oMaxStartups=100
Restart=always
[Install]
WantedBy=multi-user.target
";

fn files(directory: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() && entry.file_name() != "__pycache__" {
            found.extend(files(&path));
        } else if path.is_file() {
            found.push(path);
        }
    }
    found
}
