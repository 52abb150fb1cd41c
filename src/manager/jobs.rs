//! Jobs: what the manager was asked to do, until it is done.
//!
//! The order matters: who subscribes to `JobRemoved` only after a job was enqueued may miss its end. So [`Jobs`] listens
//! before anything is asked.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use zbus::OwnedObjectPath;

use super::state::{JobResult, JobType};
use super::{Connected, EndedJob, connection, is_passing};
use crate::basic::clock::Monotonic;

/// Between two questions whether a job is still there: its signal is lost while the manager re-executes itself.
const ASK: Duration = Duration::from_secs(2);

/// What a job does with its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Starts it, if it isn't up.
    Start,
    /// Stops it.
    Stop,
    /// Stops and starts it; starts it if it isn't up.
    Restart,
    /// Has it read its configuration again.
    Reload,
}

/// A job that was enqueued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its number.
    id: u32,
    /// The unit it is for.
    pub unit: String,
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Result(JobResult),
    /// It is over; how, wasn't heard.
    Unheard,
}

impl End {
    /// Whether the unit's state has to tell, or is what was wanted.
    pub fn may_be_good(&self) -> bool {
        match self {
            Self::Result(result) => matches!(result, JobResult::Done | JobResult::Skipped),
            Self::Unheard => true,
        }
    }
}

/// A connection that hears how its jobs end.
#[derive(Debug, Clone)]
pub struct Jobs {
    systemd: Connected,
    heard: Arc<Heard>,
}

#[derive(Debug, Default)]
struct Heard {
    ends: Mutex<Ends>,
    news: Notify,
}

#[derive(Debug, Default)]
struct Ends {
    /// Calls whose answer, and so the job's number, isn't known yet.
    asking: usize,
    /// Jobs that somebody is going to wait for.
    awaited: HashSet<u32>,
    /// How they ended; while something is being asked, how any job ended.
    results: HashMap<u32, JobResult>,
}

