//! Puts the [`Situation`] of a group together: from the service manager's answers, the files, and what copse recorded since
//! the boot.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::inputs::{Files, Looked};
use super::live::LiveGroup;
use super::members::{Kind, Member, Start};
use super::past::{Past, Texts};
use super::paths::Unit;
use super::situation::{Added, GroupUnit, Observed, Running, Situation};
use super::state::State;
use super::subject::Subject;
use crate::basic::clock::{Monotonic, Realtime};
use crate::basic::diagnostic::Diagnostic;
use crate::basic::scope::{Directories, Scope};
use crate::generate;
use crate::generator::load::GroupOutcome;
use crate::manager::gave_up::was_asked_to_stop;
use crate::manager::properties::Properties;
use crate::manager::state::JobType;
use crate::manager::unit::UnitInfo;
use crate::model::{Context, Group};
use crate::state::history::{History, Overrides, StartHistory};
use crate::state::last_apply::{Applied, Intent, Taken};
use crate::state::pins::{Pins, Units};
use crate::unit::UnitTree;
use crate::unit::directives::Systemd;
use crate::unit::effective::{Definition, Definitions};
use crate::unit::name;
use crate::unit::name::GroupName;
use crate::unit::tree;

/// That a rollback is in force, as a note of the plan.
pub const ROLLED_BACK: &str = "the group is rolled back to the last complete apply";

/// What copse recorded since the boot, of all groups.
#[derive(Debug)]
pub struct Observer<'d> {
    directories: &'d Directories,
    context: Context,
    systemd: Systemd,
    histories: BTreeMap<GroupName, History>,
    no_history: History,
    /// Why the start history cannot be read.
    unreadable: Option<Diagnostic>,
    /// What the generator's directory holds, which any user may read, if there is no history.
    on_disk: UnitTree,
}

/// One group.
pub(super) struct GroupObserver<'s> {
    pub(super) observer: &'s Observer<'s>,
    pub(super) group: Option<&'s Group>,
    pub(super) past: &'s Past<'s>,
    pub(super) applied: Option<Applied>,
    pub(super) name: &'s GroupName,
    pub(super) live: &'s LiveGroup,
    /// Without a history, what is on disk.
    on_disk: Option<Definitions<'s>>,
    /// When the pins of the group were written.
    pinned: Option<Realtime>,
}

impl<'d> Observer<'d> {
    pub fn read(directories: &'d Directories, context: Context) -> Self {
        let (histories, unreadable) = match StartHistory::read(directories) {
            Ok(history) => (history.groups, None),
            Err(why) => (BTreeMap::new(), Some(why)),
        };
        let generator = directories.generator.as_ref().filter(|_| histories.is_empty());
        let on_disk = generator.and_then(|path| tree::read::units(&directories.rooted(path)).ok()).unwrap_or_default();
        let systemd = Systemd::detect(directories).unwrap_or(Systemd::OLDEST);
        let no_history = History::default();
        Self { directories, context, systemd, histories, no_history, unreadable, on_disk }
    }

