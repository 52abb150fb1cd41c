//! What a restart, a kill or a stop of one reaches, and whom it leaves alone.

use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(a_restart_of_the_manager_leaves_its_siblings_running),
    situation!(a_killed_manager_comes_back_and_leaves_its_siblings_running),
    situation!(a_restart_of_the_target_reaches_every_process),
    situation!(a_stop_of_the_target_reaches_every_process_in_reverse_order_and_leaves_no_cgroup),
    situation!(a_stop_of_the_slice_waits_until_the_last_process_is_gone),
    situation!(a_process_that_ends_badly_when_asked_to_restart_takes_nobody_down),
    situation!(a_process_that_has_to_be_killed_takes_nobody_down),
    situation!(copses_own_units_refuse_to_be_stopped_by_hand),
];

/// The shape that all this is about: a manager, workers after it, and a garbage collector.
const RESOLVER: &str = r#"
    [process.manager]
    exec = "/usr/local/bin/stand-in notify"
    ready = "notify"
    restart-sec = "100ms"
    [process.worker]
    exec = "/usr/local/bin/stand-in notify 0.1"
    ready = "notify"
    instances = 2
    after = ["manager"]
    [process.gc]
    exec = "/usr/local/bin/stand-in run"
    after = ["manager"]
"#;

const SIBLINGS: [&str; 3] = ["-worker@1.service", "-worker@2.service", "-gc.service"];

fn pids(m: &Machine, group: &str) -> Vec<u32> {
    SIBLINGS.iter().map(|sibling| m.pid(&format!("{group}{sibling}"))).collect()
}

fn a_restart_of_the_manager_leaves_its_siblings_running(m: &Machine) {
    let _group = m.start_group("calm", RESOLVER);
    let (manager, siblings) = (m.pid("calm-manager.service"), pids(m, "calm"));
    for _ in 0..8 {
        // Restarts by hand count towards the start limit, hence the reset: that is systemd's rule, not ours.
        m.systemctl(&["reset-failed", "calm-manager.service"]);
        m.systemctl(&["restart", "calm-manager.service"]);
        assert_eq!(pids(m, "calm"), siblings);
    }
    assert_ne!(m.pid("calm-manager.service"), manager);
    assert_eq!(m.state("calm.target"), "active");
}

fn a_killed_manager_comes_back_and_leaves_its_siblings_running(m: &Machine) {
    let _group = m.start_group("killed", RESOLVER);
    let siblings = pids(m, "killed");
    m.kill_and_wait("killed-manager.service");
    assert_eq!(pids(m, "killed"), siblings);
    assert_eq!(m.state("killed.target"), "active");
}

fn a_restart_of_the_target_reaches_every_process(m: &Machine) {
    let _group = m.start_group("reach", RESOLVER);
    let (manager, siblings) = (m.pid("reach-manager.service"), pids(m, "reach"));
    m.systemctl(&["restart", "reach.target"]);
    assert_ne!(m.pid("reach-manager.service"), manager);
    for (before, after) in siblings.iter().zip(pids(m, "reach")) {
        assert_ne!(*before, after);
    }
}

fn a_stop_of_the_target_reaches_every_process_in_reverse_order_and_leaves_no_cgroup(m: &Machine) {
    let group = m.start_group("order", RESOLVER);
    let pids = [pids(m, "order"), vec![m.pid("order-manager.service")]].concat();
    m.remove("/run/stand-ins-stopped");
    group.stop();
    m.wait_for_state("order-manager.service", "inactive");
    for pid in pids {
        assert!(!m.exists(&format!("/proc/{pid}/status")), "process {pid} is gone");
    }
    let stopped = m.read("/run/stand-ins-stopped");
    assert_eq!(stopped.lines().count(), 4, "{stopped}");
    assert!(stopped.ends_with("order-manager.service\n"), "it stops last, as the others are after it: {stopped}");
    let left = m.sh("find /sys/fs/cgroup -path '*copse-order.slice/*/*' -name cgroup.procs -print");
    assert_eq!(left, "", "no member's cgroup is left");
}

fn a_stop_of_the_slice_waits_until_the_last_process_is_gone(m: &Machine) {
    let _group = m.start_group("slice", RESOLVER);
    m.systemctl(&["stop", "system-copse-slice.slice"]);
    m.assert_state(
        &["slice-manager.service", "slice-worker@1.service", "slice-gc.service", "slice.target"],
        "inactive",
    );
}

fn a_process_that_ends_badly_when_asked_to_restart_takes_nobody_down(m: &Machine) {
    for policy in ["continue", "stop"] {
        let _group = m.start_group(
            "sulky",
            &format!(
                r#"
                failure-policy = "{policy}"
                [process.moody]
                exec = "/usr/local/bin/stand-in sulk 1"
                [process.other]
                exec = "/usr/local/bin/stand-in run"
                "#
            ),
        );
        let other = m.pid("sulky-other.service");
        m.systemctl(&["restart", "sulky-moody.service"]);
        m.systemctl(&["stop", "sulky-moody.service"]);
        settle(m, "sulky");
        assert_eq!(m.pid("sulky-other.service"), other, "{policy}");
        assert_eq!(m.state("sulky.target"), "active", "{policy}");
        assert_eq!(m.state("copse-failed@sulky.target"), "inactive", "{policy}");
    }
}

fn a_process_that_has_to_be_killed_takes_nobody_down(m: &Machine) {
    let _group = m.start_group(
        "stubborn",
        r#"
        failure-policy = "stop"
        [process.firm]
        exec = "/usr/local/bin/stand-in stubborn"
        ready = "notify"
        timeout-stop-sec = "300ms"
        [process.other]
        exec = "/usr/local/bin/stand-in run"
        "#,
    );
    let other = m.pid("stubborn-other.service");
    m.systemctl(&["restart", "stubborn-firm.service"]);
    settle(m, "stubborn");
    m.systemctl(&["stop", "stubborn-firm.service"]);
    settle(m, "stubborn");
    assert_eq!(m.pid("stubborn-other.service"), other);
    assert_eq!(m.state("stubborn.target"), "active");
    m.systemctl(&["restart", "stubborn.target"]);
    assert_eq!(m.state("stubborn-firm.service"), "active");
}

/// Until the judgement on a failed process is over: the checker is started by the failure itself, so it has a job
/// or runs by the time systemctl returns.
fn settle(m: &Machine, group: &str) {
    let pattern = format!("copse-gave-up@{group}-*");
    m.wait_until("nobody is being judged", || {
        let jobs = m.ok(&["systemctl", "list-jobs", "--no-legend", "--plain", "--full"]);
        let running = m.ok(&["systemctl", "list-units", "--no-legend", "--plain", "--state=activating", &pattern]);
        !jobs.contains(&format!("copse-gave-up@{group}")) && running.is_empty()
    });
}

fn copses_own_units_refuse_to_be_stopped_by_hand(m: &Machine) {
    let _group = m.start_group(
        "firm",
        "runtime-directory = \"firm\"\n[setup.prepare]\nexec = \"/bin/true\"\n[process.p]\nexec = \"/usr/local/bin/stand-in run\"\n",
    );
    let pid = m.pid("firm-p.service");
    for unit in ["copse-ready@firm.service", "copse-directories@firm.service", "firm-prepare.service"] {
        for verb in ["stop", "restart"] {
            let output = m.run(&["systemctl", verb, unit]);
            assert_ne!(output.status, 0, "{verb} {unit}");
        }
    }
    assert_eq!(m.pid("firm-p.service"), pid);
}
