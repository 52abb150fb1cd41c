//! Whether a unit that got ready stays so, and is settled.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::basic::clock::Monotonic;
use crate::change::observe::members::Subject;
use crate::change::plan::Pace;
use crate::manager::jobs::{End, Kind};
use crate::unit::name;

use super::Rollout;
use super::event::{Event, Stop};
use super::unit::{POLL, failed};
use crate::manager::state::JobResult;

/// Units and when their main processes were started: another process is another start.
type Watched<'s> = Vec<(&'s Subject, Option<Monotonic>)>;

impl Rollout<'_> {
    /// Watches units that just got ready for as long as their pace wants it, `extra` beyond that, and asks the probes of
    /// `settled`. One that is down meanwhile, or was started again by itself, isn't fit for its siblings to follow.
    pub(super) async fn prove(&self, subjects: &[&Subject], pace: &Pace, extra: Duration) -> Result<(), Stop> {
        let span = pace.min_ready.max(extra);
        if subjects.is_empty() || (span.is_zero() && pace.settled.is_empty()) {
            return Ok(());
        }
        let watched = self.started(subjects).await?;
        let deadline = Instant::now() + span;
        while let Some(left) = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            self.look(&watched).await?;
            let what = format!("watched for another {}", seconds(left));
            watched.iter().for_each(|(subject, _)| self.tell.tell(&Event::Waits { subject, what: &what }));
            tokio::select! {
                () = sleep(left.min(POLL)) => {}
                () = self.interrupt.once() => return Err(Stop::Interrupted),
            }
        }
        if !pace.settled.is_empty() {
            for (subject, _) in &watched {
                self.settle(subject, &watched).await?;
            }
        }
        self.look(&watched).await?;
        self.same(&watched).await
    }

    /// Waits until the probes of `settled` hold: a unit of the generator's runs them with the user and in the
    /// surroundings of the process.
    async fn settle(&self, subject: &Subject, watched: &Watched<'_>) -> Result<(), Stop> {
        let unit = name::settled(&subject.unit);
        let asks = Subject { unit: unit.clone(), label: subject.label.clone() };
        self.systemd().reset_failed(std::slice::from_ref(&unit)).await?;
        let job = self.enqueue(Kind::Start, &asks).await?;
        let ended = self.jobs.end(&job);
        tokio::pin!(ended);
        let held = loop {
            tokio::select! {
                end = &mut ended => break end.map_err(Stop::from),
                () = sleep(POLL) => {}
                () = self.interrupt.once() => break Err(Stop::Interrupted),
            }
            if let Err(stop) = self.look(watched).await {
                break Err(stop);
            }
            let text: String = self.systemd().service_property(&unit, "StatusText").await.unwrap_or_default();
            let what = if text.is_empty() { "not settled yet" } else { &text };
            self.tell.tell(&Event::Waits { subject, what });
        };
        match held {
            Ok(End::Result(JobResult::Done)) => Ok(()),
            // The manager was away when it ended; whether the process is still what it was is looked at next.
            Ok(End::Unheard) if self.systemd().service_property::<String>(&unit, "Result").await? == "success" => {
                Ok(())
            }
            // With the process: it is on its way down.
            Ok(End::Result(JobResult::Canceled)) => Err(failed(subject, "got ready, and then was stopped".to_owned())),
            Ok(_) => {
                let text: String = self.systemd().service_property(&unit, "StatusText").await.unwrap_or_default();
                let why = if text.is_empty() { String::new() } else { format!(": {text}") };
                Err(failed(subject, format!("ready, but not settled{why}")))
            }
            Err(stop) => {
                // Nobody waits for it any more.
                let _ = self.jobs.enqueue(Kind::Stop, &unit).await;
                Err(stop)
            }
        }
    }

    /// Fails where one of the units isn't up.
    async fn look(&self, watched: &Watched<'_>) -> Result<(), Stop> {
        let names: Vec<&str> = watched.iter().map(|(subject, _)| subject.unit.as_str()).collect();
        let rows = self.list(&names).await?;
        match rows.iter().zip(watched).find(|(row, _)| !row.is_up()) {
            Some((row, (subject, _))) => {
                Err(failed(subject, format!("got ready, and then was {} ({})", row.active, row.sub)))
            }
            None => Ok(()),
        }
    }

    /// Fails where one of the units has another main process than before.
    async fn same(&self, watched: &Watched<'_>) -> Result<(), Stop> {
        for (subject, before) in watched {
            if self.main_started(subject).await? != *before {
                return Err(failed(subject, "got ready, and then ended and was started again by systemd".to_owned()));
            }
        }
        Ok(())
    }

    async fn started<'s>(&self, subjects: &[&'s Subject]) -> Result<Watched<'s>, Stop> {
        let mut watched = Vec::with_capacity(subjects.len());
        for subject in subjects {
            watched.push((*subject, self.main_started(subject).await?));
        }
        Ok(watched)
    }

    async fn main_started(&self, subject: &Subject) -> zbus::Result<Option<Monotonic>> {
        self.systemd().service_time(&subject.unit, "ExecMainStartTimestampMonotonic").await
    }
}

/// Whole seconds, the begun one as well.
fn seconds(span: Duration) -> String {
    crate::basic::time_span::format(Duration::from_secs(span.as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX)))
}
