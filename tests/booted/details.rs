//! The journal, timers, credentials, hardening, readiness by probe, and a user's own manager.

use std::time::{Duration, Instant};

use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(the_groups_journal_shows_every_process_with_its_own_unit),
    situation!(a_timer_starts_its_process_and_nobody_waits_for_it),
    situation!(credentials_arrive_plain_and_as_text),
    // Encrypted credentials are there from 250 on.
    situation!(encrypted_credentials_arrive, [V252, V257, V262]),
    situation!(hardening_profiles_leave_a_plain_server_working),
    situation!(a_process_is_ready_when_its_probe_holds),
    situation!(a_process_that_dies_before_its_probe_holds_fails_at_once),
    situation!(a_hung_process_with_health_is_restarted),
    situation!(what_an_environment_file_says_reaches_the_command),
    situation!(a_group_of_a_user_runs_in_the_users_own_manager),
];

fn the_groups_journal_shows_every_process_with_its_own_unit(m: &Machine) {
    let _group = m.start_group(
        "talking",
        r#"
        [process.one]
        shell = "echo a line of one; exec sleep infinity"
        [process.many]
        shell = "echo a line of many {instance}; exec sleep infinity"
        instances = 2
        [setup.step]
        shell = "echo a line of step"
        "#,
    );
    m.wait_until("all lines are there", || m.journal(&["COPSE_GROUP=talking"]).matches("a line of").count() == 4);
    let units = [
        ("a line of one", "talking-one.service"),
        ("a line of many 1", "talking-many@1.service"),
        ("a line of many 2", "talking-many@2.service"),
        ("a line of step", "talking-step.service"),
    ];
    for (line, unit) in units {
        let found = m.journal(&["COPSE_GROUP=talking", &format!("_SYSTEMD_UNIT={unit}")]);
        assert!(found.lines().any(|found| found == line), "{unit}: {found}");
    }
    let process = m.journal(&["COPSE_GROUP=talking", "COPSE_PROCESS=many"]);
    assert_eq!(process.matches("a line of many").count(), 2, "{process}");
}

fn a_timer_starts_its_process_and_nobody_waits_for_it(m: &Machine) {
    m.remove("/run/ticks");
    let group = m.start_group(
        "ticking",
        r#"
        failure-policy = "stop"
        [process.tick]
        shell = "echo tick >>/run/ticks; exit 1"
        on-calendar = "*-*-* *:*:*"
        [process.other]
        exec = "/bin/sleep infinity"
        "#,
    );
    m.wait_until("it ticked twice", || m.exists("/run/ticks") && m.read("/run/ticks").lines().count() >= 2);
    assert_eq!(m.state("ticking.target"), "active", "its failure is nobody else's");
    group.stop();
    m.wait_for_state("ticking-tick.timer", "inactive");
}

fn credentials_arrive_plain_and_as_text(m: &Machine) {
    m.remove("/run/seen");
    m.write("/etc/secret", "from a file");
    let group = m.group(
        "trusted",
        r#"
        [process.p]
        user = "nobody"
        shell = 'cat "$CREDENTIALS_DIRECTORY/file" {credentials-directory}/text >/tmp/copse-seen; exec sleep infinity'
        ready = { file = "/tmp/copse-seen" }
        credentials = { file = "/etc/secret", text = { text = " 100% \"$x\" \\ \n" } }
        "#,
    );
    m.remove("/tmp/copse-seen");
    group.start();
    assert_eq!(m.read("/tmp/copse-seen"), "from a file 100% \"$x\" \\ \n");
    m.remove("/tmp/copse-seen");
    m.remove("/etc/secret");
}

fn encrypted_credentials_arrive(m: &Machine) {
    m.remove("/run/seen");
    m.sh("systemd-creds setup >/dev/null 2>&1 || true; printf sealed | systemd-creds encrypt --with-key=host --name=sealed - /etc/sealed.cred");
    let _group = m.start_group(
        "sealed",
        r#"
        [process.p]
        shell = 'cat {credentials-directory}/sealed >/run/seen; exec sleep infinity'
        ready = { file = "/run/seen" }
        credentials = { sealed = { encrypted = "/etc/sealed.cred" } }
        "#,
    );
    m.wait_until("it was read", || m.read("/run/seen") == "sealed");
    m.remove("/etc/sealed.cred");
}

fn hardening_profiles_leave_a_plain_server_working(m: &Machine) {
    for (profile, port) in [("basic", 8121), ("strict", 8122)] {
        let _group = m.start_group(
            "fenced",
            &format!(
                r#"
                [process.web]
                exec = "/usr/bin/python3 -m http.server --bind 127.0.0.1 {port}"
                user = "nobody"
                state-directory = "fenced"
                working-directory = "{{state-directory}}"
                hardening = "{profile}"
                ready = {{ http = "http://127.0.0.1:{port}/" }}
                "#
            ),
        );
        let no_new_privileges = m.property("fenced-web.service", "NoNewPrivileges");
        assert_eq!(no_new_privileges, "yes", "{profile}");
    }
    m.remove("/var/lib/fenced");
}

