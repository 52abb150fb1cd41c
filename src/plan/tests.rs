//! Situations, and what is to be done about them: each row is one.

use std::sync::Arc;

use super::render::{named, render};
use super::situation::{Arrived, Observed, Started};
use super::*;
use crate::definition::Definitions;
use crate::generate::{self, Target};
use crate::history::Overrides;
use crate::manager::unit::Listed;
use crate::model::{Context, Group};
use crate::scope::Scope;
use crate::source::Source;
use crate::status::render::Look;
use crate::status::{Kind, Member, State, members};
use crate::systemd::Systemd;
use crate::unit::UnitTree;

fn read(text: &str) -> Group {
    let file = Arc::new(crate::diagnostic::SourceFile { path: "/etc/copse/g.toml".into(), text: text.to_owned() });
    let source = Source { name: GroupName::new("g").unwrap(), file, drop_ins: Vec::new() };
    let (group, diagnostics) = crate::model::read(&source, &Context { scope: Scope::System, cpus: 2 });
    group.unwrap_or_else(|| panic!("{:?}", diagnostics.iter().map(|one| one.line()).collect::<Vec<_>>()))
}

fn tree(group: &Group, version: u32) -> UnitTree {
    generate::generate(group, Target { systemd: Systemd { version }, static_target: false })
}

fn listed(member: &Member, state: &State) -> Listed {
    let (active, sub) = match state {
        State::Up => ("active", "running"),
        State::Done if member.kind == Kind::Setup => ("active", "exited"),
        State::Failed(_) => ("failed", "failed"),
        State::Restarting => ("activating", "auto-restart"),
        _ => ("inactive", "dead"),
    };
    let (active_state, sub_state) = (active.to_owned(), sub.to_owned());
    Listed { name: member.unit.clone(), load_state: "loaded".to_owned(), active_state, sub_state, job: None }
}

/// Everything of the group runs with what `old` says, systemd has loaded that too, and the files say `new`.
fn situation<'g>(old: &Group, new: &'g Group) -> Situation<'g> {
    let (old_tree, new_tree, none) = (tree(old, 257), tree(new, 257), Overrides::default());
    let (before, now) = (Definitions::new(&old_tree, &none), Definitions::new(&new_tree, &none));
    let (old_members, mut all) = (members(old), members(new));
    let new_members = all.len();
    all.extend(
        old_members.iter().filter(|member| !members(new).iter().any(|known| known.unit == member.unit)).cloned(),
    );
    let units = all.into_iter().enumerate().map(|(place, member)| {
        let before_start = old_members.iter().find(|known| known.unit == member.unit).map(|known| known.start);
        let then = before.unit(&member.unit).filter(|_| before_start.is_some());
        let new_definition = now.unit(&member.unit).filter(|_| place < new_members);
        use crate::status::Start;
        let state = match (before_start, member.kind) {
            (None, _) | (Some(Start::Manual | Start::Timed | Start::Held), Kind::Process) => State::Stopped,
            (_, Kind::Setup) => State::Done,
            _ => State::Up,
        };
        let started = match (&then, &state) {
            (Some(then), State::Up | State::Done) => Started::From(then.clone()),
            _ => Started::Not,
        };
        Observed {
            of: process_of(&member.label),
            listed: listed(&member, &state),
            gone: new_definition.is_none(),
            arrived: then.is_none().then_some(Arrived::New),
            asked_to_stop: false,
            started,
            loaded: then,
            new: new_definition,
            inputs: Vec::new(),
            program: None,
            steps: Vec::new(),
            unchanged: None,
            pinned: None,
            member,
            state,
        }
    });
    Situation {
        group: GroupName::new("g").unwrap(),
        meaning: Some(new),
        active: true,
        units: units.collect(),
        whole: Vec::new(),
        unread: before.differ(&now),
        interrupted: Default::default(),
        files: Vec::new(),
        applied: None,
        notes: Vec::new(),
    }
}

fn process_of(label: &str) -> Option<crate::unit::name::ProcessName> {
    let stem = label.split(['@', '.']).next().unwrap_or(label);
    crate::unit::name::ProcessName::new(stem)
}

/// The steps, one a line: `roll w@1 … @3`.
fn steps(plan: &Plan) -> Vec<String> {
    plan.steps.iter().map(|step| format!("{} {}", step.action.word(), named(&step.units))).collect()
}

