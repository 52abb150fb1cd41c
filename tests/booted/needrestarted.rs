//! needrestart(1), which Debian machines run after each upgrade: it restarts services whose programs or libraries were
//! replaced under them. What it does with groups is the business of packaging/needrestart/copse.conf.

use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    // The root file system of Debian testing has needrestart, as most machines do; what it does is the same on all.
    situation!(needrestart_restarts_for_a_new_library_and_spares_what_is_kept, [V262]),
    situation!(needrestart_restarts_nothing_for_a_new_copse, [V262]),
];

const CONFIGURATION: &str = include_str!("../../packaging/needrestart/copse.conf");

const GROUP: &str = r#"
    failure-policy = "stop"
    [process.manager]
    exec = "/bin/sleep 1000"
    refresh = "keep"
    [process.node]
    exec = "/bin/sleep 1000"
    instances = 2
    refresh = "keep"
    [process.worker]
    exec = "/bin/sleep 1000"
    instances = 2
    [process.web]
    exec = "/usr/bin/python3 -m http.server 8473"
    ready = { listening = 8473 }
    health = { tcp = "127.0.0.1:8473" }
"#;

const KEPT: [&str; 3] = ["need-manager.service", "need-node@1.service", "need-node@2.service"];
const OTHERS: [&str; 3] = ["need-worker@1.service", "need-worker@2.service", "need-web.service"];

/// A machine of its own, for its libraries are replaced, with the group and a service that isn't of it.
fn started(m: &Machine) -> Machine {
    let machine = Machine::boot(m.version()).unwrap_or_else(|why| panic!("{why:?}"));
    machine.write("/etc/needrestart/conf.d/copse.conf", CONFIGURATION);
    machine.write("/etc/copse/need.toml", GROUP);
    machine.write("/run/systemd/system/plain.service", "[Service]\nExecStart=/bin/sleep 1000\n");
    machine.reload();
    machine.systemctl(&["start", "need.target", "plain.service"]);
    assert_eq!(wanting(&machine), Vec::<String>::new(), "nothing was replaced yet");
    machine
}

/// As dpkg replaces a file: whoever has it open keeps the old one.
fn replace(machine: &Machine, path: &str) {
    machine.sh(&format!("file=$(realpath {path}); cp -a $file $file.dpkg-new; mv $file.dpkg-new $file"));
}

/// The services of which it says that they need to be restarted.
fn wanting(machine: &Machine) -> Vec<String> {
    let said = machine.sh("needrestart -b -l");
    let services = said.lines().filter_map(|line| line.strip_prefix("NEEDRESTART-SVC: "));
    services.filter(|service| service.starts_with("need-") || *service == "plain.service").map(str::to_owned).collect()
}

/// What an unattended upgrade has it do.
fn restart(machine: &Machine) -> String {
    machine.sh("DEBIAN_FRONTEND=noninteractive needrestart -r a -m a -l 2>&1")
}

fn pids<const N: usize>(machine: &Machine, units: [&str; N]) -> [u32; N] {
    units.map(|unit| machine.pid(unit))
}

fn needrestart_restarts_for_a_new_library_and_spares_what_is_kept(m: &Machine) {
    let machine = started(m);
    let (kept, others, plain) = (pids(&machine, KEPT), pids(&machine, OTHERS), machine.pid("plain.service"));
    replace(&machine, "/lib/*-linux-gnu*/libc.so.6");
    let wanting = wanting(&machine);
    for unit in KEPT.iter().chain(&OTHERS).chain(&["plain.service"]) {
        assert!(wanting.iter().any(|wants| wants == unit), "{unit}: {wanting:?}");
    }
    let said = restart(&machine);
    let (restarted, deferred) = said.split_once("deferred:").unwrap_or_else(|| panic!("{said}"));
    for unit in KEPT {
        assert!(deferred.contains(unit) && !restarted.contains(unit), "{said}");
    }
    for unit in OTHERS.iter().chain(&["plain.service", "need.target"]) {
        machine.wait_for_state(unit, "active");
    }
    assert_eq!(pids(&machine, KEPT), kept, "{said}");
    let now = pids(&machine, OTHERS);
    assert!(now.iter().zip(&others).all(|(now, before)| now != before), "{said}");
    assert_ne!(machine.pid("plain.service"), plain, "{said}");
}

fn needrestart_restarts_nothing_for_a_new_copse(m: &Machine) {
    let machine = started(m);
    let before = (pids(&machine, KEPT), pids(&machine, OTHERS));
    for program in ["/usr/bin/copse", "/usr/bin/copse-notify", "/usr/lib/systemd/system-generators/copse-generator"] {
        replace(&machine, program);
    }
    assert_eq!(wanting(&machine), Vec::<String>::new());
    let said = restart(&machine);
    assert_eq!((pids(&machine, KEPT), pids(&machine, OTHERS)), before, "{said}");
}
