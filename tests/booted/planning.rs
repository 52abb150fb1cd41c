//! `copse plan`: which running process isn't what the files say, whatever happened since it was started.

use serde_json::Value;

use crate::machines::group::Group;
use crate::machines::machine::Machine;
use crate::machines::scope::{Output, Scope};
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(nothing_is_to_do_right_after_the_start),
    situation!(a_change_is_known_before_and_after_a_daemon_reload_by_hand),
    situation!(a_restart_by_hand_and_a_crash_bring_the_new_definition),
    situation!(the_status_tells_what_is_outdated_and_why),
    situation!(a_watched_status_is_shown_again_when_something_changed),
    situation!(manual_processes_are_refreshed_only_while_they_run),
    situation!(what_somebody_stopped_stays_stopped),
    situation!(a_failed_process_is_started_again),
    situation!(of_a_stopped_group_nothing_is_started),
    situation!(a_broken_file_blocks_only_its_own_group),
    situation!(a_removed_file_stops_what_still_runs),
    situation!(an_upgrade_makes_nothing_outdated),
    situation!(anybody_may_look_and_is_told_what_that_misses),
    situation!(the_plan_of_a_users_group),
];

pub(crate) const GROUP: &str = r#"
    [process.web]
    exec = "/usr/local/bin/stand-in notify"
    ready = "notify"
    instances = 3
    [process.gc]
    exec = "/usr/local/bin/stand-in run"
    restart-sec = "100ms"
"#;

#[track_caller]
pub(crate) fn plan(m: &impl Scope, name: &str) -> Output {
    m.copse(&["plan", "--exit-code", name])
}

/// The steps in a few words, `roll web@1,web@2,web@3: definition`, and that the exit status says whether there are any.
#[track_caller]
pub(crate) fn steps(m: &impl Scope, name: &str) -> Vec<String> {
    let output = m.copse(&["plan", "--json", "--exit-code", name]);
    let value: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let changed = value["changed"].as_bool().expect("a truth");
    assert_eq!(output.status, if changed { 7 } else { 0 }, "{output:?}");
    let list = |value: &Value, key: &str| {
        let all = value.as_array().expect("a list").iter();
        all.map(|one| one[key].as_str().expect("a text").to_owned()).collect::<Vec<_>>().join(",")
    };
    let step = |step: &Value| {
        let action = step["action"].as_str().expect("a text");
        format!("{action} {}: {}", list(&step["units"], "name"), list(&step["reasons"], "kind"))
    };
    value["steps"].as_array().expect("a list").iter().map(step).collect()
}

/// Replaces the group file; systemd doesn't read it.
pub(crate) fn change(m: &Machine, group: &Group<'_>, from: &str, to: &str) {
    let text = m.ok(&["cat", &group.file()]);
    assert!(text.contains(from), "{text}");
    m.write(&group.file(), &text.replace(from, to));
}

fn nothing_is_to_do_right_after_the_start(m: &Machine) {
    let _group = m.start_group("plan", GROUP);
    let output = plan(m, "plan");
    assert!(output.stdout.starts_with("plan: nothing to do\n"), "{output:?}");
    assert_eq!(output.status, 0);
    assert_eq!(steps(m, "plan"), [""; 0]);
    // By its target's name, and among all.
    assert_eq!(plan(m, "plan.target").stdout, output.stdout);
    assert!(m.ok(&["copse", "plan"]).contains("plan: nothing to do"));
    let whole = m.run(&["copse", "plan", "plan/web"]);
    assert_eq!(
        (whole.status, whole.stderr.as_str()),
        (2, "copse: cannot plan a part of a group: `plan/web`\n  help: name the group: `plan`\n")
    );
    assert_eq!(plan(m, "nothing").status, 4);
}