fn a_process_is_ready_when_its_probe_holds(m: &Machine) {
    let group = m.group(
        "probed",
        r#"
        [process.web]
        shell = "sleep 0.7; exec python3 -m http.server --bind 127.0.0.1 8130"
        ready = { tcp = "127.0.0.1:8130", http = "http://127.0.0.1:8130/" }
        [process.listener]
        shell = "sleep 0.4; exec python3 -m http.server --bind 127.0.0.1 8131"
        ready = { listening = 8131 }
        [process.descriptor]
        shell = "sleep 0.4; echo >&7; exec sleep infinity"
        ready = { fd = 7 }
        [process.after]
        shell = "echo began >/run/after-web; exec sleep infinity"
        after = ["web", "listener", "descriptor"]
        "#,
    );
    m.remove("/run/after-web");
    let began = Instant::now();
    group.start();
    assert!(began.elapsed() >= Duration::from_millis(700), "{:?}", began.elapsed());
    assert!(m.exists("/run/after-web"));
    for unit in ["probed-web.service", "probed-listener.service", "probed-descriptor.service"] {
        assert_eq!(m.state(unit), "active", "{unit}");
        let main = m.read(&format!("/proc/{}/comm", m.pid(unit)));
        assert!(["python3\n", "sleep\n"].contains(&main.as_str()), "the main process is the program: {main}");
    }
}

fn a_process_that_dies_before_its_probe_holds_fails_at_once(m: &Machine) {
    let group = m.group(
        "dying",
        r#"
        [process.web]
        shell = "sleep 0.3; exit 3"
        ready = { tcp = "127.0.0.1:8139" }
        restart = "no"
        "#,
    );
    let began = Instant::now();
    group.fails_to_start();
    // A time-out would take 90 s.
    assert!(began.elapsed() < Duration::from_secs(80), "{:?}", began.elapsed());
    assert_eq!(m.state("dying-web.service"), "failed");
}

fn a_hung_process_with_health_is_restarted(m: &Machine) {
    let _group = m.start_group(
        "hung",
        r#"
        [process.web]
        exec = "/usr/bin/python3 -m http.server --bind 127.0.0.1 8140"
        ready = { tcp = "127.0.0.1:8140" }
        health = { http = "http://127.0.0.1:8140/", interval-sec = "200ms", failures = 2 }
        restart-sec = "100ms"
        "#,
    );
    let pid = m.pid("hung-web.service");
    m.systemctl(&["kill", "--kill-who=main", "--signal=STOP", "hung-web.service"]);
    m.wait_for_another("hung-web.service", pid);
}

fn what_an_environment_file_says_reaches_the_command(m: &Machine) {
    m.write("/etc/default/options", "OPTIONS=--one \"two words\"\nNAME=a b\n");
    let group = m.group(
        "optional",
        r#"
        [process.p]
        exec = ["/bin/sh", "-c", 'for a; do echo "<$a>"; done >/run/arguments; exec sleep infinity', "sh", "{env:OPTIONS...}", "x{env:NAME}y", "$NAME"]
        environment-file = ["/etc/default/options", "-/etc/default/missing"]
        ready = { file = "/run/arguments" }
        "#,
    );
    m.remove("/run/arguments");
    group.start();
    m.wait_until("all arguments are there", || m.read("/run/arguments").lines().count() >= 4);
    let seen = m.read("/run/arguments");
    assert!(seen.starts_with("<--one>\n"), "{seen}");
    assert!(seen.ends_with("<xa by>\n<$NAME>\n"), "{seen}");
    m.remove("/etc/default/options");
}

fn a_group_of_a_user_runs_in_the_users_own_manager(m: &Machine) {
    let user = m.user(2001);
    m.write(
        "/etc/copse/user/mine.toml",
        r#"
        after = ["network-online.target"]
        [setup.prepare]
        shell = "echo prepared >{runtime-directory}/prepared"
        runtime-directory = "mine-setup"
        [process.manager]
        exec = "/usr/local/bin/stand-in notify"
        ready = "notify"
        restart-sec = "100ms"
        [process.worker]
        exec = "/usr/local/bin/stand-in notify"
        ready = "notify"
        after = ["manager"]
        instances = 2
        "#,
    );
    user.reload();
    user.systemctl(&["start", "mine.target"]);
    let worker = user.pid("mine-worker@1.service");
    user.systemctl(&["restart", "mine-manager.service"]);
    assert_eq!(user.pid("mine-worker@1.service"), worker);
    assert!(user.property("mine-worker@1.service", "ControlGroup").contains("app-copse-mine.slice"));
    assert!(!user.property("mine-worker@1.service", "After").contains("network-online"));
    user.systemctl(&["restart", "mine.target"]);
    assert_ne!(user.pid("mine-worker@1.service"), worker);
    user.systemctl(&["stop", "mine.target"]);
    user.wait_for_state("mine-worker@1.service", "inactive");
    user.wait_for_state("mine-manager.service", "inactive");
    m.remove("/etc/copse/user/mine.toml");
    user.reload();
}
