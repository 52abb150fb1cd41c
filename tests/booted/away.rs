//! The service manager, or the bus, goes away for a moment while copse is at work.

use crate::machines::machine::Machine;
use crate::machines::scope::{Scope, Spawned};
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(a_rolling_restart_goes_on_while_systemd_re_executes_itself),
    situation!(an_apply_goes_on_while_systemd_re_executes_itself),
    situation!(a_start_and_a_stop_go_on_while_systemd_re_executes_itself),
    situation!(who_watches_a_group_goes_on_when_systemd_or_the_bus_was_away),
];

/// Waits until systemd has re-executed itself so many times more, if it does so.
const AWAIT_ABSENCES: &str = "#!/bin/sh
count() { wc -l </run/reexecs; }
enough=$(($(count) + $1))
until [ -e /run/enough ] || [ \"$(count)\" -ge $enough ]; do sleep 0.05; done
";

fn install(m: &Machine) {
    m.write_program("/usr/local/bin/await-absences", AWAIT_ABSENCES);
    m.write("/run/enough", "");
    m.write("/run/reexecs", "");
    m.remove("/run/starts");
}

/// Each start leaves a line.
fn group_file(value: u32) -> String {
    format!(
        r#"
        [process.worker]
        shell = "echo $0 >>/run/starts; exec sleep infinity"
        exec-start-pre = ["/usr/local/bin/await-absences", "1"]
        environment = {{ VALUE = "{value}" }}
        instances = 4
        min-ready-sec = "300ms"
        "#
    )
    .replace("$0", "{instance}")
}

/// Has systemd re-execute itself again and again, until [`enough`].
fn restless(m: &Machine) -> Spawned {
    m.write("/run/reexecs", "");
    m.remove("/run/enough");
    m.spawn(&[
        "sh",
        "-c",
        "while [ ! -e /run/enough ]; do systemctl daemon-reexec; echo >>/run/reexecs; sleep 0.3; done",
    ])
}

#[track_caller]
fn enough(m: &Machine, restless: Spawned) {
    m.write("/run/enough", "");
    restless.finish();
    assert!(m.read("/run/reexecs").lines().count() >= 2, "it was away twice at the least");
}

/// How often each worker was started.
fn starts(m: &Machine) -> Vec<usize> {
    let lines = m.read("/run/starts");
    ["1", "2", "3", "4"].map(|worker| lines.lines().filter(|line| *line == worker).count()).to_vec()
}

fn a_rolling_restart_goes_on_while_systemd_re_executes_itself(m: &Machine) {
    install(m);
    let _group = m.start_group("away", &group_file(1));
    let restless = restless(m);
    let output = m.copse(&["restart", "away"]);
    enough(m, restless);
    output.expect(0, &["worker@1  ready", "worker@4  ready"]);
    assert_eq!(starts(m), [2; 4], "nothing was restarted twice: {}", output.stdout);
    m.remove("/run/starts");
}

fn an_apply_goes_on_while_systemd_re_executes_itself(m: &Machine) {
    install(m);
    let group = m.start_group("gone", &group_file(1));
    m.write(&group.file(), &group_file(2));
    let restless = restless(m);
    let output = m.copse(&["apply", "gone"]);
    enough(m, restless);
    output.expect(0, &["worker@1  ready", "worker@4  ready"]);
    assert_eq!(starts(m), [2; 4], "nothing was restarted twice: {}", output.stdout);
    assert!(m.copse(&["apply", "--json", "gone"]).stdout.contains(r#""changed":false"#));
    m.remove("/run/starts");
}

fn a_start_and_a_stop_go_on_while_systemd_re_executes_itself(m: &Machine) {
    install(m);
    let _group = m.group(
        "still",
        r#"
        [process.slow]
        exec = "/usr/local/bin/stand-in notify"
        exec-start-pre = ["/usr/local/bin/await-absences", "2"]
        ready = "notify"
        [process.firm]
        exec = "/usr/local/bin/stand-in sulk 1"
        exec-stop = ["/usr/local/bin/await-absences", "2"]
        ready = "notify"
        "#,
    );
    let busy = restless(m);
    m.copse(&["start", "still"]).expect(0, &["slow  ready"]);
    enough(m, busy);
    let busy = restless(m);
    m.copse(&["stop", "still"]).expect(0, &["firm", "stopped, failed on the way"]);
    enough(m, busy);
    assert_eq!(m.property("still-slow.service", "MainPID"), "0");
}

fn who_watches_a_group_goes_on_when_systemd_or_the_bus_was_away(m: &Machine) {
    let group = m.start_group("seen", "[process.a]\nexec = \"/usr/local/bin/stand-in run\"\ninstances = 2\n");
    // Root by the private socket, the other by the bus.
    let user = m.user(2001);
    let watches =
        [m.spawn(&["copse", "status", "--watch", "seen"]), user.spawn(&["copse", "status", "--watch", "seen"])];
    let shown = |text: &str| watches.iter().all(|watch| watch.stdout().contains(text));
    m.wait_until("both show it", || shown("●"));
    m.systemctl(&["daemon-reexec"]);
    m.systemctl(&["stop", "seen-a@1.service"]);
    m.wait_until("both show what happened after the first absence", || shown("a@1 inactive"));
    m.sh("systemctl restart dbus.service 2>/dev/null || systemctl restart dbus-broker.service");
    m.wait_until("systemd is on the bus again", || {
        m.run(&["busctl", "--quiet", "status", "org.freedesktop.systemd1"]).status == 0
    });
    m.systemctl(&["stop", "seen-a@2.service"]);
    m.wait_until("both show what happened after the second", || shown("a@1 and 1 other inactive"));
    group.stop();
    for watch in watches {
        m.wait_until("it is shown that it stopped", || watch.stdout().contains("stopped"));
    }
}
