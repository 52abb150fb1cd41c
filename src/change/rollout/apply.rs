//! A plan that brings new definitions: what is recorded before, between and after its steps, so that it can be interrupted at
//! any point and be applied again.
//!
//! ```text
//!  intent   units that are going to be stopped and have to be started again
//!  pins     units that are not reached yet keep their definition  (pinning)
//!  daemon-reload, the steps
//!  applied  the files as they were applied, and what the units were started from
//! ```

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::basic::clock::{Monotonic, Realtime};
use crate::basic::scope::Directories;
use crate::change::observe::inputs::Files;
use crate::change::plan::{Action, Plan, Step};
use crate::group_file::discover::Source;
use crate::state::history::History;
use crate::state::last_apply::Prints;
use crate::state::last_apply::{Applied, Intent, Taken};
use crate::state::pins::Pin;

use super::event::{Event, Reporter, Stop};
use super::{Pinning, Rollout};

/// What a plan is applied with.
#[derive(Debug)]
pub struct Application<'a> {
    pub directories: &'a Directories,
    pub plan: &'a Plan,
    pub history: &'a History,
    /// When each unit was started.
    pub started: BTreeMap<String, Monotonic>,
    /// The files that each unit is started from.
    pub inputs: BTreeMap<String, Files>,
    /// Fingerprints of the inputs of the units that are up to date.
    pub current: BTreeMap<String, Prints>,
    /// The group's files as they are applied; `None` if they were removed.
    pub source: Option<&'a Source>,
    /// The value of `"cpus"`.
    pub cpus: u32,
    /// The last apply that was complete.
    pub before: Option<Applied>,
    /// The files of `--rollback`, to which the whole group is pinned.
    pub back: Option<Pin>,
}

/// Records which units the rollout is done with, and reports to another.
struct Recorder<'t> {
    next: &'t dyn Reporter,
    units: RefCell<BTreeSet<String>>,
    failed: RefCell<BTreeSet<String>>,
}

impl Reporter for Recorder<'_> {
    fn report(&self, event: &Event<'_>) {
        if let Event::Ends { subject, end, .. } = event {
            self.units.borrow_mut().insert(subject.unit.clone());
            if end.is_err() {
                self.failed.borrow_mut().insert(subject.unit.clone());
            }
        }
        self.next.report(event);
    }
}

