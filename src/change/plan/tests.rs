//! Situations, and what is to be done about them: each row is one.

pub(super) mod fixtures;

use self::fixtures::{info, read, situation, tree};
use super::*;
use crate::basic::clock::Realtime;
use crate::change::observe::situation::{Observed, Running, Situation};
use crate::change::observe::state::State;
use crate::change::observe::subject::enumerate;
use crate::manager::cause::{Cause, ProcessEnd};
use crate::manager::state::UnitResult;

/// The steps, one a line: `roll w@1 … @3`.
fn steps(plan: &Plan) -> Vec<String> {
    plan.steps.iter().map(|step| format!("{} {}", step.action.word(), enumerate(&step.units))).collect()
}

fn left(plan: &Plan, why: SkipReason) -> String {
    let all = plan.skipped.iter().filter(|skipped| skipped.why == why).map(|skipped| enumerate(&skipped.units));
    all.collect::<Vec<_>>().join("; ")
}

fn exit_status_1() -> Option<Cause> {
    Some(Cause { result: UnitResult::ExitCode, main: Some(ProcessEnd::Exited(1)) })
}

const TWO: &str = "[process.a]\nexec = \"/a\"\n[process.b]\nexec = \"/b\"\n";

#[test]
fn what_a_change_of_the_file_needs() {
    let w = |more: &str, a: &str| format!("[process.w]\nexec = \"/w\"\n{more}\n[process.a]\nexec = \"/a\"\n{a}\n");
    for (what, old, new, expected) in [
        ("nothing changed", TWO.to_owned(), TWO.to_owned(), &[][..]),
        (
            "only a comment and the order of keys",
            w("nice = 1\numask = \"0022\"", ""),
            w("# x\numask = \"0022\"\nnice = 1", ""),
            &[],
        ),
        ("arguments", TWO.to_owned(), TWO.replace("/b", "/b -x"), &["restart b"]),
        ("environment", w("", ""), w("environment.X = \"1\"", ""), &["restart w"]),
        ("who it runs as", w("", ""), w("user = \"x\"", ""), &["restart w"]),
        ("a sandbox", w("", ""), w("hardening = \"basic\"", ""), &["restart w"]),
        (
            "a watchdog is added",
            w("ready = \"notify\"", ""),
            w("ready = \"notify\"\nwatchdog-sec = 5", ""),
            &["restart w"],
        ),
        ("a description", w("", ""), w("description = \"x\"", ""), &["update w"]),
        ("a restart policy", w("", ""), w("restart-sec = 5", ""), &["update w"]),
        ("a stop signal", w("", ""), w("kill-signal = \"SIGINT\"", ""), &["update w"]),
        ("a limit of memory", w("", ""), w("memory-max = \"1G\"", ""), &["update w"]),
        (
            "how readiness is asked for",
            w("ready = { tcp = \"127.0.0.1:1\" }", ""),
            w("ready = { tcp = \"127.0.0.1:2\" }", ""),
            &["update w"],
        ),
        ("one more instance", w("instances = 2", ""), w("instances = 4", ""), &["start w@3, @4"]),
        ("fewer instances", w("instances = 4", ""), w("instances = 2", ""), &["stop w@3, @4"]),
        ("instances are rolled", w("instances = 4", ""), w("instances = 4\nnice = 1", ""), &["roll w@1 … @4"]),
        (
            "one of the instances",
            w("instances = 4", ""),
            w("instances = 4\n[process.w.instance.3]\nnice = 1", ""),
            &["roll w@3"],
        ),
        (
            "more instances, and changed",
            w("instances = 2", ""),
            w("instances = 3\nnice = 1", ""),
            &["start w@3", "roll w@1, @2"],
        ),
        (
            "all at once",
            w("instances = 2\nrefresh = \"restart\"", ""),
            w("instances = 2\nnice = 1\nrefresh = \"restart\"", ""),
            &["restart w@1, @2"],
        ),
        ("kept", w("refresh = \"keep\"", ""), w("nice = 1\nrefresh = \"keep\"", ""), &[]),
        (
            "a definition isn't reloaded",
            w("exec-reload = \"/r\"\nrefresh = \"reload\"", ""),
            w("nice = 1\nexec-reload = \"/r\"\nrefresh = \"reload\"", ""),
            &["restart w"],
        ),
        ("a new process", TWO.to_owned(), format!("{TWO}[process.c]\nexec = \"/c\""), &["start c"]),
        ("a process that left", format!("{TWO}[process.c]\nexec = \"/c\""), TWO.to_owned(), &["stop c"]),
        (
            "another name is another process",
            TWO.to_owned(),
            TWO.replace("process.b", "process.c"),
            &["stop b", "start c"],
        ),
        ("it is held", w("", ""), w("hold = true", ""), &["stop w"]),
        (
            "in the order in which they are after each other, the setup step first",
            w("after = [\"a\"]", "") + "[setup.s]\nexec = \"/s\"\n",
            w("after = [\"a\"]\nnice = 1", "nice = 1") + "[setup.s]\nexec = \"/s -x\"\n",
            &["run s", "restart a", "restart w"],
        ),
        (
            "a step that runs again is a change of what names it",
            w("after = [\"s\"]", "") + "[setup.s]\nexec = \"/s\"\n",
            w("after = [\"s\"]", "") + "[setup.s]\nexec = \"/s -x\"\n",
            &["run s", "restart w"],
        ),
        (
            "and of the step after it",
            w("after = [\"t\"]", "") + "[setup.s]\nexec = \"/s\"\n[setup.t]\nexec = \"/t\"\nafter = [\"s\"]\n",
            w("after = [\"t\"]", "") + "[setup.s]\nexec = \"/s -x\"\n[setup.t]\nexec = \"/t\"\nafter = [\"s\"]\n",
            &["run s", "run t", "restart w"],
        ),
        ("an address", w("listen = \"tcp:1\"", ""), w("listen = \"tcp:2\"", ""), &["rebind w"]),
        (
            "an address of instances",
            w("listen = \"tcp:1\"\ninstances = 3", ""),
            w("listen = \"tcp:2\"\ninstances = 3", ""),
            &["rebind w@1 … @3"],
        ),
        (
            "of a kept process",
            w("listen = \"tcp:1\"\nrefresh = \"keep\"", ""),
            w("listen = \"tcp:2\"\nrefresh = \"keep\"", ""),
            &[],
        ),
        ("a socket is added", w("", ""), w("listen = \"tcp:1\"", ""), &["rebind w"]),
        ("a socket is taken away", w("listen = \"tcp:1\"", ""), w("", ""), &["stop w.socket", "restart w"]),
        (
            "a new process with a socket",
            w("", ""),
            w("", "") + "[process.n]\nexec = \"/n\"\nlisten = \"tcp:1\"",
            &["start n.socket", "start n"],
        ),
        (
            "a process with a socket that left",
            w("", "") + "[process.n]\nexec = \"/n\"\nlisten = \"tcp:1\"",
            w("", ""),
            &["stop n.socket", "stop n"],
        ),
        ("a timer", w("", "on-calendar = \"daily\""), w("", "on-calendar = \"weekly\""), &["update a.timer"]),
        ("what a timer starts", w("", "on-calendar = \"daily\""), w("", "on-calendar = \"daily\"\nnice = 1"), &[]),
    ] {
        let (old, new) = (read(&old), read(&new));
        let plan = plan(&situation(&old, &new));
        let seen = steps(&plan);
        assert_eq!(seen, expected, "{what}");
        assert!(seen.is_empty() || plan.daemon_reload, "{what}");
        // Once it is done, nothing is left to do.
        assert_eq!(steps(&super::plan(&situation(&new, &new))), [""; 0], "{what}");
    }
}

