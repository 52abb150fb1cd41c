//! What a group is at this moment: from the states of its units to one word about all of them.
//!
//! Everything here sees plain values only; [`crate::manager::properties`] brings them home, [`render`] and [`json`] show
//! them. The words are systemd's (`active`, `failed`, …), which says more where it needs more than one.

#[cfg(test)]
mod fixtures;
pub mod json;
pub mod render;
#[cfg(test)]
mod tests;

use crate::change::observe::state::{State, Whole};
use std::path::PathBuf;

use crate::change::observe::members::{Kind, Member, Start};
use crate::change::plan::Reason;
use crate::manager::properties::Properties;
use crate::manager::state::{ActiveState, JobType};
use crate::manager::unit::UnitInfo;

/// A member of a group, as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Which.
    pub member: Member,
    /// Its states in systemd's words.
    pub listed: UnitInfo,
    /// The rest, where it was asked for.
    pub properties: Option<Properties>,
    /// What that means.
    pub state: State,
    /// It runs, but its group file has no such process any more.
    pub gone: bool,
    /// It runs, but not with what the files say: why it would have to be refreshed.
    pub outdated: Vec<Reason>,
    /// Since when it is pinned to an older definition, in microseconds since the epoch; zero: it isn't.
    pub pinned: u64,
    /// The last line in its journal, of one that failed.
    pub last_line: Option<String>,
}

impl Row {
    /// What is seen of a member; nothing is compared with its file yet.
    pub fn new(member: Member, listed: UnitInfo, properties: Option<Properties>) -> Self {
        let state = State::of(&member, &listed, properties.as_ref());
        Self { member, listed, properties, state, gone: false, outdated: Vec::new(), pinned: 0, last_line: None }
    }
}

/// One word about a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// All of it that should be up is.
    Active,
    /// It is up, but not all of it.
    Degraded,
    /// It is starting.
    Starting,
    /// It is stopping.
    Stopping,
    /// It isn't up, because nobody started it or somebody stopped it.
    Stopped,
    /// Its start failed, or it gave up.
    Failed,
}

impl Verdict {
    /// The word: systemd's, where it has one.
    pub fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Degraded => "degraded",
            Self::Starting => "starting",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
        }
    }
}

/// A group, or what was asked about of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// Its name.
    pub group: String,
    /// `description`
    pub description: Option<String>,
    /// Its file and drop-ins; none where the file was removed while it runs.
    pub files: Vec<PathBuf>,
    /// How many errors its file has; its last good units are in force then, if there are any.
    pub errors: usize,
    /// The first of them, in a line with its place.
    pub first_error: Option<String>,
    /// One word.
    pub verdict: Verdict,
    /// What the word rests on, where it doesn't speak for itself.
    pub reason: Option<String>,
    /// `G.target` is active since then, in microseconds since the epoch.
    pub since: Option<u64>,
    /// Of the slice that the whole group is in.
    pub resources: Resources,
    /// The whole group is pinned to its last complete apply, since then (microseconds since the epoch), whatever its files
    /// say: `copse apply --rollback`.
    pub rolled_back: Option<u64>,
    /// Units of the group whose files changed since systemd read them.
    pub needs_reload: usize,
    /// Unit files and drop-ins that aren't copse's: `unit`, path.
    pub overrides: Vec<(String, PathBuf)>,
    /// The members, in the order of [`members`].
    pub rows: Vec<Row>,
}

/// What a slice or a service takes. `None`: not accounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Resources {
    /// `MemoryCurrent=`, in bytes.
    pub memory: Option<u64>,
    /// `MemoryMax=`, in bytes; `None` also for `infinity`.
    pub memory_max: Option<u64>,
    /// `CPUUsageNSec=`
    pub cpu_nsec: Option<u64>,
    /// `TasksCurrent=`
    pub tasks: Option<u64>,
}