impl Heard {
    fn ends(&self) -> MutexGuard<'_, Ends> {
        // Nothing that holds it can panic.
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Jobs {
    /// Begins to listen. Needs a running tokio runtime.
    ///
    /// # Errors
    /// What the connection or the manager refuses.
    pub async fn new(systemd: &Connected) -> zbus::Result<Self> {
        let heard = Arc::new(Heard::default());
        let told = Arc::downgrade(&heard);
        let hear = move |ended| {
            let Some(heard) = told.upgrade() else { return false };
            // After a gap whoever waits asks whether its job is still there.
            if let connection::Heard::Signal(EndedJob { id, result, .. }) = ended {
                let mut ends = heard.ends();
                // A busy machine's other jobs are nobody's concern.
                if ends.asking > 0 || ends.awaited.contains(&id) {
                    ends.results.insert(id, result);
                    heard.news.notify_waiters();
                }
            }
            true
        };
        systemd.ended_jobs(hear).await?;
        Ok(Self { systemd: systemd.clone(), heard })
    }

    /// The connection.
    pub fn systemd(&self) -> &Connected {
        &self.systemd
    }

    /// Enqueues a job, in the mode `replace` as systemctl(1) does. It runs whether or not its end is waited for.
    ///
    /// # Errors
    /// What the connection or the manager refuses; see [`is_refusal`](super::is_refusal).
    pub async fn enqueue(&self, kind: Kind, unit: &str) -> zbus::Result<Job> {
        self.heard.ends().asking += 1;
        let answer = self.ask(kind, unit).await;
        let mut ends = self.heard.ends();
        ends.asking -= 1;
        let id = answer;
        if let Ok(id) = &id {
            ends.awaited.insert(*id);
        }
        if ends.asking == 0 {
            let Ends { awaited, results, .. } = &mut *ends;
            results.retain(|id, _| awaited.contains(id));
        }
        Ok(Job { id: id?, unit: unit.to_owned() })
    }

    /// The number of the job that does it. Where the manager went away before it answered, what is there afterwards tells
    /// whether it had heard: it keeps its jobs when it re-executes itself.
    async fn ask(&self, kind: Kind, unit: &str) -> zbus::Result<u32> {
        let began = Monotonic::now();
        let mut kind = kind;
        loop {
            let manager = self.systemd.manager();
            let answer = match kind {
                Kind::Start => manager.start_unit(unit, "replace").await,
                Kind::Stop => manager.stop_unit(unit, "replace").await,
                Kind::Restart => manager.restart_unit(unit, "replace").await,
                Kind::Reload => manager.reload_unit(unit, "replace").await,
            };
            match answer {
                Err(error) if is_passing(&error) => {}
                answer => return answer.and_then(|path| number(&path)),
            }
            // These wait for it. Two values of one moment aren't needed: the job comes before the start that it makes.
            let started = self.systemd.unit_time(unit, "InactiveExitTimestampMonotonic").await?;
            let row = self.systemd.list(&[unit]).await?.into_iter().next();
            match unheard(kind, row.as_ref().and_then(|row| row.job.as_ref()), started >= Some(began)) {
                Unheard::Asked => {
                    let (id, _): (u32, OwnedObjectPath) = self.systemd.unit_property(unit, "Job").await?;
                    if id != 0 {
                        return Ok(id);
                    }
                }
                Unheard::Ask(other) => kind = other,
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
            // From here on nothing is missed, also what comes between the look and the wait.
            news.as_mut().enable();
            if let Some(result) = self.take(job) {
                return Ok(End::Result(result));
            }
            if tokio::time::timeout(ASK, news).await.is_err() && self.is_gone(job).await? {
                // Its signal may have come while the question was on its way.
                return Ok(self.take(job).map_or(End::Unheard, End::Result));
            }
        }
    }

    /// Enqueues a job and waits until it is over.
    ///
    /// # Errors
    /// As [`Jobs::enqueue`].
    pub async fn run(&self, kind: Kind, unit: &str) -> zbus::Result<End> {
        let job = self.enqueue(kind, unit).await?;
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

/// What to do about a request that nobody answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unheard {
    /// It was heard: there is its job.
    Asked,
    /// Ask, for this.
    Ask(Kind),
}

/// What a unit that has this `job`, and whether it was started meanwhile, say about a request that nobody answered. Only a
/// restart does harm when it comes twice; what was restarted and is over has to be up.
fn unheard(kind: Kind, job: Option<&JobType>, started: bool) -> Unheard {
    match (kind, job) {
        (Kind::Start, Some(JobType::Start | JobType::Restart)) | (Kind::Stop, Some(JobType::Stop)) => Unheard::Asked,
        // Once it has stopped the unit, a restart is a start.
        (Kind::Restart, Some(JobType::Restart | JobType::Start)) | (Kind::Reload, Some(JobType::Reload)) => {
            Unheard::Asked
        }
        (Kind::Restart, _) if started => Unheard::Ask(Kind::Start),
        (kind, _) => Unheard::Ask(kind),
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
    fn a_request_that_nobody_answered_is_made_once() {
        let ask = Unheard::Ask;
        for (kind, job, started, expected) in [
            (Kind::Restart, Some("restart"), false, Unheard::Asked),
            (Kind::Restart, Some("start"), true, Unheard::Asked),
            (Kind::Restart, None, true, ask(Kind::Start)),
            (Kind::Restart, None, false, ask(Kind::Restart)),
            (Kind::Start, Some("start"), false, Unheard::Asked),
            (Kind::Start, None, true, ask(Kind::Start)),
            (Kind::Start, Some("stop"), false, ask(Kind::Start)),
            (Kind::Stop, Some("stop"), false, Unheard::Asked),
            (Kind::Stop, Some("start"), true, ask(Kind::Stop)),
            (Kind::Reload, Some("reload"), false, Unheard::Asked),
            (Kind::Reload, None, false, ask(Kind::Reload)),
        ] {
            assert_eq!(unheard(kind, job.map(JobType::from).as_ref(), started), expected, "{kind:?} {job:?} {started}");
        }
    }

    #[test]
    fn only_the_state_tells_after_an_end_nobody_heard() {
        for (end, good) in [
            (End::Result("done".into()), true),
            (End::Result("skipped".into()), true),
            (End::Unheard, true),
            (End::Result("failed".into()), false),
            (End::Result("canceled".into()), false),
            (End::Result("dependency".into()), false),
        ] {
            assert_eq!(end.may_be_good(), good, "{end:?}");
        }
    }
}
