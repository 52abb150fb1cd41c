//! Readiness by probe, with real servers that listen late, never, or end before they do.

use std::time::{Duration, Instant};

use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::served::{self, EVERY_PROBE, Served, group_of_every_probe};
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(every_probe_waits_for_a_server_that_is_late),
    situation!(every_probe_says_what_a_server_that_never_serves_is_missing),
    situation!(a_server_that_dies_before_it_is_ready_fails_its_start_at_once),
    situation!(every_probe_works_in_a_strict_sandbox_with_a_network_of_its_own_as_another_user),
    situation!(a_listener_of_another_service_makes_nobody_ready),
    situation!(a_real_database_and_a_real_web_server_are_ready_when_they_answer),
    situation!(a_probed_manager_gates_its_siblings_and_restarts_alone),
    situation!(two_hundred_services_started_at_once_are_all_ready),
    situation!(two_hundred_of_two_hundred_status_texts_arrive),
    situation!(a_users_own_processes_are_probed_too),
];

/// A unit's time stamp, in microseconds of the monotonic clock.
#[track_caller]
fn time(m: &Machine, unit: &str, property: &str) -> u64 {
    m.property(unit, property).parse().unwrap_or_else(|_| panic!("{unit}: {property}"))
}

/// Milliseconds between two such times.
fn milliseconds(from: u64, to: u64) -> f64 {
    Duration::from_micros(to.saturating_sub(from)).as_secs_f64() * 1000.0
}

/// Shown by `cargo test -- --nocapture` and beside the results: how fast it was on this machine.
fn report(m: &Machine, what: &str, measured: &[(&str, f64)]) {
    let all: Vec<String> = measured.iter().map(|(name, time)| format!("{name} {time:.1}")).collect();
    println!("{}: milliseconds {what}: {}", m.version(), all.join(", "));
}

/// In milliseconds. Nothing that is measured here takes this long on a machine under heavy load, and a time-out takes
/// longer; the aim is 5 ms (`make bench`).
const LATE: f64 = 60_000.0;

/// Each of them became active after its server served, and soon.
#[track_caller]
fn assert_ready_when_served(m: &Machine, what: &str) {
    let mut measured = Vec::new();
    for served in EVERY_PROBE {
        let unit = served.unit();
        let [state, text] = m.properties(&unit, ["ActiveState", "StatusText"]);
        assert_eq!((state.as_str(), text.as_str()), ("active", ""), "{unit}\n{}", m.account_of(&[&unit]));
        let (serves, active) = (served.told(m, "serves"), time(m, &unit, "ActiveEnterTimestampMonotonic"));
        assert!(active >= serves, "{unit} was ready {} ms too early", milliseconds(active, serves));
        measured.push((served.name, milliseconds(serves, active)));
    }
    report(m, what, &measured);
    assert!(measured.iter().all(|(_, time)| *time < LATE), "{measured:?}");
}

fn every_probe_waits_for_a_server_that_is_late(m: &Machine) {
    served::install(m);
    let group = m.group("served", &group_of_every_probe("late", ""));
    let began = Instant::now();
    group.start();
    assert!(began.elapsed() >= Duration::from_millis(600), "{:?}", began.elapsed());
    assert_ready_when_served(m, "from serving to active");
    for unit in EVERY_PROBE.iter().map(Served::unit) {
        let processes =
            m.sh(&format!("cat /sys/fs/cgroup/$(systemctl show --value -p ControlGroup {unit})/cgroup.procs"));
        assert_eq!(processes, m.pid(&unit).to_string(), "{unit}: the program is all there is");
        let program = m.read(&format!("/proc/{processes}/cmdline"));
        assert!(program.contains("/usr/local/bin/server"), "{unit}: {program}");
    }
}

fn every_probe_says_what_a_server_that_never_serves_is_missing(m: &Machine) {
    served::install(m);
    // A limit that no machine reaches, however busy, while each of them is asked.
    let group = m.group("served", &group_of_every_probe("never", "restart = \"no\"\ntimeout-start-sec = 600"));
    m.systemctl(&["start", "--no-block", &group.target()]);
    for served in EVERY_PROBE {
        let unit = served.unit();
        m.wait(&unit, "StatusText", &format!("waiting for {}", served.missing));
        assert_eq!(m.state(&unit), "activating", "{unit}");
    }
    drop(group);
    let group = m.group("served", &group_of_every_probe("never", "restart = \"no\"\ntimeout-start-sec = 20"));
    group.fails_to_start();
    for served in EVERY_PROBE {
        let unit = served.unit();
        m.wait_for_state(&unit, "failed");
        assert_eq!(m.property(&unit, "Result"), "timeout", "{unit}");
        // `systemctl status` still names what was waited for. The reason is the last one that was seen in 8 seconds: on a
        // busy machine the server may not even have been up. Above it is waited for.
        let status = m.try_systemctl(&["status", "--no-pager", "--full", &unit]).stdout;
        let text = status.lines().find_map(|line| line.trim_start().strip_prefix("Status: ")).unwrap_or_default();
        let (waited_for, _) = served.missing.rsplit_once(": ").expect("a probe, and what it is missing");
        assert!(text.contains(waited_for), "{status}");
    }
}

