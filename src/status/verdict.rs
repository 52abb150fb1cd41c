//! The word about a group.

use super::types::{Row, Verdict};
use crate::change::observe::members::{Kind, Start};
use crate::change::observe::state::{GroupState, State};
use crate::manager::state::{ActiveState, JobType};

/// The word about a group, and what it rests on.
pub fn verdict(group: &GroupState, rows: &[Row]) -> (Verdict, Option<String>) {
    let (target, gate) = (&group.target, &group.gate);
    if group.failed {
        let why = some_are(rows, is_failed, "failed");
        return (Verdict::Failed, why.map(|why| format!("{why}; group stopped (`failure-policy = \"stop\"`)")));
    }
    if target.is_starting() || gate.is_starting() {
        return (Verdict::Starting, Some(group.waits_for.clone()).filter(|text| !text.is_empty()));
    }
    if target.is_up() && target.job != Some(JobType::Stop) {
        return of_active(rows);
    }
    let is_failed_step = |row: &Row| row.member.kind == Kind::Setup && is_failed(row);
    if gate.active == ActiveState::Failed || rows.iter().any(is_failed_step) {
        let refused = |row: &Row| is_failed(row) || row.state == State::Refused;
        let why = some_are(rows, refused, "failed to start").unwrap_or_else(|| "the start failed".to_owned());
        return (Verdict::Failed, Some(why));
    }
    if target.is_up() || rows.iter().any(|row| row.state == State::Stopping) {
        return (Verdict::Stopping, None);
    }
    (Verdict::Stopped, some_are(rows, is_running, "active"))
}

/// The word about a group whose target is active.
fn of_active(rows: &[Row]) -> (Verdict, Option<String>) {
    type Is = fn(&Row) -> bool;
    fn awaited(row: &Row) -> bool {
        row.member.start == Start::Auto
    }
    let checks: [(Is, Verdict, &str); 7] = [
        (is_failed, Verdict::Degraded, "failed"),
        (|row| awaited(row) && matches!(row.state, State::NotLoaded(_)), Verdict::Degraded, "not loaded"),
        (|row| row.state == State::Refused, Verdict::Degraded, "with a failed assertion"),
        (|row| row.state == State::Restarting, Verdict::Degraded, "in auto-restart"),
        (|row| row.state == State::Stopped, Verdict::Degraded, "inactive"),
        (|row| awaited(row) && row.state == State::Starting, Verdict::Starting, "starting"),
        (|row| awaited(row) && row.state == State::Stopping, Verdict::Degraded, "stopping"),
    ];
    let found = checks.into_iter().find_map(|(is, verdict, word)| Some((verdict, Some(some_are(rows, is, word)?))));
    found.unwrap_or((Verdict::Active, None))
}

/// The word about some members of a group.
pub fn verdict_of_part(rows: &[Row]) -> Verdict {
    let any = |is: fn(&Row) -> bool| rows.iter().any(is);
    let failed = any(|row| matches!(row.state, State::Failed(_) | State::Refused | State::NotLoaded(_)));
    let up = any(|row| matches!(row.state, State::Up | State::Done));
    match () {
        () if failed && up => Verdict::Degraded,
        () if failed => Verdict::Failed,
        () if any(|row| matches!(row.state, State::Starting | State::Restarting)) => Verdict::Starting,
        () if any(|row| row.state == State::Stopping) => Verdict::Stopping,
        () if !up => Verdict::Stopped,
        () if any(|row| row.state == State::Stopped) => Verdict::Degraded,
        () => Verdict::Active,
    }
}

fn is_failed(row: &Row) -> bool {
    matches!(row.state, State::Failed(_))
}

/// Whether it has a process; a setup step that stays active has none.
fn is_running(row: &Row) -> bool {
    matches!(row.state, State::Up | State::Restarting | State::Starting)
}

/// `web@1 and 2 others failed`
pub(super) fn some_are(rows: &[Row], is: impl Fn(&Row) -> bool, word: &str) -> Option<String> {
    let mut found = rows.iter().filter(|row| is(row));
    let first = &found.next()?.member.subject.label;
    Some(match found.count() {
        0 => format!("{first} {word}"),
        1 => format!("{first} and 1 other {word}"),
        more => format!("{first} and {more} others {word}"),
    })
}
