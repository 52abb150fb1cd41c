//! Carries out a [`Plan`](super::plan::Plan): awaits, and decides nothing.
//!
//! ```text
//!  apply      what is written down, so that it can be done again
//!  asked      what `copse restart` asks for, as a plan           (pure)
//!  group      all of a group, by its target
//!  event      what is said meanwhile, and how it ends
//!  interrupt  SIGINT, SIGTERM, SIGHUP
//!  freezer    what is frozen is thawed before it is touched
//!  unit       one unit: its job, and what became of it
//!  lock       one apply at a time
//!  hold       what wasn't rolled yet stays what it is
//!  watch      does it stay ready? is it settled?
//!  roll       one instance after the other
//!  record     what was done, in the journal
//! ```
//!
//! The first unit that doesn't come to what it should ends it: what was done stays done, what wasn't begun isn't touched.

pub mod apply;
pub mod event;
mod freezer;
mod group;
pub mod interrupt;
pub mod journal;
pub mod pinning;
mod rolling;
mod settle;
mod unit;

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;

use super::observe::members::Subject;
use super::plan::{Action, Plan, Reason, Step};
use crate::manager::jobs::{Jobs, Kind};
use crate::manager::{Connected, is_masked};

pub use self::event::{Event, Failure, Problem, Reached, Reporter, Stop};
pub use self::interrupt::Interrupt;
pub use self::pinning::Pinning;

/// What is needed to carry out plans.
pub struct Rollout<'r> {
    /// The manager, with ears for its jobs.
    pub jobs: &'r Jobs,
    /// Who is told what happens.
    pub tell: &'r dyn Reporter,
    /// Whether to go on.
    pub interrupt: Interrupt,
    /// How long a unit may take to get ready, all its attempts together; `None`: as long as it takes.
    pub limit: Option<Duration>,
    /// Units that are down because an apply was interrupted, and are to run.
    pub wanted: BTreeSet<String>,
    /// What is held at its old definition until it is dealt with; `None`: no definition changes.
    pub hold: Option<&'r Pinning<'r>>,
}

