//! Units in the states that the tests are about.

use crate::basic::clock::Realtime;
use crate::change::observe::members::{Kind, Member, Start};
use crate::change::observe::subject::Subject;
use crate::manager::properties::Properties;
use crate::manager::state::{JobType, UnitResult};
use crate::manager::unit::UnitInfo;
use crate::status::types::Row;

/// Now, in the pictures.
pub const NOW: u64 = 1_700_000_000_000_000;

pub fn ago(seconds: u64) -> Option<Realtime> {
    Realtime::from_micros(NOW - seconds * 1_000_000)
}

/// `active/running`, `inactive/dead`, with a job behind a blank: `inactive/dead start`.
pub fn info(unit: &str, states: &str) -> UnitInfo {
    let (states, job) = states.split_once(' ').map_or((states, None), |(states, job)| (states, Some(job)));
    let (active, sub) = states.split_once('/').unwrap();
    let (load, active) = active.split_once(':').unwrap_or(("loaded", active));
    UnitInfo {
        name: unit.to_owned(),
        load: load.into(),
        active: active.into(),
        sub: sub.into(),
        job: job.map(JobType::from),
    }
}

pub fn member(label: &str, kind: Kind, start: Start) -> Member {
    let suffix = if kind == Kind::Socket { "" } else { ".service" };
    let subject = Subject::new("knot-resolver", &format!("knot-resolver-{label}{suffix}"));
    Member { subject, kind, start, process: None, defined: true }
}

pub fn row_of(member: Member, states: &str, properties: Properties) -> Row {
    let info = info(member.unit(), states);
    Row::new(member, info, Some(properties))
}

pub fn row(label: &str, states: &str) -> Row {
    let result = Some(UnitResult::Success);
    row_of(member(label, Kind::Process, Start::Auto), states, Properties { result, ..Properties::default() })
}

pub fn setup(label: &str, states: &str) -> Row {
    row_of(member(label, Kind::Setup, Start::Auto), states, Properties::default())
}
