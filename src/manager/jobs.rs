//! Jobs: what the manager was asked to do, and how that ended; and the units that they are about.
//!
//! The order matters: a job may be over before its number is known here. So [`Jobs`] listens before it enqueues any.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use zbus::OwnedObjectPath;

use super::state::{JobResult, JobType};
use super::watch::{Watch, Watches};
use super::{Connected, Signal, is_passing};
use crate::basic::clock::Monotonic;

/// After so long without its signal the manager is asked whether a job is still there: the signal is lost if the manager
/// re-executes itself meanwhile.
const ASK: Duration = Duration::from_secs(2);

/// What a job is to do with its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// Starts it if it is not up.
    Start,
    Stop,
    /// Stops and starts it; starts it if it is not up.
    Restart,
    Reload,
}

/// A job that was enqueued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    id: u32,
    pub unit: String,
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Result(JobResult),
    /// It is over, and its signal was missed.
    Missed,
}

impl End {
    /// Whether its unit may be what was requested; its state has to confirm it.
    pub fn may_be_good(&self) -> bool {
        matches!(self, Self::Result(JobResult::Done | JobResult::Skipped) | Self::Missed)
    }
}

/// A connection that hears how its jobs end, and what becomes of units.
#[derive(Debug, Clone)]
pub struct Jobs {
    systemd: Connected,
    heard: Arc<Heard>,
}

#[derive(Debug, Default)]
struct Heard {
    ends: Mutex<Ends>,
    news: Notify,
    watches: Watches,
}

#[derive(Debug, Default)]
struct Ends {
    /// Calls without an answer yet, so that the job's number is not known.
    asking: usize,
    /// Jobs whose end is going to be waited for.
    awaited: HashSet<u32>,
    /// How they ended; while a call is without an answer, how any job ended.
    results: HashMap<u32, JobResult>,
}

impl Heard {
    fn ends(&self) -> MutexGuard<'_, Ends> {
        // Nothing that holds it can panic.
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, signal: &Signal) {
        // After a gap, each wait asks whether its job is still there.
        if let Signal::JobRemoved { id, result, .. } = signal {
            let mut ends = self.ends();
            // A busy machine has many other jobs.
            if ends.asking > 0 || ends.awaited.contains(id) {
                ends.results.insert(*id, result.clone());
                self.news.notify_waiters();
            }
        }
        self.watches.hear(signal);
    }
}

impl Jobs {
    /// Begins to listen. Needs a running tokio runtime.
    ///
    /// # Errors
    /// What the connection or the manager refuses.
    pub async fn new(systemd: &Connected) -> zbus::Result<Self> {
        let heard = Arc::new(Heard::default());
        let listener = Arc::downgrade(&heard);
        systemd.signals(move |signal| listener.upgrade().map(|heard| heard.hear(&signal)).is_some()).await?;
        Ok(Self { systemd: systemd.clone(), heard })
    }

    /// The connection.
    pub fn systemd(&self) -> &Connected {
        &self.systemd
    }

    /// Follows units.
    pub fn watch(&self, units: impl IntoIterator<Item = impl Into<String>>) -> Watch {
        self.heard.watches.add(&self.systemd, units.into_iter().map(Into::into).collect())
    }

    /// Enqueues a job, in the mode `replace` as systemctl(1) does. It runs whether or not its end is waited for.
    ///
    /// # Errors
    /// What the connection or the manager refuses; see [`is_refusal`](super::is_refusal).
    pub async fn enqueue(&self, request: Request, unit: &str) -> zbus::Result<Job> {
        self.heard.ends().asking += 1;
        let id = self.ask(request, unit).await;
        let mut ends = self.heard.ends();
        ends.asking -= 1;
        if let Ok(id) = &id {
            ends.awaited.insert(*id);
        }
        if ends.asking == 0 {
            let Ends { awaited, results, .. } = &mut *ends;
            results.retain(|id, _| awaited.contains(id));
        }
        Ok(Job { id: id?, unit: unit.to_owned() })
    }

    /// The number of the job that does it. If the manager goes away before it answers, the job that is there afterwards shows
    /// whether it received the call: it keeps its jobs over a re-execution.
    async fn ask(&self, request: Request, unit: &str) -> zbus::Result<u32> {
        let began = Monotonic::now();
        let mut request = request;
        loop {
            let manager = self.systemd.manager();
            let answer = match request {
                Request::Start => manager.start_unit(unit, "replace").await,
                Request::Stop => manager.stop_unit(unit, "replace").await,
                Request::Restart => manager.restart_unit(unit, "replace").await,
                Request::Reload => manager.reload_unit(unit, "replace").await,
            };
            match answer {
                Err(error) if is_passing(&error) => {}
                answer => return answer.and_then(|path| number(&path)),
            }
            // These wait for the manager. The job comes before the start that it makes, so two calls are fine.
            let started = self.systemd.unit_time(unit, "InactiveExitTimestampMonotonic").await?;
            let row = self.systemd.list(&[unit]).await?.into_iter().next();
            match unanswered(request, row.as_ref().and_then(|row| row.job.as_ref()), started >= Some(began)) {
                Unanswered::Asked => {
                    let (id, _): (u32, OwnedObjectPath) = self.systemd.unit_property(unit, "Job").await?;
                    if id != 0 {
                        return Ok(id);
                    }
                }
                Unanswered::Ask(other) => request = other,
            }
        }
    }

