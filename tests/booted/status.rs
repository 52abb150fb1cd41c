//! `copse status` and `copse list` beside what systemd itself says.

pub mod logs;

use serde_json::Value;

use crate::failing::exhaust;
use crate::machines::machine::Machine;
use crate::machines::scope::{Output, Scope};
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(a_running_group_is_shown_as_it_is),
    situation!(anybody_may_look),
    situation!(a_unit_by_any_of_its_names),
    situation!(a_stopped_group_and_one_that_is_not_there),
    situation!(a_group_that_lost_a_process_is_degraded_and_says_how_to_mend_it),
    situation!(what_somebody_stopped_is_missing_and_what_ended_well_is_not),
    situation!(a_group_that_is_starting_says_what_it_waits_for),
    situation!(a_group_that_gave_up_under_stop_is_failed),
    situation!(a_group_whose_start_failed_is_failed),
    situation!(a_broken_file_shows_beside_the_group_that_runs_on),
    situation!(what_left_the_file_while_running_is_still_shown),
    situation!(what_runs_without_a_file_is_shown_until_it_is_stopped),
    situation!(what_is_left_of_a_failed_start_without_a_file_is_shown),
    situation!(a_program_that_ends_before_its_probe_holds_is_quoted),
    situation!(a_failure_that_told_of_a_broken_file_can_be_forgotten),
    situation!(an_administrators_drop_in_is_named),
    situation!(the_status_of_a_users_group),
];

const GROUP: &str = r#"
    description = "A group to look at"
    [setup.step]
    exec = "/bin/true"
    [process.manager]
    exec = "/usr/local/bin/stand-in notify"
    ready = "notify"
    [process.worker]
    exec = "/usr/local/bin/stand-in notify"
    ready = "notify"
    after = ["manager"]
    instances = 2
    restart-sec = "100ms"
    start-limit-burst = 2
    start-limit-interval-sec = "1h"
    [process.loader]
    exec = "/usr/local/bin/stand-in run"
    start = "manual"
"#;

fn status(m: &impl Scope, name: &str) -> Output {
    m.copse(&["status", name])
}

/// The line of a process, or of a group: its name is the first word after the sign.
#[track_caller]
fn line<'o>(output: &'o Output, name: &str) -> &'o str {
    let of = |line: &&str| line.split_whitespace().find(|word| word.chars().count() > 1) == Some(name);
    output.stdout.lines().rfind(of).unwrap_or_else(|| panic!("no line of {name} in\n{}", output.stdout))
}

fn a_running_group_is_shown_as_it_is(m: &Machine) {
    let _group = m.start_group("look", GROUP);
    let output = status(m, "look");
    output.shows(0, &["● look   active\n", "A group to look at", "/etc/copse/look.toml", "up for "]);
    for (name, unit) in [("manager", "look-manager.service"), ("worker@2", "look-worker@2.service")] {
        let line = line(&output, name);
        assert!(line.contains("active") && line.contains(&m.pid(unit).to_string()), "{line}");
    }
    assert!(line(&output, "step").contains("active, exited"));
    assert!(line(&output, "loader").contains("inactive, manual"));
    assert!(output.stdout.lines().all(|line| line.chars().count() <= 80), "{}", output.stdout);
    for words in [&["copse"][..], &["copse", "list"], &["copse", "status"]] {
        let output = m.run(words);
        output.shows(0, &[]);
        assert!(line(&output, "look").contains("active (4 of 4 up)"), "{}", output.stdout);
    }
    let output = m.copse(&["status", "--json", "look"]);
    let value: Value = serde_json::from_str(&output.stdout).expect("an object");
    assert_eq!((&value["group"], &value["verdict"]), (&"look".into(), &"active".into()));
    let units = value["units"].as_array().expect("a list");
    let worker = units.iter().find(|unit| unit["name"] == "worker@1").expect("a unit");
    assert_eq!(worker["pid"], m.pid("look-worker@1.service"));
    assert_eq!((&worker["active_state"], &worker["sub_state"]), (&"active".into(), &"running".into()));
}

fn anybody_may_look(m: &Machine) {
    let _group = m.start_group("look", GROUP);
    let user = m.user(2001);
    let output = status(&user, "look");
    output.shows(0, &["● look   active\n"]);
    assert!(line(&output, "worker@1").contains(&m.pid("look-worker@1.service").to_string()));
}

