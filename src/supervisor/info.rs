//! What clients read of a process: the structs of `getProcessInfo` and `getAllConfigInfo`, with all fields always there
//! and of their type, as clients in Go decode them into fixed types.

use std::time::Duration;

use super::value::Value;
use crate::basic::clock::Realtime;
use crate::basic::local_time;
use crate::manager::cause::ProcessEnd;
use crate::manager::process_state::{ProcessState, reason};
use crate::manager::properties::Properties;
use crate::model::supervisor_table::Entry;

/// The struct of `getProcessInfo`.
pub fn process(entry: &Entry, unit: &Properties, state: ProcessState, now: Realtime) -> Value {
    let pid = if state.is_signallable() { unit.pid.unwrap_or(0) } else { 0 };
    let exit_status = match unit.main_end {
        _ if state.is_up() || state == ProcessState::Stopping => 0,
        Some(ProcessEnd::Exited(status)) => status,
        Some(ProcessEnd::Killed(_)) => -1,
        None => 0,
    };
    let seconds = |time: Option<Realtime>| Value::number(time.map_or(0, |time| time.micros() / 1_000_000));
    let spawn_error = reason(unit, state);
    Value::structure([
        ("name", Value::text(&entry.name)),
        ("group", Value::text(&entry.group)),
        ("start", seconds(unit.main_started_at)),
        ("stop", seconds(unit.main_exited_at)),
        ("now", seconds(Some(now))),
        ("state", Value::Int(state.code())),
        ("statename", Value::text(state.name())),
        ("spawnerr", Value::text(&spawn_error)),
        ("exitstatus", Value::Int(exit_status)),
        ("logfile", Value::text("")),
        ("stdout_logfile", Value::text("")),
        ("stderr_logfile", Value::text("")),
        ("pid", Value::number(pid.into())),
        ("description", Value::text(description(unit, state, pid, &spawn_error, now))),
    ])
}

fn description(unit: &Properties, state: ProcessState, pid: u32, spawn_error: &str, now: Realtime) -> String {
    match state {
        ProcessState::Running => {
            let up = unit.main_started_at.map_or(Duration::ZERO, |start| now.since(start));
            format!("pid {pid}, uptime {}", uptime(up))
        }
        ProcessState::Fatal | ProcessState::Backoff => spawn_error.to_owned(),
        ProcessState::Stopped | ProcessState::Exited => match (unit.main_started_at, unit.main_exited_at) {
            (Some(_), Some(stop)) => time_of_day(stop.micros()),
            _ => "Not started".to_owned(),
        },
        _ => String::new(),
    }
}

/// `1 day, 2:03:04`, as Python prints a timedelta.
fn uptime(up: Duration) -> String {
    let seconds = up.as_secs();
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let clock = format!("{}:{:02}:{:02}", rest / 3_600, rest / 60 % 60, rest % 60);
    match days {
        0 => clock,
        1 => format!("1 day, {clock}"),
        days => format!("{days} days, {clock}"),
    }
}

/// `Dec 03 01:05 PM`, in the local time zone.
fn time_of_day(micros: u64) -> String {
    let Some(local) = local_time::local(micros) else { return String::new() };
    let mut words = local.split(' ');
    let (Some(month), Some(day), Some(clock)) = (words.next(), words.next(), words.next()) else { return local };
    let mut numbers = clock.split(':');
    let (Some(hour), Some(minute)) = (numbers.next().and_then(|hour| hour.parse::<u32>().ok()), numbers.next()) else {
        return local;
    };
    let half = if hour < 12 { "AM" } else { "PM" };
    format!("{month} {day} {:02}:{minute} {half}", (hour + 11) % 12 + 1)
}

/// The struct of `getAllConfigInfo`. What a unit has no counterpart of has supervisord's default.
pub fn config(entry: &Entry, in_use: bool, command: &str) -> Value {
    let none = || Value::text("none");
    let number = |number: u64| Value::number(number);
    Value::structure([
        ("autostart", Value::Boolean(entry.auto)),
        ("command", Value::text(command)),
        ("directory", none()),
        ("exitcodes", Value::Array(vec![Value::Int(0)])),
        ("group", Value::text(&entry.group)),
        ("group_prio", Value::Int(999)),
        ("inuse", Value::Boolean(in_use)),
        ("killasgroup", Value::Boolean(true)),
        ("name", Value::text(&entry.name)),
        ("process_prio", Value::Int(999)),
        ("redirect_stderr", Value::Boolean(true)),
        ("serverurl", Value::text("auto")),
        ("startretries", Value::Int(3)),
        ("startsecs", number(entry.settle.as_secs())),
        ("stderr_capture_maxbytes", Value::Int(0)),
        ("stderr_events_enabled", Value::Boolean(false)),
        ("stderr_logfile", none()),
        ("stderr_logfile_backups", Value::Int(0)),
        ("stderr_logfile_maxbytes", Value::Int(0)),
        ("stderr_syslog", Value::Boolean(false)),
        ("stdout_capture_maxbytes", Value::Int(0)),
        ("stdout_events_enabled", Value::Boolean(false)),
        ("stdout_logfile", none()),
        ("stdout_logfile_backups", Value::Int(0)),
        ("stdout_logfile_maxbytes", Value::Int(0)),
        ("stdout_syslog", Value::Boolean(true)),
        ("stopsignal", Value::Int(libc::SIGTERM)),
        ("stopwaitsecs", Value::Int(10)),
        ("uid", none()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_uptime_reads_as_pythons() {
        for (seconds, expected) in
            [(0, "0:00:00"), (3_725, "1:02:05"), (86_400, "1 day, 0:00:00"), (200_000, "2 days, 7:33:20")]
        {
            assert_eq!(uptime(Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn a_time_of_day_has_twelve_hours() {
        let text = time_of_day(1_700_000_000_000_000);
        assert!(text.starts_with("Nov 1") && (text.ends_with(" AM") || text.ends_with(" PM")), "{text}");
        assert_eq!(text.len(), "Nov 14 10:13 PM".len());
    }

    #[test]
    fn every_field_is_there_and_of_its_type() {
        let entry = Entry {
            group: "g".to_owned(),
            name: "p".to_owned(),
            unit: "u.service".to_owned(),
            auto: true,
            settle: Duration::ZERO,
            client: false,
            own_view: false,
        };
        let now = Realtime::from_micros(5_000_000_000_000_000).unwrap();
        let unit = Properties { pid: Some(7), ..Properties::default() };
        let Value::Struct(fields) = process(&entry, &unit, ProcessState::Running, now) else { panic!() };
        assert_eq!(fields.len(), 14);
        assert_eq!(fields["now"], Value::Int(i32::MAX), "cut off in 2038");
        assert_eq!((&fields["pid"], &fields["description"]), (&Value::Int(7), &Value::text("pid 7, uptime 0:00:00")));
        let Value::Struct(fields) = process(&entry, &unit, ProcessState::Backoff, now) else { panic!() };
        assert_eq!((&fields["pid"], &fields["exitstatus"]), (&Value::Int(0), &Value::Int(0)));
        let Value::Struct(fields) = config(&entry, true, "/bin/true") else { panic!() };
        assert_eq!(fields.len(), 29);
    }
}
