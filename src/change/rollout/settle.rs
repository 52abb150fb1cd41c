//! Whether a unit that became ready stays so, and is settled.

use std::convert::Infallible;
use std::time::Duration;

use tokio::time::Instant;

use crate::basic::clock::Monotonic;
use crate::basic::time_span;
use crate::change::observe::subject::Subject;
use crate::change::plan::Pace;
use crate::manager::jobs::{End, Request};
use crate::manager::state::JobResult;
use crate::manager::unit::UnitInfo;
use crate::unit::name;

use super::Rollout;
use super::event::Stop;
use super::interrupt::within;
use super::unit::{failed, units};

impl Rollout<'_> {
    /// Watches units that became ready for as long as their pace says, or for `canary` if that is longer, and waits until
    /// their `settled` probes succeed. It is a failure if one of them goes down meanwhile or is started again by systemd.
    pub(super) async fn prove(&self, subjects: &[&Subject], pace: &Pace, canary: Duration) -> Result<(), Stop> {
        let span = pace.min_ready.max(canary);
        if subjects.is_empty() || (span.is_zero() && pace.settled.is_empty()) {
            return Ok(());
        }
        let before = self.main_started(subjects).await?;
        let deadline = Instant::now() + span;
        let mut watch = self.jobs.watch(units(subjects));
        let watching = watch.until(async |infos| {
            must_be_up(subjects, infos)?;
            let left = deadline.saturating_duration_since(Instant::now());
            let what = format!("watched for another {}", seconds(left));
            subjects.iter().for_each(|subject| self.waits(subject, &what));
            Ok(None::<Infallible>)
        });
        within(Some(deadline), self.interrupt.once(), watching).await?;
        if !pace.settled.is_empty() {
            for subject in subjects {
                self.settle(subject, subjects).await?;
            }
        }
        must_be_up(subjects, &self.list(&units(subjects)).await?)?;
        match self.main_started(subjects).await?.iter().zip(&before).position(|(now, before)| now != before) {
            Some(index) => {
                let what = "became ready, and then exited and was started again by systemd";
                Err(failed(subjects[index], what.to_owned()))
            }
            None => Ok(()),
        }
    }

    /// Waits until the `settled` probes of a unit succeed. A generated unit runs them, with the user and the sandbox of the
    /// process. All of `watched` have to stay up meanwhile.
    async fn settle(&self, subject: &Subject, watched: &[&Subject]) -> Result<(), Stop> {
        let unit = name::settled(&subject.unit);
        let probes = Subject { unit: unit.clone(), ..subject.clone() };
        self.systemd().reset_failed(std::slice::from_ref(&unit)).await?;
        let job = self.enqueue(Request::Start, &probes).await?;
        let mut watch = self.jobs.watch(units(watched));
        let watching = watch.until(async |infos| {
            must_be_up(watched, infos)?;
            let text = self.status_text(&unit).await;
            self.waits(subject, text.as_deref().unwrap_or("not settled yet"));
            Ok::<_, Stop>(None::<Infallible>)
        });
        let end = tokio::select! {
            end = self.jobs.end(&job) => end.map_err(Stop::from),
            never = watching => never.map(|never| match never {}),
            () = self.interrupt.once() => Err(Stop::Interrupted),
        };
        match end {
            Ok(End::Result(JobResult::Done)) => Ok(()),
            // The manager was away when it ended. Whether the process still is what it was is checked next.
            Ok(End::Missed) if self.systemd().service_property::<String>(&unit, "Result").await? == "success" => Ok(()),
            // Together with the process, which is on its way down.
            Ok(End::Result(JobResult::Canceled)) => {
                Err(failed(subject, "became ready, and then was stopped".to_owned()))
            }
            Ok(_) => {
                let why = self.status_text(&unit).await.map(|text| format!(": {text}")).unwrap_or_default();
                Err(failed(subject, format!("ready, but not settled{why}")))
            }
            Err(stop) => {
                // The probes are of no use any more.
                let _ = self.jobs.enqueue(Request::Stop, &unit).await;
                Err(stop)
            }
        }
    }

    async fn status_text(&self, unit: &str) -> Option<String> {
        let text = self.systemd().service_property(unit, "StatusText").await;
        text.ok().filter(|text: &String| !text.is_empty())
    }

    /// When the main process of each unit was started: another time is another process.
    async fn main_started(&self, subjects: &[&Subject]) -> zbus::Result<Vec<Option<Monotonic>>> {
        let mut all = Vec::with_capacity(subjects.len());
        for subject in subjects {
            all.push(self.systemd().service_time(&subject.unit, "ExecMainStartTimestampMonotonic").await?);
        }
        Ok(all)
    }
}

fn must_be_up(subjects: &[&Subject], infos: &[UnitInfo]) -> Result<(), Stop> {
    match infos.iter().zip(subjects).find(|(info, _)| !info.is_up()) {
        Some((info, subject)) => {
            Err(failed(subject, format!("became ready, and then was {} ({})", info.active, info.sub)))
        }
        None => Ok(()),
    }
}

/// Whole seconds, rounded up.
fn seconds(span: Duration) -> String {
    time_span::format(Duration::from_secs(span.as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX)))
}
