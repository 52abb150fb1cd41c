//! What the verbs say to programs: one shape, and whether anything is another now.

use crate::asking::copse;
use crate::machine::Machine;
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
    let group = m.group("told", GROUP);
    // Each verb, what it is about, and whether it changes anything the first and the second time.
    for (words, name, first, second) in [
        (&["start", "told"][..], "told", true, false),
        (&["start", "told/a"], "told/a", false, false),
        (&["apply", "told"], "told", false, false),
        (&["restart", "told/a"], "told/a", true, true),
        (&["reload", "told/a"], "told/a", true, true),
        (&["freeze", "told/a"], "told/a", true, false),
        (&["thaw", "told/a"], "told/a", true, false),
        (&["scale", "told/w", "3"], "told/w", true, false),
        (&["scale", "told/w", "--reset"], "told/w", true, false),
        (&["hold", "told/a"], "told/a", true, false),
        (&["release", "told/a"], "told/a", true, false),
        (&["setup", "told/step"], "told/step", false, false),
        (&["setup", "--force", "told/step"], "told/step", true, true),
        (&["enable", "told"], "told", true, false),
        (&["disable", "told"], "told", true, false),
        (&["stop", "told/a"], "told/a", true, false),
        (&["reset-failed", "told"], "told", false, false),
        // A signal that changes nothing for who ignores it; it was sent all the same.
        (&["kill", "-s", "CONT", "told/w"], "told/w", true, true),
        (&["stop", "told"], "told", true, false),
    ] {
        for changed in [first, second] {
            let output = copse(m, &[words, &["--json"]].concat());
            assert_eq!(output.status, 0, "{words:?}: {output:?}");
            let value: serde_json::Value = serde_json::from_str(&output.stdout).expect("an object");
            assert_eq!((&value["group"], &value["name"]), (&"told".into(), &name.into()), "{words:?}");
            assert_eq!(value["changed"], changed, "{words:?}: {value}");
            let units = value["units"].as_array().expect("a list");
            assert!(units.iter().all(|unit| unit["action"].is_string() && unit["unit"].is_string()), "{value}");
        }
    }
    drop(group);
}
