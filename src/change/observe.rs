//! Brings a [`Situation`] home: from the service manager, the file system, and what copse has noted since the boot.
//!
//! The service manager is asked as `copse status` asks it: one question for the states of all units, one for each
//! unit's properties, all of those at once.

mod files;
pub(crate) mod inputs;
pub(crate) mod members;
pub(crate) mod past;
pub(crate) mod paths;
pub(crate) mod situation;
pub(crate) mod stamp;
pub mod state;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use self::inputs::{Files, Looked};
use self::members::Subject;
use self::members::{Kind, Member, Start};
use self::paths::Unit;
use self::situation::Changed;
use self::situation::{Arrived, Observed, Situation, Started, Whole};
use self::state::State;
use crate::basic::clock::{Monotonic, Realtime};
use crate::basic::diagnostic::{Diagnostic, SourceFile};
use crate::basic::scope::{Directories, Scope};
use crate::generate;
use crate::generate::Options;
use crate::generator::load::GroupOutcome;
use crate::group_file::discover::Source;
use crate::manager::Connected;
use crate::manager::gave_up::was_asked_to_stop;
use crate::manager::properties::Properties;
use crate::manager::state::JobType;
use crate::manager::unit::UnitInfo;
use crate::model::{Context, Group};
use crate::state::history::{History, Overrides, StartHistory};
use crate::state::last_apply::{Applied, Intent};
use crate::state::pins::{Pins, Units};
use crate::unit::UnitTree;
use crate::unit::directives::Systemd;
use crate::unit::effective::{Definition, Definitions};
use crate::unit::name;
use crate::unit::name::GroupName;
use crate::unit::tree;

/// That a roll-back is in force, as a note of the plan.
pub const ROLLED_BACK: &str = "the group is rolled back: its units are those of the last complete apply";

/// What copse has noted since the boot, of all groups.
#[derive(Debug)]
pub struct Notes<'d> {
    directories: &'d Directories,
    context: Context,
    systemd: Systemd,
    histories: BTreeMap<GroupName, History>,
    /// Why there is nothing noted, where there should be.
    missing: Option<Diagnostic>,
    /// What the generator's directory holds, where nothing is noted: anybody may read that.
    on_disk: UnitTree,
}

impl<'d> Notes<'d> {
    /// Reads them.
    pub fn read(directories: &'d Directories, context: Context) -> Self {
        let (histories, missing) = match StartHistory::read(directories) {
            Ok(history) => (history.groups, None),
            Err(why) => (BTreeMap::new(), Some(why)),
        };
        let generator = directories.generator.as_ref().filter(|_| histories.is_empty());
        let on_disk = generator.and_then(|path| tree::read::units(&directories.rooted(path)).ok()).unwrap_or_default();
        let systemd = Systemd::detect(directories).unwrap_or(Systemd::OLDEST);
        Self { directories, context, systemd, histories, missing, on_disk }
    }

    /// The files that one of the units of `group` is started from, as far as they are known.
    pub fn inputs(&self, group: &Group, unit: &str) -> Files {
        let named = Unit { name: unit, scope: group.scope, systemd: self.systemd };
        let of = |service| Files { inputs: named.inputs(service), handed: named.handed(service) };
        files::service_of(group, unit).map(|(_, service)| of(service)).unwrap_or_default()
    }
}

/// A group, of which everything was asked: what is found of it, in one answer of the service manager.
#[derive(Debug)]
pub struct Seen {
    /// `G.target`
    pub target: Properties,
    /// Members of the file, then what else is part of the target.
    pub members: Vec<Member>,
    /// The states of all of them, and of the target.
    pub listed: HashMap<String, UnitInfo>,
    /// Their properties, and those of the holder of shared directories.
    pub properties: HashMap<String, Properties>,
}

/// What the service manager is asked about a group.
pub struct Question<'q> {
    /// Which.
    pub group: &'q GroupName,
    /// What its file means, if there is one and it is valid.
    pub meaning: Option<&'q Group>,
    /// It is a group even if nothing of it is loaded.
    pub known: bool,
    /// Which of its members.
    pub means: &'q dyn Fn(&Member) -> bool,
    /// Other units, about which the same is asked.
    pub besides: &'q [String],
}

