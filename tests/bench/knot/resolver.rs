//! The two that are compared: the package's service and the group, each with what is done to it.

use std::collections::{BTreeMap, BTreeSet};

use crate::machines::machine::Machine;
use crate::machines::scope::Scope;

/// Knot Resolver in one of its two forms. Only one runs at a time: their directories and port are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The package's `knot-resolver.service`: supervisord, and below it the manager, the workers and the collector.
    Package,
    /// The group of knot-resolver.toml.
    Group,
}

pub struct Resolver<'m> {
    pub machine: &'m Machine,
    pub form: Form,
}

const SERVICE: &str = "knot-resolver.service";
const TARGET: &str = "knot-resolver.target";
const MANAGER: &str = "knot-resolver-manager.service";
/// What an upgrade of the package replaces; the group's manager is a file of its own.
const PROGRAMS: [&str; 3] = ["/usr/sbin/kresd", "/usr/sbin/kres-cache-gc", "/opt/knot/manager"];

impl Resolver<'_> {
    /// Returns when systemd has it started.
    pub fn start(&self) {
        self.machine.systemctl(&["start", self.unit()]);
    }

    /// Returns when no process is left, and what failed is forgotten.
    pub fn stop(&self) {
        let whole = self.whole();
        if self.form == Form::Group {
            // First, as one that is still starting has workers started: systemd would cancel their slice's stop for that.
            self.machine.systemctl(&["stop", TARGET, MANAGER]);
        }
        self.machine.systemctl(&["stop", &whole]);
        self.machine.systemctl(&["reset-failed"]);
    }

    /// Whether systemd takes it for running.
    pub fn is_active(&self) -> bool {
        self.machine.state(self.unit()) == "active"
    }

    /// The package's manager can't be restarted alone: its orderly end is supervisord's, and the service's.
    pub fn restart_manager(&self) {
        let unit = match self.form {
            Form::Package => SERVICE,
            Form::Group => MANAGER,
        };
        self.machine.systemctl(&["restart", unit]);
    }

    /// New programs in the place of the old ones, and what is done then: by the package's postinst; for the group, by
    /// `copse apply`, which restarts what runs an older program, each in turn.
    pub fn upgrade(&self) {
        for program in PROGRAMS {
            // As dpkg does: another file under the same name. A byte more at its end makes another content; apply doesn't
            // restart what runs the same.
            let new = format!("{program}.dpkg-new");
            self.machine.sh(&format!("cp {program} {new} && echo >>{new} && mv {new} {program}"));
        }
        self.machine.systemctl(&["daemon-reload"]);
        match self.form {
            Form::Package => {
                self.machine.ok(&["deb-systemd-invoke", "restart", SERVICE]);
            }
            Form::Group => {
                self.machine.ok(&["copse", "apply", "knot-resolver"]);
            }
        }
    }

    /// Of the process that everything else hangs from. The group has none.
    pub fn top(&self) -> Option<u32> {
        (self.form == Form::Package).then(|| self.machine.pid(SERVICE))
    }

    pub fn manager(&self) -> u32 {
        match self.form {
            Form::Group => self.machine.pid(MANAGER),
            Form::Package => {
                let processes = self.processes();
                let found = processes.iter().find(|process| process.name == "manager");
                found.expect("the service has a manager").pid
            }
        }
    }

    /// The PIDs of the processes that answer queries.
    pub fn workers(&self) -> BTreeSet<u32> {
        self.processes().iter().filter(|process| process.name == "worker").map(|process| process.pid).collect()
    }

    /// The memory of all but the workers, in KiB (PSS: what is shared counts in equal parts), by the program.
    pub fn memory(&self) -> BTreeMap<&'static str, u32> {
        let mut memory = BTreeMap::new();
        let mut processes = self.processes();
        if self.form == Form::Group {
            // Started by the bus because the manager isn't root, and has to ask whether it may start a unit.
            processes.extend(self.processes_of("polkit.service"));
        }
        for process in processes.into_iter().filter(|process| process.name != "worker") {
            *memory.entry(process.name).or_default() += process.pss;
        }
        memory
    }

    fn processes(&self) -> Vec<Process> {
        self.processes_of(&self.whole())
    }

    fn processes_of(&self, unit: &str) -> Vec<Process> {
        let script = r#"
            for pid in $(cat $(find "/sys/fs/cgroup$1" -name cgroup.procs)); do
                pss=$(awk '/^Pss:/ { print $2 }' "/proc/$pid/smaps_rollup") || continue # it has just ended
                printf '%s %s %s\n' "$pid" "$pss" "$(tr '\0' ' ' <"/proc/$pid/cmdline")"
            done"#;
        let cgroup = self.machine.property(unit, "ControlGroup");
        let listed = self.machine.ok(&["sh", "-euc", script, "-", &cgroup]);
        listed.lines().map(Process::parse).collect()
    }

    fn unit(&self) -> &'static str {
        match self.form {
            Form::Package => SERVICE,
            Form::Group => TARGET,
        }
    }

    /// The unit whose stop waits for the last process, and whose cgroup has them all.
    fn whole(&self) -> String {
        match self.form {
            Form::Package => SERVICE.to_owned(),
            Form::Group => self.machine.property(MANAGER, "Slice"),
        }
    }
}

struct Process {
    pid: u32,
    pss: u32,
    name: &'static str,
}

impl Process {
    fn parse(line: &str) -> Process {
        let mut words = line.splitn(3, ' ');
        let mut number = || words.next().and_then(|word| word.parse().ok()).expect("two numbers stand in front");
        let (pid, pss) = (number(), number());
        let command = words.next().unwrap_or_default();
        let names = [
            ("/supervisord ", "supervisord"),
            ("/kresd ", "worker"),
            ("/kres-cache-gc ", "cache gc"),
            ("knot_resolver.manager ", "manager"),
            ("/opt/knot/manager ", "manager"),
            ("systemctl ", "manager"), // which asks for the states of its units every five seconds
            ("/polkitd ", "polkitd"),
        ];
        let name = names.iter().find(|(part, _)| command.contains(part)).map(|(_, name)| *name);
        Process { pid, pss, name: name.unwrap_or_else(|| panic!("what is `{command}`?")) }
    }
}
