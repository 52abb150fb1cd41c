//! `copse apply`: whom each kind of change reaches.

use crate::applying::{GROUP, ON, another_value};
use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[situation!(each_kind_of_change_reaches_whom_it_should_and_nobody_else, ON)];

/// What becomes of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It goes on, with the PID it had.
    Same,
    /// It runs anew.
    New,
    /// It goes on, and has read its configuration again.
    Reloaded,
    /// It doesn't run.
    Down,
    /// It runs, and didn't before.
    Started,
}
use Fate::{Down, New, Reloaded, Same, Started};

const ALL: [&str; 8] = ["one", "pool@1", "pool@2", "kept", "fresh", "called", "idle", "job"];
/// Nothing happens to anybody: `idle` doesn't run, and a job of a timer isn't interrupted.
const UNTOUCHED: [Fate; 8] = [Same, Same, Same, Same, Same, Same, Down, Same];
/// Something that a process has to be started with, for all of them.
const RESTARTED: [Fate; 8] = [New, New, New, Same, New, New, Down, Same];

/// A change of kind `name`: what happens before it (in the machine), and what the file becomes.
struct Change {
    name: &'static str,
    before: &'static str,
    edit: fn(&str) -> String,
    /// Someone reloads the manager by hand before the apply.
    reloaded: bool,
    fates: [Fate; 8],
    /// Units that aren't among [`ALL`].
    others: &'static [(&'static str, Fate)],
}

const PLAIN: Change =
    Change { name: "", before: "", edit: str::to_owned, reloaded: false, fates: UNTOUCHED, others: &[] };

const CHANGES: &[Change] = &[
    Change { name: "none", ..PLAIN },
    Change { name: "description", edit: |text| text.replace("Before", "After"), ..PLAIN },
    Change { name: "restart policy", edit: |text| text.replace("100ms", "200ms"), ..PLAIN },
    Change { name: "environment", edit: another_value, fates: RESTARTED, ..PLAIN },
    Change {
        name: "environment, after a reload by hand",
        edit: another_value,
        reloaded: true,
        fates: RESTARTED,
        ..PLAIN
    },
    Change {
        name: "argv of one",
        edit: |text| text.replacen("stand-in notify", "stand-in notify 0.1", 1),
        fates: [New, Same, Same, Same, Same, Same, Down, Same],
        ..PLAIN
    },
    Change {
        name: "an input",
        before: "echo changed > /run/fresh-input",
        fates: [Same, Same, Same, Same, Reloaded, Same, Down, Same],
        ..PLAIN
    },
    Change { name: "an input that is only touched", before: "touch /run/fresh-input", ..PLAIN },
    Change {
        name: "a new process, and an instance more",
        edit: |text| {
            text.replace("instances = 2", "instances = 3") + "[process.more]\nexec = \"/usr/local/bin/stand-in run\"\n"
        },
        others: &[("pool@3", Started), ("more", Started)],
        ..PLAIN
    },
    Change {
        name: "a process and an instance less",
        edit: |text| text.replace("instances = 2", "instances = 1").replace("[process.called]", "[process.uncalled]"),
        fates: [Same, Same, Down, Same, Same, Down, Down, Same],
        ..PLAIN
    },
    Change {
        name: "environment, while somebody has stopped an instance",
        before: "copse stop kinds/pool@2 kinds/one",
        edit: another_value,
        fates: [Down, New, Down, Same, New, New, Down, Same],
        ..PLAIN
    },
    Change {
        name: "environment, while one has failed for good",
        before: "until systemctl -q is-failed kinds-one.service; do systemctl kill -s KILL kinds-one.service || true; sleep 0.1; done",
        edit: another_value,
        fates: [Started, New, New, Same, New, New, Down, Same],
        ..PLAIN
    },
];

fn each_kind_of_change_reaches_whom_it_should_and_nobody_else(m: &Machine) {
    for change in CHANGES {
        m.write("/run/fresh-input", "as it was\n");
        m.write("/run/fresh-reloads", "");
        let group = m.start_group("kinds", GROUP);
        m.systemctl(&["start", "kinds-called.service"]);
        m.systemctl(&["start", "--no-block", "kinds-job.service"]);
        m.wait_for_state("kinds-job.service", "activating");
        // From here on it is known what the inputs were.
        m.copse(&["apply", "kinds"]).expect(0, &[]);
        m.sh(if change.before.is_empty() { "true" } else { change.before });
        let pid = |process: &str| m.property(&format!("kinds-{process}.service"), "MainPID");
        let before = ALL.map(pid);
        m.write(&group.file(), &(change.edit)(GROUP));
        if change.reloaded {
            m.reload();
        }
        let output = m.copse(&["apply", "kinds"]);
        output.expect(0, &[]);
        let reloads = m.read("/run/fresh-reloads").lines().count();
        let fate = |process: &str, before: &str| match (before, pid(process).as_str()) {
            (_, "0") => Down,
            ("0", _) => Started,
            (before, now) if before != now => New,
            _ if process == "fresh" && reloads > 0 => Reloaded,
            _ => Same,
        };
        let fates: Vec<_> =
            ALL.iter().zip(&before).map(|(process, before)| (*process, fate(process, before))).collect();
        let expected: Vec<_> = ALL.into_iter().zip(change.fates).collect();
        assert_eq!(fates, expected, "{}\n{}{}", change.name, output.stdout, output.stderr);
        for (process, expected) in change.others {
            assert_eq!(fate(process, "0"), *expected, "{}: {process}", change.name);
        }
        let again = m.copse(&["apply", "--json", "kinds"]);
        assert!(
            again.stdout.contains(r#""changed":false"#),
            "{}: nothing is left to do: {}",
            change.name,
            again.stdout
        );
        m.systemctl(&["kill", "--signal=KILL", "kinds-job.service"]);
    }
}
