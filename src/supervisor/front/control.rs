//! Starts, stops and signals processes, and the group.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use tokio::time::sleep;

use super::{Front, View, failed, result, seen_state, spelled, why};
use crate::basic::clock::Monotonic;
use crate::manager::jobs::Request;
use crate::manager::state::ActiveState;
use crate::model::supervisor_table::Entry;
use crate::supervisor::call::{Action, Names};
use crate::supervisor::fault::{Code, Fault, Result};
use crate::supervisor::peer::Peer;
use crate::supervisor::roster::Named;
use crate::supervisor::start::{Attempt, Verdict, judge};
use crate::supervisor::value::Value;
use crate::unit::name;

/// How many processes are dealt with at the same time.
const WINDOW: usize = 64;

/// Between two looks at a unit that was started.
const LOOK: Duration = Duration::from_millis(50);

impl Front {
    pub(super) async fn change(self: &Arc<Self>, action: Action, names: Names, peer: &Peer) -> Result<Value> {
        let (named, view) = (self.named(&names).await?, self.view(peer).await?);
        match named {
            Named::Process(entry) => {
                let outcome = self.act(action, &entry, &view).await;
                self.log(peer, action_name(action), &entry.unit, &outcome);
                outcome.map(|()| Value::Boolean(true))
            }
            Named::Group(entries) => {
                let view = &view;
                let each = entries.into_iter().map(|entry| async move {
                    let outcome = self.act(action, &entry, view).await;
                    (entry, outcome)
                });
                let outcomes: Vec<(Entry, Result<()>)> = stream::iter(each).buffered(WINDOW).collect().await;
                for (entry, outcome) in &outcomes {
                    self.log(peer, action_name(action), &entry.unit, outcome);
                }
                // What is so already is no result, as with supervisord.
                let told = outcomes.iter().filter(|(_, outcome)| {
                    !matches!(outcome, Err(Fault { code: Code::AlreadyStarted | Code::NotRunning, .. }))
                });
                Ok(Value::Array(told.map(|(entry, outcome)| result(entry, outcome)).collect()))
            }
        }
    }

    async fn act(self: &Arc<Self>, action: Action, entry: &Entry, view: &View) -> Result<()> {
        match action {
            Action::Start { wait } => self.start(entry, view, wait).await,
            Action::Stop { wait } => self.stop(entry, wait).await,
            Action::Signal(signal) => self.signal(entry, signal).await,
        }
    }

    /// Starts a process, and waits until it has succeeded or failed if `wait` says so.
    pub(super) async fn start(self: &Arc<Self>, entry: &Entry, view: &View, wait: bool) -> Result<()> {
        let before = self.properties(&entry.unit).await?;
        let state = seen_state(entry, &before, view);
        if state.is_up() {
            return Err(Fault::new(Code::AlreadyStarted, spelled(entry)));
        }
        let began = Monotonic::now();
        // Its start limit counts what systemd did by itself, not what clients ask for. A unit that is not loaded has none.
        let _ = self.systemd().manager().reset_failed_unit_and_wait(&entry.unit).await;
        // One that runs is not so in the view of the caller.
        let kind = if crate::manager::process_state::process_state(&before).is_up() {
            Request::Restart
        } else {
            Request::Start
        };
        let job = self.jobs.enqueue(kind, &entry.unit).await.map_err(|error| {
            Fault::new(Code::SpawnError, format!("{}: {}", spelled(entry), why(&error, &self.group)))
        })?;
        let front = Arc::clone(self);
        let end = tokio::spawn(async move { front.jobs.end(&job).await });
        if !wait {
            return Ok(());
        }
        let programs = self.systemd().commands(&entry.unit, "ExecStart").await.unwrap_or_default();
        let program = programs.first().and_then(|argv| argv.first()).map(String::as_str);
        loop {
            let job_done = end.is_finished();
            let unit = self.properties(&entry.unit).await?;
            // Until its process is executed, what is seen is of the start before.
            let fresh = unit.times.main_started >= Some(began);
            let up = unit.times.main_started.map_or(Duration::ZERO, |start| Monotonic::now().since(start));
            let attempt = Attempt { name: &spelled(entry), program, settle: entry.settle, up, job_done };
            match judge(&unit, &attempt) {
                _ if !fresh && !job_done => {}
                Verdict::Success => return Ok(()),
                Verdict::Fault(fault) => return Err(fault),
                Verdict::Wait => {}
            }
            sleep(LOOK).await;
        }
    }

