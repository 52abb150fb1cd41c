//! `examples/knot-resolver.toml`: Debian's own Knot Resolver.

use std::time::Duration;

use super::{drop_in, failed, install, start};
use crate::machines::machine::Machine;
use crate::machines::querying::Client;
use crate::machines::scope::Scope;

const MANAGER: &str = "knot-resolver-manager.service";
const WORKERS: [&str; 2] = ["knot-resolver-kresd@1.service", "knot-resolver-kresd@2.service"];
const COLLECTOR: &str = "knot-resolver-cache-gc.service";

pub(super) fn the_resolver_answers_kdig(m: &Machine) {
    let group = install(m, "knot-resolver");
    start(m, &group);
    // Ready means ready: the first question is answered, over UDP and TCP.
    let kdig = ["kdig", "@127.0.0.1", "-p", "5300", "+retry=0", "+short", "ns.copse.example"];
    assert_eq!(m.ok(&kdig), "192.0.2.53");
    assert_eq!(m.ok(&[&kdig[..], &["AAAA", "+tcp"]].concat()), "2001:db8::53");
    for unit in WORKERS.into_iter().chain([COLLECTOR, MANAGER]) {
        assert_eq!(m.state(unit), "active", "{}", group.account());
        let owner = m.sh(&format!("stat -c %U /proc/{}", m.pid(unit)));
        assert_eq!(owner, "knot-resolver", "{unit}");
        assert_eq!(m.property(unit, "ProtectSystem"), "strict", "{unit}");
    }
    // One cache and one set of control sockets, of their common user.
    assert_eq!(
        m.sh("stat -c '%U %a' /run/knot-resolver /var/cache/knot-resolver"),
        ["knot-resolver 750"; 2].join("\n")
    );
    assert_eq!(m.sh("stat -c %U /var/cache/knot-resolver/data.mdb"), "knot-resolver");
    assert_eq!(m.sh("ls /run/knot-resolver/control"), "1\n2");
    // The manager speaks to both, and a reload of it reaches them.
    m.wait(MANAGER, "StatusText", "2 of 2 workers answer");
    m.systemctl(&["reload", MANAGER]);
    m.wait_until("the cache was emptied", || m.journal(&["-u", MANAGER]).contains("the cache is empty"));
    group.stop();
    m.wait_until("the shared directory went with the group", || !m.exists("/run/knot-resolver"));
}

pub(super) fn no_query_is_lost_while_the_manager_is_restarted_and_killed(m: &Machine) {
    let group = install(m, "knot-resolver");
    // Only so that twenty kills take seconds.
    drop_in(m, &group, "[process.manager]\nrestart-sec = \"100ms\"\n");
    start(m, &group);
    let others = || [WORKERS[0], WORKERS[1], COLLECTOR].map(|unit| m.pid(unit));
    let before = others();
    let client = ask(m);
    for _ in 0..20 {
        // Both count as starts, and five in a few minutes would be a crash loop.
        m.systemctl(&["reset-failed", MANAGER]);
        let old = m.pid(MANAGER);
        m.systemctl(&["restart", MANAGER]);
        let killed = m.pid(MANAGER);
        assert_ne!(killed, old);
        m.ok(&["kill", "-KILL", &killed.to_string()]);
        wait_for_another(m, MANAGER, killed);
    }
    let asked = client.end();
    assert_eq!(asked.lost, 0, "{asked:?}");
    assert!(asked.answered > 1000, "{asked:?}");
    assert_eq!(others(), before);
    assert_eq!((m.state(&group.target()), failed(m, &group)), ("active".into(), String::new()));
}

pub(super) fn no_query_is_lost_while_the_workers_are_restarted_one_by_one(m: &Machine) {
    let group = install(m, "knot-resolver");
    start(m, &group);
    let manager = m.pid(MANAGER);
    let client = ask(m);
    for _ in 0..5 {
        m.systemctl(&["reset-failed", WORKERS[0], WORKERS[1]]);
        for worker in WORKERS {
            let old = m.pid(worker);
            m.systemctl(&["restart", worker]);
            assert_ne!(m.pid(worker), old);
        }
    }
    let asked = client.end();
    assert_eq!(asked.lost, 0, "{asked:?}");
    assert!(asked.answered > 1000, "{asked:?}");
    assert_eq!(m.pid(MANAGER), manager);
    assert_eq!(failed(m, &group), "");
}

pub(super) fn queries_go_on_through_the_other_worker_when_one_is_killed(m: &Machine) {
    let group = install(m, "knot-resolver");
    start(m, &group);
    let [manager, other] = [MANAGER, WORKERS[1]].map(|unit| m.pid(unit));
    // A worker is back a second after a kill. There was no such pause: the other went on answering. On a busy machine
    // the client itself pauses; then it tries again.
    m.wait_until("no answer took as long as a worker", || {
        m.systemctl(&["reset-failed", WORKERS[0]]);
        let client = ask(m);
        let kills = 3;
        for _ in 0..kills {
            let old = m.pid(WORKERS[0]);
            m.ok(&["kill", "-KILL", &old.to_string()]);
            wait_for_another(m, WORKERS[0], old);
        }
        let asked = client.end();
        // Only what the killed one had taken from the shared socket and not answered yet can be lost; it takes up to 20
        // at once, and mostly none was lost.
        assert!(asked.lost <= kills * 20, "{asked:?}");
        assert!(asked.answered > 500, "{asked:?}");
        asked.silence < Duration::from_millis(900)
    });
    assert_eq!([MANAGER, WORKERS[1]].map(|unit| m.pid(unit)), [manager, other]);
    assert_eq!(failed(m, &group), "");
}

/// A client that asks without pause, and has its first answer.
fn ask(m: &Machine) -> Client<'_> {
    let client = Client::new(m, 5300);
    client.first_answer();
    client
}

/// Waits until systemd has started the killed service again, and it is ready.
fn wait_for_another(m: &Machine, unit: &str, old: u32) {
    m.wait_until("another process is ready", || {
        let [state, pid] = m.properties(unit, ["ActiveState", "MainPID"]);
        state == "active" && pid != "0" && pid != old.to_string()
    });
}
