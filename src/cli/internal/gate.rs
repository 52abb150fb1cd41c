//! `copse internal ready`: the readiness gate. Exits when each unit that it waits for is ready, has exited, or failed
//! permanently. The target of a group requires it, so the target is only reached when the group is ready.
//!
//! The gate is not ordered after the processes: a start job stays queued during automatic restarts, so the gate would not
//! run, and its timeout would not count.

mod awaited;
mod report;

use std::collections::HashSet;
use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use self::awaited::{Awaited, Seen};
use self::report::Report;
use crate::basic::clock::Monotonic;
use crate::basic::scope::Scope;
use crate::cli::common::error::Error;
use crate::cli::common::exit::Exit;
use crate::cli::common::session::with_manager;
use crate::manager::readiness::{FirstLook, Standing, first_look, second_look};
use crate::manager::{Connected, EndedJob, Heard};

/// How often the units are looked at without a signal: not every change ends a job.
const POLL: Duration = Duration::from_millis(250);

/// The least time between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Waits for the units on standard input.
pub(super) fn run(scope: Scope, group: &str) -> Result<Exit, Error> {
    let mut text = String::new();
    std::io::stdin()
        .lock()
        .read_to_string(&mut text)
        .map_err(|error| Error::usage(format_args!("cannot read the units to wait for: {error}")))?;
    let awaited = awaited::parse(&text).map_err(Error::usage)?;
    if awaited.is_empty() {
        return Ok(Exit::Done);
    }
    let mut gate = Gate { group: group.to_owned(), awaited, report: Report::new(scope) };
    let waited = with_manager(scope, async |systemd| Ok(gate.wait(&systemd).await?));
    waited.map_err(|error| error.context(scope, format_args!("wait for group `{group}`")))
}

struct Gate {
    group: String,
    awaited: Vec<Awaited>,
    report: Report,
}

/// The times of this start, by the service manager's properties.
#[derive(Debug, Clone, Copy)]
struct Frame {
    /// When the group's start began.
    begin: Monotonic,
    /// `TimeoutStartSec=` of the gate, unless it is infinite.
    timeout: Option<Duration>,
    /// When the gate exits by itself: before the service manager kills it without a message.
    deadline: Option<Instant>,
}

impl Gate {
    async fn wait(&mut self, systemd: &Connected) -> zbus::Result<Exit> {
        let changed = self.follow_jobs(systemd).await?;
        let frame = self.frame(systemd).await?;
        let mut seen: Vec<Seen> = Vec::new();
        loop {
            let started = Instant::now();
            seen = self.look(systemd, frame.begin, seen).await?;
            let settled = seen.iter().all(|(_, standing)| standing.is_settled());
            if settled || frame.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return self.report.end(systemd, &self.awaited, &seen, frame.timeout).await;
            }
            self.report.progress(&self.awaited, &seen);
            // A look at a thousand units costs PID 1 milliseconds. This takes at most a fifth of its time.
            let look = started.elapsed();
            tokio::time::sleep(PAUSE.max(look * 4)).await;
            let poll = Instant::now() + POLL.max(look * 10);
            let until = frame.deadline.map_or(poll, |deadline| poll.min(deadline));
            let _ = tokio::time::timeout_at(until, changed.notified()).await;
        }
    }

    /// Notifies when a job of one of the units ended, or may have.
    async fn follow_jobs(&self, systemd: &Connected) -> zbus::Result<Arc<Notify>> {
        let units: HashSet<String> = self.awaited.iter().map(|awaited| awaited.unit.clone()).collect();
        let changed = Arc::new(Notify::new());
        let notify = Arc::clone(&changed);
        let hear = move |heard| {
            match heard {
                Heard::Signal(EndedJob { unit, .. }) if !units.contains(&unit) => {}
                _ => notify.notify_one(),
            }
            true
        };
        systemd.ended_jobs(hear).await?;
        Ok(changed)
    }

    async fn frame(&self, systemd: &Connected) -> zbus::Result<Frame> {
        let gate = format!("copse-ready@{}.service", self.group);
        let reset = format!("copse-reset@{}.service", self.group);
        let (own, reset, main, timeout) = tokio::try_join!(
            systemd.unit_time(&gate, "InactiveExitTimestampMonotonic"),
            systemd.unit_time(&reset, "InactiveExitTimestampMonotonic"),
            systemd.service_time(&gate, "ExecMainStartTimestampMonotonic"),
            systemd.service_property::<u64>(&gate, "TimeoutStartUSec"),
        )?;
        // The gate may begin long after the first processes, because it is ordered after the setup steps. The reset comes
        // before everything else at each start; if it is masked, the gate's own start has to do.
        let begin = reset.map_or(own, |reset| own.min(Some(reset)));
        let timeout = (timeout != u64::MAX).then(|| Duration::from_micros(timeout));
        let deadline = timeout.map(|timeout| {
            let spent = main.map_or(Duration::ZERO, |main| Monotonic::now().since(main));
            Instant::now() + timeout.saturating_sub(margin(timeout)).saturating_sub(spent)
        });
        Ok(Frame { begin: begin.unwrap_or(Monotonic::FIRST), timeout, deadline })
    }

    async fn look(&self, systemd: &Connected, begin: Monotonic, before: Vec<Seen>) -> zbus::Result<Vec<Seen>> {
        let names: Vec<&str> = self.awaited.iter().map(|awaited| awaited.unit.as_str()).collect();
        let rows = systemd.list(&names).await?;
        let mut before = before.into_iter();
        let mut seen = Vec::with_capacity(rows.len());
        for row in rows {
            let before = before.next();
            let standing = match first_look(&row) {
                FirstLook::Clear(standing) => standing,
                FirstLook::AskHistory => match before {
                    // Does not change while the row is the same. Asking for hundreds of units each time would cost.
                    Some((same, standing @ (Standing::Done | Standing::Skipped))) if same == row => standing,
                    _ => second_look(&systemd.properties(&row.name).await?, begin),
                },
            };
            seen.push((row, standing));
        }
        Ok(seen)
    }
}

/// How long before its timeout the gate exits by itself.
fn margin(timeout: Duration) -> Duration {
    (timeout / 20).clamp(Duration::from_millis(200), Duration::from_secs(2)).min(timeout / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gate_ends_a_little_before_its_time_out() {
        for (timeout, expected) in [(600_000, 2_000), (10_000, 500), (1_000, 200), (100, 50)] {
            assert_eq!(margin(Duration::from_millis(timeout)), Duration::from_millis(expected), "{timeout} ms");
        }
    }
}