    async fn stop(self: &Arc<Self>, entry: &Entry, wait: bool) -> Result<()> {
        let unit = self.properties(&entry.unit).await?;
        if !crate::manager::process_state::process_state(&unit).is_up() {
            return Err(Fault::new(Code::NotRunning, spelled(entry)));
        }
        let refused = |error| Fault::new(Code::Failed, format!("{}: {}", spelled(entry), why(&error, &self.group)));
        let job = self.jobs.enqueue(Request::Stop, &entry.unit).await.map_err(refused)?;
        let front = Arc::clone(self);
        let end = tokio::spawn(async move { front.jobs.end(&job).await });
        if wait && let Ok(Err(error)) = end.await {
            return Err(failed(&error));
        }
        Ok(())
    }

    async fn signal(&self, entry: &Entry, signal: i32) -> Result<()> {
        let unit = self.properties(&entry.unit).await?;
        if !crate::manager::process_state::process_state(&unit).is_signallable() {
            return Err(Fault::new(Code::NotRunning, spelled(entry)));
        }
        let manager = self.systemd().manager();
        let refused = |error| Fault::new(Code::Failed, format!("{}: {}", spelled(entry), why(&error, &self.group)));
        manager.kill_unit(&entry.unit, "main", signal).await.map_err(refused)
    }

    /// Stops the group. A process of the group that calls this at its own end, because it is being stopped, does not stop
    /// the others: it is told that all of it stops already.
    pub(super) async fn stop_group(&self, peer: &Peer) -> Result<Value> {
        self.refuse_while_stopping(peer).await?;
        self.whole_group(Request::Stop, "shutdown", peer).await
    }

    async fn refuse_while_stopping(&self, peer: &Peer) -> Result<()> {
        let Some(member) = self.view(peer).await?.member else { return Ok(()) };
        match self.properties(&member.unit).await?.active {
            ActiveState::Deactivating => Err(Fault::plain(Code::ShutdownState)),
            _ => Ok(()),
        }
    }

    pub(super) async fn restart_group(&self, peer: &Peer) -> Result<Value> {
        self.refuse_while_stopping(peer).await?;
        let refused = |error| Fault::new(Code::Failed, why(&error, &self.group));
        self.systemd().manager().reload().await.map_err(refused)?;
        self.whole_group(Request::Restart, "restart", peer).await
    }

    async fn whole_group(&self, kind: Request, what: &'static str, peer: &Peer) -> Result<Value> {
        let target = name::target(&self.group);
        let job = self.jobs.enqueue(kind, &target).await;
        let outcome = job.map(drop).map_err(|error| Fault::new(Code::Failed, why(&error, &self.group)));
        self.log(peer, what, &target, &outcome);
        outcome.map(|()| Value::Boolean(true))
    }

    /// A line in the journal for each call that changes something.
    pub(super) fn log(&self, peer: &Peer, what: &str, unit: &str, outcome: &Result<()>) {
        match outcome {
            Ok(()) => eprintln!("{what} {unit}, requested by {peer}"),
            Err(fault) => eprintln!("{what} {unit}, requested by {peer}: {}", fault.text()),
        }
    }
}

fn action_name(action: Action) -> &'static str {
    match action {
        Action::Start { .. } => "start",
        Action::Stop { .. } => "stop",
        Action::Signal(_) => "signal",
    }
}