fn a_server_that_dies_before_it_is_ready_fails_its_start_at_once(m: &Machine) {
    served::install(m);
    let group = m.group("served", &group_of_every_probe("dies", "restart = \"no\""));
    group.fails_to_start();
    let mut measured = Vec::new();
    for served in EVERY_PROBE {
        let unit = served.unit();
        m.wait_for_state(&unit, "failed");
        let [result, status] = m.properties(&unit, ["Result", "ExecMainStatus"]);
        assert_eq!((result.as_str(), status.as_str()), ("exit-code", "3"), "{unit}");
        let failed = time(m, &unit, "InactiveEnterTimestampMonotonic");
        measured.push((served.name, milliseconds(served.told(m, "dies"), failed)));
    }
    report(m, "from a death to failed", &measured);
    assert!(measured.iter().all(|(_, time)| *time < LATE), "{measured:?}");
}

fn every_probe_works_in_a_strict_sandbox_with_a_network_of_its_own_as_another_user(m: &Machine) {
    served::install(m);
    let mut text = "[defaults]\nuser = \"nobody\"\nhardening = \"strict\"\n".to_owned();
    text += &group_of_every_probe("late", "");
    for Served { name, .. } in EVERY_PROBE {
        text += &format!("[process.{name}.service]\nPrivateNetwork = \"yes\"\n");
    }
    let group = m.start_group("served", &text);
    assert_ready_when_served(m, "from serving to active in a sandbox");
    let reached = m.run(&["python3", "-c", "import socket; socket.create_connection(('127.0.0.1', 8301))"]);
    assert_ne!(reached.status, 0, "the servers have a network of their own");
    // The same as root, whose files in /proc another user's probe couldn't read.
    drop(group);
    let _group = m.start_group("served", &text.replace("user = \"nobody\"", ""));
    assert_ready_when_served(m, "from serving to active in a sandbox, as root");
}

fn a_listener_of_another_service_makes_nobody_ready(m: &Machine) {
    served::install(m);
    let group = m.group(
        "squatted",
        r#"
        [process.squatter]
        exec = ["/usr/local/bin/server", "late", "tcp", "8310"]
        ready = { listening = 8310 }
        [process.late]
        exec = ["/usr/local/bin/server", "never", "tcp", "8310"]
        ready = { listening = 8310 }
        after = ["squatter"]
        timeout-start-sec = 600
        "#,
    );
    m.systemctl(&["start", "--no-block", &group.target()]);
    let missing = "waiting for a listener on port 8310: it is held by another service";
    m.wait("squatted-late.service", "StatusText", missing);
    assert_eq!(m.state("squatted-squatter.service"), "active");
    assert_eq!(m.state("squatted-late.service"), "activating");
}

fn a_real_database_and_a_real_web_server_are_ready_when_they_answer(m: &Machine) {
    let _group = m.start_group(
        "shop",
        r#"
        [defaults]
        user = "nobody"
        hardening = "strict"
        [process.redis]
        shell = """
        sleep 0.5
        exec redis-server --port 8320 --save '' --dir {runtime-directory} --unixsocket {runtime-directory}/redis.sock
        """
        runtime-directory = "shop"
        ready = { unix = "/run/shop/redis.sock", tcp = "127.0.0.1:8320", command = ["redis-cli", "-p", "8320", "ping"] }
        [setup.seed]
        exec = ["redis-cli", "-p", "8320", "set", "greeting", "hello"]
        after = ["redis"]
        [process.web]
        exec = ["/bin/sh", "-ec", '''
        redis-cli -p 8320 get greeting >index.html
        sleep 0.5
        exec python3 -m http.server --bind 127.0.0.1 {env:PORT}
        ''']
        port = 8321
        instances = 2
        runtime-directory = "shop-web-{instance}"
        working-directory = "{runtime-directory}"
        after = ["seed"]
        ready = { http = "http://127.0.0.1:{env:PORT}/index.html" }
        "#,
    );
    let get = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode().strip())";
    for port in ["8321", "8322"] {
        let url = format!("http://127.0.0.1:{port}/");
        assert_eq!(m.ok(&["python3", "-c", get, &url]), "hello", "it answers as soon as the start has returned");
    }
}

fn a_probed_manager_gates_its_siblings_and_restarts_alone(m: &Machine) {
    served::install(m);
    let group = m.start_group(
        "managed",
        r#"
        [process.manager]
        exec = ["/usr/local/bin/server", "late", "web", "8330"]
        ready = { http = "http://127.0.0.1:8330/", listening = 8330 }
        restart-sec = "100ms"
        [process.worker]
        exec = "/bin/sleep infinity"
        after = ["manager"]
        instances = 2
        [process.cleaner]
        exec = ["/usr/local/bin/server", "late", "fd", "7"]
        after = ["manager"]
        ready = { fd = 7 }
        "#,
    );
    let manager = "managed-manager.service";
    let siblings = ["managed-worker@1.service", "managed-worker@2.service", "managed-cleaner.service"];
    let ready = time(m, manager, "ActiveEnterTimestampMonotonic");
    for sibling in siblings {
        let began = time(m, sibling, "ExecMainStartTimestampMonotonic");
        assert!(began >= ready, "{sibling} began {} ms before the manager was ready", milliseconds(began, ready));
    }
    let pids = || siblings.map(|sibling| m.pid(sibling));
    let before = pids();
    let began = Instant::now();
    m.systemctl(&["restart", manager]);
    assert!(began.elapsed() >= Duration::from_millis(600), "a restart waits as well: {:?}", began.elapsed());
    assert_eq!(m.state(manager), "active");
    assert_eq!(pids(), before, "after a restart by hand");
    m.kill_and_wait(manager);
    assert_eq!(pids(), before, "after a crash");
    assert_eq!(m.state(&group.target()), "active");
}