    pub(super) fn unit<'u>(&self, name: &'u str) -> Unit<'u> {
        Unit { name, scope: self.context.scope, systemd: self.systemd }
    }

    /// The files that a member of `group` is started from, as far as they are known.
    pub fn inputs(&self, group: &Group, member: &Member) -> Files {
        let unit = self.unit(member.unit());
        let files =
            member.service(group).map(|service| Files { inputs: unit.inputs(service), handed: unit.handed(service) });
        files.unwrap_or_default()
    }

    /// The units on disk of one group.
    fn on_disk_of(&self, group: &GroupName) -> UnitTree {
        let slices = [true, false].map(|user| name::slice(user, group));
        let of_group = |path: &str| {
            let own = path.strip_prefix("copse-").and_then(|rest| Some(rest.split_once('@')?.1));
            let rest = own.unwrap_or(path).strip_prefix(group.as_str());
            rest.is_some_and(|rest| rest.starts_with(['.', '-', '@']))
                || slices.iter().any(|slice| path.starts_with(slice))
        };
        let entries = self.on_disk.entries.iter().filter(|(path, _)| of_group(path));
        UnitTree { entries: entries.map(|(path, entry)| (path.clone(), entry.clone())).collect() }
    }

    /// The situation of a group. `file`: its file, if there is one.
    pub fn situation<'f>(&self, name: &GroupName, file: Option<&'f GroupOutcome>, live: &LiveGroup) -> Situation<'f> {
        let group = file.and_then(|file| file.group.as_ref());
        let known = self.histories.get(name);
        let history = known.unwrap_or(&self.no_history);
        let texts = Texts::new(self.context, self.systemd, history, file);
        let past = Past::new(name, &texts, history, file);
        let (no_overrides, on_disk) = (Overrides::default(), self.on_disk_of(name));
        let overrides = file.map_or(&no_overrides, |file| &file.overrides);
        let observer = GroupObserver {
            observer: self,
            name,
            live,
            group,
            past: &past,
            on_disk: known.is_none().then(|| Definitions::new(&on_disk, overrides)),
            applied: Applied::read(self.directories, name).ok().flatten(),
            pinned: Pins::since(self.directories, name),
        };
        let mut looked = Looked::default();
        let units = live.members.iter().map(|member| observer.unit(member, &mut looked)).collect();
        Situation {
            name: name.clone(),
            group,
            active: observer.is_active(),
            units,
            group_units: observer.group_units(),
            needs_reload: observer.needs_reload(),
            interrupted: Intent::read(self.directories, name).unwrap_or_default().units,
            files: observer.changed_files(history, file, overrides),
            applied: observer.applied.as_ref().map(|applied| applied.at),
            rolled_back: observer.rolled_back(),
            notes: observer.notes(&looked),
        }
    }
}