fn a_unit_by_any_of_its_names(m: &Machine) {
    let _group = m.start_group("look", GROUP);
    m.systemctl(&["stop", "look-worker@2.service"]);
    for (name, exit) in [
        ("look/worker@1", 0),
        ("look-worker@1.service", 0),
        ("look-worker@1", 0),
        ("look/worker@2", 3),
        ("look-worker@2.service", 3),
        ("look/worker", 8),
        ("look/loader", 3),
        ("look.target", 8),
    ] {
        let output = status(m, name);
        output.shows(exit, &["look"]);
        assert_eq!(output.stdout.contains("manager"), name == "look.target", "{name}:\n{}", output.stdout);
    }
    let output = status(m, "look/nothing");
    assert_eq!(output.stderr, "copse: group `look` has no process `nothing`\n");
    assert_eq!(output.status, 4);
}

fn a_stopped_group_and_one_that_is_not_there(m: &Machine) {
    let _group = m.group("look", GROUP);
    status(m, "look").shows(3, &["○ look   stopped\n"]);
    let output = status(m, "loook");
    assert_eq!(output.stderr, "copse: there is no group `loook`\n  help: did you mean `look`?\n");
    assert_eq!((output.stdout.as_str(), output.status), ("", 4));
    // A target that has nothing to do with copse, and a name that can't be one.
    for name in ["multi-user.target", "multi-user", "../x", ""] {
        assert_eq!(status(m, name).status, 4, "{name}");
    }
}

fn a_group_that_lost_a_process_is_degraded_and_says_how_to_mend_it(m: &Machine) {
    let _group = m.start_group("look", GROUP);
    exhaust(m, "look-worker@1.service");
    m.ok(&["journalctl", "--sync"]);
    let output = status(m, "look");
    output.shows(8, &["✗ look   degraded: worker@1 failed\n", "failed: signal KILL", "copse logs look/worker@1"]);
    assert!(line(&output, "worker@1").starts_with('✗'));
    // What it said last.
    assert!(output.stdout.lines().any(|line| line.trim() == "begins"), "{}", output.stdout);
    assert_eq!(status(m, "look/worker@1").status, 1);
    assert_eq!(status(m, "look/worker@2").status, 0);
    assert!(line(&m.copse(&[]), "look").contains("degraded: worker@1 failed (3 of 4 up)"));
    let command = output.stdout.lines().map(str::trim).find(|line| line.starts_with("systemctl start"));
    m.ok(&command.expect("a command").split(' ').collect::<Vec<_>>());
    m.wait_for_state("look-worker@1.service", "active");
    assert_eq!(status(m, "look").status, 0);
}

fn what_somebody_stopped_is_missing_and_what_ended_well_is_not(m: &Machine) {
    let _group = m.start_group("ends", "[process.once]\nexec = \"/usr/local/bin/stand-in end\"\n[process.on]\nexec = \"/usr/local/bin/stand-in run\"\n");
    m.wait_for_state("ends-once.service", "inactive");
    let output = status(m, "ends");
    output.expect(0, &["● ends   active\n", "inactive, exited"]);
    assert!(line(&m.run(&["copse"]), "ends").contains("active (2 of 2 up)"));
    m.systemctl(&["stop", "ends-on.service"]);
    let output = status(m, "ends");
    output.expect(8, &["degraded: on inactive\n", "systemctl start ends-on.service"]);
    assert!(line(&output, "on").contains("inactive"));
}

fn a_group_that_is_starting_says_what_it_waits_for(m: &Machine) {
    let group = m.group("slow", "[process.never]\nexec = \"/usr/local/bin/stand-in never\"\nready = \"notify\"\n");
    m.systemctl(&["start", "--no-block", &group.target()]);
    m.wait_until("the gate says what it waits for", || {
        let output = status(m, "slow");
        assert_eq!(output.status, 9, "{}{}", output.stdout, output.stderr);
        output.stdout.contains("slow-never.service")
    });
    let output = status(m, "slow");
    output.shows(9, &["↻ slow   starting: "]);
    assert!(line(&output, "never").contains("activating"));
    assert_eq!(status(m, "slow/never").status, 9);
}

