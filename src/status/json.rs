//! A group for programs: one JSON object on one line.

use std::borrow::Cow;

use serde::Serialize;

use super::types::{Row, Status};
use super::words::Words;
use crate::basic::clock::Realtime;
use crate::change::observe::members::{Kind, Start};
use crate::change::plan::Reason;
use crate::manager::properties::Properties;
use crate::manager::state::{ActiveState, JobType, LoadState, SubState, UnitResult};

/// Times are microseconds since the epoch, sizes are bytes; what is unknown is null.
#[derive(Serialize)]
struct StatusView<'s> {
    cpu_nsec: Option<u64>,
    description: Option<&'s str>,
    errors: usize,
    files: Vec<Cow<'s, str>>,
    group: &'s str,
    memory: Option<u64>,
    memory_max: Option<u64>,
    needs_daemon_reload: usize,
    overrides: Vec<OverrideView<'s>>,
    reason: Option<&'s str>,
    rolled_back: Option<Realtime>,
    since: Option<Realtime>,
    tasks: Option<u64>,
    units: Vec<UnitView<'s>>,
    verdict: &'static str,
}

#[derive(Serialize)]
struct OverrideView<'s> {
    path: Cow<'s, str>,
    unit: &'s str,
}

#[derive(Serialize)]
struct UnitView<'s> {
    active_state: &'s ActiveState,
    cpu_nsec: Option<u64>,
    gone: bool,
    job: Option<&'s JobType>,
    kind: Kind,
    last_line: Option<&'s str>,
    load_state: &'s LoadState,
    memory: Option<u64>,
    name: &'s str,
    outdated: &'s [Reason],
    pid: Option<u32>,
    pinned: Option<Realtime>,
    restarts: Option<u32>,
    result: Option<&'s UnitResult>,
    since: Option<Realtime>,
    start: Start,
    state: String,
    status_text: Option<&'s str>,
    sub_state: &'s SubState,
    unit: &'s str,
}

/// The status as one line of JSON, without a newline at its end.
pub fn render(status: &Status) -> String {
    let view = StatusView {
        cpu_nsec: status.resources.cpu_nsec,
        description: status.description.as_deref(),
        errors: status.errors,
        files: status.files.iter().map(|file| file.to_string_lossy()).collect(),
        group: &status.group,
        memory: status.resources.memory,
        memory_max: status.resources.memory_max,
        needs_daemon_reload: status.needs_reload,
        overrides: status
            .overrides
            .iter()
            .map(|(unit, path)| OverrideView { path: path.to_string_lossy(), unit })
            .collect(),
        reason: status.reason.as_deref(),
        rolled_back: status.rolled_back,
        since: status.since,
        tasks: status.resources.tasks,
        units: status.rows.iter().map(unit).collect(),
        verdict: status.verdict.word(),
    };
    // Paths in reasons are texts of a group file, and the keys of all objects are texts: that cannot fail.
    serde_json::to_string(&view).unwrap_or_default()
}

fn unit(row: &Row) -> UnitView<'_> {
    let properties = row.properties.as_ref();
    let and = |value: fn(&Properties) -> Option<u64>| properties.and_then(value);
    UnitView {
        active_state: &row.info.active,
        cpu_nsec: and(|properties| properties.cpu_nsec),
        gone: row.orphaned,
        job: row.info.job.as_ref(),
        kind: row.member.kind,
        last_line: row.last_line.as_deref(),
        load_state: &row.info.load,
        memory: and(|properties| properties.memory),
        name: &row.member.subject.label,
        outdated: &row.outdated,
        pid: properties.and_then(|properties| properties.pid),
        pinned: row.pinned,
        restarts: properties.map(|properties| properties.restarts),
        result: properties.and_then(|properties| properties.result.as_ref()),
        since: properties.and_then(|properties| properties.since),
        start: row.member.start,
        state: Words::of(row).json,
        status_text: properties.map(|properties| &*properties.status_text).filter(|text| !text.is_empty()),
        sub_state: &row.info.sub,
        unit: row.member.unit(),
    }
}
