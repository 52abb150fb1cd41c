//! What the verbs say to programs: one shape, and whether anything is another now.

use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[situation!(every_verb_says_in_one_shape_whether_anything_changed)];

const GROUP: &str = r#"
    [setup.step]
    exec = "/bin/true"
    inputs = ["/etc/hostname"]
    [process.a]
    exec = "/bin/sleep infinity"
    exec-reload = "/bin/true"
    [process.w]
    exec = "/bin/sleep infinity"
    instances = 2
"#;

fn every_verb_says_in_one_shape_whether_anything_changed(m: &Machine) {
    let group = m.group("shaped", GROUP);
    // Each verb, what it is about, and whether it changes anything the first and the second time.
    for (words, name, first, second) in [
        (&["start", "shaped"][..], "shaped", true, false),
        (&["start", "shaped/a"], "shaped/a", false, false),
        (&["apply", "shaped"], "shaped", false, false),
        (&["restart", "shaped/a"], "shaped/a", true, true),
        (&["reload", "shaped/a"], "shaped/a", true, true),
        (&["freeze", "shaped/a"], "shaped/a", true, false),
        (&["thaw", "shaped/a"], "shaped/a", true, false),
        (&["scale", "shaped/w", "3"], "shaped/w", true, false),
        (&["scale", "shaped/w", "--reset"], "shaped/w", true, false),
        (&["hold", "shaped/a"], "shaped/a", true, false),
        (&["release", "shaped/a"], "shaped/a", true, false),
        (&["setup", "shaped/step"], "shaped/step", false, false),
        (&["setup", "--force", "shaped/step"], "shaped/step", true, true),
        (&["enable", "shaped"], "shaped", true, false),
        (&["disable", "shaped"], "shaped", true, false),
        (&["stop", "shaped/a"], "shaped/a", true, false),
        (&["reset-failed", "shaped"], "shaped", false, false),
        // A signal that changes nothing for who ignores it; it was sent all the same.
        (&["kill", "-s", "CONT", "shaped/w"], "shaped/w", true, true),
        (&["stop", "shaped"], "shaped", true, false),
    ] {
        for changed in [first, second] {
            let output = m.copse(&[words, &["--json"]].concat());
            assert_eq!(output.status, 0, "{words:?}: {output:?}");
            let value: serde_json::Value = serde_json::from_str(&output.stdout).expect("an object");
            assert_eq!((&value["group"], &value["name"]), (&"shaped".into(), &name.into()), "{words:?}");
            assert_eq!(value["changed"], changed, "{words:?}: {value}");
            let units = value["units"].as_array().expect("a list");
            assert!(units.iter().all(|unit| unit["action"].is_string() && unit["unit"].is_string()), "{value}");
        }
    }
    drop(group);
}
