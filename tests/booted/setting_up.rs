//! Setup steps: what they gate, when they run again, and that running again restarts nobody.

use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(setup_steps_end_before_any_process_begins),
    situation!(a_failed_setup_step_stops_the_start_visibly),
    situation!(a_setup_step_with_unchanged_inputs_is_not_run_again),
    situation!(a_setup_step_after_a_process_runs_when_that_is_ready),
    situation!(running_a_setup_step_again_restarts_nobody),
    situation!(a_restart_of_a_process_does_not_run_the_setup_steps_again),
    situation!(shared_directories_survive_their_members_and_go_with_the_group),
    situation!(a_manager_starts_its_workers_over_the_bus_while_still_activating),
    situation!(a_manual_process_is_not_started_with_the_group),
];

fn setup_steps_end_before_any_process_begins(m: &Machine) {
    m.remove("/run/setup-order");
    let _group = m.start_group(
        "prepared",
        r#"
        [setup.first]
        shell = "sleep 0.3; echo first >>/run/setup-order"
        [setup.second]
        shell = "echo second >>/run/setup-order"
        after = ["first"]
        [process.p]
        exec = "/usr/local/bin/stand-in write /run/setup-order process"
        ready = { file = "/run/setup-order" }
        "#,
    );
    m.wait_until("the process has written", || m.read("/run/setup-order").contains("process"));
    assert_eq!(m.read("/run/setup-order"), "first\nsecond\nprocess\n");
}

fn a_failed_setup_step_stops_the_start_visibly(m: &Machine) {
    m.remove("/run/setup-ok");
    m.remove("/run/setup-process");
    let group = m.group(
        "unprepared",
        r#"
        [setup.check]
        shell = "test -e /run/setup-ok"
        [process.p]
        exec = "/usr/local/bin/stand-in write /run/setup-process ran"
        "#,
    );
    group.fails_to_start();
    assert_eq!(m.state("unprepared-check.service"), "failed");
    assert_eq!(m.state("unprepared-p.service"), "inactive");
    let failed = m.failed();
    assert!(failed.contains("unprepared-check.service"), "{failed}");
    // The process alone is gated, too.
    assert_ne!(m.run(&["systemctl", "start", "unprepared-p.service"]).status, 0);
    assert!(!m.exists("/run/setup-process"));
    m.write("/run/setup-ok", "");
    group.start();
    m.wait_until("the process ran", || m.exists("/run/setup-process"));
}

fn a_setup_step_with_unchanged_inputs_is_not_run_again(m: &Machine) {
    m.remove("/run/setup-runs");
    m.write("/run/setup-input", "one");
    let group = m.group(
        "stamped",
        r#"
        [setup.step]
        shell = "echo run >>/run/setup-runs"
        inputs = ["/run/setup-input"]
        [process.p]
        exec = "/usr/local/bin/stand-in run"
        "#,
    );
    m.remove("/var/lib/copse");
    let runs = || m.read("/run/setup-runs").lines().count();
    group.start();
    assert_eq!(runs(), 1);
    m.systemctl(&["restart", "stamped.target"]);
    assert_eq!(runs(), 1, "nothing changed");
    m.write("/run/setup-input", "two");
    m.systemctl(&["restart", "stamped.target"]);
    assert_eq!(runs(), 2, "the input changed");
    m.remove("/run/setup-input");
    m.systemctl(&["restart", "stamped.target"]);
    assert_eq!(runs(), 3, "a missing file is a state of its own");
    group.rewrite(
        r#"
        [setup.step]
        shell = "echo run again >>/run/setup-runs"
        inputs = ["/run/setup-input"]
        [process.p]
        exec = "/usr/local/bin/stand-in run"
        "#,
    );
    m.systemctl(&["restart", "stamped.target"]);
    assert_eq!(runs(), 4, "the command changed");
}

fn a_setup_step_after_a_process_runs_when_that_is_ready(m: &Machine) {
    m.remove("/run/migrate-order");
    let _group = m.start_group(
        "migrating",
        r#"
        [process.database]
        shell = "sleep 0.5; echo database >>/run/migrate-order; exec /usr/local/bin/stand-in notify"
        ready = "notify"
        [setup.migrate]
        shell = "echo migrate >>/run/migrate-order"
        after = ["database"]
        [process.web]
        exec = "/usr/local/bin/stand-in write /run/migrate-order web"
        after = ["migrate"]
        [process.aside]
        exec = "/usr/local/bin/stand-in run"
        "#,
    );
    m.wait_until("the web process has written", || m.read("/run/migrate-order").contains("web"));
    assert_eq!(m.read("/run/migrate-order"), "database\nmigrate\nweb\n");
    let database = m.pid("migrating-database.service");
    m.systemctl(&["restart", "migrating-web.service"]);
    assert_eq!(m.pid("migrating-database.service"), database);
    assert_eq!(m.read("/run/migrate-order").matches("migrate").count(), 1);
}

