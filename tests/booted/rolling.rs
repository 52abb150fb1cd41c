//! `copse restart`: instance by instance, each one proved before the next.

use crate::asking::{GROUP, WORKERS, pids, times};
use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(a_restart_goes_one_instance_after_the_other_in_the_order_of_after),
    situation!(a_restart_stops_at_the_first_instance_that_does_not_get_ready),
    situation!(a_restart_leaves_stopped_what_somebody_stopped_and_starts_it_when_it_is_named),
    situation!(a_restart_waits_until_each_instance_is_settled),
    situation!(an_instance_that_never_settles_ends_the_restart),
    situation!(a_canary_that_dies_keeps_the_others_from_being_touched),
    situation!(half_of_the_instances_at_once),
    situation!(an_interrupted_restart_finishes_the_instance_it_is_at),
];

fn a_restart_goes_one_instance_after_the_other_in_the_order_of_after(m: &Machine) {
    let _group = m.start_group("turns", GROUP);
    let all = ["manager", "worker@1", "worker@2", "worker@3"];
    let before = pids(m, "turns", &all);
    m.copse(&["restart", "turns"]).expect(0, &["restart", "worker@2  ready"]);
    assert!(pids(m, "turns", &all).iter().zip(&before).all(|(now, before)| now != before));
    let mut ready = 0;
    for process in all {
        let (started, active) = times(m, &format!("turns-{process}.service"));
        assert!(started > ready, "{process} was started before the one before it was ready");
        ready = active;
    }
    assert_eq!(m.state("turns-loader.service"), "inactive", "nobody asked for it");
    for _ in 0..3 {
        // Restarts by hand count towards the start limit, which is 2 here.
        m.copse(&["restart", "turns/worker@2"]).expect(0, &["worker@2  ready"]);
    }
    let output = m.copse(&["restart", "--json", "turns/manager"]);
    assert!(output.stdout.contains(r#""changed":true"#) && output.stdout.contains(r#""result":"ready""#), "{output:?}");
}

fn a_restart_stops_at_the_first_instance_that_does_not_get_ready(m: &Machine) {
    let _group = m.start_group("falter", GROUP);
    let before = pids(m, "falter", &["worker@2", "worker@3"]);
    m.write("/run/bad-worker", "");
    let output = m.copse(&["restart", "falter/worker"]);
    m.remove("/run/bad-worker");
    output.expect(1, &["worker@1  failed: exit status 1", "  worker@1: it is bad\n"]);
    assert_eq!(pids(m, "falter", &["worker@2", "worker@3"]), before);
    // The next one begins with who is down.
    m.copse(&["restart", "falter/worker"]).expect(0, &["worker@1  ready"]);
    let started = |process: &str| times(m, &format!("falter-{process}.service")).0;
    assert!(started("worker@1") < started("worker@2"));
}

fn a_restart_leaves_stopped_what_somebody_stopped_and_starts_it_when_it_is_named(m: &Machine) {
    let group = m.start_group("rest", GROUP);
    m.copse(&["stop", "rest/worker@2"]).expect(0, &["stop     worker@2  stopped"]);
    let said = "rest/worker@2 is inactive, not restarted; `copse start rest/worker@2` starts it";
    m.copse(&["restart", "rest"]).expect(0, &[said]);
    m.copse(&["restart", "rest/worker"]).expect(0, &[said]);
    assert_eq!(m.state("rest-worker@2.service"), "inactive");
    m.copse(&["restart", "rest/worker@2"]).expect(0, &["worker@2  ready"]);
    group.stop();
    m.wait_for_state("rest-manager.service", "inactive");
    m.copse(&["restart", "rest"]).expect(0, &["rest is not active, starting it", "start    worker@2  ready"]);
}

const SETTLING: &str = r#"
    [process.node]
    exec = "/usr/local/bin/stand-in notify"
    ready = "notify"
    instances = 2
    port = 9300
    user = "u2001"
    settled = { command = ["/bin/sh", "-c", "test $PORT:$(id -un) = $(cat /run/settled-{instance})"] }
    timeout-start-sec = "SPAN"
"#;

fn a_restart_waits_until_each_instance_is_settled(m: &Machine) {
    let _group = m.start_group("settle", &SETTLING.replace("SPAN", "1h"));
    let before = m.pid("settle-node@2.service");
    let restart = m.spawn(&["copse", "restart", "settle"]);
    m.wait_for_state("copse-settled-settle-node@1.service", "activating");
    m.wait_until("it says what it waits for", || {
        m.property("copse-settled-settle-node@1.service", "StatusText").contains("/bin/sh")
    });
    assert_eq!(m.pid("settle-node@2.service"), before, "the first isn't settled");
    m.write("/run/settled-1", "9300:u2001");
    m.wait_for_state("copse-settled-settle-node@2.service", "activating");
    assert_ne!(m.pid("settle-node@2.service"), before);
    m.write("/run/settled-2", "9301:u2001");
    let output = restart.finish();
    m.remove("/run/settled-1");
    m.remove("/run/settled-2");
    output.expect(0, &["node@1  ready", "node@2  ready"]);
}

fn an_instance_that_never_settles_ends_the_restart(m: &Machine) {
    let group = m.start_group("unsettled", &SETTLING.replace("SPAN", "10s"));
    let before = m.pid("unsettled-node@2.service");
    m.copse(&["restart", "unsettled"]).expect(1, &["node@1  ready, but not settled: ", "/bin/sh"]);
    assert_eq!(m.pid("unsettled-node@2.service"), before);
    // One that dies meanwhile isn't waited for.
    group.rewrite(&SETTLING.replace("SPAN", "1h"));
    let restart = m.spawn(&["copse", "restart", "unsettled"]);
    m.wait_for_state("copse-settled-unsettled-node@1.service", "activating");
    m.systemctl(&["stop", "unsettled-node@1.service"]);
    restart.finish().expect(1, &["node@1  became ready, and then was"]);
    m.wait_for_state("copse-settled-unsettled-node@1.service", "inactive");
}

fn a_canary_that_dies_keeps_the_others_from_being_touched(m: &Machine) {
    let _group = m.start_group("bird", GROUP);
    let before = pids(m, "bird", &["worker@2", "worker@3"]);
    let first = m.pid("bird-worker@1.service");
    let restart = m.spawn(&["copse", "restart", "--canary=1h", "bird/worker"]);
    m.wait_for_another("bird-worker@1.service", first);
    // It is killed, and repaired by systemd: that is no good sign either.
    m.write("/run/bad-worker", "");
    m.systemctl(&["kill", "--signal=KILL", "bird-worker@1.service"]);
    let output = restart.finish();
    m.remove("/run/bad-worker");
    output.expect(1, &["worker@1  became ready, and then was"]);
    assert_eq!(pids(m, "bird", &["worker@2", "worker@3"]), before);
    m.copse(&["restart", "--canary=300ms", "--pause=100ms", "bird/worker"]).expect(0, &["worker@3  ready"]);
}

fn half_of_the_instances_at_once(m: &Machine) {
    m.write("/run/half-go", "");
    let text =
        GROUP.replace("instances = 3", "instances = 4").replace("\"notify\", \"0.1\"", "\"await\", \"/run/half-go\"");
    let _group = m.start_group("half", &text);
    m.remove("/run/half-go");
    let restart = m.spawn(&["copse", "restart", "--max-unavailable=50%", "half/worker"]);
    m.wait_for_state("half-worker@1.service", "activating");
    m.wait_for_state("half-worker@2.service", "activating");
    m.write("/run/half-go", "");
    restart.finish().expect(0, &["worker@4  ready"]);
    m.remove("/run/half-go");
    let of = |number: u32| times(m, &format!("half-worker@{number}.service"));
    let ((one, one_ready), (two, two_ready), (three, _)) = (of(1), of(2), of(3));
    assert!(one < two_ready && two < one_ready, "the first two were restarted together");
    assert!(three > one_ready && three > two_ready, "and the others after them");
    m.copse(&["restart", "--max-unavailable=0", "half"]).expect(2, &["a number of instances, or a percentage"]);
}

fn an_interrupted_restart_finishes_the_instance_it_is_at(m: &Machine) {
    m.write("/run/break-go", "");
    let _group = m.start_group("break", &GROUP.replace("\"notify\", \"0.1\"", "\"await\", \"/run/break-go\""));
    m.remove("/run/break-go");
    let before = pids(m, "break", &WORKERS);
    let mut restart = m.spawn(&["sh", "-c", "echo $$ > /run/restart-pid; exec copse restart break/worker"]);
    m.wait_for_state("break-worker@1.service", "activating");
    // A terminal that is gone is no reason to stop; the second signal asks for it.
    m.sh("kill -HUP $(cat /run/restart-pid); kill -INT $(cat /run/restart-pid)");
    assert!(restart.runs());
    m.write("/run/break-go", "");
    restart.finish().expect(1, &["worker@1  ready", "interrupted"]);
    let now = pids(m, "break", &WORKERS);
    assert_ne!(now[0], before[0]);
    assert_eq!(now[1..], before[1..]);
}