/// Asks the service manager about a group. `None` where it isn't known and nothing of it is loaded.
///
/// # Errors
/// What the connection or the manager refuses.
pub async fn ask(systemd: &Connected, question: &Question<'_>) -> zbus::Result<Option<Seen>> {
    let target = name::target(question.group);
    let found = systemd.properties_of(std::slice::from_ref(&target)).await?.into_iter().next().unwrap_or_default();
    if !question.known && found.consists_of.is_empty() {
        return Ok(None);
    }
    let mut members = members::all_members(question.group.as_str(), question.meaning, &found.consists_of);
    members.retain(question.means);
    let mut asked: Vec<String> = members.iter().map(|member| member.unit.clone()).collect();
    asked.extend_from_slice(question.besides);
    let names: Vec<&str> = asked.iter().map(String::as_str).chain([target.as_str()]).collect();
    let listed = systemd.list(&names).await?.into_iter().map(|listed| (listed.name.clone(), listed)).collect();
    let answers = systemd.properties_of(&asked).await?;
    Ok(Some(Seen { target: found, members, listed, properties: asked.into_iter().zip(answers).collect() }))
}

/// As [`ask`], for a plan: all of the group, if there is a valid file or anything that runs.
///
/// # Errors
/// What the connection or the manager refuses.
pub async fn see(systemd: &Connected, group: &GroupName, meaning: Option<&Group>) -> zbus::Result<Option<Seen>> {
    let besides = [name::own("directories", group)];
    ask(systemd, &Question { group, meaning, known: meaning.is_some(), means: &|_| true, besides: &besides }).await
}

/// The files of a group, as they are now.
struct Now<'s> {
    outcome: Option<&'s GroupOutcome>,
    meaning: Option<&'s Group>,
    definitions: Definitions<'s>,
}

/// Everything about one group, for whoever looks at its units one by one.
struct Observer<'s> {
    notes: &'s Notes<'s>,
    group: &'s GroupName,
    now: Now<'s>,
    past: Option<past::Past<'s>>,
    on_disk: Definitions<'s>,
    applied: Option<Applied>,
    /// Since when units are pinned, in microseconds since the epoch.
    pinned: u64,
}