impl Rollout<'_> {
    /// Does what the plan says, one step after the other.
    ///
    /// # Errors
    /// Why it stopped; the steps after that weren't begun.
    pub async fn steps(&self, plan: &Plan) -> Result<(), Stop> {
        let mut rest = plan.steps.as_slice();
        while let Some((step, after)) = rest.split_first() {
            if self.interrupt.asked() {
                return Err(Stop::Interrupted);
            }
            // What this one begins with, if it is one that changes something.
            self.release(pinning::beginning(std::slice::from_ref(step))).await?;
            self.step(step, after).await?;
            rest = after;
        }
        Ok(())
    }

    async fn step(&self, step: &Step, after: &[Step]) -> Result<(), Stop> {
        let units: Vec<&Subject> = step.units.iter().collect();
        match &step.action {
            Action::Run => self.each(step, |subject| self.run_setup(subject)).await,
            Action::Reload => self.each(step, |subject| self.reload(subject)).await,
            Action::Start => self.each(step, |subject| self.bring_up(Kind::Start, subject)).await,
            Action::Restart => {
                let prove = |ready: Vec<_>| async move { self.prove(&ready, &step.pace, Duration::ZERO).await };
                self.restart_together(step, &units, prove).await
            }
            Action::Roll => self.roll(step, after).await,
            Action::Stop => self.stop(step).await,
            Action::Update => {
                units.iter().for_each(|subject| self.ends(step, subject, Ok(Reached::Updated)));
                Ok(())
            }
            Action::Rebind { sockets } => self.rebind(step, sockets).await,
        }
    }

    /// The same with all units of a step at once.
    async fn each<'s, F>(&self, step: &'s Step, action: impl Fn(&'s Subject) -> F) -> Result<(), Stop>
    where
        F: Future<Output = Result<Reached, Stop>>,
    {
        let units: Vec<&Subject> = step.units.iter().collect();
        units.iter().for_each(|subject| self.begins(Self::word(step), subject));
        let ends = join_all(units.iter().map(|subject| action(subject))).await;
        self.tell_ends(Self::word(step), &step.reasons, &units, ends, Ok(()))
    }

    /// A step that succeeded stays active, and is run again by a reload, so that nothing restarts.
    async fn run_setup(&self, subject: &Subject) -> Result<Reached, Stop> {
        let up = self.list(&[&subject.unit]).await?.first().is_some_and(crate::manager::unit::UnitInfo::is_up);
        let reached = match up {
            true => self.reload(subject).await?,
            false => self.bring_up(Kind::Start, subject).await?,
        };
        Ok(if reached == Reached::Masked { reached } else { Reached::Done })
    }

    async fn stop(&self, step: &Step) -> Result<(), Stop> {
        let units: Vec<&Subject> = step.units.iter().collect();
        units.iter().for_each(|subject| self.begins(Self::word(step), subject));
        for (subject, reached) in units.iter().zip(self.take_down(&units).await?) {
            self.ends(step, subject, Ok(reached));
        }
        Ok(())
    }

    /// Everything down, and up again: systemd refuses to restart a socket under its service, and leaves it dead
    /// (systemd.socket(5); seen on 252 to 262). The sockets go down first, so that no connection brings a service back.
    async fn rebind(&self, step: &Step, sockets: &[Subject]) -> Result<(), Stop> {
        let word = Self::word(step);
        let services: Vec<&Subject> = step.units.iter().collect();
        let sockets: Vec<&Subject> = sockets.iter().collect();
        let names: Vec<&str> = services.iter().map(|subject| subject.unit.as_str()).collect();
        let rows = self.list(&names).await?;
        let ran = services.iter().zip(&rows).filter(|(_, row)| row.is_up() || self.wanted.contains(&row.name));
        let ran: Vec<&Subject> = ran.map(|(subject, _)| *subject).collect();
        let all: Vec<&Subject> = sockets.iter().chain(&services).copied().collect();
        all.iter().for_each(|subject| self.begins(word, subject));
        self.take_down(&all).await?;
        for some in [&sockets, &ran] {
            let ends = join_all(some.iter().map(|subject| self.bring_up(Kind::Start, subject))).await;
            self.tell_ends(word, &step.reasons, some, ends, Ok(()))?;
        }
        Ok(())
    }

    /// The word for what is done: what somebody asked to be restarted is restarted, and not rolled.
    fn word(step: &Step) -> &'static str {
        match step.reasons[..] {
            [Reason::Asked] if step.action == Action::Roll => Action::Restart.word(),
            _ => step.action.word(),
        }
    }

    fn systemd(&self) -> &Connected {
        self.jobs.systemd()
    }

    fn begins(&self, action: &'static str, subject: &Subject) {
        self.tell.tell(&Event::Begins { action, subject });
    }

    fn ends(&self, step: &Step, subject: &Subject, end: Result<Reached, Problem<'_>>) {
        self.tell.tell(&Event::Ends { action: Self::word(step), subject, reasons: &step.reasons, end });
    }

    /// Tells how each of several units ended; `proved` is what became of them after they were ready. The first failure
    /// counts, and a refusal or a broken connection more than that.
    fn tell_ends(
        &self,
        action: &'static str,
        reasons: &[Reason],
        units: &[&Subject],
        ends: Vec<Result<Reached, Stop>>,
        proved: Result<(), Stop>,
    ) -> Result<(), Stop> {
        let mut failure = None;
        let mut worst = proved.err();
        let unproved = match &worst {
            Some(Stop::Failed(failure)) => Some(failure.clone()),
            _ => None,
        };
        for (subject, end) in units.iter().zip(ends) {
            let told = match &end {
                Ok(reached) => match unproved.as_ref().filter(|failure| failure.subject == **subject) {
                    Some(failure) => Err(Problem::Failed(failure)),
                    None => Ok(*reached),
                },
                Err(Stop::Failed(failure)) => Err(Problem::Failed(failure)),
                Err(Stop::Refused(..)) => Err(Problem::NotAllowed),
                Err(Stop::Interrupted) => Err(Problem::Interrupted),
                Err(Stop::Manager(error)) if is_masked(error) => Err(Problem::DependencyMasked),
                Err(_) => Err(Problem::Abandoned),
            };
            self.tell.tell(&Event::Ends { action, subject, reasons, end: told });
            match end {
                Err(stop @ Stop::Failed(_)) => failure = failure.or(Some(stop)),
                Err(stop) => worst = Some(stop),
                Ok(_) => (),
            }
        }
        worst.or(failure).map_or(Ok(()), Err)
    }

    /// The first unit of a step is ready and settled: the others may follow, and what the steps `after` begin with.
    async fn proven(&self, step: &Step, after: &[Step]) -> Result<(), Stop> {
        let others = step.units.iter().map(|subject| subject.unit.as_str());
        self.release(others.chain(pinning::beginning(after))).await
    }

    async fn release<'u>(&self, units: impl IntoIterator<Item = &'u str>) -> Result<(), Stop> {
        match self.hold {
            Some(hold) => hold.release(self.systemd(), units).await,
            None => Ok(()),
        }
    }
}