fn left(plan: &Plan, why: Why) -> String {
    let all = plan.leave.iter().filter(|leave| leave.why == why).map(|leave| named(&leave.units));
    all.collect::<Vec<_>>().join("; ")
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
        situation.unread = false;
        situation.units.iter_mut().for_each(|unit| unit.loaded = unit.new.clone());
    };
    type Change = fn(&mut Situation<'_>);
    for (what, change, expected) in [
        ("a daemon-reload by hand changes nothing", (|_| {}) as Change, &["restart b"][..]),
        (
            "a crash after it has brought the new definition",
            |situation| {
                situation.units[1].started = Started::From(situation.units[1].new.clone().unwrap());
            },
            &[],
        ),
        (
            "it fails again and again with the old one",
            |situation| situation.units[1].state = State::Restarting,
            &["restart b"],
        ),
        ("it failed", |situation| situation.units[1].state = State::Failed("exit status 1".into()), &["start b"]),
        ("somebody stopped it", |situation| situation.units[1].state = State::Stopped, &[]),
        (
            "it failed when somebody stopped it",
            |situation| {
                situation.units[1].state = State::Failed(String::new());
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
        ("from what it was started isn't known", |situation| situation.units[1].started = Started::Unknown, &[]),
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
            unit.listed = listed(&unit.member, &unit.state);
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
    let inputs = changed(&|unit| unit.inputs = vec!["/etc/x".into()]);
    assert_eq!(steps(&inputs), ["reload r", "roll w@1, @2"]);
    assert!(!inputs.daemon_reload);
    assert_eq!((left(&inputs, Why::Keep), left(&inputs, Why::Manual)), ("k".to_owned(), "m".to_owned()));
    let programs = changed(&|unit| unit.program = Some("/usr/bin/x".into()));
    assert_eq!(steps(&programs), ["restart r", "roll w@1, @2"]);
    let rerun = changed(&|unit| unit.steps = vec!["s".into()]);
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
        situation.units[0].unchanged = unchanged;
        assert_eq!(steps(&plan(&situation)), expected, "{unchanged:?}");
    }
    let mut situation = situation(&new, &new);
    situation.units[0].unchanged = Some(false);
    assert_eq!(steps(&plan(&situation)), ["run s", "restart a"]);
}

#[test]
fn what_a_roll_out_left_behind() {
    let (old, new) =
        (read("[process.w]\nexec = \"/w\"\ninstances = 3\n"), read("[process.w]\nexec = \"/w -x\"\ninstances = 3\n"));
    let mut situation = situation(&old, &new);
    situation.units[0].started = Started::From(situation.units[0].new.clone().unwrap());
    situation.units[0].loaded = situation.units[0].new.clone();
    for unit in &mut situation.units[1..] {
        unit.pinned = Some(7);
    }
    let plan = plan(&situation);
    assert_eq!(steps(&plan), ["roll w@2, @3"]);
    assert_eq!(plan.steps[0].reasons[0], Reason::LeftBehind(7));
    // The file was put back: the pins can go, and nothing else is to do.
    let mut back = super::tests::situation(&old, &old);
    back.units[1].pinned = Some(7);
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
fn a_group_whose_file_was_removed_is_stopped() {
    let old = read(TWO);
    let mut situation = situation(&old, &old);
    situation.meaning = None;
    for unit in &mut situation.units {
        (unit.gone, unit.of, unit.new) = (true, None, None);
    }
    assert_eq!(steps(&plan(&situation)), ["stop a, b", "stop g"]);
    situation.active = false;
    situation.units.iter_mut().for_each(|unit| unit.state = State::Stopped);
    for unit in &mut situation.units {
        unit.listed = listed(&unit.member, &unit.state);
    }
    assert_eq!(steps(&plan(&situation)), [""; 0]);
}

#[test]
fn units_are_named_shortly() {
    for (labels, expected) in [
        (&["a"][..], "a"),
        (&["a", "b"], "a, b"),
        (&["w@1", "w@2"], "w@1, @2"),
        (&["w@1", "w@2", "w@3", "w@4"], "w@1 … @4"),
        (&["w@1", "w@3", "w@4", "w@5", "x@6"], "w@1, @3 … @5, x@6"),
        (&["w@a", "w@b", "w@c"], "w@a, @b, @c"),
        (&["w@18446744073709551615", "w@0"], "w@18446744073709551615, @0"),
    ] {
        let units: Vec<_> =
            labels.iter().map(|label| Subject { unit: String::new(), label: (*label).to_owned() }).collect();
        assert_eq!(named(&units), expected);
    }
}

#[test]
fn the_picture() {
    let text = |worker: &str, manager: &str| {
        format!(
            "[setup.keystore]\nexec = \"/k\"\ninputs = [\"/etc/tls.key\"]\n[process.manager]\nexec = \"/m\"\n{manager}\
             [process.kresd]\nexec = \"/usr/sbin/kresd\"\ninstances = 4\n{worker}[process.cache-gc]\nexec = \"/gc\"\n\
             exec-reload = \"/r\"\nrefresh = \"reload\"\n[process.loader]\nexec = \"/l\"\nstart = \"manual\"\n\
             [process.stopped]\nexec = \"/s\"\n"
        )
    };
    let old = read(&(text("", "") + "[process.prefill]\nexec = \"/p\"\n"));
    let new = read(&(text("environment.A = \"1\"\n", "restart-sec = 5\n") + "[process.exporter]\nexec = \"/e\"\n"));
    let mut situation = situation(&old, &new);
    for unit in &mut situation.units {
        match unit.member.label.as_str() {
            "keystore" => (unit.unchanged, unit.inputs) = (Some(false), vec!["/etc/tls.key".into()]),
            "cache-gc" => unit.inputs = vec!["/etc/gc.conf".into()],
            "stopped" => unit.state = State::Stopped,
            "kresd@3" => unit.pinned = Some(1_000_000),
            _ => {}
        }
    }
    situation.files = vec!["/etc/copse/g.toml.d/10-local.toml".into()];
    situation.applied = Some(1_000_000);
    situation.notes = vec!["a note".to_owned()];
    let plan = plan(&situation);
    let look = Look { colour: false, width: 80, now: 8_000_000_000, user: false };
    let expected = "\
g: changed since the last apply, 2h 13min ago
  /etc/copse/g.toml.d/10-local.toml

  run      keystore      input changed: /etc/tls.key
  stop     prefill       no longer in the group
  start    exporter      new
  reload   cache-gc      input changed: /etc/gc.conf
  roll     kresd@1 … @4  Environment= A changed, left behind by the roll-out 2h
                         13min ago; one at a time, each until ready for 1s
  update   manager       RestartSec= 1s → 5, StartLimitIntervalSec= 10s → 30s;
                         no restart needed
  leave    stopped       stopped by hand
  leave    loader        inactive, manual

  a note
";
    assert_eq!(render(&plan, false, look), expected);
    let with_lines = render(&plan, true, look);
    for lines in [
        "             [Service]\n            +Environment=A=1\n",
        "            -RestartSec=1s\n            +RestartSec=5\n",
    ] {
        assert!(with_lines.contains(lines), "{with_lines}");
    }
    assert!(render(&plan, true, look).lines().all(|line| line.chars().count() <= 80));
    let value: serde_json::Value = serde_json::from_str(&json::render(&plan)).unwrap();
    assert_eq!(value["steps"][0]["action"], "run");
    assert_eq!(value["steps"][0]["reasons"][0], serde_json::json!({ "kind": "input", "path": "/etc/tls.key" }));
    assert_eq!(value["changed"], true);
    let idle = super::plan(&super::tests::situation(&new, &new));
    let text = render(&idle, false, look);
    assert!(text.starts_with("g: nothing to do\n\n  leave    loader "), "{text}");
}

#[test]
fn the_same_change_of_instances_with_values_of_their_own_is_said_once_and_shows_no_secret() {
    let text = |secret: &str| {
        format!("[process.web]\nexec = \"/w\"\nport = 8001\ninstances = 3\nenvironment = {{ TOKEN = \"{secret}\" }}\n")
    };
    let (old, new) = (read(&text("hunter1")), read(&text("hunter2")));
    let plan = plan(&situation(&old, &new));
    let look = Look { colour: false, width: 200, now: 0, user: false };
    let shown = render(&plan, false, look);
    assert!(shown.contains("roll     web@1 … @3  Environment= TOKEN changed; one at a time"), "{shown}");
    assert!(!shown.contains("hunter"), "{shown}");
    assert_eq!(plan.steps[0].reasons.len(), 1);
}

#[test]
fn what_is_down_starts_after_its_socket_was_made_anew() {
    let text = |port: u32| format!("[process.w]\nexec = \"/w\"\ninstances = 3\nlisten = \"tcp:{port}\"\n");
    let (old, new) = (read(&text(1)), read(&text(2)));
    let mut situation = situation(&old, &new);
    for unit in situation.units.iter_mut().filter(|unit| unit.member.label == "w@1") {
        unit.state = State::Stopped;
        situation.interrupted = [unit.member.unit.clone()].into();
    }
    assert_eq!(steps(&plan(&situation)), ["rebind w@2, @3", "start w@1"]);
}