/// Puts the situation of a group together, and hands it to `then`: it leans on what is made here.
pub fn situation<R>(
    notes: &Notes<'_>,
    group: &GroupName,
    outcome: Option<&GroupOutcome>,
    seen: &Seen,
    then: impl FnOnce(&Situation<'_>) -> R,
) -> R {
    let meaning = outcome.and_then(|outcome| outcome.group.as_ref());
    let static_target = outcome.is_some_and(|outcome| outcome.static_target);
    let target = Options { systemd: notes.systemd, static_target };
    let new_tree = meaning.map(|meaning| generate::generate(meaning, target)).unwrap_or_default();
    let none = Overrides::default();
    let overrides = outcome.map_or(&none, |outcome| &outcome.overrides);
    let history = notes.histories.get(group);
    let texts = history.map(|history| past::Texts::new(history, notes.context, notes.systemd));
    let past = history.zip(texts.as_ref()).map(|(history, texts)| past::Past::new(group, history, texts));
    let observer = Observer {
        notes,
        group,
        now: Now { outcome, meaning, definitions: Definitions::new(&new_tree, overrides) },
        past,
        on_disk: Definitions::new(&notes.on_disk, overrides),
        applied: Applied::read(notes.directories, group).ok().flatten(),
        pinned: Pins::since(notes.directories, group).map_or(0, Realtime::micros),
    };
    then(&observer.situation(seen, overrides))
}

impl<'s> Observer<'s> {
    fn situation(&'s self, seen: &Seen, overrides: &Overrides) -> Situation<'s> {
        let target = name::target(self.group);
        let listed = seen.listed.get(&target);
        let mut looked = Looked::default();
        let active = listed.is_some_and(|row| row.is_up() && row.job != Some(JobType::Stop) || row.is_starting());
        let unread = match &self.past {
            Some(past) => past.is_unread(&self.now.definitions),
            None => self.on_disk_differs(),
        };
        let units = seen.members.iter().map(|member| self.unit(member, seen, &mut looked)).collect();
        Situation {
            group: self.group.clone(),
            meaning: self.now.meaning,
            active,
            units,
            whole: self.whole(seen),
            unread,
            interrupted: Intent::read(self.notes.directories, self.group).unwrap_or_default().units,
            files: self.files(seen, overrides),
            applied: self.applied.as_ref().map(|applied| applied.at.micros()),
            rolled_back: self.rolled_back(),
            notes: self.remarks(&looked),
        }
    }

    /// Of all groups' units on disk, those of this group.
    fn on_disk_differs(&self) -> bool {
        let units = self.now.meaning.map(generate::unit_names).unwrap_or_default();
        units.iter().any(|unit| self.on_disk.unit(unit) != self.now.definitions.unit(unit))
    }

    fn unit(&self, member: &Member, seen: &Seen, looked: &mut Looked) -> Observed {
        let nothing = Properties::default();
        let properties = seen.properties.get(&member.unit).unwrap_or(&nothing);
        let listed = seen.listed.get(&member.unit).cloned().unwrap_or_else(|| UnitInfo::absent(&member.unit));
        let state = State::of(member, &listed, Some(properties));
        let generator = self.notes.directories.generator.clone().unwrap_or_default();
        let gone = !member.defined && properties.fragment.starts_with(generator);
        let mut unit = Observed {
            of: self.process_of(&member.unit).map(|(name, _)| name.clone()),
            gone,
            arrived: None,
            asked_to_stop: was_asked_to_stop(properties),
            started: Started::Not,
            loaded: self.loaded(&member.unit),
            new: self.now.definitions.unit(&member.unit).filter(|_| member.defined),
            inputs: Vec::new(),
            handed: Vec::new(),
            program: None,
            steps: Vec::new(),
            unchanged: None,
            pinned: self.pinned(&member.unit),
            frozen: properties.frozen,
            member: member.clone(),
            listed,
            state,
        };
        let runs =
            matches!(unit.state, State::Up | State::Starting | State::Restarting | State::Stopping | State::Failed(_))
                || unit.listed.is_up();
        if runs {
            unit.started = self.started(&member.unit, started_at(member.kind, properties), unit.loaded.as_ref());
            self.look_at_files(&mut unit, properties, looked);
        } else if member.start == Start::Auto {
            unit.arrived = self.arrived(&member.unit, properties);
        }
        unit
    }

    fn named<'u>(&self, name: &'u str) -> Unit<'u> {
        Unit { name, scope: self.notes.context.scope, systemd: self.notes.systemd }
    }

    fn loaded(&self, unit: &str) -> Option<Arc<Definition>> {
        match &self.past {
            Some(past) => past.loaded(unit),
            None => self.on_disk.unit(unit),
        }
    }

    fn pinned(&self, unit: &str) -> Option<u64> {
        let pins = &self.notes.histories.get(self.group)?.last()?.pins;
        let pin = pins.of(unit)?;
        matches!(pin.units, Units::Only(_)).then_some(self.pinned)
    }

    /// Since when the whole group is pinned.
    fn rolled_back(&self) -> Option<u64> {
        let pins = &self.notes.histories.get(self.group)?.last()?.pins;
        pins.all().map(|_| self.pinned)
    }

    fn started(&self, unit: &str, at: Option<Monotonic>, loaded: Option<&Arc<Definition>>) -> Started {
        let noted = self.applied.as_ref().and_then(|applied| applied.units.get(unit)).and_then(|taken| taken.at);
        let found = match &self.past {
            Some(past) => at.max(noted).and_then(|at| past.started(unit, at)),
            // What is loaded is the best guess of who may not know.
            None if self.notes.missing.is_some() => loaded.cloned(),
            None => None,
        };
        found.map_or(Started::Unknown, Started::From)
    }

    /// Why a unit doesn't run that the group starts.
    fn arrived(&self, unit: &str, properties: &Properties) -> Option<Arrived> {
        let Some(past) = &self.past else {
            return self.on_disk.unit(unit).is_none().then_some(Arrived::New);
        };
        let ran = properties.times.inactive_left;
        match past.wanted_since(unit) {
            None if past.has_now(unit) => Some(Arrived::Wanted),
            None => Some(Arrived::New),
            Some((since, before)) if ran < Some(since) => Some(if before { Arrived::Wanted } else { Arrived::New }),
            Some(_) => None,
        }
    }

    fn whole(&self, seen: &Seen) -> Vec<Whole> {
        let user = self.notes.context.scope == Scope::User;
        let holder = name::own("directories", self.group);
        let units = [
            (name::target(self.group), "the group"),
            (name::slice(user, self.group), "its slice"),
            (name::own("ready", self.group), "its readiness gate"),
            (holder.clone(), "shared directories"),
        ];
        let whole = |(unit, label): (String, &str)| {
            let up = seen.listed.get(&unit).is_some_and(UnitInfo::is_up);
            let loaded = self.loaded(&unit);
            let properties = seen.properties.get(&unit).filter(|_| unit == holder && up);
            let started = properties.map_or(Started::Not, |properties| {
                self.started(&unit, started_at(Kind::Setup, properties), loaded.as_ref())
            });
            let new = self.now.definitions.unit(&unit).filter(|_| self.now.meaning.is_some());
            let (holder, subject) = (unit == holder, Subject { unit, label: label.to_owned() });
            Whole { subject, holder, up, started, loaded, new }
        };
        units.into_iter().map(whole).collect()
    }

    /// Files that aren't what they were when the group was last applied, or else started.
    fn files(&self, seen: &Seen, overrides: &Overrides) -> Vec<Changed> {
        let history = self.notes.histories.get(self.group);
        let at_start = history.zip(seen.target.times.active_entered).and_then(|(history, at)| history.in_force(at));
        let before = self.applied.as_ref().map(|applied| &applied.source).or(at_start.map(|version| &version.source));
        let source = self.now.outcome.and_then(|outcome| outcome.source.as_ref());
        let texts = |source: &Source| -> Vec<Arc<SourceFile>> {
            std::iter::once(&source.file).chain(&source.drop_ins).cloned().collect()
        };
        let mut all = match (before, source) {
            (Some(before), Some(now)) => differing(&texts(before), &texts(now)),
            _ => Vec::new(),
        };
        if let Some(last) = history.and_then(History::last) {
            all.extend(differing(&last.overrides.above, &overrides.above));
            all.extend(differing(&last.overrides.below, &overrides.below));
        }
        all
    }

    fn remarks(&self, looked: &Looked) -> Vec<String> {
        let mut all = Vec::new();
        if let Some(missing) = &self.notes.missing {
            all.push(format!(
                "what each process was started from isn't known here ({}): it is taken to be what the service manager \
                 has loaded",
                missing.message
            ));
        }
        if self.rolled_back().is_some() {
            all.push(ROLLED_BACK.to_owned());
        }
        let denied: Vec<String> = looked.denied().map(|path| path.display().to_string()).collect();
        if !denied.is_empty() {
            all.push(format!("whether it changed can't be told here, for lack of permission: {}", denied.join(", ")));
        }
        all
    }
}

/// The time that decides with what a unit was started.
pub fn started_at(kind: Kind, properties: &Properties) -> Option<Monotonic> {
    match kind {
        Kind::Process | Kind::Setup => properties.times.main_started,
        Kind::Socket | Kind::Timer => properties.times.active_entered,
    }
}

/// Where two lists of files aren't the same.
fn differing(before: &[Arc<SourceFile>], now: &[Arc<SourceFile>]) -> Vec<Changed> {
    let of = |file: &Arc<SourceFile>| Changed {
        path: file.path.clone(),
        removed: !now.iter().any(|other| other.path == file.path),
    };
    let missing = |from: &[Arc<SourceFile>], all: &[Arc<SourceFile>]| {
        all.iter().filter(|file| !from.contains(file)).map(of).collect::<Vec<_>>()
    };
    let mut all = missing(before, now);
    all.extend(missing(now, before));
    all.sort();
    all.dedup();
    all
}