fn a_group_that_gave_up_under_stop_is_failed(m: &Machine) {
    let group = m.start_group("strict", &format!("failure-policy = \"stop\"\n{GROUP}"));
    exhaust(m, "strict-worker@1.service");
    m.wait_for_state("copse-failed@strict.target", "active");
    m.wait_for_state("strict-manager.service", "inactive");
    status(m, "strict")
        .expect(1, &["✗ strict   failed: worker@1 failed; group stopped (`failure-policy = \"stop\"`)\n"]);
    group.start();
    assert_eq!(status(m, "strict").status, 0);
}

fn a_group_whose_start_failed_is_failed(m: &Machine) {
    let group =
        m.group("never", "[setup.step]\nexec = \"/bin/false\"\n[process.on]\nexec = \"/usr/local/bin/stand-in run\"\n");
    group.fails_to_start();
    status(m, "never").shows(1, &["failed: step failed to start", "failed: exit status 1"]);
    group.rewrite("[process.bad]\nexec = \"/usr/local/bin/stand-in crash\"\nready = \"notify\"\nrestart = \"no\"\n");
    group.fails_to_start();
    let output = status(m, "never");
    output.shows(1, &["failed: bad failed to start"]);
}

fn a_broken_file_shows_beside_the_group_that_runs_on(m: &Machine) {
    let group = m.start_group("look", GROUP);
    group.rewrite("nonsense = 1\n");
    let output = status(m, "look");
    output.shows(5, &["● look   active, file invalid\n", "copse check look"]);
    let line = line(&output, "worker@1");
    assert!(line.contains("active") && !line.contains("gone"), "{line}");
    let _other = m.start_group("fine", "[process.a]\nexec = \"/usr/local/bin/stand-in run\"\n");
    assert_eq!(status(m, "fine").status, 0);
    assert_eq!(m.copse(&["status", "fine", "look"]).status, 5);
}

fn what_left_the_file_while_running_is_still_shown(m: &Machine) {
    let group = m.start_group("look", GROUP);
    group.rewrite(&GROUP.replace("[process.manager]", "[process.other]").replace("after = [\"manager\"]", ""));
    let output = status(m, "look");
    output.expect(8, &["degraded: other inactive\n"]);
    assert!(line(&output, "manager").contains("orphaned"), "{}", output.stdout);
    m.remove(&group.file());
    m.reload();
    let output = status(m, "look");
    output.shows(0, &["● look   active, file removed\n", "worker@1"]);
    assert!(line(&m.copse(&[]), "look").contains("active, file removed"));
}

fn what_runs_without_a_file_is_shown_until_it_is_stopped(m: &Machine) {
    let group = m.start_group("bereft", "[process.a]\nexec = \"/usr/local/bin/stand-in run\"\n");
    m.ok(&["copse", "enable", "bereft"]);
    m.remove(&group.file());
    m.reload();
    // systemd says for ever that it hasn't read what isn't there.
    let output = status(m, "bereft");
    output.shows(0, &["active, file removed", "  next  systemctl stop bereft.target\n"]);
    assert!(!output.stdout.contains("daemon-reload"), "{}", output.stdout);
    m.systemctl(&["stop", "bereft.target"]);
    m.reload();
    // What `copse enable` wrote is still a target, with nothing behind it.
    m.systemctl(&["start", "bereft.target"]);
    assert_eq!(line(&m.copse(&[]), "bereft"), "● bereft  active, file removed");
    status(m, "bereft").shows(0, &["active, file removed", "next  systemctl stop bereft.target"]);
    m.systemctl(&["stop", "bereft.target"]);
    m.ok(&["copse", "disable", "bereft"]);
    status(m, "bereft").shows(4, &[]);
}

fn what_is_left_of_a_failed_start_without_a_file_is_shown(m: &Machine) {
    let group = m.group(
        "remnant",
        "[process.a]\nexec = \"/bin/false\"\nready = \"notify\"\nrestart = \"no\"\n\
         [process.b]\nexec = \"/usr/local/bin/stand-in run\"\n",
    );
    m.reload();
    assert_ne!(m.try_systemctl(&["start", "remnant.target"]).status, 0);
    assert_eq!(m.state("remnant-b.service"), "active");
    m.remove(&group.file());
    m.reload();
    let all = m.copse(&["list"]);
    assert!(line(&all, "remnant").contains("file removed"), "{all:?}");
    let output = status(m, "remnant");
    assert!(output.stdout.contains("  next  systemctl stop remnant.target\n"), "{output:?}");
    m.systemctl(&["stop", "remnant.target"]);
    m.wait_for_state("remnant-b.service", "inactive");
}