impl GroupObserver<'_> {
    fn is_active(&self) -> bool {
        let target = self.live.infos.get(&name::target(self.name));
        target.is_some_and(|info| info.is_up() && info.job != Some(JobType::Stop) || info.is_starting())
    }

    fn needs_reload(&self) -> bool {
        let Some(on_disk) = &self.on_disk else { return self.past.needs_reload() };
        let units = self.group.map(generate::unit_names).unwrap_or_default();
        units.iter().any(|unit| on_disk.unit(unit) != self.past.now(unit))
    }

    fn unit(&self, member: &Member, looked: &mut Looked) -> Observed {
        let unit = member.unit();
        let none = Properties::default();
        let properties = self.live.properties.get(unit).unwrap_or(&none);
        let info = self.live.infos.get(unit).cloned().unwrap_or_else(|| UnitInfo::absent(unit));
        let generator = self.observer.directories.generator.clone().unwrap_or_default();
        let mut observed = Observed {
            state: State::of(member, &info, Some(properties)),
            orphaned: !member.defined && properties.fragment.starts_with(generator),
            added: None,
            asked_to_stop: was_asked_to_stop(properties),
            running: Running::Not,
            loaded: self.loaded(unit),
            new: self.past.now(unit).filter(|_| member.defined),
            changed_inputs: Vec::new(),
            changed_start_files: Vec::new(),
            changed_program: None,
            rerun_steps: Vec::new(),
            stamp_matches: None,
            pinned: self.pinned(unit),
            frozen: properties.frozen,
            member: member.clone(),
            info,
        };
        let runs = matches!(
            observed.state,
            State::Up | State::Starting | State::Restarting | State::Stopping | State::Failed(_)
        );
        if runs || observed.info.is_up() {
            observed.running = self.running(unit, started_at(member.kind, properties), observed.loaded.as_ref());
            self.look_at_files(&mut observed, properties, looked);
        } else if member.start == Start::Auto {
            observed.added = self.added(unit, properties);
        }
        observed
    }

    /// What an apply recorded of a unit.
    pub(super) fn recorded(&self, unit: &str) -> Option<&Taken> {
        self.applied.as_ref()?.units.get(unit)
    }

    fn loaded(&self, unit: &str) -> Option<Arc<Definition>> {
        match &self.on_disk {
            None => self.past.loaded(unit),
            Some(on_disk) => on_disk.unit(unit),
        }
    }

    fn last_pins(&self) -> Option<&Pins> {
        Some(&self.observer.histories.get(self.name)?.last()?.pins)
    }

    fn pinned(&self, unit: &str) -> Option<Realtime> {
        let pin = self.last_pins()?.of(unit)?;
        self.pinned.filter(|_| matches!(pin.units, Units::Only(_)))
    }

    /// Since when the whole group is pinned.
    fn rolled_back(&self) -> Option<Realtime> {
        self.last_pins()?.all().and(self.pinned)
    }

    fn running(&self, unit: &str, at: Option<Monotonic>, loaded: Option<&Arc<Definition>>) -> Running {
        // Of what is run by a reload, systemd keeps no time.
        let at = at.max(self.recorded(unit).and_then(|recorded| recorded.at));
        let found = match &self.on_disk {
            None => at.and_then(|at| self.past.started(unit, at)),
            // Without the right to read the history, what is loaded is the best guess.
            Some(_) => loaded.filter(|_| self.observer.unreadable.is_some()).cloned(),
        };
        found.map_or(Running::Unknown, Running::With)
    }

    /// Why a unit does not run that the group starts.
    fn added(&self, unit: &str, properties: &Properties) -> Option<Added> {
        if let Some(on_disk) = &self.on_disk {
            return on_disk.unit(unit).is_none().then_some(Added::New);
        }
        match self.past.wanted_since(unit) {
            None if self.past.has_now(unit) => Some(Added::Wanted),
            None => Some(Added::New),
            Some((since, _)) if properties.times.inactive_left >= Some(since) => None,
            Some((_, true)) => Some(Added::Wanted),
            Some((_, false)) => Some(Added::New),
        }
    }

    fn group_units(&self) -> Vec<GroupUnit> {
        let user = self.observer.context.scope == Scope::User;
        let owner = name::own("directories", self.name);
        let units = [
            (name::target(self.name), "the group"),
            (name::slice(user, self.name), "its slice"),
            (name::own("ready", self.name), "its readiness gate"),
            (owner.clone(), "shared directories"),
        ];
        let group_unit = |(unit, label): (String, &str)| {
            let up = self.live.infos.get(&unit).is_some_and(UnitInfo::is_up);
            let loaded = self.loaded(&unit);
            let owns_directories = unit == owner;
            let properties = self.live.properties.get(&unit).filter(|_| owns_directories && up);
            let started = properties.map(|properties| started_at(Kind::Process, properties));
            let running = started.map_or(Running::Not, |at| self.running(&unit, at, loaded.as_ref()));
            let new = self.past.now(&unit).filter(|_| self.group.is_some());
            GroupUnit { subject: Subject::of_group(unit, label), owns_directories, up, running, loaded, new }
        };
        units.into_iter().map(group_unit).collect()
    }

    fn notes(&self, looked: &Looked) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(why) = &self.observer.unreadable {
            let why = &why.message;
            notes.push(format!(
                "cannot read the start history ({why}), comparing with the units that are loaded instead"
            ));
        }
        if self.rolled_back().is_some() {
            notes.push(ROLLED_BACK.to_owned());
        }
        let denied: Vec<String> = looked.denied().map(|path| path.display().to_string()).collect();
        if !denied.is_empty() {
            notes.push(format!("permission denied, changes not detected: {}", denied.join(", ")));
        }
        notes
    }
}

/// The time that decides with which definition a unit runs.
pub fn started_at(kind: Kind, properties: &Properties) -> Option<Monotonic> {
    match kind {
        Kind::Process | Kind::Setup => properties.times.main_started,
        Kind::Socket | Kind::Timer => properties.times.active_entered,
    }
}
