//! One unit: the job, and what became of the unit.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::basic::clock::Monotonic;
use crate::change::observe::members::Subject;
use crate::manager::jobs::{End, Job, Kind};
use crate::manager::readiness::{FirstLook, Loss, Standing, first_look, second_look};
use crate::manager::unit::UnitInfo;
use crate::manager::{is_masked, is_unknown};

use super::Rollout;
use super::event::{Event, Failure, Reached, Stop};
use crate::manager::state::{ActiveState, JobResult, LoadState};

/// Between two looks at what no signal tells: a process that dies, or is started again by itself.
pub(super) const POLL: Duration = Duration::from_millis(100);

impl Rollout<'_> {
    /// Starts or restarts a unit and waits until it is ready, done, or won't come up any more. A flapping start has the
    /// attempts that its start limit gives it.
    pub(super) async fn bring_up(&self, kind: Kind, subject: &Subject) -> Result<Reached, Stop> {
        let begin = Monotonic::now();
        // What failed before isn't this start's doing, and starts by hand count towards the limit as well.
        self.systemd().reset_failed(&self.forgotten(subject).await?).await?;
        let job = match self.enqueue(kind, subject).await {
            Err(Stop::Manager(error)) if self.masks(subject, &error).await? => return Ok(Reached::Masked),
            job => job?,
        };
        let deadline = self.limit.map(|limit| Instant::now() + limit);
        let mut end = None;
        let ended = self.jobs.end(&job);
        tokio::pin!(ended);
        loop {
            let standing = self.standing(&subject.unit, begin).await?;
            let state = match standing {
                Standing::Ready => return Ok(Reached::Ready),
                Standing::Done => return Ok(Reached::Done),
                Standing::Skipped => return Ok(Reached::Skipped),
                Standing::LeftOut => return Ok(Reached::Masked),
                Standing::Lost(loss) => return Err(self.lost(subject, &job, end, loss).await?),
                Standing::Waiting(state) => state,
            };
            self.tell.tell(&Event::Waits { subject, what: &state });
            if state.contains("auto-restart") && self.shares_a_socket(subject).await? {
                return Err(self.give_up(subject).await?);
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                let limit = crate::basic::time_span::format(self.limit.unwrap_or_default());
                return Err(failed(subject, format!("not ready after {limit} ({state})")));
            }
            tokio::select! {
                ended = &mut ended, if end.is_none() => end = Some(ended?),
                () = sleep(POLL) => {}
                () = self.interrupt.twice() => return Err(Stop::Interrupted),
            }
        }
    }

    /// Whether the manager refuses because the unit itself is masked: an administrator doesn't want it, and it is passed
    /// over. Where one is masked that it needs, it can't be had.
    async fn masks(&self, subject: &Subject, error: &zbus::Error) -> zbus::Result<bool> {
        Ok(is_masked(error) && self.list(&[&subject.unit]).await?.iter().any(|row| row.load == LoadState::Masked))
    }

    /// Whose failures are forgotten before a unit is started: its own, and with a socket's those of who accepts on it. Where
    /// one of these has reached its start limit, systemd would close the socket again when that is forgotten later (seen on
    /// 247 to 262: the service's state changes first, and the mark goes after it).
    async fn forgotten(&self, subject: &Subject) -> zbus::Result<Vec<String>> {
        let mut units = vec![subject.unit.clone()];
        if subject.unit.ends_with(".socket") {
            let accept: Vec<String> = self.systemd().unit_property(&subject.unit, "Triggers").await?;
            let names: Vec<&str> = accept.iter().map(String::as_str).collect();
            let failed = self.list(&names).await?.into_iter().filter(|row| row.active == ActiveState::Failed);
            units.extend(failed.map(|row| row.name));
        }
        Ok(units)
    }

    /// Whether it accepts on a socket together with others.
    async fn shares_a_socket(&self, subject: &Subject) -> zbus::Result<bool> {
        let by: Vec<String> = self.systemd().unit_property(&subject.unit, "TriggeredBy").await?;
        for socket in by.iter().filter(|unit| unit.ends_with(".socket")) {
            let all: Vec<String> = self.systemd().unit_property(socket, "Triggers").await?;
            if all.len() > 1 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Ends the attempts to start it. When its start limit ends them, systemd fails the socket as well
    /// (`service-start-limit-hit`, seen on 257), and the others that accept on it find none any more when they are started
    /// again.
    async fn give_up(&self, subject: &Subject) -> Result<Stop, Stop> {
        let mut failure = self.failure(subject).await?;
        let job = self.enqueue(Kind::Stop, subject).await?;
        self.jobs.end(&job).await?;
        failure.what.push_str("; not tried again, as that would end in the loss of the socket that it shares");
        Ok(Stop::Failed(failure))
    }

    /// Has a unit reload; it stays up, whatever comes of it.
    pub(super) async fn reload(&self, subject: &Subject) -> Result<Reached, Stop> {
        let job = match self.enqueue(Kind::Reload, subject).await {
            Err(Stop::Manager(error)) if self.masks(subject, &error).await? => return Ok(Reached::Masked),
            job => job?,
        };
        let end = tokio::select! {
            end = self.jobs.end(&job) => end?,
            () = self.interrupt.twice() => return Err(Stop::Interrupted),
        };
        match end {
            End::Result(result) if !matches!(result, JobResult::Done | JobResult::Skipped) => {
                Err(failed(subject, format!("the reload ended with `{result}`")))
            }
            _ => Ok(Reached::Reloaded),
        }
    }

    /// Stops units, all of them at once, and waits until the last is down. Sockets and timers go first: what they start
    /// would come back.
    pub(super) async fn take_down(&self, subjects: &[&Subject]) -> Result<Vec<Reached>, Stop> {
        let starter = |subject: &&&Subject| matches!(subject.unit.rsplit_once('.'), Some((_, "socket" | "timer")));
        let (starters, others): (Vec<&Subject>, Vec<&Subject>) = subjects.iter().copied().partition(|s| starter(&s));
        self.thaw_first(subjects).await?;
        for some in [&starters, &others] {
            for &subject in some {
                match self.enqueue(Kind::Stop, subject).await {
                    // A stop of what isn't loaded is done.
                    Err(Stop::Manager(error)) if is_unknown(&error) => {}
                    other => drop(other?),
                }
            }
            self.until_down(some).await?;
        }
        let mut reached = Vec::with_capacity(subjects.len());
        let names: Vec<&str> = subjects.iter().map(|subject| subject.unit.as_str()).collect();
        for row in self.list(&names).await? {
            reached.push(if row.active == ActiveState::Failed { Reached::StoppedBadly } else { Reached::Stopped });
        }
        Ok(reached)
    }

    /// Waits until none of the units is up, on its way down, or has a job.
    pub(super) async fn until_down(&self, subjects: &[&Subject]) -> Result<(), Stop> {
        let names: Vec<&str> = subjects.iter().map(|subject| subject.unit.as_str()).collect();
        loop {
            let rows = self.list(&names).await?;
            let mut down = true;
            for (row, subject) in rows.iter().zip(subjects) {
                if !row.is_down() {
                    down = false;
                    self.tell.tell(&Event::Waits { subject, what: row.sub.as_str() });
                }
            }
            if down {
                return Ok(());
            }
            tokio::select! {
                () = sleep(POLL) => {}
                () = self.interrupt.twice() => return Err(Stop::Interrupted),
            }
        }
    }

    pub(super) async fn enqueue(&self, kind: Kind, subject: &Subject) -> Result<Job, Stop> {
        self.thaw_for_a_job(subject).await?;
        self.jobs.enqueue(kind, &subject.unit).await.map_err(|error| Stop::of(subject, error))
    }

    /// The rows of `units`, in their order.
    pub(super) async fn list(&self, units: &[&str]) -> zbus::Result<Vec<UnitInfo>> {
        self.systemd().list(units).await
    }

    /// What a unit's state means to who waits for it since `begin`.
    pub(super) async fn standing(&self, unit: &str, begin: Monotonic) -> zbus::Result<Standing> {
        let Some(row) = self.list(&[unit]).await?.into_iter().next() else {
            return Ok(Standing::Lost(Loss::NeverStarted));
        };
        match first_look(&row) {
            FirstLook::Clear(standing) => Ok(standing),
            FirstLook::AskHistory => Ok(second_look(&self.systemd().properties(&row.name).await?, begin)),
        }
    }

    /// How a unit ended that won't come up.
    async fn lost(&self, subject: &Subject, job: &Job, end: Option<End>, loss: Loss) -> zbus::Result<Stop> {
        let end = match end {
            Some(end) => end,
            // The job is over before the unit's state says so.
            None => self.jobs.end(job).await?,
        };
        let what = match (loss, end) {
            (Loss::Failed, _) => return self.failure(subject).await.map(Stop::Failed),
            (Loss::NeverStarted, End::Result(JobResult::Dependency)) => {
                "not started: a unit that it requires failed".to_owned()
            }
            (Loss::NeverStarted, End::Result(JobResult::Canceled)) => {
                "not started: somebody else's job took the place of this one".to_owned()
            }
            (loss, _) => loss.to_string(),
        };
        Ok(failed(subject, what))
    }

    /// `failed: exit status 1`
    pub(super) async fn failure(&self, subject: &Subject) -> zbus::Result<Failure> {
        let cause = self.systemd().properties(&subject.unit).await?.cause();
        let what = format!("failed: {}", cause.as_ref().map(ToString::to_string).unwrap_or_default());
        Ok(Failure { subject: subject.clone(), what, cause })
    }
}

pub(super) fn failed(subject: &Subject, what: String) -> Stop {
    Stop::Failed(Failure::new(subject, what))
}
