//! What a daemon-reload changes about what runs already, and what it doesn't: what the table behind `copse plan` rests on.

use std::time::{Duration, Instant};

use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(a_daemon_reload_brings_the_restart_policy),
    situation!(a_daemon_reload_brings_how_a_unit_is_stopped),
    situation!(a_daemon_reload_brings_what_follows_a_failure),
    situation!(a_daemon_reload_sets_the_longest_run_anew),
    situation!(a_daemon_reload_reckons_a_timer_anew),
    // 247 doesn't know the directive that shows it.
    situation!(a_daemon_reload_tells_the_kernel_of_limits_at_the_next_start_beside_it, [V252, V257, V262]),
    situation!(a_daemon_reload_brings_no_watchdog),
    situation!(a_daemon_reload_makes_no_socket),
    situation!(a_reload_of_the_holder_makes_shared_directories),
];

const RUNS: &str = "[Service]\nExecStart=/bin/sleep infinity\n";

/// A unit of the machine's own, for as long as a situation needs it.
struct Unit<'m> {
    machine: &'m Machine,
    name: &'static str,
}

impl<'m> Unit<'m> {
    fn new(machine: &'m Machine, name: &'static str, text: &str) -> Self {
        let unit = Self { machine, name };
        unit.is_now(text);
        machine.systemctl(&["start", name]);
        unit
    }

    /// Its file holds this, and systemd has read it.
    fn is_now(&self, text: &str) {
        self.machine.write(&format!("/etc/systemd/system/{}", self.name), text);
        self.machine.reload();
    }

    fn kill(&self) {
        self.machine.systemctl(&["kill", "--signal=KILL", self.name]);
    }
}

impl Drop for Unit<'_> {
    fn drop(&mut self) {
        self.machine.run(&["systemctl", "stop", self.name]);
        self.machine.run(&["systemctl", "reset-failed", self.name]);
        self.machine.remove(&format!("/etc/systemd/system/{}", self.name));
        self.machine.run(&["systemctl", "daemon-reload"]);
    }
}

fn a_daemon_reload_brings_the_restart_policy(m: &Machine) {
    let unit = Unit::new(m, "read.service", RUNS);
    unit.is_now(&format!("{RUNS}Restart=always\nRestartSec=100ms\n"));
    unit.kill();
    m.wait("read.service", "NRestarts", "1");
    m.wait_for_state("read.service", "active");
}

fn a_daemon_reload_brings_how_a_unit_is_stopped(m: &Machine) {
    let script = "[Service]\nExecStart=/bin/sh -c 'trap : TERM; trap \"echo usr1 >/run/read; exit 7\" USR1; while :; do sleep .1; done'\n";
    let unit = Unit::new(m, "read.service", script);
    m.remove("/run/read");
    unit.is_now(&format!(
        "{script}KillSignal=SIGUSR1\nSuccessExitStatus=7\nExecReload=/bin/touch /run/read-reload\nExecStop=/bin/touch /run/read-stop\n\
         ExecStopPost=/bin/touch /run/read-post\n"
    ));
    m.systemctl(&["reload", "read.service"]);
    m.systemctl(&["stop", "read.service"]);
    assert_eq!(m.ok(&["cat", "/run/read"]), "usr1");
    m.sh("rm /run/read /run/read-reload /run/read-stop /run/read-post");
    assert_eq!(m.property("read.service", "Result"), "success");
    // One that doesn't end: the new time-out, not the old one of 90 s.
    let stubborn = "[Service]\nExecStart=/bin/sh -c 'trap \"\" TERM; while :; do sleep .1; done'\n";
    unit.is_now(stubborn);
    m.systemctl(&["start", "read.service"]);
    unit.is_now(&format!("{stubborn}TimeoutStopSec=1\n"));
    let began = Instant::now();
    m.systemctl(&["stop", "read.service"]);
    assert!(began.elapsed() < Duration::from_secs(80), "{:?}", began.elapsed());
}

fn a_daemon_reload_brings_what_follows_a_failure(m: &Machine) {
    let then = Unit::new(m, "read-then.service", RUNS);
    m.systemctl(&["stop", then.name]);
    let unit = Unit::new(m, "read.service", RUNS);
    unit.is_now(&format!("[Unit]\nOnFailure=read-then.service\n{RUNS}"));
    unit.kill();
    m.wait_for_state(then.name, "active");
}

