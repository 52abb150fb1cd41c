//! The verdict about a group, by the states of its units.

pub(super) mod fixtures;

use self::fixtures::{info, row, setup};
use super::*;
use crate::change::observe::state::GroupState;

/// The target's and the gate's states, and the members as `NAME=STATES`; `s` is a setup step.
#[test]
fn the_word_about_a_group() {
    const UP: [&str; 2] = ["active/active", "active/exited"];
    const DOWN: [&str; 2] = ["inactive/dead", "inactive/dead"];
    const GATE_FAILED: [&str; 2] = ["inactive/dead", "failed/failed"];
    for (whole, members, expected) in [
        (UP, &["b=active/running", "s=active/exited"][..], "active"),
        (UP, &[], "active"),
        // Not all of it.
        (UP, &["b=active/running", "a=failed/failed"], "degraded: a failed"),
        (UP, &["a=failed/failed", "c=failed/failed", "d=failed/failed"], "degraded: a and 2 others failed"),
        (UP, &["b=active/running", "a=inactive/dead"], "degraded: a inactive"),
        (UP, &["a=activating/auto-restart", "c=activating/auto-restart"], "degraded: a and 1 other in auto-restart"),
        // A process that is restarted by hand, or a group that is.
        (UP, &["b=active/running", "a=activating/start"], "starting: a starting"),
        // `systemctl start`: the target waits for the gate.
        (["inactive/dead start", "activating/start"], &["a=activating/start"], "starting: waits for a"),
        (["inactive/dead start", "inactive/dead start"], &[], "starting: waits for a"),
        // The start failed: by a process that the gate waited for, or by a setup step, without which there's no gate.
        (GATE_FAILED, &["b=active/running", "a=failed/failed"], "failed: a failed to start"),
        (DOWN, &["a=inactive/dead", "s=failed/failed"], "failed: s failed to start"),
        (GATE_FAILED, &[], "failed: the start failed"),
        // Stopped, also with what ended badly when it was asked to.
        (DOWN, &["a=inactive/dead"], "stopped"),
        (DOWN, &["a=failed/failed"], "stopped"),
        (DOWN, &["b=active/running", "a=inactive/dead"], "stopped: b active"),
        (DOWN, &["a=deactivating/stop-sigterm"], "stopping"),
        (["active/active stop", "active/exited"], &["b=active/running"], "stopping"),
    ] {
        assert_eq!(word(whole, false, members), expected, "{whole:?} {members:?}");
    }
    // `failure-policy = "stop"`.
    assert_eq!(
        word(DOWN, true, &["b=inactive/dead", "a=failed/failed"]),
        "failed: a failed; group stopped (`failure-policy = \"stop\"`)"
    );
}

fn word([target, gate]: [&str; 2], failed: bool, members: &[&str]) -> String {
    let (target, gate) = (info("g.target", target), info("copse-ready@g.service", gate));
    let group = GroupState { target, gate, waits_for: "waits for a".to_owned(), failed };
    let (verdict, reason) = verdict(&group, &rows(members));
    reason.map_or(verdict.word().to_owned(), |reason| format!("{}: {reason}", verdict.word()))
}

fn rows(members: &[&str]) -> Vec<Row> {
    let row = |member: &&str| match member.split_once('=').unwrap() {
        ("s", states) => setup("s", states),
        (name, states) => row(name, states),
    };
    members.iter().map(row).collect()
}

#[test]
fn the_word_about_a_part() {
    for (members, verdict) in [
        (&["a@1=active/running", "a@2=active/running"][..], Verdict::Active),
        (&["a@1=active/running", "a@2=failed/failed"], Verdict::Degraded),
        (&["a@1=active/running", "a@2=inactive/dead"], Verdict::Degraded),
        (&["a=failed/failed"], Verdict::Failed),
        (&["a=inactive/dead"], Verdict::Stopped),
        (&["a=activating/auto-restart"], Verdict::Starting),
        (&["a=deactivating/stop-sigterm"], Verdict::Stopping),
        (&["s=active/exited"], Verdict::Active),
    ] {
        assert_eq!(verdict_of_part(&rows(members)), verdict, "{members:?}");
    }
}
