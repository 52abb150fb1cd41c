//! Units that a rollout has not reached yet are pinned to the definition they run: one that crashes meanwhile, or after the
//! rollout stopped half-way, must not be started with a definition that has not been seen working.
//!
//! A unit is released right before the rollout reaches it. The siblings of a process's first instance are released when that
//! is ready and settled, together with the first unit of what comes next, so that there is one daemon-reload per process.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::basic::clock::Monotonic;
use crate::basic::scope::Directories;
use crate::change::plan::{Action, Step};
use crate::group_file::discover::Source;
use crate::manager::Connected;
use crate::state::history::History;
use crate::state::pins::{Pin, Pins, Units};
use crate::unit::name::GroupName;

use super::event::Stop;

/// The pins of one roll-out.
#[derive(Debug)]
pub struct Pinning<'h> {
    directories: &'h Directories,
    group: &'h GroupName,
    /// The pin of the whole group, after a rollback.
    all: Option<Pin>,
    /// From which files each unit was started, and what `"cpus"` meant then.
    runs: BTreeMap<String, (&'h Source, u32)>,
    /// The units that are pinned now.
    pinned: RefCell<BTreeSet<String>>,
}

/// Whether a step brings a new definition to what runs.
fn changes(step: &Step) -> bool {
    matches!(step.action, Action::Reload | Action::Restart | Action::Roll | Action::Rebind { .. })
}

/// All units of a step.
fn units(step: &Step) -> impl Iterator<Item = &str> {
    let sockets = match &step.action {
        Action::Rebind { sockets } => sockets.as_slice(),
        _ => &[],
    };
    step.units.iter().chain(sockets).map(|subject| subject.unit.as_str())
}

/// The units with which the first of `steps` that changes something begins.
pub(super) fn beginning(steps: &[Step]) -> Vec<&str> {
    match steps.iter().find(|step| changes(step)) {
        Some(step) if step.action == Action::Roll => units(step).take(1).collect(),
        Some(step) => units(step).collect(),
        None => Vec::new(),
    }
}

impl<'h> Pinning<'h> {
    /// Pins all units that `steps` change, except those that they begin with. `started` are the times at which the units were
    /// started; a unit without one cannot be pinned.
    pub fn new(
        directories: &'h Directories,
        group: &'h GroupName,
        history: &'h History,
        all: Option<Pin>,
        steps: &[Step],
        started: &BTreeMap<String, Monotonic>,
    ) -> Self {
        let changed = steps.iter().filter(|step| changes(step)).flat_map(units);
        let origin = |unit: &str| {
            let origin = history.origin(unit, *started.get(unit)?)?;
            Some((unit.to_owned(), (origin.source, origin.cpus)))
        };
        let runs: BTreeMap<String, _> = changed.filter_map(origin).collect();
        let mut pinned: BTreeSet<String> = runs.keys().cloned().collect();
        for unit in beginning(steps) {
            pinned.remove(unit);
        }
        Self { directories, group, all, runs, pinned: RefCell::new(pinned) }
    }

    fn pins(&self) -> Pins {
        let mut pins: Vec<Pin> = Vec::new();
        for unit in self.pinned.borrow().iter() {
            let Some((source, cpus)) = self.runs.get(unit) else { continue };
            match pins.iter_mut().find(|pin| pin.source == **source && pin.cpus == *cpus) {
                Some(Pin { units: Units::Only(units), .. }) => drop(units.insert(unit.clone())),
                _ => pins.push(Pin {
                    source: (*source).clone(),
                    cpus: *cpus,
                    units: Units::Only(BTreeSet::from([unit.clone()])),
                }),
            }
        }
        // The first that holds a unit counts.
        pins.extend(self.all.clone());
        Pins(pins)
    }