fn a_program_that_ends_before_its_probe_holds_is_quoted(m: &Machine) {
    let group = m.group(
        "quoted",
        r#"
        [process.a]
        shell = "[ -e /run/well ] || { echo 'no such option: --acept' >&2; exit 2; }; echo I serve; exec sleep 1000"
        ready = { file = "/run/well" }
        restart = "no"
        "#,
    );
    m.write("/run/well", "");
    group.start();
    group.stop();
    m.remove("/run/well");
    let start = m.copse(&["start", "quoted"]);
    assert!(start.stdout.contains("no such option: --acept"), "{start:?}");
    status(m, "quoted").shows(1, &["no such option: --acept"]);
    // What it said when it ran well is no reason for what came later.
    m.write(&group.file(), &m.read(&group.file()).replace("echo I serve; exec", "exec"));
    m.write("/run/well", "");
    m.reload();
    group.start();
    m.systemctl(&["stop", "quoted-a.service"]);
    m.write(
        &group.file(),
        "[process.a]\nexec = \"/bin/sleep 1000\"\nready = { file = \"/run/never\" }\ntimeout-start-sec = \"300ms\"\nrestart = \"no\"\n",
    );
    m.reload();
    let start = m.copse(&["start", "quoted"]);
    assert!(start.status == 1 && !start.stdout.contains("I serve"), "{start:?}");
}

fn a_failure_that_told_of_a_broken_file_can_be_forgotten(m: &Machine) {
    let group = m.group("bad", "[process.a\n");
    m.reload();
    assert_ne!(m.try_systemctl(&["start", "bad.target"]).status, 0);
    m.wait_for_state("copse-invalid@bad.service", "failed");
    m.remove(&group.file());
    m.reload();
    let output = m.copse(&["reset-failed", "bad"]);
    assert_eq!(output.status, 0, "{output:?}");
    assert_eq!(m.state("copse-invalid@bad.service"), "inactive");
}

fn an_administrators_drop_in_is_named(m: &Machine) {
    let group = m.group("look", GROUP);
    let drop_in = "/etc/systemd/system/look-worker@.service.d/nice.conf";
    m.write(drop_in, "[Service]\nNice=3\n");
    m.reload();
    group.start();
    let output = status(m, "look");
    output.shows(0, &["override of look-worker@.service:"]);
    assert_eq!(output.stdout.matches(drop_in).count(), 1, "{}", output.stdout);
    m.write(drop_in, "[Service]\nNice=4\n");
    let changed = || status(m, "look").stdout.contains("`systemctl daemon-reload`");
    // systemd goes by the time of the change, which may be the same as before within a tick.
    m.wait_until("the change is seen", || changed() || m.run(&["touch", drop_in]).status != 0);
    m.remove("/etc/systemd/system/look-worker@.service.d");
    m.reload();
    assert!(!status(m, "look").stdout.contains("override"));
}

fn the_status_of_a_users_group(m: &Machine) {
    let user = m.user(2001);
    m.write("/etc/copse/user/mine.toml", GROUP);
    user.reload();
    let of = |name: &str| user.copse(&["--user", "status", name]);
    of("mine").shows(3, &["○ mine   stopped\n"]);
    user.systemctl(&["start", "mine.target"]);
    let output = of("mine");
    output.shows(0, &["● mine   active\n"]);
    assert!(line(&output, "worker@1").contains(&user.pid("mine-worker@1.service").to_string()));
    assert!(line(&user.copse(&["--user"]), "mine").contains("active (4 of 4 up)"));
    // The system has no such group.
    assert_eq!(status(&user, "mine").status, 4);
    user.systemctl(&["stop", "mine.target"]);
    user.wait_for_state("mine-manager.service", "inactive");
    m.remove("/etc/copse/user/mine.toml");
    user.reload();
}
