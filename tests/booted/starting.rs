//! `systemctl start G.target`: what its end means, and that it always ends.

use std::time::{Duration, Instant};

use crate::machines::machine::{Boot, Machine};
use crate::machines::scope::Scope;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(start_returns_when_the_group_is_ready),
    situation!(start_fails_when_an_essential_process_fails_for_good),
    situation!(start_succeeds_when_only_a_process_that_is_not_essential_fails),
    situation!(start_waits_for_a_process_that_systemd_is_still_restarting),
    situation!(start_ends_though_a_process_never_gets_ready),
    situation!(start_names_the_process_that_is_missing),
    situation!(start_fails_when_a_process_is_refused_by_an_assertion),
    situation!(a_process_that_is_done_counts_as_started),
    situation!(start_works_right_after_a_failed_start),
    situation!(six_restarts_of_the_target_in_a_row_work),
    situation!(a_boot_with_a_group_that_never_gets_ready_finishes),
    situation!(a_boot_starts_a_group_that_is_wanted),
    situation!(what_the_group_is_after_and_requires_holds_for_every_process),
    situation!(stopping_during_the_start_leaves_nothing_failed),
];

fn start_returns_when_the_group_is_ready(m: &Machine) {
    let group = m.group(
        "ready",
        r#"
        [process.manager]
        exec = "/usr/local/bin/stand-in notify 0.6"
        ready = "notify"
        [process.worker]
        exec = "/usr/local/bin/stand-in notify 0.6"
        ready = "notify"
        after = ["manager"]
        instances = 2
        "#,
    );
    let began = Instant::now();
    group.start();
    assert!(began.elapsed() >= Duration::from_millis(1200), "it returned after {:?}", began.elapsed());
    m.assert_state(
        &["ready-manager.service", "ready-worker@1.service", "ready-worker@2.service", "ready.target"],
        "active",
    );
    let [gate, pid] = m.properties("copse-ready@ready.service", ["ActiveState", "MainPID"]);
    assert_eq!((gate.as_str(), pid.as_str()), ("active", "0"), "the gate leaves no process behind");
}

fn start_fails_when_an_essential_process_fails_for_good(m: &Machine) {
    let group = m.group(
        "broken",
        r#"
        [process.good]
        exec = "/usr/local/bin/stand-in run"
        [process.bad]
        exec = "/usr/local/bin/stand-in crash"
        ready = "notify"
        restart-sec = "50ms"
        start-limit-burst = 3
        "#,
    );
    group.fails_to_start();
    assert_eq!(m.state("broken-good.service"), "active", "the sibling goes on");
    let failed = m.failed();
    assert!(failed.contains("broken-bad.service"), "{failed}");
}

fn start_succeeds_when_only_a_process_that_is_not_essential_fails(m: &Machine) {
    let _group = m.start_group(
        "lenient",
        r#"
        [process.good]
        exec = "/usr/local/bin/stand-in run"
        [process.extra]
        exec = "/usr/local/bin/stand-in crash"
        ready = "notify"
        essential = false
        restart-sec = "50ms"
        start-limit-burst = 2
        "#,
    );
    m.wait_for_state("lenient-extra.service", "failed");
    assert_eq!(m.state("lenient.target"), "active");
}

fn start_waits_for_a_process_that_systemd_is_still_restarting(m: &Machine) {
    m.remove("/run/flap-count");
    let _group = m.start_group(
        "flap",
        r#"
        [process.shaky]
        exec = "/usr/local/bin/stand-in flap /run/flap-count 2"
        ready = "notify"
        restart-sec = "300ms"
        "#,
    );
    assert_eq!(m.state("flap-shaky.service"), "active");
    assert_eq!(m.read("/run/flap-count").len(), 2, "it failed twice before");
}

fn start_ends_though_a_process_never_gets_ready(m: &Machine) {
    let group = m.group(
        "never",
        r#"
        timeout-start-sec = "3s"
        [process.never]
        exec = "/usr/local/bin/stand-in never"
        ready = "notify"
        [process.loop]
        exec = "/usr/local/bin/stand-in crash 0.1"
        ready = "notify"
        restart-sec = "100ms"
        start-limit-burst = 100000
        "#,
    );
    let began = Instant::now();
    group.fails_to_start();
    // Without `timeout-start-sec` it would take systemd's 90 s.
    assert!(began.elapsed() < Duration::from_secs(80), "it took {:?}", began.elapsed());
}

fn start_names_the_process_that_is_missing(m: &Machine) {
    let file = |limit: &str| {
        format!(
            r#"
            timeout-start-sec = "{limit}"
            [process.slow]
            exec = "/usr/local/bin/stand-in never"
            ready = "notify"
            "#
        )
    };
    let group = m.group("naming", &file("1h"));
    let mut start = m.spawn(&["systemctl", "start", &group.target()]);
    m.wait_until("the gate's status text names the process", || {
        m.property("copse-ready@naming.service", "StatusText").contains("naming-slow.service")
    });
    assert!(start.runs(), "the start waits meanwhile");
    group.stop();
    assert_eq!(start.finish().status, 1);
    group.rewrite(&file("2s"));
    group.fails_to_start();
    let journal = m.journal(&["-u", "copse-ready@naming.service"]);
    assert!(journal.contains("naming-slow.service"), "{journal}");
}

fn start_fails_when_a_process_is_refused_by_an_assertion(m: &Machine) {
    let group = m.group(
        "refused",
        r#"
        [process.picky]
        exec = "/usr/local/bin/stand-in run"
        [process.picky.unit]
        AssertPathExists = "/nowhere"
        "#,
    );
    group.fails_to_start();
}