    /// Waits until a job is over.
    ///
    /// # Errors
    /// A broken connection.
    pub async fn end(&self, job: &Job) -> zbus::Result<End> {
        loop {
            let news = self.heard.news.notified();
            tokio::pin!(news);
            // From here on no result is missed, not even between the look and the wait.
            news.as_mut().enable();
            if let Some(result) = self.take(job) {
                return Ok(End::Result(result));
            }
            if tokio::time::timeout(ASK, news).await.is_err() && self.is_gone(job).await? {
                // Its signal may have come while the call was on its way.
                return Ok(self.take(job).map_or(End::Missed, End::Result));
            }
        }
    }

    /// Enqueues a job and waits until it is over.
    ///
    /// # Errors
    /// As [`Jobs::enqueue`].
    pub async fn run(&self, request: Request, unit: &str) -> zbus::Result<End> {
        let job = self.enqueue(request, unit).await?;
        self.end(&job).await
    }

    fn take(&self, job: &Job) -> Option<JobResult> {
        let mut ends = self.heard.ends();
        let result = ends.results.remove(&job.id)?;
        ends.awaited.remove(&job.id);
        Some(result)
    }

    async fn is_gone(&self, job: &Job) -> zbus::Result<bool> {
        match self.systemd.ask(|manager| async move { manager.get_job(job.id).await }).await {
            Ok(_) => Ok(false),
            Err(zbus::Error::MethodError(name, ..)) if name.as_str() == "org.freedesktop.systemd1.NoSuchJob" => {
                self.heard.ends().awaited.remove(&job.id);
                Ok(true)
            }
            Err(error) => Err(error),
        }
    }
}

/// What to do about a request without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unanswered {
    /// It was received: there is its job.
    Asked,
    /// Make this request.
    Ask(Request),
}

/// `job` is the unit's job, `started` whether the unit was started meanwhile. Only a restart does harm if it is made twice;
/// a unit whose restart is over has to be up.
fn unanswered(request: Request, job: Option<&JobType>, started: bool) -> Unanswered {
    match (request, job) {
        (Request::Start, Some(JobType::Start | JobType::Restart)) | (Request::Stop, Some(JobType::Stop)) => {
            Unanswered::Asked
        }
        // Once it has stopped the unit, a restart is a start.
        (Request::Restart, Some(JobType::Restart | JobType::Start)) | (Request::Reload, Some(JobType::Reload)) => {
            Unanswered::Asked
        }
        (Request::Restart, _) if started => Unanswered::Ask(Request::Start),
        (request, _) => Unanswered::Ask(request),
    }
}

/// `/org/freedesktop/systemd1/job/4711`
fn number(path: &OwnedObjectPath) -> zbus::Result<u32> {
    let number = path.as_str().rsplit('/').next().and_then(|number| number.parse().ok());
    number.ok_or_else(|| zbus::Error::Failure(format!("`{}` is no job", path.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jobs_number_is_in_its_path() {
        let path = |text: &str| OwnedObjectPath::try_from(text).expect("a path");
        assert_eq!(number(&path("/org/freedesktop/systemd1/job/4711")).ok(), Some(4711));
        assert!(number(&path("/org/freedesktop/systemd1/unit/a")).is_err());
    }

    #[test]
    fn a_request_without_an_answer_is_made_once() {
        let ask = Unanswered::Ask;
        for (request, job, started, expected) in [
            (Request::Restart, Some("restart"), false, Unanswered::Asked),
            (Request::Restart, Some("start"), true, Unanswered::Asked),
            (Request::Restart, None, true, ask(Request::Start)),
            (Request::Restart, None, false, ask(Request::Restart)),
            (Request::Start, Some("start"), false, Unanswered::Asked),
            (Request::Start, None, true, ask(Request::Start)),
            (Request::Start, Some("stop"), false, ask(Request::Start)),
            (Request::Stop, Some("stop"), false, Unanswered::Asked),
            (Request::Stop, Some("start"), true, ask(Request::Stop)),
            (Request::Reload, Some("reload"), false, Unanswered::Asked),
            (Request::Reload, None, false, ask(Request::Reload)),
        ] {
            assert_eq!(
                unanswered(request, job.map(JobType::from).as_ref(), started),
                expected,
                "{request:?} {job:?} {started}"
            );
        }
    }

    #[test]
    fn only_the_state_tells_after_an_end_that_was_missed() {
        for (end, good) in [
            (End::Result("done".into()), true),
            (End::Result("skipped".into()), true),
            (End::Missed, true),
            (End::Result("failed".into()), false),
            (End::Result("canceled".into()), false),
            (End::Result("dependency".into()), false),
        ] {
            assert_eq!(end.may_be_good(), good, "{end:?}");
        }
    }
}