/// The word about a group, and what it rests on.
pub fn judge(whole: &Whole, rows: &[Row]) -> (Verdict, Option<String>) {
    if whole.gave_up {
        return (Verdict::Failed, named(rows, is_failed, "failed").map(|what| format!("stopped when {what}")));
    }
    if whole.target.is_starting() || whole.gate.is_starting() {
        let text = Some(whole.waits_for.clone()).filter(|text| !text.is_empty());
        return (Verdict::Starting, text);
    }
    if whole.target.is_up() && whole.target.job != Some(JobType::Stop) {
        return of_active(rows);
    }
    let of_setup = |row: &Row| row.member.kind == Kind::Setup && is_failed(row);
    if whole.gate.active == ActiveState::Failed || rows.iter().any(of_setup) {
        return (Verdict::Failed, Some(start_failed(rows)));
    }
    if whole.target.is_up() || rows.iter().any(|row| row.state == State::Stopping) {
        return (Verdict::Stopping, None);
    }
    (Verdict::Stopped, named(rows, is_running, "active"))
}

fn start_failed(rows: &[Row]) -> String {
    named(rows, |row| is_failed(row) || row.state == State::Refused, "failed to start")
        .unwrap_or_else(|| "the start failed".to_owned())
}

/// The word about a group whose target is active.
fn of_active(rows: &[Row]) -> (Verdict, Option<String>) {
    type Is = fn(&Row) -> bool;
    let wrong: [(Is, &str); 5] = [
        (is_failed, "failed"),
        (|row| row.member.start == Start::Auto && matches!(row.state, State::NotLoaded(_)), "not loaded"),
        (|row| row.state == State::Refused, "refused by an Assert…="),
        (|row| row.state == State::Restarting, "waiting for a restart"),
        (|row| row.state == State::Stopped, "stopped"),
    ];
    for (is, word) in wrong {
        if let Some(what) = named(rows, is, word) {
            return (Verdict::Degraded, Some(what));
        }
    }
    let awaited = |row: &Row| row.member.start == Start::Auto;
    for (state, verdict, word) in
        [(State::Starting, Verdict::Starting, "starting"), (State::Stopping, Verdict::Degraded, "stopping")]
    {
        if let Some(what) = named(rows, |row| awaited(row) && row.state == state, word) {
            return (verdict, Some(what));
        }
    }
    (Verdict::Active, None)
}

/// The word about some members of a group, where only those were asked about.
pub fn judge_part(rows: &[Row]) -> (Verdict, Option<String>) {
    let any = |is: fn(&Row) -> bool| rows.iter().any(is);
    let not_started = |row: &Row| matches!(row.state, State::Refused | State::NotLoaded(_));
    let failed = rows.iter().filter(|row| is_failed(row) || not_started(row)).count();
    let up = rows.iter().filter(|row| matches!(row.state, State::Up | State::Done)).count();
    let verdict = match () {
        () if failed > 0 && up > 0 => Verdict::Degraded,
        () if failed > 0 => Verdict::Failed,
        () if any(|row| matches!(row.state, State::Starting | State::Restarting)) => Verdict::Starting,
        () if any(|row| row.state == State::Stopping) => Verdict::Stopping,
        () if up == 0 => Verdict::Stopped,
        () if any(|row| row.state == State::Stopped) => Verdict::Degraded,
        () => Verdict::Active,
    };
    (verdict, None)
}

fn is_failed(row: &Row) -> bool {
    matches!(row.state, State::Failed(_))
}

/// Whether something of it runs; a setup step that stays active doesn't.
fn is_running(row: &Row) -> bool {
    matches!(row.state, State::Up | State::Restarting | State::Starting)
}

/// `web@1 and 2 others failed`
fn named(rows: &[Row], is: impl Fn(&Row) -> bool, word: &str) -> Option<String> {
    let mut found = rows.iter().filter(|row| is(row));
    let first = &found.next()?.member.label;
    Some(match found.count() {
        0 => format!("{first} {word}"),
        1 => format!("{first} and another {word}"),
        more => format!("{first} and {more} others {word}"),
    })
}