fn a_change_is_known_before_and_after_a_daemon_reload_by_hand(m: &Machine) {
    let group = m.start_group("plan", GROUP);
    change(m, &group, "instances = 3", "instances = 3\nenvironment.A = \"1\"");
    let expected = ["roll web@1,web@2,web@3: definition"];
    assert_eq!(steps(m, "plan"), expected);
    for _ in 0..2 {
        m.reload();
        assert_eq!(steps(m, "plan"), expected);
    }
    m.systemctl(&["daemon-reexec"]);
    m.wait_until("systemd answers again", || m.try_systemctl(&["is-active", "plan-gc.service"]).status == 0);
    assert_eq!(steps(m, "plan"), expected);
    let text = plan(m, "plan").stdout;
    for line in [
        "plan: changed since it was started\n  /etc/copse/plan.toml\n",
        "  roll     web@1 … @3  Environment= A added; one at a time, each until ready\n",
        "\n  1 unit up to date\n",
    ] {
        assert!(text.contains(line), "`{line}` isn't in\n{text}");
    }
    let diff = m.ok(&["copse", "plan", "--diff", "plan"]);
    assert!(diff.contains("[Service]\n            +Environment=A=1\n"), "{diff}");
    // Back again: what runs is what the file says.
    change(m, &group, "\nenvironment.A = \"1\"", "");
    m.reload();
    assert_eq!(steps(m, "plan"), [""; 0]);
}

fn a_restart_by_hand_and_a_crash_bring_the_new_definition(m: &Machine) {
    let group = m.start_group("plan", GROUP);
    change(m, &group, "stand-in run", "stand-in run x");
    change(m, &group, "instances = 3", "instances = 3\nnice = 1");
    m.reload();
    assert_eq!(steps(m, "plan"), ["restart gc: definition", "roll web@1,web@2,web@3: definition"]);
    m.systemctl(&["restart", "plan-web@2.service"]);
    m.kill_and_wait("plan-gc.service");
    assert_eq!(steps(m, "plan"), ["roll web@1,web@3: definition"]);
    m.systemctl(&["restart", "plan.target"]);
    assert_eq!(steps(m, "plan"), [""; 0]);
}

fn the_status_tells_what_is_outdated_and_why(m: &Machine) {
    let group = m.start_group("plan", GROUP);
    let status = || {
        let output = m.copse(&["status", "plan"]);
        assert_eq!(output.status, 0, "being outdated is no failure: {output:?}");
        output.stdout
    };
    assert!(!status().contains("outdated"), "{}", status());
    change(m, &group, "instances = 3", "instances = 3\nenvironment.A = \"1\"");
    m.reload();
    m.systemctl(&["restart", "plan-web@1.service"]);
    let text = status();
    let line = |label: &str| text.lines().find(|line| line.contains(label)).unwrap_or_else(|| panic!("{text}"));
    assert!(!line("web@1").contains("outdated"), "{text}");
    assert!(line("web@2").contains("active, outdated") && line("web@3").contains("active, outdated"), "{text}");
    assert!(text.contains("Environment= A added") && text.contains("copse plan plan"), "{text}");
    let json = m.ok(&["copse", "status", "--json", "plan"]);
    let value: Value = serde_json::from_str(&json).expect("an object");
    let unit = value["units"].as_array().expect("a list").iter().find(|unit| unit["name"] == "web@2").expect("a unit");
    assert_eq!(unit["outdated"][0]["directives"][0]["name"], "Environment", "{json}");
}

fn a_watched_status_is_shown_again_when_something_changed(m: &Machine) {
    let group = m.start_group("plan", GROUP);
    let mut watched = m.spawn(&["copse", "status", "--watch", "--json", "plan"]);
    let lines =
        |watched: &crate::machines::scope::Spawned| watched.stdout().lines().map(str::to_owned).collect::<Vec<_>>();
    m.wait_until("it is shown", || lines(&watched).len() == 1);
    m.systemctl(&["stop", "plan-web@2.service"]);
    let last = |watched: &crate::machines::scope::Spawned| lines(watched).pop().unwrap_or_default();
    m.wait_until("the stop is shown", || last(&watched).contains("\"verdict\":\"degraded\""));
    change(m, &group, "stand-in run", "stand-in run x");
    m.reload();
    m.wait_until("what became outdated is shown", || last(&watched).contains("\"kind\":\"definition\""));
    m.systemctl(&["daemon-reexec"]);
    m.systemctl(&["start", "plan-web@2.service"]);
    m.wait_until("the start is shown", || last(&watched).contains("\"verdict\":\"active\""));
    // What happens to others is no reason.
    let before = lines(&watched).len();
    assert!(watched.runs() && before < 60, "{before} lines");
}

