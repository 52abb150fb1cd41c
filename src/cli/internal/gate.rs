//! `copse internal ready`: the readiness gate. Ends when every unit it waits for is ready, done, or won't
//! come up any more; a group's target requires it, so that starting the target tells the truth.
//!
//! Not `After=` the processes: a start job of theirs that stays queued over automatic restarts would keep the
//! gate from running at all, and its time-out with it.

pub(crate) mod awaited;
mod report;

use std::collections::HashSet;
use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use self::awaited::Awaited;
use self::report::Report;
use crate::basic::clock::Monotonic;
use crate::basic::scope::Scope;
use crate::cli::common::exit::Exit;
use crate::cli::common::sd_daemon::{Level, line};
use crate::cli::common::session::block_on;
use crate::manager::readiness::{FirstLook, Standing, first_look, second_look};
use crate::manager::unit::UnitInfo;
use crate::manager::{Connected, EndedJob, Heard, connect};

/// Between two looks when no signal comes: some changes end no job, such as a process that dies.
const POLL: Duration = Duration::from_millis(250);

/// The least time between two looks, however many signals come.
const BREATH: Duration = Duration::from_millis(20);

/// Waits for the units named on standard input.
pub(super) fn run(scope: Scope, group: &str) -> Exit {
    let mut text = String::new();
    if let Err(error) = std::io::stdin().lock().read_to_string(&mut text) {
        line(Level::Error, format_args!("the units to wait for can't be read: {error}"));
        return Exit::Usage;
    }
    match awaited::parse(&text) {
        Ok(awaited) if awaited.is_empty() => Exit::Done,
        Ok(awaited) => block_on(Gate::new(scope, group, awaited).run()),
        Err(error) => {
            line(Level::Error, error);
            Exit::Usage
        }
    }
}

/// A unit's row at the last look, and what it meant.
type Seen = (UnitInfo, Standing);

struct Gate {
    scope: Scope,
    group: String,
    awaited: Vec<Awaited>,
    report: Report,
}

/// The frame of this start, as the manager has it.
#[derive(Debug, Clone, Copy)]
struct Frame {
    /// When the group's start began.
    begin: Monotonic,
    /// The gate's `TimeoutStartSec=`, unless it is infinite.
    timeout: Option<Duration>,
    /// When to end by itself: a little before the manager would kill the gate without a word.
    deadline: Option<Instant>,
}

impl Gate {
    fn new(scope: Scope, group: &str, awaited: Vec<Awaited>) -> Self {
        Self { scope, group: group.to_owned(), awaited, report: Report::new(scope) }
    }

    async fn run(mut self) -> Exit {
        let ended = match connect(self.scope).await {
            Ok(systemd) => self.wait(&systemd).await.map_err(|error| format!("can't wait any longer: {error}")),
            Err(error) => Err(error.to_string()),
        };
        ended.unwrap_or_else(|error| {
            line(Level::Error, error);
            Exit::Failed
        })
    }

    async fn wait(&mut self, systemd: &Connected) -> zbus::Result<Exit> {
        let changed = self.follow_jobs(systemd).await?;
        let frame = self.frame(systemd).await?;
        let mut seen: Vec<Seen> = Vec::new();
        loop {
            let started = Instant::now();
            seen = self.look(systemd, frame.begin, seen).await?;
            let settled = seen.iter().all(|(_, standing)| standing.is_settled());
            let late = frame.deadline.is_some_and(|end| Instant::now() >= end);
            if settled || late {
                return self.report.end(systemd, &self.awaited, &seen, frame.timeout).await;
            }
            self.report.progress(&self.awaited, &seen);
            // A look at a thousand units costs PID 1 milliseconds: never take more than a fifth of its time.
            let look = started.elapsed();
            tokio::time::sleep(BREATH.max(look * 4)).await;
            let poll = Instant::now() + POLL.max(look * 10);
            let until = frame.deadline.map_or(poll, |end| poll.min(end));
            tokio::select! {
                () = changed.notified() => {}
                () = tokio::time::sleep_until(until) => {}
            }
        }
    }

    /// Notifies when a job of one of the units ended, or may have.
    async fn follow_jobs(&self, systemd: &Connected) -> zbus::Result<Arc<Notify>> {
        let units: HashSet<String> = self.awaited.iter().map(|a| a.unit.clone()).collect();
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
        // The gate may begin long after the first processes, as it comes after the setup steps. The reset
        // comes before everything else at each start; without it (masked) the gate's own start has to do.
        let begin = reset.map_or(own, |reset| own.min(Some(reset)));
        let timeout = (timeout != u64::MAX).then(|| Duration::from_micros(timeout));
        let deadline = timeout.map(|timeout| {
            let spent = main.map_or(Duration::ZERO, |main| Monotonic::now().since(main));
            Instant::now() + timeout.saturating_sub(margin(timeout)).saturating_sub(spent)
        });
        Ok(Frame { begin: begin.unwrap_or(Monotonic::FIRST), timeout, deadline })
    }

    async fn look(&self, systemd: &Connected, begin: Monotonic, before: Vec<Seen>) -> zbus::Result<Vec<Seen>> {
        let names: Vec<&str> = self.awaited.iter().map(|a| a.unit.as_str()).collect();
        let rows = systemd.list(&names).await?;
        let mut before = before.into_iter();
        let mut seen = Vec::with_capacity(rows.len());
        for row in rows {
            let before = before.next();
            let standing = match first_look(&row) {
                FirstLook::Clear(standing) => standing,
                FirstLook::AskHistory => match before {
                    // A good end doesn't get worse; asking five hundred units again at each look would cost.
                    Some((same, standing @ (Standing::Done | Standing::Skipped))) if same == row => standing,
                    _ => second_look(&systemd.properties(&row.name).await?, begin),
                },
            };
            seen.push((row, standing));
        }
        Ok(seen)
    }
}

/// How long before the manager's time-out the gate ends by itself.
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
