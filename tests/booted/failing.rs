//! Crashes that systemd repairs, and giving up, under both failure policies.

use crate::machines::machine::{Boot, Machine};
use crate::machines::scope::Scope;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(a_crash_that_is_repaired_takes_nobody_down),
    situation!(giving_up_under_stop_takes_the_group_down_and_shows_why),
    situation!(giving_up_under_continue_takes_nobody_down),
    situation!(giving_up_during_the_start_under_stop_leaves_nothing_running),
    situation!(giving_up_of_a_process_that_is_not_essential_takes_nobody_down),
    situation!(a_group_that_failed_starts_again_at_once),
    situation!(a_workers_crash_loop_restarts_nobody_else),
    situation!(a_worker_that_ends_cleanly_every_few_seconds_is_not_given_up),
    situation!(a_mistake_in_a_file_is_seen_after_a_boot),
];

fn group_of(policy: &str, essential: bool) -> String {
    format!(
        r#"
        failure-policy = "{policy}"
        [process.manager]
        exec = "/usr/local/bin/stand-in notify"
        ready = "notify"
        [process.worker]
        exec = "/usr/local/bin/stand-in notify"
        ready = "notify"
        after = ["manager"]
        instances = 2
        essential = {essential}
        restart-sec = "100ms"
        start-limit-burst = 4
        start-limit-interval-sec = "1h"
        "#
    )
}

fn kill(m: &Machine, unit: &str) {
    let before = m.pid(unit);
    m.systemctl(&["kill", "--signal=KILL", unit]);
    m.wait_until(&format!("{unit} is repaired or given up"), || {
        let [state, sub, pid] = m.properties(unit, ["ActiveState", "SubState", "MainPID"]);
        sub == "failed" || (state == "active" && pid != before.to_string())
    });
}

/// Kills a unit until systemd gives it up.
pub fn exhaust(m: &Machine, unit: &str) {
    for _ in 0..10 {
        if m.property(unit, "SubState") == "failed" {
            return;
        }
        kill(m, unit);
    }
    panic!("{unit} is still restarted after ten crashes\n{}", m.account_of(&[unit]));
}

fn a_crash_that_is_repaired_takes_nobody_down(m: &Machine) {
    for policy in ["continue", "stop"] {
        let _group = m.start_group("repaired", &group_of(policy, true));
        let (manager, other) = (m.pid("repaired-manager.service"), m.pid("repaired-worker@2.service"));
        for _ in 0..2 {
            kill(m, "repaired-worker@1.service");
            m.wait_for_state("repaired-worker@1.service", "active");
        }
        kill(m, "repaired-manager.service");
        assert_ne!(m.pid("repaired-manager.service"), manager);
        assert_eq!(m.pid("repaired-worker@2.service"), other, "{policy}");
        assert_eq!(m.state("repaired.target"), "active", "{policy}");
        assert_eq!(m.state("copse-failed@repaired.target"), "inactive", "{policy}");
    }
}

fn giving_up_under_stop_takes_the_group_down_and_shows_why(m: &Machine) {
    let group = m.start_group("strict", &group_of("stop", true));
    exhaust(m, "strict-worker@1.service");
    m.wait_for_state("copse-failed@strict.target", "active");
    for unit in ["strict-manager.service", "strict-worker@2.service", "strict.target"] {
        m.wait_for_state(unit, "inactive");
    }
    let failed = m.failed();
    let failed: Vec<&str> = failed.lines().filter(|line| line.contains("strict")).collect();
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed[0].starts_with("strict-worker@1.service"), "{failed:?}");
    assert!(!group.units().is_empty());
}

fn giving_up_under_continue_takes_nobody_down(m: &Machine) {
    let _group = m.start_group("goes-on", &group_of("continue", true));
    let (manager, other) = (m.pid("goes-on-manager.service"), m.pid("goes-on-worker@2.service"));
    exhaust(m, "goes-on-worker@1.service");
    assert_eq!(m.pid("goes-on-manager.service"), manager);
    assert_eq!(m.pid("goes-on-worker@2.service"), other);
    assert_eq!(m.state("goes-on.target"), "active");
    let failed = m.failed();
    assert!(failed.contains("goes-on-worker@1.service"), "{failed}");
}

fn giving_up_during_the_start_under_stop_leaves_nothing_running(m: &Machine) {
    let group = m.group(
        "stillborn",
        r#"
        failure-policy = "stop"
        [process.good]
        exec = "/usr/local/bin/stand-in run"
        [process.bad]
        exec = "/usr/local/bin/stand-in crash"
        ready = "notify"
        restart-sec = "50ms"
        start-limit-burst = 2
        "#,
    );
    group.fails_to_start();
    m.wait_for_state("copse-failed@stillborn.target", "active");
    m.wait_for_state("stillborn-good.service", "inactive");
    assert_eq!(m.state("stillborn-bad.service"), "failed");
}