fn manual_processes_are_refreshed_only_while_they_run(m: &Machine) {
    let text =
        format!("{GROUP}[process.m]\nexec = \"/usr/local/bin/stand-in run\"\nstart = \"manual\"\ninstances = 0\n");
    let group = m.start_group("plan", &text.replace("\ninstances = 0", "\ninstances = []"));
    m.systemctl(&["start", "plan-m@7.service"]);
    assert_eq!(steps(m, "plan"), [""; 0]);
    change(m, &group, "instances = []", "instances = []\nnice = 1");
    m.reload();
    assert_eq!(steps(m, "plan"), ["roll m@7: definition"]);
    m.systemctl(&["stop", "plan-m@7.service"]);
    assert_eq!(steps(m, "plan"), [""; 0]);
}

fn what_somebody_stopped_stays_stopped(m: &Machine) {
    let text = format!("{GROUP}[process.bad]\nexec = \"/usr/local/bin/stand-in sulk 3\"\nready = \"notify\"\n");
    let group = m.start_group("plan", &text);
    m.systemctl(&["stop", "plan-web@2.service", "plan-bad.service"]);
    m.wait_for_state("plan-bad.service", "failed");
    change(m, &group, "instances = 3", "instances = 3\nnice = 1");
    m.reload();
    assert_eq!(steps(m, "plan"), ["roll web@1,web@3: definition"]);
    let text = plan(m, "plan").stdout;
    assert!(text.contains("web@2") && text.contains("bad") && text.contains("inactive"), "{text}");
}

fn a_failed_process_is_started_again(m: &Machine) {
    let text = format!("{GROUP}start-limit-burst = 1\nstart-limit-interval-sec = \"1h\"\n");
    let group = m.start_group("plan", &text);
    m.systemctl(&["kill", "--signal=KILL", "plan-gc.service"]);
    m.wait_for_state("plan-gc.service", "failed");
    assert_eq!(steps(m, "plan"), ["start gc: failed"]);
    change(m, &group, "stand-in run", "stand-in run x");
    m.reload();
    assert_eq!(steps(m, "plan"), ["start gc: failed,definition"]);
}

fn of_a_stopped_group_nothing_is_started(m: &Machine) {
    let group = m.group("plan", GROUP);
    let stopped = |when: &str| {
        let output = plan(m, "plan");
        assert!(output.stdout.starts_with("plan: not active, nothing"), "{when}: {output:?}");
        assert_eq!(steps(m, "plan"), [""; 0], "{when}");
    };
    stopped("never started");
    group.start();
    group.stop();
    m.wait_for_state("plan-gc.service", "inactive");
    stopped("stopped");
    change(m, &group, "stand-in run", "stand-in run x");
    stopped("changed");
    m.reload();
    assert_eq!(plan(m, "plan").status, 0);
}

