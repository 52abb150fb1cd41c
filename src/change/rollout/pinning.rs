//! Units that a roll-out hasn't come to yet are held at the definition they run with: a process that crashes meanwhile,
//! or after the roll-out stopped half-way, must not come back with one that nobody saw working.
//!
//! A unit is let go right before it is dealt with; the siblings of a process's first instance when that is ready and
//! settled, together with the first of what comes next, so that there is one daemon-reload for each process.

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
    /// The whole group, after a roll-back: what isn't held longer than that.
    all: Option<Pin>,
    /// What each unit runs with.
    runs: BTreeMap<String, (&'h Source, u32)>,
    /// Those that are held now.
    held: RefCell<BTreeSet<String>>,
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
    /// Holds all that `steps` are going to change, but for what they begin with. `started` are the moments at which the
    /// units were started, as [`History::origin`] takes them; what isn't known can't be held.
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
        let mut held: BTreeSet<String> = runs.keys().cloned().collect();
        for unit in beginning(steps) {
            held.remove(unit);
        }
        Self { directories, group, all, runs, held: RefCell::new(held) }
    }

    /// What is to be in force now.
    fn pins(&self) -> Pins {
        let mut pins: Vec<Pin> = Vec::new();
        for unit in self.held.borrow().iter() {
            let Some((source, cpus)) = self.runs.get(unit) else { continue };
            let same = pins.iter_mut().find(|pin| pin.source == **source && pin.cpus == *cpus);
            match same {
                Some(Pin { units: Units::Only(units), .. }) => drop(units.insert(unit.clone())),
                _ => pins.push(Pin {
                    source: (*source).clone(),
                    cpus: *cpus,
                    units: Units::Only(BTreeSet::from([unit.clone()])),
                }),
            }
        }
        // The first that has a unit counts.
        pins.extend(self.all.clone());
        Pins(pins)
    }

    /// Writes the pins down, for the next daemon-reload. Says whether that is needed: they aren't what was there.
    ///
    /// # Errors
    /// Where they couldn't be written.
    pub fn write(&self) -> Result<bool, Stop> {
        let pins = self.pins();
        // What can't be read is as if it weren't there, to the generator too.
        if Pins::read(self.directories, self.group).is_ok_and(|before| before == pins) {
            return Ok(false);
        }
        pins.write(self.directories, self.group).map_err(|error| {
            let what = format!("the units that aren't rolled yet can't be held at what they run with: {error}");
            Stop::State(what)
        })?;
        Ok(true)
    }

    /// Lets go of `units`, with a daemon-reload where one of them was held.
    ///
    /// # Errors
    /// Where the pins couldn't be written, or the manager didn't reload.
    pub async fn release<'u>(&self, systemd: &Connected, units: impl IntoIterator<Item = &'u str>) -> Result<(), Stop> {
        let mut any = false;
        for unit in units {
            any |= self.held.borrow_mut().remove(unit);
        }
        if any { self.obey(systemd).await } else { Ok(()) }
    }

    /// The roll-out stopped: holds everything again that it hasn't dealt with.
    ///
    /// # Errors
    /// As [`Pinning::release`].
    pub async fn keep(&self, systemd: &Connected, dealt_with: &BTreeSet<String>) -> Result<(), Stop> {
        let left = self.runs.keys().filter(|unit| !dealt_with.contains(*unit)).cloned();
        *self.held.borrow_mut() = left.collect();
        self.obey(systemd).await
    }

    /// The units that are held now.
    pub fn held(&self) -> Vec<String> {
        self.held.borrow().iter().cloned().collect()
    }

    async fn obey(&self, systemd: &Connected) -> Result<(), Stop> {
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
    use crate::change::observe::members::Subject;
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
        let subject = |unit: &&str| Subject { unit: (*unit).to_owned(), label: (*unit).to_owned() };
        let units = units.iter().map(subject).collect();
        Step { action, units, reasons: vec![Reason::Asked], pace: Pace::default() }
    }

    #[test]
    fn all_but_the_first_are_held_at_what_each_of_them_runs_with() {
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
        let hold = Pinning::new(&directories, &group, &history, None, &steps, &started);
        let pins = hold.pins();
        let of = |unit: &str| pins.of(unit).map(|pin| pin.source.file.text.as_str());
        assert_eq!((of("w@2"), of("w@3"), of("m")), (Some("old"), Some("older apply"), Some("old")));
        assert_eq!((of("w@1"), of("u"), of("unknown"), of("new")), (None, None, None, None));
        assert!(hold.write().unwrap());
        assert!(!hold.write().unwrap(), "they are there already");
        assert_eq!(Pins::read(&directories, &group).unwrap(), pins);
        assert_eq!(beginning(&steps), ["w@1"]);
        assert_eq!(beginning(&steps[2..]), ["m", "unknown"]);
        assert!(beginning(&steps[3..]).is_empty());
    }

    #[test]
    fn after_a_roll_back_the_whole_group_stays_held() {
        let root = tempfile::tempdir().unwrap();
        let directories = Directories::new(Scope::System, Some(root.path().into()), |_| None);
        let group = GroupName::new("g").unwrap();
        let history = History { versions: vec![version(10, "old"), version(20, "bad")] };
        let steps = [step(Action::Roll, &["w@1", "w@2"])];
        let started = [("w@1", 21), ("w@2", 22)];
        let started = started.map(|(unit, at)| (unit.to_owned(), Monotonic::from_micros(at).unwrap())).into();
        let back = Pin { source: source("old"), cpus: 1, units: Units::All };
        let hold = Pinning::new(&directories, &group, &history, Some(back.clone()), &steps, &started);
        let of = |unit: &str| hold.pins().of(unit).map(|pin| pin.source.file.text.clone());
        assert_eq!((of("w@1"), of("w@2")), (Some("old".to_owned()), Some("bad".to_owned())));
        hold.held.borrow_mut().clear();
        assert_eq!(hold.pins(), Pins(vec![back]));
    }
}
