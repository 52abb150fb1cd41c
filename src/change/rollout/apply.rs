//! A plan that brings new definitions: what is written down before, between and after its steps, so that it can be
//! stopped anywhere, by whatever, and be done again.
//!
//! ```text
//!  intent   units that are going to be stopped and must be started again
//!  pins     what isn't dealt with yet stays what it is           (hold)
//!  daemon-reload, the steps
//!  applied  what is in force now, and what the units were started from
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
    /// Where copse keeps things.
    pub directories: &'a Directories,
    /// What to do.
    pub plan: &'a Plan,
    /// From what the units run.
    pub history: &'a History,
    /// When they were started, as [`History::origin`] takes it.
    pub started: BTreeMap<String, Monotonic>,
    /// The files that each unit is started from.
    pub inputs: BTreeMap<String, Files>,
    /// Fingerprints of the inputs of the units that are left as they are and were started from what is there now.
    pub current: BTreeMap<String, Prints>,
    /// The group's files as they are applied; `None`: it has none any more.
    pub source: Option<&'a Source>,
    /// What `"cpus"` means.
    pub cpus: u32,
    /// The last apply that was complete.
    pub before: Option<Applied>,
    /// Not the group's files as they are, but these: `--rollback`.
    pub back: Option<Pin>,
}

/// Notes which units were dealt with, and tells another.
struct Dealt<'t> {
    next: &'t dyn Reporter,
    units: RefCell<BTreeSet<String>>,
    failed: RefCell<BTreeSet<String>>,
}

impl Reporter for Dealt<'_> {
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
    /// Carries out the plan. The units that are held at their old definition afterwards: none, if it was complete.
    ///
    /// # Errors
    /// Why it stopped, with the units that are held.
    pub async fn run(&self, rollout: &Rollout<'_>) -> Result<(), (Stop, Vec<String>)> {
        let pinning = Pinning::new(
            self.directories,
            &self.plan.group,
            self.history,
            self.back.clone(),
            &self.plan.steps,
            &self.started,
        );
        let dealt = Dealt { next: rollout.reporter, units: RefCell::default(), failed: RefCell::default() };
        let wanted = Intent::read(self.directories, &self.plan.group).unwrap_or_default().units;
        let interrupt = rollout.interrupt.clone();
        let rollout = Rollout { pinning: Some(&pinning), reporter: &dealt, interrupt, wanted, ..*rollout };
        let mut taken = BTreeMap::new();
        let end = self.steps(&rollout, &pinning, &mut taken).await;
        let dealt_with = dealt.units.take();
        taken.retain(|unit, _| dealt_with.contains(unit));
        let kept = match end {
            Ok(()) => self.complete(&rollout, &pinning, taken).await,
            Err(stop) => {
                let failed = dealt.failed.take();
                let kept = self.stopped(&rollout, &pinning, (&dealt_with, &failed), taken).await;
                // Why it stopped matters more than what couldn't be noted then.
                kept.and(Err(stop))
            }
        };
        kept.map_err(|stop| (stop, pinning.held()))
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
        // Before anything starts: what changes while it starts is found changed by the next plan.
        let asked = Monotonic::now();
        for subject in self.plan.steps.iter().flat_map(|step| &step.units) {
            let prints = self.inputs.get(&subject.unit).map_or_else(|| Files::default().prints(), Files::prints);
            taken.insert(subject.unit.clone(), Taken { at: Some(asked), prints });
        }
        rollout.steps(self.plan).await
    }

    /// The units that a step stops and starts again by two jobs; and those that an apply that was interrupted did.
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
        written.map_err(|error| Stop::State(format!("what is going to be done can't be written down: {error}")))
    }

    /// Everything is done: nothing is held any more but by a roll-back.
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

    /// It stopped half-way: what wasn't dealt with is held, also what had been let go already.
    async fn stopped(
        &self,
        rollout: &Rollout<'_>,
        pinning: &Pinning<'_>,
        (dealt_with, failed): (&BTreeSet<String>, &BTreeSet<String>),
        taken: BTreeMap<String, Taken>,
    ) -> Result<(), Stop> {
        pinning.keep(rollout.systemd(), dealt_with).await?;
        let intent = Intent::read(self.directories, &self.plan.group).unwrap_or_default();
        // Also what failed and isn't tried any more: nobody but the roll-out stopped that.
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

    /// What is known of the units now: of those that were started, from when on that is so; of the others, what was
    /// known.
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
        written.map_err(|error| Stop::State(format!("what was applied can't be written down: {error}")))
    }
}

/// Whether a unit runs a process, whose start tells when it was; a setup step, and the holder of shared directories, are
/// run by a reload, which leaves no trace.
fn is_process(steps: &[Step], unit: &str) -> bool {
    let of = |step: &&Step| step.units.iter().any(|subject| subject.unit == unit);
    unit.ends_with(".service")
        && !unit.starts_with("copse-")
        && steps.iter().filter(of).all(|step| step.action != Action::Run)
}
