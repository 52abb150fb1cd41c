//! Verbs on what runs while its file is broken or gone, and on what an administrator masked: nothing goes half-way.

use crate::asking::pids;
use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(a_broken_file_keeps_nobody_from_acting_on_what_runs),
    situation!(who_cannot_know_what_the_units_are_touches_none),
    situation!(what_is_left_of_a_removed_group_is_restarted_without_its_setup_steps),
    situation!(a_masked_process_is_passed_over_by_every_verb),
];

const GROUP: &str = r#"
    [setup.page]
    shell = "echo made >> /run/pages"
    [process.clock]
    exec = "/bin/sleep infinity"
    exec-reload = "/bin/true"
    [process.web]
    exec = "/bin/sleep infinity"
    instances = 2
    after = ["page"]
    [process.tick]
    exec = "/bin/sleep infinity"
    on-calendar = "*-01-01"
"#;

const ALL: [&str; 3] = ["clock", "web@1", "web@2"];

fn broken() -> String {
    GROUP.replace("exec-reload", "exec-relod")
}

fn a_broken_file_keeps_nobody_from_acting_on_what_runs(m: &Machine) {
    let group = m.start_group("broke", GROUP);
    let made = m.read("/run/pages");
    group.rewrite(&broken());
    let invalid = "group file of `broke` is invalid, using the last good version: /etc/copse/";
    let before = pids(m, "broke", &ALL);
    let output = m.copse(&["restart", "broke"]);
    output.expect(0, &["restart  clock  ready", "restart  web@1  ready", "restart  web@2  ready", invalid]);
    assert_eq!(output.stderr.matches("is invalid").count(), 1, "{output:?}");
    assert!(pids(m, "broke", &ALL).iter().zip(&before).all(|(now, before)| now != before));
    let output = m.copse(&["reload", "broke"]);
    output.expect(0, &["reload   clock  reloaded", "not reloaded, without `exec-reload`: web@1, web@2", invalid]);
    assert_eq!(m.read("/run/pages"), made, "nobody asked for the step");
    m.copse(&["restart", "broke/page"]).expect(1, &["`broke/page` has no process to restart"]);
    m.copse(&["setup", "broke/clock"]).expect(2, &["`broke/clock` is not a setup step"]);
    m.copse(&["setup", "broke/page"]).expect(0, &["run      page  completed", invalid]);
    // A job that its timer started isn't waited for.
    m.systemctl(&["start", "--no-block", "broke-tick.service"]);
    m.copse(&["stop", "broke"])
        .expect(0, &["web@1       stopped", "tick was started by its timer and keeps running", invalid]);
    m.copse(&["stop", "broke/tick"]).expect(0, &[]);
    m.copse(&["start", "broke"]).expect(0, &["start    web@2 ", invalid]);
    // Those that change the file change nothing.
    m.copse(&["scale", "broke/web", "3"]).expect(5, &["group file would be invalid, nothing changed"]);
    m.copse(&["hold", "broke/web"]).expect(5, &["group file would be invalid, nothing changed"]);
    assert_eq!(m.state("broke-web@1.service"), "active");
    m.remove("/run/pages");
}

fn who_cannot_know_what_the_units_are_touches_none(m: &Machine) {
    let group = m.start_group("blind", GROUP);
    group.rewrite(&broken());
    let before = pids(m, "blind", &ALL);
    let nobody = ["setpriv", "--reuid=2001", "--regid=2001", "--clear-groups", "copse"];
    for verb in ["restart", "reload", "freeze", "setup"] {
        let output = m.run(&[&nobody[..], &[verb, "blind"]].concat());
        output.expect(5, &["`copse check blind`", "is invalid and no earlier version is known", "nothing changed"]);
    }
    assert_eq!(pids(m, "blind", &ALL), before);
    m.remove("/run/pages");
}

fn what_is_left_of_a_removed_group_is_restarted_without_its_setup_steps(m: &Machine) {
    let group = m.start_group("orphan", GROUP);
    m.remove(&group.file());
    m.reload();
    let made = m.read("/run/pages");
    let output = m.copse(&["restart", "orphan"]);
    assert!(!output.stdout.contains("page") && !output.stderr.contains("page"), "{output:?}");
    let output = m.copse(&["reload", "orphan"]);
    output.expect(0, &["reload   clock  reloaded"]);
    assert_eq!(m.read("/run/pages"), made);
    m.remove("/run/pages");
}

fn a_masked_process_is_passed_over_by_every_verb(m: &Machine) {
    let _group = m.start_group("veiled", GROUP);
    m.systemctl(&["mask", "veiled-clock.service"]);
    let (clock, webs) = (pids(m, "veiled", &ALL[..1]), pids(m, "veiled", &ALL[1..]));
    let masked = "veiled/clock is masked";
    let output = m.copse(&["restart", "veiled"]);
    output.expect(0, &["restart  web@1  ready", "restart  web@2  ready", masked]);
    assert_eq!(pids(m, "veiled", &ALL[..1]), clock, "it runs on");
    assert!(pids(m, "veiled", &ALL[1..]).iter().zip(&webs).all(|(now, before)| now != before));
    m.copse(&["plan", "veiled"]).expect(0, &["masked"]);
    m.copse(&["apply", "veiled"]).expect(0, &["masked"]);
    m.copse(&["reload", "veiled"]).expect(1, &[masked]);
    m.copse(&["freeze", "veiled"]).expect(0, &["web@1  frozen", masked]);
    m.copse(&["thaw", "veiled"]).expect(0, &["web@2  thawed", masked]);
    // Who names it alone is told by the exit status as well.
    m.copse(&["restart", "veiled/clock"]).expect(1, &[masked]);
    m.copse(&["stop", "veiled"]).expect(0, &["clock       stopped"]);
    m.wait_for_state("veiled-clock.service", "inactive");
    m.copse(&["start", "veiled"]).expect(0, &["start    web@1 "]);
    m.copse(&["start", "veiled/clock"]).expect(1, &[masked]);
    m.copse(&["restart", "veiled"]).expect(0, &["restart  web@1  ready", masked]);
    m.systemctl(&["unmask", "veiled-clock.service"]);
    m.copse(&["start", "veiled/clock"]).expect(0, &["start    clock  ready"]);
    m.remove("/run/pages");
}
