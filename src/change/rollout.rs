//! Carries out a [`Plan`](super::plan::Plan): it waits, and decides nothing.
//!
//! ```text
//!  apply      what is written down, so that an interrupted apply can be repeated
//!  group      all of a group, by its target
//!  event      what is reported meanwhile, and how it ends
//!  interrupt  SIGINT, SIGTERM, SIGHUP
//!  freezer    frozen units are thawed before they are touched
//!  unit       one unit: its job, and what becomes of it
//!  pinning    units not reached yet keep their definition
//!  settle     does it stay ready? is it settled?
//!  rolling    one instance after the other
//!  journal    what was done, in the journal
//! ```
//!
//! The first unit that does not come to what it should ends the rollout: earlier steps stay done, later ones are not begun.

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

use super::observe::subject::Subject;
use super::plan::{Action, Plan, Reason, Step};
use crate::manager::jobs::{Jobs, Request};
use crate::manager::{Connected, is_masked};

pub use self::event::{Event, Failure, Problem, Reporter, Stop, UnitOutcome};
pub use self::interrupt::Interrupt;
pub use self::pinning::Pinning;

/// What is needed to carry out plans.
pub struct Rollout<'r> {
    pub jobs: &'r Jobs,
    pub reporter: &'r dyn Reporter,
    pub interrupt: Interrupt,
    /// How long a unit may take to become ready, all its attempts together; `None`: without a limit.
    pub limit: Option<Duration>,
    /// Units that an interrupted apply stopped and has to start again.
    pub wanted: BTreeSet<String>,
    /// The units that keep their old definition until the rollout reaches them; `None`: no definition changes.
    pub pinning: Option<&'r Pinning<'r>>,
}

impl Rollout<'_> {
    /// Carries out the steps of a plan, one after the other.
    ///
    /// # Errors
    /// Why it stopped; later steps are not begun.
    pub async fn steps(&self, plan: &Plan) -> Result<(), Stop> {
        let mut rest = plan.steps.as_slice();
        while let Some((step, after)) = rest.split_first() {
            if self.interrupt.is_requested() {
                return Err(Stop::Interrupted);
            }
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
            Action::Start => self.each(step, |subject| self.bring_up(Request::Start, subject)).await,
            Action::Restart => {
                let prove = |ready: Vec<_>| async move { self.prove(&ready, &step.pace, Duration::ZERO).await };
                self.restart_together(step, &units, prove).await
            }
            Action::Roll => self.roll(step, after).await,
            Action::Stop => self.stop(step).await,
            Action::Update => {
                units.iter().for_each(|subject| self.ends(step, subject, Ok(UnitOutcome::Updated)));
                Ok(())
            }
            Action::Rebind { sockets } => self.rebind(step, sockets).await,
        }
    }

    /// The same with all units of a step at once.
    async fn each<'s, F>(&self, step: &'s Step, action: impl Fn(&'s Subject) -> F) -> Result<(), Stop>
    where
        F: Future<Output = Result<UnitOutcome, Stop>>,
    {
        let units: Vec<&Subject> = step.units.iter().collect();
        units.iter().for_each(|subject| self.begins(Self::word(step), subject));
        let ends = join_all(units.iter().map(|subject| action(subject))).await;
        self.report_ends(Self::word(step), &step.reasons, &units, ends, Ok(()))
    }

    /// A setup step that succeeded stays active, and is run again by a reload, so that nothing restarts.
    async fn run_setup(&self, subject: &Subject) -> Result<UnitOutcome, Stop> {
        let up = self.list(&[&subject.unit]).await?.first().is_some_and(crate::manager::unit::UnitInfo::is_up);
        let outcome = match up {
            true => self.reload(subject).await?,
            false => self.bring_up(Request::Start, subject).await?,
        };
        Ok(if outcome == UnitOutcome::Masked { outcome } else { UnitOutcome::Completed })
    }

    async fn stop(&self, step: &Step) -> Result<(), Stop> {
        let units: Vec<&Subject> = step.units.iter().collect();
        units.iter().for_each(|subject| self.begins(Self::word(step), subject));
        for (subject, outcome) in units.iter().zip(self.take_down(&units).await?) {
            self.ends(step, subject, Ok(outcome));
        }
        Ok(())
    }

    /// Everything down, and up again: systemd refuses to restart a socket while its service is active, and leaves it dead
    /// (systemd.socket(5); seen on 252 to 262). The sockets go down first, so that no connection starts a service again.
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
            let ends = join_all(some.iter().map(|subject| self.bring_up(Request::Start, subject))).await;
            self.report_ends(word, &step.reasons, some, ends, Ok(()))?;
        }
        Ok(())
    }

    /// The word for an action. A restart on request is called so, although it is carried out as a roll.
    fn word(step: &Step) -> &'static str {
        match step.reasons[..] {
            [Reason::Requested] if step.action == Action::Roll => Action::Restart.word(),
            _ => step.action.word(),
        }
    }

    fn systemd(&self) -> &Connected {
        self.jobs.systemd()
    }

    fn begins(&self, action: &'static str, subject: &Subject) {
        self.reporter.report(&Event::Begins { action, subject });
    }

    fn waits(&self, subject: &Subject, what: &str) {
        self.reporter.report(&Event::Waits { subject, what });
    }

    fn ends(&self, step: &Step, subject: &Subject, end: Result<UnitOutcome, Problem<'_>>) {
        self.reporter.report(&Event::Ends { action: Self::word(step), subject, reasons: &step.reasons, end });
    }

    /// Reports how each of several units ended; `proved` is what became of them after they were ready. Returns the first
    /// failure, or a refusal or a broken connection, which counts more.
    fn report_ends(
        &self,
        action: &'static str,
        reasons: &[Reason],
        units: &[&Subject],
        ends: Vec<Result<UnitOutcome, Stop>>,
        proved: Result<(), Stop>,
    ) -> Result<(), Stop> {
        let mut failure = None;
        let mut worst = proved.err();
        let unproved = match &worst {
            Some(Stop::Failed(failure)) => Some(failure.clone()),
            _ => None,
        };
        for (subject, end) in units.iter().zip(ends) {
            let reported = match &end {
                Ok(outcome) => match unproved.as_ref().filter(|failure| failure.subject == **subject) {
                    Some(failure) => Err(Problem::Failed(failure)),
                    None => Ok(*outcome),
                },
                Err(Stop::Failed(failure)) => Err(Problem::Failed(failure)),
                Err(Stop::Refused(..)) => Err(Problem::NotAllowed),
                Err(Stop::Interrupted) => Err(Problem::Interrupted),
                Err(Stop::Manager(error)) if is_masked(error) => Err(Problem::DependencyMasked),
                Err(_) => Err(Problem::Abandoned),
            };
            self.reporter.report(&Event::Ends { action, subject, reasons, end: reported });
            match end {
                Err(stop @ Stop::Failed(_)) => failure = failure.or(Some(stop)),
                Err(stop) => worst = Some(stop),
                Ok(_) => (),
            }
        }
        worst.or(failure).map_or(Ok(()), Err)
    }

    /// The first unit of a step is ready and settled: releases the others, and what the steps `after` begin with.
    async fn proven(&self, step: &Step, after: &[Step]) -> Result<(), Stop> {
        let others = step.units.iter().map(|subject| subject.unit.as_str());
        self.release(others.chain(pinning::beginning(after))).await
    }

    async fn release<'u>(&self, units: impl IntoIterator<Item = &'u str>) -> Result<(), Stop> {
        match self.pinning {
            Some(pinning) => pinning.release(self.systemd(), units).await,
            None => Ok(()),
        }
    }
}