#[test]
fn what_runs_matters_and_not_what_systemd_has_loaded() {
    let (old, new) = (read(TWO), read(&TWO.replace("/b", "/b -x")));
    let reloaded = |situation: &mut Situation<'_>| {
        situation.needs_reload = false;
        situation.units.iter_mut().for_each(|unit| unit.loaded = unit.new.clone());
    };
    type Change = fn(&mut Situation<'_>);
    for (what, change, expected) in [
        ("a daemon-reload by hand changes nothing", (|_| {}) as Change, &["restart b"][..]),
        (
            "a crash after it has brought the new definition",
            |situation| {
                situation.units[1].running = Running::With(situation.units[1].new.clone().unwrap());
            },
            &[],
        ),
        (
            "it fails again and again with the old one",
            |situation| situation.units[1].state = State::Restarting,
            &["restart b"],
        ),
        ("it failed", |situation| situation.units[1].state = State::Failed(exit_status_1()), &["start b"]),
        ("somebody stopped it", |situation| situation.units[1].state = State::Stopped, &[]),
        (
            "it failed when somebody stopped it",
            |situation| {
                situation.units[1].state = State::Failed(None);
                situation.units[1].asked_to_stop = true;
            },
            &[],
        ),
        (
            "an apply that was interrupted stopped it",
            |situation| {
                situation.units[1].state = State::Stopped;
                situation.interrupted = ["g-b.service".to_owned()].into();
            },
            &["start b"],
        ),
        (
            "an apply that was killed had just asked to stop it",
            |situation| {
                situation.units[1].state = State::Stopping;
                situation.interrupted = ["g-b.service".to_owned()].into();
            },
            &["start b"],
        ),
        ("it ended well", |situation| situation.units[1].state = State::Done, &[]),
        ("it is being stopped", |situation| situation.units[1].state = State::Stopping, &[]),
        ("from what it was started isn't known", |situation| situation.units[1].running = Running::Unknown, &[]),
        (
            "the group isn't active",
            |situation| {
                situation.active = false;
                situation.units.iter_mut().for_each(|unit| unit.state = State::Stopped);
            },
            &[],
        ),
        ("it is masked", |situation| situation.units[1].state = State::Masked, &[]),
    ] {
        let mut situation = situation(&old, &new);
        reloaded(&mut situation);
        change(&mut situation);
        for unit in &mut situation.units {
            unit.info = info(&unit.member, &unit.state);
        }
        assert_eq!(steps(&plan(&situation)), expected, "{what}");
    }
}