    /// Writes the pins for the next daemon-reload. Returns whether they differ from those that were there.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(&self) -> Result<bool, Stop> {
        let pins = self.pins();
        // The generator ignores unreadable pins as well.
        if Pins::read(self.directories, self.group).is_ok_and(|before| before == pins) {
            return Ok(false);
        }
        pins.write(self.directories, self.group).map_err(|error| {
            Stop::State(format!("cannot pin the units that are not reached yet to their definitions: {error}"))
        })?;
        Ok(true)
    }

    /// Releases `units`, with a daemon-reload if one of them was pinned.
    ///
    /// # Errors
    /// If the pins cannot be written, or the manager does not reload.
    pub async fn release<'u>(&self, systemd: &Connected, units: impl IntoIterator<Item = &'u str>) -> Result<(), Stop> {
        let mut any = false;
        for unit in units {
            any |= self.pinned.borrow_mut().remove(unit);
        }
        if any { self.apply(systemd).await } else { Ok(()) }
    }

    /// The rollout stopped: pins all units again that it has not reached.
    ///
    /// # Errors
    /// As [`Pinning::release`].
    pub async fn keep(&self, systemd: &Connected, reached: &BTreeSet<String>) -> Result<(), Stop> {
        let left = self.runs.keys().filter(|unit| !reached.contains(*unit)).cloned();
        *self.pinned.borrow_mut() = left.collect();
        self.apply(systemd).await
    }

    /// The units that are pinned now.
    pub fn pinned(&self) -> Vec<String> {
        self.pinned.borrow().iter().cloned().collect()
    }

    async fn apply(&self, systemd: &Connected) -> Result<(), Stop> {
        if self.write()? {
            systemd.reload().await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::basic::diagnostic::SourceFile;
    use crate::basic::scope::Scope;
    use crate::change::observe::subject::Subject;
    use crate::change::plan::{Pace, Reason};
    use crate::state::history::{Overrides, Version};

    fn source(text: &str) -> Source {
        let file = Arc::new(SourceFile { path: "/etc/copse/g.toml".into(), text: text.to_owned() });
        Source { name: GroupName::new("g").unwrap(), file, drop_ins: Vec::new() }
    }

    fn version(since: u64, text: &str) -> Version {
        let (overrides, pins) = (Overrides::default(), Pins::default());
        Version {
            since: Monotonic::from_micros(since).unwrap(),
            source: source(text),
            cpus: 1,
            static_target: false,
            overrides,
            pins,
        }
    }

    fn step(action: Action, units: &[&str]) -> Step {
        let subject = |unit: &&str| Subject::of_group((*unit).to_owned(), unit);
        let units = units.iter().map(subject).collect();
        Step { action, units, reasons: vec![Reason::Requested], pace: Pace::default() }
    }

    #[test]
    fn all_but_the_first_are_pinned_to_what_each_of_them_runs() {
        let root = tempfile::tempdir().unwrap();
        let directories = Directories::new(Scope::System, Some(root.path().into()), |_| None);
        let group = GroupName::new("g").unwrap();
        let history = History { versions: vec![version(10, "old"), version(20, "older apply"), version(30, "new")] };
        let steps = [
            step(Action::Start, &["new"]),
            step(Action::Roll, &["w@1", "w@2", "w@3"]),
            step(Action::Restart, &["m", "unknown"]),
            step(Action::Update, &["u"]),
        ];
        let started = [("w@1", 11), ("w@2", 12), ("w@3", 21), ("m", 13), ("u", 14), ("unknown", 1)];
        let started = started.map(|(unit, at)| (unit.to_owned(), Monotonic::from_micros(at).unwrap())).into();
        let pinning = Pinning::new(&directories, &group, &history, None, &steps, &started);
        let pins = pinning.pins();
        let of = |unit: &str| pins.of(unit).map(|pin| pin.source.file.text.as_str());
        assert_eq!((of("w@2"), of("w@3"), of("m")), (Some("old"), Some("older apply"), Some("old")));
        assert_eq!((of("w@1"), of("u"), of("unknown"), of("new")), (None, None, None, None));
        assert!(pinning.write().unwrap());
        assert!(!pinning.write().unwrap(), "they are there already");
        assert_eq!(Pins::read(&directories, &group).unwrap(), pins);
        assert_eq!(beginning(&steps), ["w@1"]);
        assert_eq!(beginning(&steps[2..]), ["m", "unknown"]);
        assert!(beginning(&steps[3..]).is_empty());
    }

    #[test]
    fn after_a_rollback_the_whole_group_stays_pinned() {
        let root = tempfile::tempdir().unwrap();
        let directories = Directories::new(Scope::System, Some(root.path().into()), |_| None);
        let group = GroupName::new("g").unwrap();
        let history = History { versions: vec![version(10, "old"), version(20, "bad")] };
        let steps = [step(Action::Roll, &["w@1", "w@2"])];
        let started = [("w@1", 21), ("w@2", 22)];
        let started = started.map(|(unit, at)| (unit.to_owned(), Monotonic::from_micros(at).unwrap())).into();
        let back = Pin { source: source("old"), cpus: 1, units: Units::All };
        let pinning = Pinning::new(&directories, &group, &history, Some(back.clone()), &steps, &started);
        let of = |unit: &str| pinning.pins().of(unit).map(|pin| pin.source.file.text.clone());
        assert_eq!((of("w@1"), of("w@2")), (Some("old".to_owned()), Some("bad".to_owned())));
        pinning.pinned.borrow_mut().clear();
        assert_eq!(pinning.pins(), Pins(vec![back]));
    }
}