fn a_process_that_is_done_counts_as_started(m: &Machine) {
    let _group = m.start_group(
        "done",
        r#"
        [process.once]
        exec = "/usr/local/bin/stand-in end"
        [process.job]
        exec = "/usr/local/bin/stand-in end 0.2"
        ready = "oneshot"
        [process.rest]
        exec = "/usr/local/bin/stand-in run"
        "#,
    );
    m.wait_for_state("done-once.service", "inactive");
    assert_eq!(m.state("done-job.service"), "active", "a oneshot stays active");
    assert_eq!(m.state("done.target"), "active");
}

fn start_works_right_after_a_failed_start(m: &Machine) {
    m.remove("/run/allowed");
    let group = m.group(
        "again",
        r#"
        [process.gated]
        exec = ["/bin/sh", "-c", "test -e /run/allowed && exec /usr/local/bin/stand-in notify"]
        ready = "notify"
        restart-sec = "50ms"
        start-limit-burst = 3
        start-limit-interval-sec = "1h"
        "#,
    );
    group.fails_to_start();
    m.write("/run/allowed", "");
    group.start();
    assert_eq!(m.state("again-gated.service"), "active");
    let failed = m.failed();
    assert!(!failed.contains("again"), "{failed}");
}

fn six_restarts_of_the_target_in_a_row_work(m: &Machine) {
    let group = m.start_group(
        "six",
        r#"
        [process.a]
        exec = "/usr/local/bin/stand-in notify"
        ready = "notify"
        start-limit-burst = 3
        start-limit-interval-sec = "1h"
        [process.b]
        exec = "/usr/local/bin/stand-in sulk 1"
        after = ["a"]
        start-limit-burst = 3
        start-limit-interval-sec = "1h"
        "#,
    );
    for round in 1..=6 {
        let before = [m.pid("six-a.service"), m.pid("six-b.service")];
        let output = m.run(&["systemctl", "restart", &group.target()]);
        assert_eq!(output.status, 0, "restart {round}: {output:?}\n{}", group.account());
        let after = [m.pid("six-a.service"), m.pid("six-b.service")];
        assert!(before[0] != after[0] && before[1] != after[1], "restart {round} reached both");
    }
}

fn a_boot_with_a_group_that_never_gets_ready_finishes(m: &Machine) {
    let boot = Boot::new(m.version()).expect("another machine");
    let other = boot
        .write(
            "/etc/copse/stuck.toml",
            r#"
            wanted-by = ["multi-user.target"]
            timeout-start-sec = "3s"
            [process.never]
            exec = "/bin/sleep infinity"
            ready = "notify"
            start-limit-burst = 100000
            "#,
        )
        .start()
        .expect("it boots");
    // The process itself goes on trying, and that is a job: it's the target that everybody waits for.
    other.wait_until("the boot reaches multi-user.target", || {
        other.run(&["systemctl", "is-active", "multi-user.target"]).status == 0
    });
    assert_eq!(other.state("stuck-never.service"), "activating");
    other.wait_for_state("copse-ready@stuck.service", "failed");
}

fn a_boot_starts_a_group_that_is_wanted(m: &Machine) {
    let boot = Boot::new(m.version()).expect("another machine");
    let mut other = boot
        .write(
            "/etc/copse/wanted.toml",
            "wanted-by = [\"multi-user.target\"]\n[process.p]\nexec = \"/bin/sleep infinity\"\n",
        )
        .write("/etc/copse/unwanted.toml", "[process.p]\nexec = \"/bin/sleep infinity\"\n")
        .start()
        .expect("it boots");
    other.wait_until_booted().expect("the boot finishes");
    other.wait_for_state("wanted.target", "active");
    other.wait_for_state("wanted-p.service", "active");
    assert_eq!(other.state("unwanted.target"), "inactive");
    assert_eq!(other.property("unwanted.target", "LoadState"), "loaded");
}

fn what_the_group_is_after_and_requires_holds_for_every_process(m: &Machine) {
    m.remove("/run/order");
    m.write(
        "/run/systemd/system/outside.service",
        "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh -c 'sleep 0.7; echo outside >>/run/order; test ! -e /run/outside-fails'\n",
    );
    let group = m.start_group(
        "dependent",
        r#"
        after = ["outside.service"]
        requires = ["outside.service"]
        [setup.prepare]
        shell = "echo setup >>/run/order"
        [process.a]
        exec = "/usr/local/bin/stand-in write /run/order process"
        [process.b]
        exec = "/usr/local/bin/stand-in write /run/order process"
        instances = 2
        "#,
    );
    m.wait_until("all three have written", || m.read("/run/order").lines().count() == 5);
    assert_eq!(m.read("/run/order"), "outside\nsetup\nprocess\nprocess\nprocess\n");
    group.stop();
    m.systemctl(&["stop", "outside.service"]);
    m.write("/run/outside-fails", "");
    m.remove("/run/order");
    group.fails_to_start();
    assert_eq!(m.read("/run/order"), "outside\n", "nothing of the group ran");
    m.remove("/run/outside-fails");
    drop(group);
    m.remove("/run/systemd/system/outside.service");
    m.reload();
}

fn stopping_during_the_start_leaves_nothing_failed(m: &Machine) {
    let group = m.group(
        "hasty",
        r#"
        failure-policy = "stop"
        [process.slow]
        exec = "/usr/local/bin/stand-in never"
        ready = "notify"
        "#,
    );
    let start = m.spawn(&["systemctl", "start", &group.target()]);
    m.wait("hasty-slow.service", "SubState", "start");
    m.wait("copse-ready@hasty.service", "SubState", "start");
    group.stop();
    assert_eq!(start.finish().status, 1);
    m.wait_for_state("hasty-slow.service", "inactive");
    m.wait_for_state("copse-ready@hasty.service", "inactive");
    assert_eq!(m.state("copse-failed@hasty.target"), "inactive");
}
