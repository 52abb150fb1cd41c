//! One unit: the job, and what becomes of the unit.

use std::cell::RefCell;

use tokio::time::Instant;

use crate::basic::clock::Monotonic;
use crate::basic::time_span;
use crate::change::observe::subject::Subject;
use crate::manager::jobs::{End, Job, Request};
use crate::manager::readiness::{Readiness, StartFailure};
use crate::manager::state::{ActiveState, JobResult, LoadState};
use crate::manager::unit::UnitInfo;
use crate::manager::{is_masked, is_unknown};

use super::Rollout;
use super::event::{Failure, Stop, UnitOutcome};
use super::interrupt::within;

impl Rollout<'_> {
    /// Starts or restarts a unit and waits until it is ready, has exited, or does not become ready any more. A start that
    /// fails is retried by systemd until the start limit is hit.
    pub(super) async fn bring_up(&self, request: Request, subject: &Subject) -> Result<UnitOutcome, Stop> {
        let begin = Monotonic::now();
        // Earlier failures are not this start's, and starts by hand count towards the limit as well.
        self.systemd().reset_failed(&self.forgotten(subject).await?).await?;
        let mut watch = self.jobs.watch([&subject.unit]);
        let job = match self.enqueue(request, subject).await {
            Err(Stop::Manager(error)) if self.masks(subject, &error).await? => return Ok(UnitOutcome::Masked),
            job => job?,
        };
        let deadline = self.limit.map(|limit| Instant::now() + limit);
        let state = RefCell::default();
        let ready = watch.until_ready(begin, async |units| {
            let [(info, readiness)] = units else { return Ok(Some(Readiness::Failed(StartFailure::NeverStarted))) };
            let Readiness::Pending(now) = readiness else { return Ok(Some(readiness.clone())) };
            self.waits(subject, now);
            state.replace(now.clone());
            let between_attempts =
                info.sub.awaits_restart() && (info.job.is_none() || info.active == ActiveState::Activating);
            if between_attempts && self.shares_a_socket(subject).await? {
                return Err(self.give_up(subject).await?);
            }
            Ok(None)
        });
        match within(deadline, self.interrupt.twice(), ready).await? {
            Some(Readiness::Ready) => Ok(UnitOutcome::Ready),
            Some(Readiness::Exited) => Ok(UnitOutcome::Exited),
            Some(Readiness::Skipped) => Ok(UnitOutcome::Skipped),
            Some(Readiness::Masked) => Ok(UnitOutcome::Masked),
            Some(Readiness::Failed(why)) => Err(Stop::Failed(self.start_failure(subject, &job, why).await?)),
            Some(Readiness::Pending(_)) | None => {
                let limit = time_span::format(self.limit.unwrap_or_default());
                Err(failed(subject, format!("not ready after {limit} ({})", state.take())))
            }
        }
    }

    /// Whether the manager refuses because the unit itself is masked; that skips the unit. A masked unit that it requires is
    /// an error.
    async fn masks(&self, subject: &Subject, error: &zbus::Error) -> zbus::Result<bool> {
        Ok(is_masked(error) && self.list(&[&subject.unit]).await?.iter().any(|info| info.load == LoadState::Masked))
    }

    /// The units whose failures are reset before a unit is started: itself, and for a socket the services that accept on it.
    /// If one of these were at its start limit, systemd would close the socket again when that is reset later (seen on
    /// 247 to 262: the service changes its state first and loses the mark afterwards).
    async fn forgotten(&self, subject: &Subject) -> zbus::Result<Vec<String>> {
        let mut units = vec![subject.unit.clone()];
        if subject.unit.ends_with(".socket") {
            let services: Vec<String> = self.systemd().unit_property(&subject.unit, "Triggers").await?;
            let names: Vec<&str> = services.iter().map(String::as_str).collect();
            let failed = self.list(&names).await?.into_iter().filter(|info| info.active == ActiveState::Failed);
            units.extend(failed.map(|info| info.name));
        }
        Ok(units)
    }

    /// Whether other services accept on a socket of this one.
    async fn shares_a_socket(&self, subject: &Subject) -> zbus::Result<bool> {
        let by: Vec<String> = self.systemd().unit_property(&subject.unit, "TriggeredBy").await?;
        for socket in by.iter().filter(|unit| unit.ends_with(".socket")) {
            let services: Vec<String> = self.systemd().unit_property(socket, "Triggers").await?;
            if services.len() > 1 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Ends the attempts to start a unit. If its start limit ended them, systemd would fail the socket as well
    /// (`service-start-limit-hit`, seen on 257), and the other services would find none at their next start.
    async fn give_up(&self, subject: &Subject) -> Result<Stop, Stop> {
        let mut failure = self.failure(subject).await?;
        let job = self.enqueue(Request::Stop, subject).await?;
        self.jobs.end(&job).await?;
        failure.what.push_str("; not retried: at its start limit systemd would close the shared socket");
        Ok(Stop::Failed(failure))
    }

    /// Reloads a unit, which stays up even if that fails.
    pub(super) async fn reload(&self, subject: &Subject) -> Result<UnitOutcome, Stop> {
        let job = match self.enqueue(Request::Reload, subject).await {
            Err(Stop::Manager(error)) if self.masks(subject, &error).await? => return Ok(UnitOutcome::Masked),
            job => job?,
        };
        let end = async { Ok(self.jobs.end(&job).await?) };
        match within(None, self.interrupt.twice(), end).await? {
            Some(End::Result(result)) if !matches!(result, JobResult::Done | JobResult::Skipped) => {
                Err(failed(subject, format!("the reload ended with `{result}`")))
            }
            _ => Ok(UnitOutcome::Reloaded),
        }
    }

    /// Stops units, all of them at once, and waits until the last is down. Sockets and timers go first: they would start
    /// their services again.
    pub(super) async fn take_down(&self, subjects: &[&Subject]) -> Result<Vec<UnitOutcome>, Stop> {
        let is_trigger = |subject: &&Subject| matches!(subject.unit.rsplit_once('.'), Some((_, "socket" | "timer")));
        let (triggers, others): (Vec<&Subject>, Vec<&Subject>) = subjects.iter().copied().partition(is_trigger);
        self.thaw_first(subjects).await?;
        for some in [&triggers, &others] {
            for &subject in some {
                match self.enqueue(Request::Stop, subject).await {
                    // What is not loaded is down.
                    Err(Stop::Manager(error)) if is_unknown(&error) => {}
                    other => drop(other?),
                }
            }
            self.until_down(some).await?;
        }
        let infos = self.list(&units(subjects)).await?;
        Ok(infos.iter().map(outcome_of_stop).collect())
    }

    /// Waits until none of the units is up, on its way down, or has a job.
    async fn until_down(&self, subjects: &[&Subject]) -> Result<(), Stop> {
        let mut watch = self.jobs.watch(units(subjects));
        let down = watch.until(async |infos| {
            let up = || infos.iter().zip(subjects).filter(|(info, _)| !info.is_down());
            up().for_each(|(info, subject)| self.waits(subject, info.sub.as_str()));
            Ok(up().next().is_none().then_some(()))
        });
        within(None, self.interrupt.twice(), down).await.map(drop)
    }

    pub(super) async fn enqueue(&self, request: Request, subject: &Subject) -> Result<Job, Stop> {
        self.thaw_for_a_job(subject).await?;
        self.jobs.enqueue(request, &subject.unit).await.map_err(|error| Stop::of(subject, error))
    }

    /// The states of `units`, in their order.
    pub(super) async fn list(&self, units: &[&str]) -> zbus::Result<Vec<UnitInfo>> {
        self.systemd().list(units).await
    }

    /// Why a unit does not become ready.
    async fn start_failure(&self, subject: &Subject, job: &Job, why: StartFailure) -> zbus::Result<Failure> {
        let what = match (why, self.jobs.end(job).await?) {
            (StartFailure::Failed, _) => return self.failure(subject).await,
            (StartFailure::NeverStarted, End::Result(JobResult::Dependency)) => {
                "not started: a unit that it requires failed".to_owned()
            }
            (StartFailure::NeverStarted, End::Result(JobResult::Canceled)) => {
                "not started: the start job was replaced by another job".to_owned()
            }
            (why, _) => why.to_string(),
        };
        Ok(Failure::new(subject, what))
    }

    /// `failed: exit status 1`
    pub(super) async fn failure(&self, subject: &Subject) -> zbus::Result<Failure> {
        let cause = self.systemd().properties(&subject.unit).await?.cause();
        let what = format!("failed: {}", cause.as_ref().map(ToString::to_string).unwrap_or_default());
        Ok(Failure { subject: subject.clone(), what, cause })
    }
}

pub(super) fn units<'s>(subjects: &[&'s Subject]) -> Vec<&'s str> {
    subjects.iter().map(|subject| subject.unit.as_str()).collect()
}

/// What became of a unit that is down.
pub(super) fn outcome_of_stop(info: &UnitInfo) -> UnitOutcome {
    match info.active {
        ActiveState::Failed => UnitOutcome::StoppedFailed,
        _ => UnitOutcome::Stopped,
    }
}

pub(super) fn failed(subject: &Subject, what: String) -> Stop {
    Stop::Failed(Failure::new(subject, what))
}