fn a_broken_file_blocks_only_its_own_group(m: &Machine) {
    let group = m.group("plan", GROUP);
    let broken = m.group("plan-broken", "[process.x]\nexec = \"/usr/local/bin/stand-in run\"\n");
    group.start();
    broken.start();
    m.write(&broken.file(), "[process.x]\nexecc = 1\n");
    change(m, &group, "stand-in run", "stand-in run x");
    let output = m.copse(&["plan"]);
    assert_eq!(output.status, 5, "{output:?}");
    assert!(output.stdout.contains("restart  gc"), "{output:?}");
    assert!(output.stderr.contains("execc") && output.stderr.contains("/etc/copse/plan-broken.toml"), "{output:?}");
    let output = m.copse(&["plan", "--json", "plan-broken"]);
    let value: Value = serde_json::from_str(&output.stdout).expect("an object");
    assert_eq!((&value["group"], value["errors"].as_u64()), (&"plan-broken".into(), Some(2)), "{output:?}");
    assert_eq!(steps(m, "plan"), ["restart gc: definition"]);
}

fn a_removed_file_stops_what_still_runs(m: &Machine) {
    let group = m.start_group("plan", GROUP);
    m.remove(&group.file());
    let expected = ["stop gc,web@1,web@2,web@3: gone", "stop plan: gone"];
    let sorted = || {
        let all = steps(m, "plan");
        let mut units: Vec<String> =
            all[0].trim_start_matches("stop ").trim_end_matches(": gone").split(',').map(str::to_owned).collect();
        units.sort();
        [format!("stop {}: gone", units.join(",")), all[1].clone()]
    };
    assert_eq!(sorted(), expected);
    m.reload();
    assert_eq!(sorted(), expected);
}

/// The generator's output is changed behind its back, as if another copse, or one for another systemd, had made it.
fn an_upgrade_makes_nothing_outdated(m: &Machine) {
    let generator = "/usr/lib/systemd/system-generators/copse-generator";
    // Not beside it: systemd would run both at once.
    let real = "/usr/lib/copse-generator";
    m.sh(&format!(
        "mv {generator} {real}; printf '%s\\n' '#!/bin/sh' '{real} \"$@\"' \
         'sed -i \"s/^Description=.*/Description=Of another copse/; s/^TimeoutStopSec=.*/TimeoutStopSec=77/; /^SyslogIdentifier=/d\" \"$1\"/plan-*.service' \
         >{generator}; chmod +x {generator}"
    ));
    let _group = m.start_group("plan", GROUP);
    assert_eq!(m.property("plan-gc.service", "Description"), "Of another copse");
    let pid = m.pid("plan-gc.service");
    m.sh(&format!("mv {real} {generator}"));
    assert_eq!(steps(m, "plan"), [""; 0], "copse was upgraded");
    m.reload();
    assert_ne!(m.property("plan-gc.service", "Description"), "Of another copse");
    assert_eq!(steps(m, "plan"), [""; 0], "and its units were generated again");
    assert_eq!(m.pid("plan-gc.service"), pid);
}

fn anybody_may_look_and_is_told_what_that_misses(m: &Machine) {
    let group = m.start_group("plan", GROUP);
    let user = m.user(2001);
    let output = plan(&user, "plan");
    assert_eq!(output.status, 0, "{output:?}");
    assert!(output.stdout.contains("cannot read the start history"), "{output:?}");
    change(m, &group, "stand-in run", "stand-in run x");
    let output = plan(&user, "plan");
    assert!(output.stdout.contains("restart  gc") && output.status == 7, "{output:?}");
}

fn the_plan_of_a_users_group(m: &Machine) {
    let user = m.user(2001);
    let path = "/etc/copse/user/mine.toml";
    m.write(path, "[process.a]\nexec = \"/usr/local/bin/stand-in run\"\n");
    user.reload();
    user.systemctl(&["start", "mine.target"]);
    let plan = || user.copse(&["--user", "plan", "--exit-code", "mine"]);
    let output = plan();
    assert!(output.stdout.starts_with("mine: nothing to do\n") && output.status == 0, "{output:?}");
    m.write(path, "[process.a]\nexec = \"/usr/local/bin/stand-in run x\"\n");
    user.reload();
    let output = plan();
    assert!(output.stdout.contains("restart  a") && output.status == 7, "{output:?}");
    user.systemctl(&["stop", "mine.target"]);
    m.remove(path);
    user.reload();
}
