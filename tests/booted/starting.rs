//! `systemctl start G.target`: what its end means, and that it always ends.

use std::time::{Duration, Instant};

use crate::machines::machine::{Boot, Machine};
use crate::machines::scope::Scope;
use crate::situation::{Situation, situation};
use crate::stand_in;

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

const SOON: Duration = Duration::from_secs(15);

fn start_returns_when_the_group_is_ready(m: &Machine) {
    stand_in::install(m);
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
    for unit in ["ready-manager.service", "ready-worker@1.service", "ready-worker@2.service", "ready.target"] {
        assert_eq!(m.property(unit, "ActiveState"), "active", "{unit}");
    }
    let [gate, pid] = m.properties("copse-ready@ready.service", ["ActiveState", "MainPID"]);
    assert_eq!((gate.as_str(), pid.as_str()), ("active", "0"), "the gate leaves no process behind");
}

fn start_fails_when_an_essential_process_fails_for_good(m: &Machine) {
    stand_in::install(m);
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
    let output = m.run(&["systemctl", "start", &group.target()]);
    assert_eq!(output.status, 1, "{output:?}");
    assert_eq!(m.property("broken-good.service", "ActiveState"), "active", "the sibling goes on");
    let failed = m.ok(&["systemctl", "--failed", "--plain", "--no-legend"]);
    assert!(failed.contains("broken-bad.service"), "{failed}");
}

fn start_succeeds_when_only_a_process_that_is_not_essential_fails(m: &Machine) {
    stand_in::install(m);
    let group = m.group(
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
    group.start();
    m.wait("lenient-extra.service", "ActiveState", "failed", SOON);
    assert_eq!(m.property("lenient.target", "ActiveState"), "active");
}

fn start_waits_for_a_process_that_systemd_is_still_restarting(m: &Machine) {
    stand_in::install(m);
    m.remove("/run/flap-count");
    let group = m.group(
        "flap",
        r#"
        [process.shaky]
        exec = "/usr/local/bin/stand-in flap /run/flap-count 2"
        ready = "notify"
        restart-sec = "300ms"
        "#,
    );
    group.start();
    assert_eq!(m.property("flap-shaky.service", "ActiveState"), "active");
    assert_eq!(m.read("/run/flap-count").len(), 2, "it failed twice before");
}

fn start_ends_though_a_process_never_gets_ready(m: &Machine) {
    stand_in::install(m);
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
    let output = m.run(&["systemctl", "start", &group.target()]);
    assert_eq!(output.status, 1, "{output:?}");
    assert!(began.elapsed() < Duration::from_secs(8), "it took {:?}", began.elapsed());
}

fn start_names_the_process_that_is_missing(m: &Machine) {
    stand_in::install(m);
    let group = m.group(
        "naming",
        r#"
        timeout-start-sec = "4s"
        [process.slow]
        exec = "/usr/local/bin/stand-in never"
        ready = "notify"
        "#,
    );
    let mut start = m.spawn(&["systemctl", "start", &group.target()]);
    m.wait_until("the gate's status text names the process", SOON, || {
        m.property("copse-ready@naming.service", "StatusText").contains("naming-slow.service")
    });
    assert!(start.runs(), "the start waits meanwhile");
    assert_eq!(start.finish(SOON).status, 1);
    let journal = m.journal(&["-u", "copse-ready@naming.service"]);
    assert!(journal.contains("naming-slow.service"), "{journal}");
}

fn start_fails_when_a_process_is_refused_by_an_assertion(m: &Machine) {
    stand_in::install(m);
    let group = m.group(
        "refused",
        r#"
        [process.picky]
        exec = "/usr/local/bin/stand-in run"
        [process.picky.unit]
        AssertPathExists = "/nowhere"
        "#,
    );
    let output = m.run(&["systemctl", "start", &group.target()]);
    assert_eq!(output.status, 1, "{output:?}");
}

fn a_process_that_is_done_counts_as_started(m: &Machine) {
    stand_in::install(m);
    let group = m.group(
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
    group.start();
    m.wait("done-once.service", "ActiveState", "inactive", SOON);
    assert_eq!(m.property("done-job.service", "ActiveState"), "active", "a oneshot stays active");
    assert_eq!(m.property("done.target", "ActiveState"), "active");
}

fn start_works_right_after_a_failed_start(m: &Machine) {
    stand_in::install(m);
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
    assert_eq!(m.run(&["systemctl", "start", &group.target()]).status, 1);
    m.write("/run/allowed", "");
    group.start();
    assert_eq!(m.property("again-gated.service", "ActiveState"), "active");
    let failed = m.ok(&["systemctl", "--failed", "--plain", "--no-legend"]);
    assert!(!failed.contains("again"), "{failed}");
}

fn six_restarts_of_the_target_in_a_row_work(m: &Machine) {
    stand_in::install(m);
    let group = m.group(
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
    group.start();
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
            "#,
        )
        .start()
        .expect("it boots");
    // The process itself goes on trying, and that is a job: it's the target that everybody waits for.
    other.wait_until("the boot reaches multi-user.target", Duration::from_secs(60), || {
        other.run(&["systemctl", "is-active", "multi-user.target"]).status == 0
    });
    assert_eq!(other.property("stuck-never.service", "ActiveState"), "activating");
    other.wait("copse-ready@stuck.service", "ActiveState", "failed", SOON);
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
    other.wait_until_booted(Duration::from_secs(60)).expect("the boot finishes");
    other.wait("wanted.target", "ActiveState", "active", SOON);
    other.wait("wanted-p.service", "ActiveState", "active", SOON);
    assert_eq!(other.property("unwanted.target", "ActiveState"), "inactive");
    assert_eq!(other.property("unwanted.target", "LoadState"), "loaded");
}

fn what_the_group_is_after_and_requires_holds_for_every_process(m: &Machine) {
    stand_in::install(m);
    m.remove("/run/order");
    m.write(
        "/run/systemd/system/outside.service",
        "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh -c 'sleep 0.7; echo outside >>/run/order; test ! -e /run/outside-fails'\n",
    );
    let group = m.group(
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
    group.start();
    m.wait_until("all three have written", SOON, || m.read("/run/order").lines().count() == 5);
    assert_eq!(m.read("/run/order"), "outside\nsetup\nprocess\nprocess\nprocess\n");
    group.stop();
    m.systemctl(&["stop", "outside.service"]);
    m.write("/run/outside-fails", "");
    m.remove("/run/order");
    let output = m.run(&["systemctl", "start", &group.target()]);
    assert_eq!(output.status, 1, "{output:?}");
    assert_eq!(m.read("/run/order"), "outside\n", "nothing of the group ran");
    m.remove("/run/outside-fails");
    drop(group);
    m.remove("/run/systemd/system/outside.service");
    m.reload();
}

fn stopping_during_the_start_leaves_nothing_failed(m: &Machine) {
    stand_in::install(m);
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
    m.wait("hasty-slow.service", "SubState", "start", SOON);
    m.wait("copse-ready@hasty.service", "SubState", "start", SOON);
    group.stop();
    assert_eq!(start.finish(SOON).status, 1);
    m.wait("hasty-slow.service", "ActiveState", "inactive", SOON);
    m.wait("copse-ready@hasty.service", "ActiveState", "inactive", SOON);
    assert_eq!(m.property("copse-failed@hasty.target", "ActiveState"), "inactive");
}