fn running_a_setup_step_again_restarts_nobody(m: &Machine) {
    m.remove("/run/rerun");
    let _group = m.start_group(
        "rerun",
        r#"
        [setup.step]
        shell = "echo run >>/run/rerun; test ! -e /run/rerun-fails"
        [process.p]
        exec = "/usr/local/bin/stand-in run"
        "#,
    );
    let pid = m.pid("rerun-p.service");
    m.systemctl(&["reload", "rerun-step.service"]);
    assert_eq!(m.read("/run/rerun"), "run\nrun\n");
    assert_eq!(m.pid("rerun-p.service"), pid);
    m.write("/run/rerun-fails", "");
    assert_ne!(m.run(&["systemctl", "reload", "rerun-step.service"]).status, 0, "a failure is told");
    m.remove("/run/rerun-fails");
    assert_eq!(m.pid("rerun-p.service"), pid);
    assert_eq!(m.state("rerun.target"), "active");
}

fn a_restart_of_a_process_does_not_run_the_setup_steps_again(m: &Machine) {
    m.remove("/run/once");
    let _group = m.start_group(
        "once",
        r#"
        [setup.step]
        shell = "echo run >>/run/once"
        [process.p]
        exec = "/usr/local/bin/stand-in run"
        restart-sec = "50ms"
        "#,
    );
    m.systemctl(&["restart", "once-p.service"]);
    m.kill_and_wait("once-p.service");
    assert_eq!(m.read("/run/once"), "run\n");
}

fn shared_directories_survive_their_members_and_go_with_the_group(m: &Machine) {
    let group = m.start_group(
        "sharing",
        r#"
        runtime-directory = "sharing"
        runtime-directory-mode = "0750"
        state-directory = "sharing"
        [defaults]
        user = "nobody"
        restart-sec = "50ms"
        [process.a]
        shell = 'echo a >{runtime-directory}/a; exec /usr/local/bin/stand-in run'
        ready = { file = "{runtime-directory}/a" }
        [process.b]
        shell = 'echo b >"$RUNTIME_DIRECTORY/b"; exec /usr/local/bin/stand-in run'
        ready = { file = "{runtime-directory}/b" }
        "#,
    );
    assert_eq!(m.sh("stat -c '%U %a' /run/sharing"), "nobody 750");
    assert_eq!(m.sh("stat -c '%U' /var/lib/sharing"), "nobody");
    m.systemctl(&["restart", "sharing-a.service"]);
    m.kill_and_wait("sharing-b.service");
    m.systemctl(&["stop", "sharing-b.service"]);
    assert!(m.exists("/run/sharing/a") && m.exists("/run/sharing/b"));
    group.stop();
    m.wait_until("the runtime directory is gone", || !m.exists("/run/sharing"));
    assert!(m.exists("/var/lib/sharing"), "state stays");
    m.remove("/var/lib/sharing");
}

fn a_manager_starts_its_workers_over_the_bus_while_still_activating(m: &Machine) {
    let group = m.start_group(
        "steered",
        r#"
        [process.manager]
        shell = '''
        systemctl start {group}-worker@1.service {group}-worker@7.service
        exec /usr/local/bin/stand-in notify
        '''
        ready = "notify"
        [process.worker]
        exec = "/usr/local/bin/stand-in notify"
        ready = "notify"
        start = "manual"
        instances = 2
        "#,
    );
    m.assert_state(&["steered-worker@1.service", "steered-worker@7.service"], "active");
    assert_eq!(m.state("steered-worker@2.service"), "inactive");
    let worker = m.pid("steered-worker@1.service");
    m.systemctl(&["kill", "--signal=KILL", "steered-manager.service"]);
    m.wait_for_state("steered-manager.service", "active");
    assert_eq!(m.pid("steered-worker@1.service"), worker);
    group.stop();
    for unit in ["steered-worker@1.service", "steered-worker@7.service", "steered-manager.service"] {
        m.wait_for_state(unit, "inactive");
    }
}

fn a_manual_process_is_not_started_with_the_group(m: &Machine) {
    let group = m.start_group(
        "by-hand",
        r#"
        failure-policy = "stop"
        [process.auto]
        exec = "/usr/local/bin/stand-in run"
        [process.tool]
        exec = "/usr/local/bin/stand-in run"
        start = "manual"
        "#,
    );
    assert_eq!(m.state("by-hand-tool.service"), "inactive");
    m.systemctl(&["start", "by-hand-tool.service"]);
    assert_eq!(m.state("by-hand-tool.service"), "active");
    group.stop();
    m.wait_for_state("by-hand-tool.service", "inactive");
}
