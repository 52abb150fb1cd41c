//! How a plan looks, to people and to programs.

use super::*;
use crate::basic::clock::Realtime;
use crate::basic::terminal::TerminalStyle;
use crate::change::observe::situation::ChangedFile;
use crate::change::observe::state::State;
use crate::change::plan;
use crate::change::plan::json;
use crate::change::plan::tests::fixtures::{read, situation};

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
        match unit.member.subject.label.as_str() {
            "keystore" => (unit.stamp_matches, unit.changed_inputs) = (Some(false), vec!["/etc/tls.key".into()]),
            "cache-gc" => unit.changed_inputs = vec!["/etc/gc.conf".into()],
            "stopped" => unit.state = State::Stopped,
            "kresd@3" => unit.pinned = Realtime::from_micros(1_000_000),
            _ => {}
        }
    }
    let changed = |path: &str, removed| ChangedFile { path: path.into(), removed };
    situation.files =
        vec![changed("/etc/copse/g.toml.d/10-local.toml", false), changed("/etc/copse/g.toml.d/20-gone.toml", true)];
    situation.applied = Realtime::from_micros(1_000_000);
    situation.notes = vec!["a note".to_owned()];
    let plan = plan::plan(&situation);
    let look = TerminalStyle { colour: false, width: 80, now: 8_000_000_000, user: false };
    let expected = "\
g: changed since the last apply, 2h 13min ago
  /etc/copse/g.toml.d/10-local.toml
  /etc/copse/g.toml.d/20-gone.toml (removed)

  run      keystore      input changed: /etc/tls.key
  stop     prefill       no longer in the group file
  start    exporter      new
  reload   cache-gc      input changed: /etc/gc.conf
  roll     kresd@1 … @4  Environment= A added, not reached by the rollout 2h
                         13min ago; one at a time, each until ready for 1s
  update   manager       RestartSec= 1s → 5, StartLimitIntervalSec= 10s → 30s;
                         no restart
  skip     stopped       inactive
  skip     loader        inactive, manual

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
    let idle = plan::plan(&crate::change::plan::tests::fixtures::situation(&new, &new));
    let text = render(&idle, false, look);
    assert!(text.ends_with("\n  9 units up to date\n"), "{text}");
    assert!(text.starts_with("g: nothing to do\n\n  skip     loader "), "{text}");
}

#[test]
fn the_same_change_of_instances_with_values_of_their_own_is_shown_once_and_shows_no_secret() {
    let text = |secret: &str| {
        format!("[process.web]\nexec = \"/w\"\nport = 8001\ninstances = 3\nenvironment = {{ TOKEN = \"{secret}\" }}\n")
    };
    let (old, new) = (read(&text("hunter1")), read(&text("hunter2")));
    let plan = plan::plan(&situation(&old, &new));
    let look = TerminalStyle { colour: false, width: 200, now: 0, user: false };
    let shown = render(&plan, false, look);
    assert!(shown.contains("roll     web@1 … @3  Environment= TOKEN changed; one at a time"), "{shown}");
    assert!(!shown.contains("hunter"), "{shown}");
    assert_eq!(plan.steps[0].reasons.len(), 1);
}

fn look() -> TerminalStyle {
    TerminalStyle { colour: false, width: 400, now: 0, user: false }
}

#[test]
fn every_changed_line_is_shown_and_what_needs_the_restart_comes_first() {
    let old = read("[process.w]\nexec = \"/w\"\nenvironment = { A = \"1\", B = \"1\", C = \"1\" }\n");
    let new = read(
        "[process.w]\nexec = \"/w\"\nrestart = \"always\"\nmemory-max = \"1G\"\n\
         environment = { A = \"2\", B = \"1\", D = \"1\" }\n",
    );
    let plan = plan::plan(&situation(&old, &new));
    let expected =
        "restart  w  Environment= A changed, D added, C removed, MemoryMax= 1G added, Restart= on-failure → always";
    let shown = render(&plan, true, look());
    assert!(shown.contains(expected), "{shown}");
    for line in ["+Restart=always", "+MemoryMax=1G", "-Environment=A=1", "+Environment=A=2", "-Environment=C=1"] {
        assert!(shown.contains(&format!("            {line}\n")), "{line}: {shown}");
    }
    assert!(!shown.contains("Environment=B"), "{shown}");
}

#[test]
fn what_several_instances_have_in_common_is_shown_once() {
    let text = |listen: &str, more: &str| {
        format!("[process.web]\nexec = \"/w\"\ninstances = 3\nlisten = \"{listen}\"\n{more}")
    };
    let old = read(&text("unix:/run/w", ""));
    let new = read(&text("unix:/run/w-{instance}", "[process.web.instance.3]\nnice = 1\n"));
    let plan = plan::plan(&situation(&old, &new));
    let shown = render(&plan, true, look());
    let line = shown.lines().find(|line| line.contains("rebind")).unwrap_or_else(|| panic!("{shown}"));
    assert_eq!(line.matches("Sockets=").count(), 1, "{shown}");
    assert!(line.contains("new, ") && line.contains("Nice= 1 added"), "{shown}");
    assert!(line.ends_with("stopped while web@1.socket, @2.socket, @3.socket are restarted"), "{shown}");
    assert_eq!(shown.matches("-Sockets=").count(), 1, "{shown}");
}
