//! What a group is, by the states of its units.

use super::fixtures::{listed, member, row, setup};
use super::*;
use crate::basic::clock::Monotonic;
use crate::change::observe::members;
use crate::manager::cause::ProcessEnd;
use crate::manager::properties::Times;
use crate::manager::state::LoadState;

#[test]
fn what_a_units_state_means() {
    let auto = || member("a", Kind::Process, Start::Auto);
    let at = Monotonic::from_micros;
    let properties = |result: &str| Properties { result: Some(result.into()), ..Properties::default() };
    let with_times = |times| Properties { times, ..properties("success") };
    let ended = with_times(Times { main_exited: at(5), active_left: at(6), ..Times::default() });
    let stopped = with_times(Times { main_exited: at(6), active_left: at(5), ..Times::default() });
    let skipped = with_times(Times { condition_checked: at(1), ..Times::default() });
    let refused = Properties {
        condition_met: true,
        ..with_times(Times { condition_checked: at(1), assertion_checked: at(2), ..Times::default() })
    };
    let crashed = Properties { main_end: Some(ProcessEnd::Killed(11)), ..properties("signal") };
    let segv = crashed.cause();
    for (member, states, properties, expected) in [
        (auto(), "active/running", properties("success"), State::Up),
        (auto(), "reloading/reload", properties("success"), State::Up),
        // `ready = "oneshot"` stays up when its program has ended; a setup step is done.
        (auto(), "active/exited", properties("success"), State::Up),
        (member("a", Kind::Setup, Start::Auto), "active/exited", properties("success"), State::Done),
        (auto(), "active/running stop", properties("success"), State::Stopping),
        (auto(), "activating/start", properties("success"), State::Starting),
        (auto(), "inactive/dead start", properties("success"), State::Starting),
        (auto(), "activating/auto-restart", crashed.clone(), State::Restarting),
        (auto(), "failed/failed-before-auto-restart", crashed.clone(), State::Restarting),
        (auto(), "deactivating/stop-sigterm", properties("success"), State::Stopping),
        (auto(), "failed/failed", crashed, State::Failed(segv)),
        (auto(), "inactive/dead", ended.clone(), State::Done),
        (auto(), "inactive/dead", stopped, State::Stopped),
        (auto(), "inactive/dead", properties("success"), State::Stopped),
        (auto(), "inactive/dead", skipped, State::Skipped),
        (auto(), "inactive/dead", refused, State::Refused),
        (auto(), "masked:inactive/dead", properties("success"), State::Masked),
        // Masked, or its file removed, while it runs.
        (auto(), "masked:active/running", properties("success"), State::Up),
        (auto(), "not-found:active/running", properties("success"), State::Up),
        (auto(), "bad-setting:inactive/dead", properties("success"), State::NotLoaded(LoadState::BadSetting)),
        (member("a", Kind::Process, Start::Manual), "inactive/dead", ended, State::Idle),
        (member("a", Kind::Process, Start::Timed), "inactive/dead", properties("success"), State::Idle),
        (member("a", Kind::Process, Start::Held), "inactive/dead", properties("success"), State::Idle),
    ] {
        assert_eq!(State::of(&member, &listed("a", states), Some(&properties)), expected, "{states} {properties:?}");
    }
}

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
        (UP, &["b=active/running", "a=inactive/dead"], "degraded: a stopped"),
        (
            UP,
            &["a=activating/auto-restart", "c=activating/auto-restart"],
            "degraded: a and another waiting for a restart",
        ),
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
    assert_eq!(word(DOWN, true, &["b=inactive/dead", "a=failed/failed"]), "failed: stopped when a failed");
}

fn word([target, gate]: [&str; 2], gave_up: bool, members: &[&str]) -> String {
    let (target, gate) = (listed("g.target", target), listed("copse-ready@g.service", gate));
    let whole = Whole { target, gate, waits_for: "waits for a".to_owned(), gave_up };
    let (verdict, reason) = judge(&whole, &rows(members));
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
        assert_eq!(judge_part(&rows(members)).0, verdict, "{members:?}");
    }
}

#[test]
fn people_name_processes_not_units() {
    for (unit, expected) in [
        ("shop-web@1.service", "web@1"),
        ("shop.service", "shop"),
        ("shop@1.service", "shop@1"),
        ("shop-web.socket", "web.socket"),
        ("shop.target", "shop.target"),
        ("copse-ready@shop.service", "copse-ready@shop"),
    ] {
        assert_eq!(members::label("shop", unit), expected);
    }
}
