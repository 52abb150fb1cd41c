//! A group for programs: one JSON object on one line.

use serde_json::{Value, json};

use super::render::state;
use super::{Row, Status};
use crate::change::observe::members::{Kind, Start};
use crate::change::plan;

/// The status as one line of JSON, without a newline at its end. Moments are microseconds since the epoch, sizes are
/// bytes, `cpu_nsec` nanoseconds; what isn't known is null.
pub fn render(status: &Status) -> String {
    let resources = &status.resources;
    json!({
        "group": status.group,
        "description": status.description,
        "verdict": status.verdict.word(),
        "reason": status.reason,
        "files": status.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>(),
        "errors": status.errors,
        "since": status.since,
        "rolled_back": status.rolled_back,
        "memory": resources.memory,
        "memory_max": resources.memory_max,
        "cpu_nsec": resources.cpu_nsec,
        "tasks": resources.tasks,
        "needs_daemon_reload": status.needs_reload,
        "overrides": status.overrides.iter()
            .map(|(unit, path)| json!({ "unit": unit, "path": path.display().to_string() })).collect::<Vec<_>>(),
        "units": status.rows.iter().map(row).collect::<Vec<_>>(),
    })
    .to_string()
}

fn row(row: &Row) -> Value {
    let properties = row.properties.as_ref();
    json!({
        "unit": row.member.unit,
        "name": row.member.label,
        "kind": match row.member.kind {
            Kind::Process => "process",
            Kind::Setup => "setup",
            Kind::Socket => "socket",
            Kind::Timer => "timer",
        },
        "start": match row.member.start {
            Start::Auto => "auto",
            Start::Manual => "manual",
            Start::Timed => "timed",
            Start::Held => "held",
        },
        "gone": row.gone,
        "outdated": row.outdated.iter().map(plan::json::reason).collect::<Vec<_>>(),
        "pinned": Some(row.pinned).filter(|pinned| *pinned != 0),
        "state": state(row),
        "load_state": row.listed.load,
        "active_state": row.listed.active,
        "sub_state": row.listed.sub,
        "job": row.listed.job,
        "since": properties.and_then(|properties| properties.since),
        "pid": properties.and_then(|properties| properties.pid),
        "restarts": properties.map(|properties| properties.restarts),
        "memory": properties.and_then(|properties| properties.memory),
        "cpu_nsec": properties.and_then(|properties| properties.cpu_nsec),
        "result": properties.and_then(|properties| properties.result.as_ref()),
        "status_text": properties.map(|properties| properties.status_text.as_str()).filter(|text| !text.is_empty()),
        "last_line": row.last_line,
    })
}