#[test]
fn inputs_and_programs() {
    let group = read(
        "[process.w]\nexec = \"/w\"\ninstances = 2\n[process.r]\nexec = \"/r\"\nexec-reload = \"/x\"\nrefresh = \"reload\"\n\
         [process.k]\nexec = \"/k\"\nrefresh = \"keep\"\n[process.m]\nexec = \"/m\"\nstart = \"manual\"\n",
    );
    let changed = |change: &dyn Fn(&mut Observed)| {
        let mut situation = situation(&group, &group);
        situation.units.iter_mut().for_each(change);
        plan(&situation)
    };
    let inputs = changed(&|unit| unit.changed_inputs = vec!["/etc/x".into()]);
    assert_eq!(steps(&inputs), ["reload r", "roll w@1, @2"]);
    assert!(!inputs.daemon_reload);
    assert_eq!((left(&inputs, SkipReason::Keep), left(&inputs, SkipReason::Manual)), ("k".to_owned(), "m".to_owned()));
    let handed = changed(&|unit| unit.changed_start_files = vec!["/etc/password".into()]);
    assert_eq!(steps(&handed), ["restart r", "roll w@1, @2"], "no reload brings it");
    assert_eq!(left(&handed, SkipReason::Keep), "k");
    let programs = changed(&|unit| unit.changed_program = Some("/usr/bin/x".into()));
    assert_eq!(steps(&programs), ["restart r", "roll w@1, @2"]);
    let rerun = changed(&|unit| unit.rerun_steps = vec!["s".into()]);
    assert_eq!(steps(&rerun), ["reload r", "roll w@1, @2"]);
}

#[test]
fn the_stamp_of_a_setup_step_knows_better_than_its_unit() {
    let text = |argument: &str| {
        format!("[setup.s]\nexec = \"/s {argument}\"\ninputs = [\"/i\"]\n[process.a]\nexec = \"/a\"\nafter = [\"s\"]\n")
    };
    let (old, new) = (read(&text("1")), read(&text("2")));
    for (unchanged, expected) in
        [(Some(true), &[][..]), (Some(false), &["run s", "restart a"]), (None, &["run s", "restart a"])]
    {
        let mut situation = situation(&old, &new);
        situation.units[0].loaded = situation.units[0].new.clone();
        situation.units[0].stamp_matches = unchanged;
        assert_eq!(steps(&plan(&situation)), expected, "{unchanged:?}");
    }
    let mut situation = situation(&new, &new);
    situation.units[0].stamp_matches = Some(false);
    assert_eq!(steps(&plan(&situation)), ["run s", "restart a"]);
}

#[test]
fn what_a_rollout_did_not_reach() {
    let (old, new) =
        (read("[process.w]\nexec = \"/w\"\ninstances = 3\n"), read("[process.w]\nexec = \"/w -x\"\ninstances = 3\n"));
    let mut situation = situation(&old, &new);
    situation.units[0].running = Running::With(situation.units[0].new.clone().unwrap());
    situation.units[0].loaded = situation.units[0].new.clone();
    for unit in &mut situation.units[1..] {
        unit.pinned = Realtime::from_micros(7);
    }
    let plan = plan(&situation);
    assert_eq!(steps(&plan), ["roll w@2, @3"]);
    assert_eq!(plan.steps[0].reasons[0], Reason::NotReached { since: Realtime::from_micros(7).unwrap() });
    // The file was put back: the pins can go, and nothing else is to do.
    let mut back = fixtures::situation(&old, &old);
    back.units[1].pinned = Realtime::from_micros(7);
    let plan = super::plan(&back);
    assert_eq!(steps(&plan), ["update w@2"]);
    assert!(plan.daemon_reload);
}