fn giving_up_of_a_process_that_is_not_essential_takes_nobody_down(m: &Machine) {
    let _group = m.start_group("minor", &group_of("stop", false));
    let (manager, other) = (m.pid("minor-manager.service"), m.pid("minor-worker@2.service"));
    exhaust(m, "minor-worker@1.service");
    assert_eq!(m.pid("minor-manager.service"), manager);
    assert_eq!(m.pid("minor-worker@2.service"), other);
    assert_eq!(m.state("minor.target"), "active");
}

fn a_group_that_failed_starts_again_at_once(m: &Machine) {
    let group = m.start_group("revived", &group_of("stop", true));
    exhaust(m, "revived-worker@1.service");
    m.wait_for_state("copse-failed@revived.target", "active");
    m.wait_for_state("revived.target", "inactive");
    group.start();
    m.assert_state(&["revived-manager.service", "revived-worker@1.service", "revived-worker@2.service"], "active");
    assert_eq!(m.state("copse-failed@revived.target"), "inactive");
    let failed = m.failed();
    assert!(!failed.contains("revived"), "{failed}");
}

fn a_workers_crash_loop_restarts_nobody_else(m: &Machine) {
    let _group = m.start_group(
        "loop",
        r#"
        [process.manager]
        exec = "/usr/local/bin/stand-in notify"
        ready = "notify"
        [process.sibling]
        exec = "/usr/local/bin/stand-in run"
        [process.worker]
        exec = "/usr/local/bin/stand-in crash 0.05"
        after = ["manager"]
        restart-sec = "50ms"
        start-limit-burst = 100
        "#,
    );
    let before = [m.pid("loop-manager.service"), m.pid("loop-sibling.service")];
    m.wait_until("the worker was restarted six times", || {
        m.property("loop-worker.service", "NRestarts").parse().is_ok_and(|restarts: u32| restarts >= 6)
    });
    assert_eq!([m.pid("loop-manager.service"), m.pid("loop-sibling.service")], before);
    assert_eq!(m.state("loop.target"), "active");
}

fn a_worker_that_ends_cleanly_every_few_seconds_is_not_given_up(m: &Machine) {
    let _group =
        m.start_group("tidy", "[process.worker]\nexec = \"/usr/local/bin/stand-in end 1.2\"\nrestart = \"always\"\n");
    m.wait_until("it was started eight times", || {
        m.property("tidy-worker.service", "NRestarts").parse().is_ok_and(|restarts: u32| restarts >= 7)
    });
    assert_ne!(m.property("tidy-worker.service", "SubState"), "failed");
}

fn a_mistake_in_a_file_is_seen_after_a_boot(m: &Machine) {
    const WANTED: &str = "wanted-by = [\"multi-user.target\"]\n";
    const GOOD: &str = "[process.a]\nexec = \"/bin/sleep 1000\"\n";
    let boot = Boot::new(m.version()).unwrap_or_else(|why| panic!("{why:?}"));
    let mut machine = boot
        .write("/etc/copse/typo.toml", format!("{WANTED}{GOOD}instnaces = 2\n"))
        .write("/etc/copse/unread.toml", "wanted-by = [multi-user.target]\n")
        .write("/etc/copse/by-hand.toml", format!("{GOOD}instnaces = 2\n"))
        .write("/etc/copse/masked.toml", "broken")
        .link("/etc/systemd/system/masked.target", "/dev/null")
        .write("/etc/copse/fine.toml", format!("{WANTED}{GOOD}"))
        .write("/etc/copse/user/mine.toml", "broken")
        .start()
        .unwrap_or_else(|why| panic!("{why:?}"));
    let state = machine.wait_until_booted().unwrap_or_else(|why| panic!("{why:?}"));
    assert_eq!(state, "degraded");
    let failed = || {
        let list = machine.ok(&["systemctl", "list-units", "--failed", "--plain", "--no-legend", "--full"]);
        let mut units: Vec<_> =
            list.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
        units.sort();
        units
    };
    assert_eq!(failed(), ["copse-invalid@typo.service", "copse-invalid@unread.service"]);
    let described = machine.property("copse-invalid@typo.service", "Description");
    assert!(described.starts_with("/etc/copse/typo.toml:4:1: error[unknown-key]: "), "{described}");
    let journal = machine.journal(&["-u", "copse-invalid@unread.service"]);
    assert!(journal.contains("/etc/copse/unread.toml:1:14: error[syntax]: "), "{journal}");
    for (target, state) in [("typo", "inactive"), ("unread", "inactive"), ("by-hand", "inactive"), ("fine", "active")] {
        assert_eq!(machine.state(&format!("{target}.target")), state, "{target}");
    }
    let user = machine.user(2001);
    assert_eq!(user.state("copse-invalid@mine.service"), "failed");
    // Corrected and started, nothing of it is left.
    machine.write("/etc/copse/typo.toml", &format!("{WANTED}{GOOD}"));
    machine.write("/etc/copse/unread.toml", GOOD);
    machine.reload();
    machine.systemctl(&["start", "typo.target", "unread.target"]);
    assert_eq!(failed(), [""; 0]);
}