fn a_daemon_reload_sets_the_longest_run_anew(m: &Machine) {
    let unit = Unit::new(m, "read.service", RUNS);
    unit.is_now(&format!("{RUNS}RuntimeMaxSec=1\n"));
    m.wait("read.service", "Result", "timeout");
}

fn a_daemon_reload_reckons_a_timer_anew(m: &Machine) {
    let _service = Unit::new(m, "read.service", RUNS);
    let timer = Unit::new(m, "read.timer", "[Timer]\nOnCalendar=2031-01-01\nOnBootSec=90000\n");
    let next = || m.properties("read.timer", ["NextElapseUSecRealtime", "NextElapseUSecMonotonic"]);
    let [_, before] = next();
    timer.is_now("[Timer]\nOnCalendar=2032-01-01\nOnBootSec=70000\n");
    let [calendar, boot] = next();
    assert!(calendar.contains("2032"), "{calendar}");
    assert_ne!(boot, before);
}

/// On 257 the kernel isn't told by the daemon-reload itself, but by the next start in the same slice.
fn a_daemon_reload_tells_the_kernel_of_limits_at_the_next_start_beside_it(m: &Machine) {
    let unit = Unit::new(m, "read.service", RUNS);
    let group = m.property("read.service", "ControlGroup");
    // What is told by an attribute that needs none of the controllers, which not every machine has.
    let script =
        format!("python3 -c 'import os; print([n for n in os.listxattr(\"/sys/fs/cgroup{group}\") if \"oomd\" in n])'");
    assert_eq!(m.sh(&script), "[]");
    unit.is_now(&format!("{RUNS}ManagedOOMPreference=avoid\n"));
    let beside = Unit::new(m, "read-then.service", RUNS);
    m.wait_until("the kernel knows", || m.sh(&script).contains("avoid"));
    drop(beside);
}

fn a_daemon_reload_brings_no_watchdog(m: &Machine) {
    let unit = Unit::new(m, "read.service", RUNS);
    unit.is_now(&format!("{RUNS}WatchdogSec=200ms\nRuntimeMaxSec=3\n"));
    // The longest run is the later of the two, and what ends it.
    m.wait_for_state("read.service", "failed");
    assert_eq!(m.property("read.service", "Result"), "timeout");
}

fn a_daemon_reload_makes_no_socket(m: &Machine) {
    let service = Unit::new(m, "read.service", RUNS);
    m.systemctl(&["stop", service.name]);
    let socket = Unit::new(m, "read.socket", "[Socket]\nListenStream=/run/read-1\n");
    socket.is_now("[Socket]\nListenStream=/run/read-1\nListenStream=/run/read-2\nSocketMode=0600\n");
    assert!(!m.exists("/run/read-2"));
    m.systemctl(&["start", service.name]);
    assert_ne!(m.try_systemctl(&["restart", socket.name]).status, 0, "under its service");
    m.systemctl(&["stop", service.name]);
    m.systemctl(&["restart", socket.name]);
    assert_eq!(m.sh("stat -c %a /run/read-1 /run/read-2"), "600\n600");
}

fn a_reload_of_the_holder_makes_shared_directories(m: &Machine) {
    let text = "runtime-directory = [\"read-a\"]\n[process.p]\nexec = \"/bin/sleep infinity\"\n";
    let group = m.start_group("read", text);
    let pid = m.pid("read-p.service");
    m.sh("touch /run/read-a/kept");
    m.write(
        &group.file(),
        &text.replace("[\"read-a\"]", "[\"read-a\", \"read-b\"]\nruntime-directory-mode = \"0750\""),
    );
    let plan = m.copse(&["plan", "read"]);
    assert!(
        plan.stdout.contains("  reload   shared directories  RuntimeDirectory= read-a → read-a read-b"),
        "{plan:?}"
    );
    m.reload();
    m.systemctl(&["reload", "copse-directories@read.service"]);
    assert_eq!(m.sh("stat -c %a /run/read-a /run/read-b; ls /run/read-a"), "750\n750\nkept");
    assert_eq!(m.pid("read-p.service"), pid);
    group.stop();
    m.wait_for_state("copse-directories@read.service", "inactive");
    assert!(!m.exists("/run/read-a") && !m.exists("/run/read-b"));
}
