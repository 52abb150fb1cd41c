//! A whole group at once: what its target pulls in or takes down, and what becomes of each unit.

use std::cell::Cell;
use std::collections::HashSet;
use std::future::pending;

use tokio::time::Instant;

use crate::basic::clock::Monotonic;
use crate::change::observe::subject::Subject;
use crate::change::plan::Reason;
use crate::manager::jobs::{End, Request};
use crate::manager::readiness::{Readiness, StartFailure};
use crate::manager::state::LoadState;
use crate::manager::unit::UnitInfo;

use super::Rollout;
use super::event::{Event, Failure, Problem, Stop, UnitOutcome};
use super::interrupt::within;
use super::unit::{outcome_of_stop, units};

impl Rollout<'_> {
    /// Starts the target, and waits until each of `members` is ready, has exited, or does not become ready any more. Returns
    /// the failures, which were reported.
    ///
    /// The target's job alone is not enough: if the target is active already, it is over before the members are started.
    ///
    /// # Errors
    /// Why they could not be started, or not be watched.
    pub async fn start_group(&self, target: &Subject, members: &[Subject]) -> Result<Vec<Failure>, Stop> {
        let names: Vec<&str> = members.iter().map(|subject| subject.unit.as_str()).collect();
        let begin = Monotonic::now();
        let before = self.list(&names).await?;
        let was_up: HashSet<&str> = before.iter().filter(|info| info.is_up()).map(|info| info.name.as_str()).collect();
        let job = self.enqueue(Request::Start, target).await?;
        let down: Vec<&Subject> = members.iter().filter(|subject| !was_up.contains(&*subject.unit)).collect();
        down.iter().for_each(|subject| self.begins("start", subject));
        let deadline = self.limit.map(|limit| Instant::now() + limit);
        let mut pending_units: Vec<bool> = vec![true; down.len()];
        let mut failures = Vec::new();
        // How good the end of the target's job is.
        let end: Cell<Option<bool>> = Cell::new(None);
        let mut watch = self.jobs.watch(units(&down).into_iter().chain([target.unit.as_str()]));
        let watching = watch.until_ready(begin, async |all| {
            // The job's end is known before the states that are judged by it.
            let end = end.get();
            for ((subject, is_pending), (_, readiness)) in down.iter().zip(&mut pending_units).zip(all) {
                if !*is_pending {
                    continue;
                }
                *is_pending = self.reach(subject, readiness, &mut failures).await?;
            }
            let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            let over = end.is_some_and(|good| late || !good) || end.is_some() && !pending_units.contains(&true);
            Ok::<_, Stop>(over.then_some(()))
        });
        let mut bad_end = None;
        let ending = async {
            let ended = self.jobs.end(&job).await?;
            end.set(Some(ended.may_be_good()));
            bad_end = Some(ended).filter(|end| !end.may_be_good());
            pending::<Result<(), Stop>>().await
        };
        tokio::select! {
            watched = watching => watched?,
            ended = ending => ended?,
            () = self.interrupt.once() => return Err(Stop::Interrupted),
        }
        for (subject, _) in down.iter().zip(&pending_units).filter(|(_, is_pending)| **is_pending) {
            self.fail("start", Failure::new(subject, "not ready when the start ended".to_owned()), &mut failures);
        }
        if let (Some(End::Result(result)), true) = (bad_end, failures.is_empty()) {
            self.fail("start", Failure::new(target, format!("the start ended with `{result}`")), &mut failures);
        }
        Ok(failures)
    }

    /// Reports what became of a unit that is started with its group; returns whether that is still open.
    async fn reach(&self, subject: &Subject, readiness: &Readiness, failures: &mut Vec<Failure>) -> zbus::Result<bool> {
        let outcome = match readiness {
            Readiness::Ready => UnitOutcome::Ready,
            Readiness::Exited => UnitOutcome::Exited,
            Readiness::Skipped => UnitOutcome::Skipped,
            Readiness::Masked => UnitOutcome::Masked,
            Readiness::Pending(state) => {
                self.waits(subject, state);
                return Ok(true);
            }
            Readiness::Failed(why) => {
                let failure = match why {
                    StartFailure::Failed => self.failure(subject).await?,
                    why => Failure::new(subject, why.to_string()),
                };
                self.fail("start", failure, failures);
                return Ok(false);
            }
        };
        self.reached("start", subject, outcome);
        Ok(false)
    }

    /// Stops the target, and waits until the last of `members` is down: the target's own job is over before any of them has
    /// stopped, because a target stops before the units that it is ordered after.
    ///
    /// # Errors
    /// Why they could not be stopped, or not be watched.
    pub async fn stop_group(&self, target: &Subject, members: &[Subject]) -> Result<(), Stop> {
        let names: Vec<&str> = members.iter().map(|subject| subject.unit.as_str()).collect();
        let before = self.list(&names).await?;
        let mut up: Vec<&Subject> =
            members.iter().zip(&before).filter(|(_, info)| !info.is_down()).map(|(subject, _)| subject).collect();
        self.thaw_first(&up).await?;
        let job = self.enqueue(Request::Stop, target).await?;
        up.iter().for_each(|subject| self.begins("stop", subject));
        // A unit that was masked while it runs is not part of the target any more.
        let masked = |info: &UnitInfo| info.load == LoadState::Masked && !info.is_down();
        for (subject, _) in members.iter().zip(&before).filter(|(_, info)| masked(info)) {
            self.enqueue(Request::Stop, subject).await?;
        }
        self.jobs.end(&job).await?;
        if up.is_empty() {
            return Ok(());
        }
        let mut watch = self.jobs.watch(units(&up));
        let down = watch.until(async |infos| {
            up.retain(|subject| {
                let Some(info) = infos.iter().find(|info| info.name == subject.unit) else { return false };
                match info.is_down() {
                    true => self.reached("stop", subject, outcome_of_stop(info)),
                    false => self.waits(subject, info.sub.as_str()),
                }
                !info.is_down()
            });
            Ok(up.is_empty().then_some(()))
        });
        within(None, self.interrupt.once(), down).await.map(drop)
    }

    fn reached(&self, action: &'static str, subject: &Subject, outcome: UnitOutcome) {
        self.reporter.report(&Event::Ends { action, subject, reasons: &[Reason::Requested], end: Ok(outcome) });
    }

    fn fail(&self, action: &'static str, failure: Failure, failures: &mut Vec<Failure>) {
        let (subject, end) = (&failure.subject, Err(Problem::Failed(&failure)));
        self.reporter.report(&Event::Ends { action, subject, reasons: &[Reason::Requested], end });
        failures.push(failure);
    }
}
