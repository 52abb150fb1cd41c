//! `copse internal ready`: the readiness gate. Exits when each unit that it waits for is ready, has exited, or failed
//! permanently. The target of a group requires it, so the target is only reached when the group is ready.
//!
//! The gate is not ordered after the processes: a start job stays queued during automatic restarts, so the gate would not
//! run, and its timeout would not count.

mod awaited;
mod report;

use std::io::Read as _;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use self::awaited::Awaited;
use self::report::Report;
use crate::basic::clock::Monotonic;
use crate::basic::scope::Scope;
use crate::cli::common::error::Error;
use crate::cli::common::exit::Exit;
use crate::cli::common::session::with_manager;
use crate::manager::Connected;
use crate::manager::jobs::Jobs;

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
        let jobs = Jobs::new(systemd).await?;
        let frame = self.frame(systemd).await?;
        let mut watch = jobs.watch(self.awaited.iter().map(|awaited| &*awaited.unit));
        let mut seen = Vec::new();
        let waiting = watch.until_ready(frame.begin, async |units| {
            seen = units.to_vec();
            let is_over = !units.iter().any(|(_, readiness)| readiness.is_pending());
            if !is_over {
                self.report.progress(&self.awaited, units);
            }
            Ok::<_, zbus::Error>(is_over.then_some(()))
        });
        match frame.deadline {
            // What is still waited for is reported.
            Some(deadline) => timeout_at(deadline, waiting).await.unwrap_or(Ok(()))?,
            None => waiting.await?,
        }
        self.report.end(systemd, &self.awaited, &seen, frame.timeout).await
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