impl Application<'_> {
    /// Carries out the plan.
    ///
    /// # Errors
    /// Why it stopped, and which units stay pinned to their old definition.
    pub async fn run(&self, rollout: &Rollout<'_>) -> Result<(), (Stop, Vec<String>)> {
        let pinning = Pinning::new(
            self.directories,
            &self.plan.group,
            self.history,
            self.back.clone(),
            &self.plan.steps,
            &self.started,
        );
        let recorder = Recorder { next: rollout.reporter, units: RefCell::default(), failed: RefCell::default() };
        let wanted = Intent::read(self.directories, &self.plan.group).unwrap_or_default().units;
        let interrupt = rollout.interrupt.clone();
        let rollout = Rollout { pinning: Some(&pinning), reporter: &recorder, interrupt, wanted, ..*rollout };
        let mut taken = BTreeMap::new();
        let end = self.steps(&rollout, &pinning, &mut taken).await;
        let reached = recorder.units.take();
        taken.retain(|unit, _| reached.contains(unit));
        let kept = match end {
            Ok(()) => self.complete(&rollout, &pinning, taken).await,
            Err(stop) => {
                let failed = recorder.failed.take();
                let kept = self.stopped(&rollout, &pinning, (&reached, &failed), taken).await;
                // Why it stopped matters more than that something could not be recorded.
                kept.and(Err(stop))
            }
        };
        kept.map_err(|stop| (stop, pinning.pinned()))
    }

    async fn steps(
        &self,
        rollout: &Rollout<'_>,
        pinning: &Pinning<'_>,
        taken: &mut BTreeMap<String, Taken>,
    ) -> Result<(), Stop> {
        let units = self.stops_and_starts(rollout).await?;
        self.intend(units)?;
        let pinned = pinning.write()?;
        if pinned || self.plan.daemon_reload {
            rollout.systemd().reload().await?;
        }
        // Before anything starts: a file that changes while a unit starts counts as changed for the next plan.
        let asked = Monotonic::now();
        for subject in self.plan.steps.iter().flat_map(|step| &step.units) {
            let prints = self.inputs.get(&subject.unit).map_or_else(|| Files::default().prints(), Files::prints);
            taken.insert(subject.unit.clone(), Taken { at: Some(asked), prints });
        }
        rollout.steps(self.plan).await
    }

    /// The units that a step stops and starts again by two jobs, and those that an interrupted apply stopped.
    async fn stops_and_starts(&self, rollout: &Rollout<'_>) -> Result<BTreeSet<String>, Stop> {
        let mut units = rollout.wanted.clone();
        for step in &self.plan.steps {
            if let Action::Rebind { sockets } = &step.action {
                let names: Vec<&str> = step.units.iter().chain(sockets).map(|subject| subject.unit.as_str()).collect();
                units.extend(rollout.list(&names).await?.into_iter().filter(|row| row.is_up()).map(|row| row.name));
            }
        }
        Ok(units)
    }

    fn intend(&self, units: BTreeSet<String>) -> Result<(), Stop> {
        let written = Intent { units }.write(self.directories, &self.plan.group);
        written.map_err(|error| Stop::State(format!("cannot record the intent: {error}")))
    }

    /// Everything is done: nothing stays pinned but by a rollback.
    async fn complete(
        &self,
        rollout: &Rollout<'_>,
        pinning: &Pinning<'_>,
        taken: BTreeMap<String, Taken>,
    ) -> Result<(), Stop> {
        if pinning.write()? {
            rollout.systemd().reload().await?;
        }
        self.intend(BTreeSet::new())?;
        let units = self.units(rollout, taken).await?;
        let at = Realtime::now();
        match self.source.filter(|_| self.plan.active) {
            Some(source) => self.note(Applied { at, source: source.clone(), cpus: self.cpus, units }),
            None => Ok(()),
        }
    }

    /// It stopped half-way: units that were not reached are pinned again, also those that were released already.
    async fn stopped(
        &self,
        rollout: &Rollout<'_>,
        pinning: &Pinning<'_>,
        (reached, failed): (&BTreeSet<String>, &BTreeSet<String>),
        taken: BTreeMap<String, Taken>,
    ) -> Result<(), Stop> {
        pinning.keep(rollout.systemd(), reached).await?;
        let intent = Intent::read(self.directories, &self.plan.group).unwrap_or_default();
        // Units that failed permanently are down because of the rollout.
        let names: Vec<&str> = intent.units.union(failed).map(String::as_str).collect();
        let down = rollout.list(&names).await?.into_iter().filter(|row| !row.is_up()).map(|row| row.name);
        self.intend(down.collect())?;
        match &self.before {
            Some(before) => {
                let units = self.units(rollout, taken).await?;
                self.note(Applied { units, ..before.clone() })
            }
            None => Ok(()),
        }
    }

    /// What is recorded of the units: new records for those that were started, the former ones for the others.
    async fn units(
        &self,
        rollout: &Rollout<'_>,
        mut taken: BTreeMap<String, Taken>,
    ) -> Result<BTreeMap<String, Taken>, Stop> {
        for (unit, taken) in &mut taken {
            if is_process(&self.plan.steps, unit) {
                taken.at = rollout.systemd().service_time(unit, "ExecMainStartTimestampMonotonic").await?;
            }
        }
        let mut units = self.before.as_ref().map(|before| before.units.clone()).unwrap_or_default();
        for (unit, prints) in self.current.iter().filter(|(unit, _)| !taken.contains_key(*unit)) {
            let at = self.started.get(unit).copied();
            units.insert(unit.clone(), Taken { at, prints: prints.clone() });
        }
        units.extend(taken);
        Ok(units)
    }

    fn note(&self, applied: Applied) -> Result<(), Stop> {
        let written = applied.write(self.directories, &self.plan.group);
        written.map_err(|error| Stop::State(format!("cannot record the apply: {error}")))
    }
}

/// Whether systemd keeps the time at which a unit was started. It keeps none of a reload, which runs setup steps and the
/// owner of shared directories.
fn is_process(steps: &[Step], unit: &str) -> bool {
    let of = |step: &&Step| step.units.iter().any(|subject| subject.unit == unit);
    unit.ends_with(".service")
        && !unit.starts_with("copse-")
        && steps.iter().filter(of).all(|step| step.action != Action::Run)
}