fn two_hundred_services_started_at_once_are_all_ready(m: &Machine) {
    // Half of them wait beside the process, the other half speak for it from a watcher that is gone at once. The restart
    // would hide a lost message after the time-out, so there is none.
    let group = m.group(
        "crowded",
        r#"
        [defaults]
        restart = "no"
        timeout-start-sec = 600
        [process.beside]
        instances = 100
        shell = "sleep 0.3; : >{runtime-directory}/ready; exec sleep infinity"
        runtime-directory = "crowded-{instance}"
        ready = { file = "{runtime-directory}/ready" }
        [process.before]
        instances = 100
        shell = "echo >&7; exec sleep infinity"
        ready = { fd = 7 }
        "#,
    );
    let began = Instant::now();
    let start = m.run(&["systemctl", "start", &group.target()]);
    assert_eq!(start.status, 0, "{}\n{}", start.stderr, group.account());
    let active = m.systemctl(&["list-units", "--plain", "--no-legend", "--state=running", "crowded-be*"]);
    assert_eq!(active.lines().count(), 200, "{active}");
    // Said while they waited, and taken back right before their ends.
    let texts = m.systemctl(&["show", "--property=StatusText", "crowded-be*"]);
    assert!(texts.lines().all(|line| line.is_empty() || line == "StatusText="), "{texts}");
    println!("{}: 200 services were ready after {:.1} s", m.version(), began.elapsed().as_secs_f64());
    let processes = m.sh("cat $(find /sys/fs/cgroup -path '*copse-crowded*/cgroup.procs') | wc -l");
    assert_eq!(processes, "200", "no process of copse's is left");
}

fn two_hundred_of_two_hundred_status_texts_arrive(m: &Machine) {
    m.remove("/run/texts");
    // Each sender is gone before anybody looks. Descriptors show the same for senders at the same time: each file that
    // arrived is in the store (systemd keeps one descriptor per file).
    let _group = m.start_group(
        "texts",
        r#"
        [process.p]
        shell = '''
        copse-notify send --ready
        for i in $(seq 200); do
            copse-notify send --status "text $i"
            test "$(systemctl show --property=StatusText {unit})" = "StatusText=text $i" && echo "$i"
        done >/run/texts
        mkdir -p /run/stored
        for i in $(seq 200); do
            echo "$i" >"/run/stored/$i"
            copse-notify send --fdstore "file-$i" 5 5<"/run/stored/$i" &
        done
        wait
        copse-notify send --status "all sent"
        exec sleep infinity
        '''
        ready = "notify"
        [process.p.service]
        NotifyAccess = "all"
        FileDescriptorStoreMax = "256"
        "#,
    );
    m.wait("texts-p.service", "StatusText", "all sent");
    assert_eq!(m.read("/run/texts").lines().count(), 200);
    assert_eq!(m.property("texts-p.service", "NFileDescriptorStore"), "200");
    m.remove("/run/stored");
}

fn a_users_own_processes_are_probed_too(m: &Machine) {
    served::install(m);
    let user = m.user(2001);
    m.write(
        "/etc/copse/user/probed.toml",
        r#"
        [process.web]
        exec = ["/usr/local/bin/server", "late", "web", "8340"]
        ready = { http = "http://127.0.0.1:8340/", listening = 8340 }
        health = { http = "http://127.0.0.1:8340/", interval-sec = "200ms", failures = 2 }
        restart-sec = "100ms"
        hardening = "strict"
        [process.fd]
        exec = ["/usr/local/bin/server", "late", "fd", "7"]
        ready = { fd = 7 }
        [process.dies]
        exec = ["/usr/local/bin/server", "dies", "tcp", "8341"]
        ready = { tcp = "127.0.0.1:8341" }
        restart = "no"
        essential = false
        "#,
    );
    user.reload();
    user.systemctl(&["start", "probed.target"]);
    user.assert_state(&["probed-web.service", "probed-fd.service"], "active");
    assert_eq!(user.state("probed-dies.service"), "failed");
    let pid = user.pid("probed-web.service");
    m.ok(&["kill", "-STOP", &pid.to_string()]);
    user.wait_for_another("probed-web.service", pid);
    user.systemctl(&["stop", "probed.target"]);
    user.wait_for_state("probed-web.service", "inactive");
    m.remove("/etc/copse/user/probed.toml");
    user.reload();
}
