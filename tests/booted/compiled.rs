//! Units made by `copse compile` and installed by a package, with no group file on the machine.

use crate::failing::exhaust;
use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(a_compiled_group_starts_restarts_and_stops_as_a_generated_one),
    situation!(a_compiled_group_that_gives_up_stops_and_starts_again),
    situation!(a_compiled_target_is_enabled_like_any_unit),
];

const CREW: &str = r#"
    wanted-by = ["multi-user.target"]
    failure-policy = "stop"
    runtime-directory = "crew"
    [process.manager]
    exec = "/usr/local/bin/stand-in notify"
    ready = "notify"
    [process.worker]
    exec = "/usr/local/bin/stand-in notify 0.1"
    ready = { file = "/run/stand-in-installed" }
    after = ["manager"]
    instances = 2
    restart-sec = "100ms"
    start-limit-burst = 4
    start-limit-interval-sec = "1h"
    [setup.prepare]
    exec = "/bin/true"
"#;

/// Where a package has its units.
const UNITS: &str = "/usr/lib/systemd/system";

const MEMBERS: [&str; 3] = ["crew-manager.service", "crew-worker@1.service", "crew-worker@2.service"];

/// An installed package; when dropped it is stopped and removed.
struct Package<'m>(&'m Machine);

impl<'m> Package<'m> {
    fn install(m: &'m Machine) -> Self {
        m.write("/run/stand-in-installed", "");
        m.write("/root/build/crew.toml", CREW);
        let version = m.version().to_string();
        // As a package's build does it: elsewhere, and then copied.
        m.ok(&[
            "copse",
            "compile",
            "/root/build/crew.toml",
            "--output",
            "/root/build/units",
            "--systemd-version",
            &version,
        ]);
        m.sh(&format!("cp -a /root/build/units/. {UNITS}/"));
        m.reload();
        Self(m)
    }
}

impl Drop for Package<'_> {
    fn drop(&mut self) {
        let (m, units) = (self.0, UNITS);
        let script = format!(
            "systemctl disable --now crew.target; systemctl stop system-copse-crew.slice; cd {units} && \
             rm -rf crew.target* crew-* copse-*@crew.service.d system-copse-crew.slice /root/build; \
             systemctl daemon-reload; systemctl reset-failed 'crew*' 'copse-*@crew.*'"
        );
        m.run(&["sh", "-c", &script]);
    }
}

fn a_compiled_group_starts_restarts_and_stops_as_a_generated_one(m: &Machine) {
    let _package = Package::install(m);
    m.systemctl(&["start", "crew.target"]);
    assert_eq!(m.state("copse-ready@crew.service"), "active", "the gate was passed");
    let path = m.property("crew-manager.service", "FragmentPath");
    assert!(path.ends_with("/lib/systemd/system/crew-manager.service"), "{path}");
    assert!(m.exists("/run/crew"), "the shared directory");
    let before = MEMBERS.map(|unit| m.pid(unit));
    m.systemctl(&["restart", "crew-manager.service"]);
    let after = MEMBERS.map(|unit| m.pid(unit));
    assert!(before[0] != after[0] && before[1..] == after[1..], "{before:?} {after:?}");
    m.kill_and_wait("crew-worker@1.service");
    assert_eq!(m.pid("crew-worker@2.service"), after[2]);
    assert_eq!(m.try_systemctl(&["stop", "crew-prepare.service"]).status, 4, "a step refuses to be stopped");
    m.systemctl(&["stop", "crew.target"]);
    for unit in MEMBERS {
        m.wait_for_state(unit, "inactive");
    }
    m.wait_for_state("copse-directories@crew.service", "inactive");
    assert!(!m.exists("/run/crew"));
}

fn a_compiled_group_that_gives_up_stops_and_starts_again(m: &Machine) {
    let _package = Package::install(m);
    m.systemctl(&["start", "crew.target"]);
    exhaust(m, "crew-worker@1.service");
    m.wait_for_state("copse-failed@crew.target", "active");
    m.wait_for_state("crew-manager.service", "inactive");
    m.systemctl(&["start", "crew.target"]);
    assert_eq!(MEMBERS.map(|unit| m.state(unit)), ["active"; 3]);
    assert_eq!(m.state("copse-failed@crew.target"), "inactive");
}

fn a_compiled_target_is_enabled_like_any_unit(m: &Machine) {
    let _package = Package::install(m);
    let state = || m.try_systemctl(&["is-enabled", "crew.target"]).stdout.trim().to_owned();
    assert_eq!(state(), "disabled");
    m.systemctl(&["enable", "crew.target"]);
    assert_eq!(state(), "enabled");
    assert!(m.exists("/etc/systemd/system/multi-user.target.wants/crew.target"));
    // A generator runs at each reload, and finds nothing of this to be its own.
    m.reload();
    assert!(!m.exists("/run/systemd/generator/crew.target"));
    m.systemctl(&["disable", "crew.target"]);
    assert_eq!(state(), "disabled");
}
