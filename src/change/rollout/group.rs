//! A whole group at once: what its target pulls up or down, and what becomes of each unit.

use std::collections::HashSet;

use tokio::time::{Instant, sleep};

use crate::basic::clock::Monotonic;
use crate::change::observe::members::Subject;
use crate::change::plan::Reason;
use crate::manager::jobs::{End, Kind};
use crate::manager::readiness::{FirstLook, Loss, Standing, first_look, second_look};
use crate::manager::unit::UnitInfo;

use super::Rollout;
use super::event::{Event, Failure, Problem, Reached, Stop};
use super::unit::POLL;
use crate::manager::state::{ActiveState, LoadState};

impl Rollout<'_> {
    /// Starts the target, and waits until each of `members` is ready, done, or won't come up any more. Gives the
    /// failures, which were told; none of them is in vain where the target's own start failed.
    ///
    /// Not the target's job alone: where the target is active already, that is over before the members are started.
    ///
    /// # Errors
    /// What kept it from being started, or from being watched.
    pub async fn start_group(&self, target: &Subject, members: &[Subject]) -> Result<Vec<Failure>, Stop> {
        let names: Vec<&str> = members.iter().map(|subject| subject.unit.as_str()).collect();
        let began = Monotonic::now();
        let before = self.list(&names).await?;
        let was_up: HashSet<&str> = before.iter().filter(|row| row.is_up()).map(|row| row.name.as_str()).collect();
        let job = self.enqueue(Kind::Start, target).await?;
        let mut open: Vec<&Subject> = members.iter().filter(|subject| !was_up.contains(&*subject.unit)).collect();
        open.iter().for_each(|subject| self.begins("start", subject));
        let deadline = self.limit.map(|limit| Instant::now() + limit);
        let (mut end, mut failures) = (None, Vec::new());
        // One question for all rounds: it takes a while to find out that a signal was missed.
        let ended = self.jobs.end(&job);
        tokio::pin!(ended);
        loop {
            // What the job came to is known before the look that judges by it.
            let over = end.is_some();
            open = self.look_up(open, began, &mut failures).await?;
            let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if over && (open.is_empty() || late || !end.as_ref().is_some_and(End::may_be_good)) {
                break;
            }
            tokio::select! {
                ended = &mut ended, if !over => end = Some(ended?),
                () = sleep(POLL) => {}
                () = self.interrupt.once() => return Err(Stop::Interrupted),
            }
        }
        for subject in open {
            self.fail("start", Failure::new(subject, "not ready when the start ended".to_owned()), &mut failures);
        }
        if let Some(End::Result(result)) = end.filter(|end| !end.may_be_good() && failures.is_empty()) {
            self.fail("start", Failure::new(target, format!("the start ended with `{result}`")), &mut failures);
        }
        Ok(failures)
    }

    /// Looks at those that weren't up yet; gives those that still aren't, and tells how the others ended.
    async fn look_up<'s>(
        &self,
        open: Vec<&'s Subject>,
        began: Monotonic,
        failures: &mut Vec<Failure>,
    ) -> Result<Vec<&'s Subject>, Stop> {
        let names: Vec<&str> = open.iter().map(|subject| subject.unit.as_str()).collect();
        let rows = self.list(&names).await?;
        let mut still = Vec::new();
        for (subject, row) in open.into_iter().zip(rows) {
            match self.judge(&row, began).await? {
                Standing::Ready => self.tell_end("start", subject, Reached::Ready),
                Standing::Done => self.tell_end("start", subject, Reached::Done),
                Standing::Skipped => self.tell_end("start", subject, Reached::Skipped),
                Standing::LeftOut => self.tell_end("start", subject, Reached::Masked),
                Standing::Waiting(state) => {
                    self.tell.tell(&Event::Waits { subject, what: &state });
                    still.push(subject);
                }
                Standing::Lost(Loss::Failed) => {
                    self.fail("start", self.failure(subject).await?, failures);
                }
                Standing::Lost(loss) => self.fail("start", Failure::new(subject, loss.to_string()), failures),
            }
        }
        Ok(still)
    }

    async fn judge(&self, row: &UnitInfo, began: Monotonic) -> zbus::Result<Standing> {
        match first_look(row) {
            FirstLook::Clear(standing) => Ok(standing),
            FirstLook::AskHistory => Ok(second_look(&self.systemd().properties(&row.name).await?, began)),
        }
    }

    /// Stops the target, and waits until the last of `members` is down: the target's own job is over before anything
    /// has stopped, because a target stops before what it comes after.
    ///
    /// # Errors
    /// What kept it from being stopped, or from being watched.
    pub async fn stop_group(&self, target: &Subject, members: &[Subject]) -> Result<(), Stop> {
        let names: Vec<&str> = members.iter().map(|subject| subject.unit.as_str()).collect();
        let before = self.list(&names).await?;
        let mut open: Vec<&Subject> =
            members.iter().zip(&before).filter(|(_, row)| !row.is_down()).map(|(subject, _)| subject).collect();
        self.thaw_first(&open).await?;
        let job = self.enqueue(Kind::Stop, target).await?;
        open.iter().for_each(|subject| self.begins("stop", subject));
        // What was masked while it runs isn't part of the target any more.
        let masked = |row: &UnitInfo| row.load == LoadState::Masked && !row.is_down();
        for (subject, _) in members.iter().zip(&before).filter(|(_, row)| masked(row)) {
            self.enqueue(Kind::Stop, subject).await?;
        }
        self.jobs.end(&job).await?;
        loop {
            let names: Vec<&str> = open.iter().map(|subject| subject.unit.as_str()).collect();
            let rows = self.list(&names).await?;
            let mut still = Vec::new();
            for (subject, row) in open.into_iter().zip(rows) {
                if !row.is_down() {
                    self.tell.tell(&Event::Waits { subject, what: row.sub.as_str() });
                    still.push(subject);
                } else {
                    let bad = row.active == ActiveState::Failed;
                    self.tell_end("stop", subject, if bad { Reached::StoppedBadly } else { Reached::Stopped });
                }
            }
            open = still;
            if open.is_empty() {
                return Ok(());
            }
            tokio::select! {
                () = sleep(POLL) => {}
                () = self.interrupt.once() => return Err(Stop::Interrupted),
            }
        }
    }

    fn tell_end(&self, action: &'static str, subject: &Subject, reached: Reached) {
        self.tell.tell(&Event::Ends { action, subject, reasons: &[Reason::Asked], end: Ok(reached) });
    }

    fn fail(&self, action: &'static str, failure: Failure, failures: &mut Vec<Failure>) {
        let (subject, end) = (&failure.subject, Err(Problem::Failed(&failure)));
        self.tell.tell(&Event::Ends { action, subject, reasons: &[Reason::Asked], end });
        failures.push(failure);
    }
}