#[test]
fn an_upgrade_of_copse_or_of_systemd_makes_nothing_outdated() {
    // What ran before was generated for another systemd, and by another copse: its text isn't kept anywhere. What is
    // kept is the group file, and both definitions are made of that, now. What could differ is the version.
    let group = read(
        "[process.w]\nexec = \"/w\"\nready = \"notify\"\ninstances = 2\n[process.x]\nexec = \"/x\"\nafter = [\"w\"]\n",
    );
    assert_ne!(tree(&group, 247), tree(&group, 262), "the versions make different units");
    assert_eq!(steps(&plan(&situation(&group, &group))), [""; 0]);
}

#[test]
fn how_fast() {
    for (text, of, down, seconds) in [
        ("", 4, 1, 1),
        ("max-unavailable = 2\nmin-ready-sec = 3\n", 4, 2, 3),
        ("max-unavailable = \"50%\"\n", 5, 2, 1),
        ("max-unavailable = \"1%\"\n", 3, 1, 1),
    ] {
        let text = |more: &str| format!("[process.w]\nexec = \"/w\"\ninstances = {of}\n{text}{more}");
        let (old, new) = (read(&text("")), read(&text("nice = 1\n")));
        let plan = plan(&situation(&old, &new));
        let pace = &plan.steps[0].pace;
        assert_eq!(
            (pace.max_unavailable, pace.of, pace.min_ready.as_secs()),
            (down, of, seconds),
            "{text:?}",
            text = text("")
        );
    }
}

#[test]
fn what_is_down_anyway_comes_first() {
    let text = |more: &str| format!("[process.w]\nexec = \"/w\"\ninstances = 3\n{more}");
    let (old, new) = (read(&text("")), read(&text("nice = 1\n")));
    let mut situation = situation(&old, &new);
    situation.units[2].state = State::Restarting;
    assert_eq!(steps(&plan(&situation)), ["roll w@3, @1, @2"]);
}

#[test]
fn a_frozen_unit_that_is_touched_is_thawed() {
    let (old, new) = (read(TWO), read(&TWO.replace("/b", "/b -x")));
    for (place, expected) in [(0, &[][..]), (1, &["frozen, thawed first: b"])] {
        let mut situation = situation(&old, &new);
        situation.units[place].frozen = true;
        assert_eq!(plan(&situation).notes, expected, "{place}");
    }
}

#[test]
fn a_group_whose_file_was_removed_is_stopped() {
    let old = read(TWO);
    let mut situation = situation(&old, &old);
    situation.group = None;
    for unit in &mut situation.units {
        (unit.orphaned, unit.member.process, unit.new) = (true, None, None);
    }
    assert_eq!(steps(&plan(&situation)), ["stop a, b", "stop g"]);
    situation.active = false;
    situation.units.iter_mut().for_each(|unit| unit.state = State::Stopped);
    for unit in &mut situation.units {
        unit.info = info(&unit.member, &unit.state);
    }
    assert_eq!(steps(&plan(&situation)), [""; 0]);
}

#[test]
fn what_is_down_starts_after_its_socket_was_made_anew() {
    let text = |port: u32| format!("[process.w]\nexec = \"/w\"\ninstances = 3\nlisten = \"tcp:{port}\"\n");
    let (old, new) = (read(&text(1)), read(&text(2)));
    let mut situation = situation(&old, &new);
    for unit in situation.units.iter_mut().filter(|unit| unit.member.subject.label == "w@1") {
        unit.state = State::Stopped;
        situation.interrupted = [unit.member.subject.unit.clone()].into();
    }
    assert_eq!(steps(&plan(&situation)), ["rebind w@2, @3", "start w@1"]);
}

#[test]
fn what_failed_by_itself_was_stopped_by_nobody() {
    let group = read(TWO);
    let mut situation = situation(&group, &group);
    situation.units[1].state = State::Failed(exit_status_1());
    situation.units[1].info = info(&situation.units[1].member, &situation.units[1].state);
    situation.interrupted = ["g-b.service".to_owned()].into();
    let plan = plan(&situation);
    assert_eq!(steps(&plan), ["start b"]);
    assert_eq!(plan.steps[0].reasons, [Reason::Failed { how: "exit status 1".to_owned() }]);
}
