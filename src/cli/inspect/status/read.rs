//! From the service manager to a [`Status`]: the questions, and what is put together from the answers.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::basic::clock::Realtime;
use crate::basic::diagnostic::Severity;
use crate::basic::scope::{Directories, Scope};
use crate::change::observe;
use crate::change::observe::members;
use crate::change::observe::members::{Kind, Member, Start};
use crate::change::observe::state::{State, Whole};
use crate::change::observe::{Notes, Question, Seen};
use crate::change::plan;
use crate::cli::common::journal_excerpt;
use crate::cli::common::selector::Selector;
use crate::generator::load::{GroupOutcome, Outcome};
use crate::manager::Connected;
use crate::manager::properties::Properties;
use crate::manager::state::ActiveState;
use crate::manager::unit::UnitInfo;
use crate::model;
use crate::state::pins::Pins;
use crate::status;
use crate::status::{Resources, Row, Status};
use crate::unit::name;
use crate::unit::name::GroupName;

/// Of how many failed members the last line in the journal is looked up: each is a search through it.
const LAST_LINES: usize = 5;

/// A group, by its file or, where that was removed, by its name alone.
pub(super) struct Group<'o> {
    scope: Scope,
    name: GroupName,
    outcome: Option<&'o GroupOutcome>,
}

/// Which units stand for a group as a whole.
struct Units {
    target: String,
    gate: String,
    mark: String,
}

impl<'o> Group<'o> {
    pub(super) fn new(scope: Scope, name: &GroupName, outcome: &'o Outcome) -> Self {
        let outcome = outcome.groups.iter().find(|group| group.name == *name);
        Self { scope, name: name.clone(), outcome }
    }

    fn units(&self) -> Units {
        let name = &self.name;
        Units { target: name::target(name), gate: name::own("ready", name), mark: name::failed(name) }
    }

    fn meaning(&self) -> Option<&'o model::Group> {
        self.outcome.and_then(|outcome| outcome.group.as_ref())
    }

    fn members(&self) -> Vec<Member> {
        self.meaning().map(members::members).unwrap_or_default()
    }

    /// All about what is named of the group; `None` where there is nothing of that name.
    pub(super) async fn whole(
        &self,
        systemd: &Connected,
        directories: &Directories,
        notes: &Notes<'_>,
        named: &Selector,
    ) -> zbus::Result<Option<Status>> {
        let units = self.units();
        let slice = name::slice(self.scope == Scope::User, &self.name);
        let known = self.outcome.is_some() || running(systemd, self.scope).await?.contains(&self.name);
        let question = Question {
            group: &self.name,
            meaning: self.meaning(),
            known,
            means: &|member| named.means(&member.label),
            besides: &[units.gate.clone(), units.mark.clone(), slice.clone()],
        };
        let seen = match observe::ask(systemd, &question).await {
            Ok(Some(seen)) => seen,
            // A name that systemd can't take.
            Ok(None) | Err(zbus::Error::MethodError(..)) => return Ok(None),
            Err(error) => return Err(error),
        };
        if seen.members.is_empty() && named.part.is_some() {
            return Ok(None);
        }
        let about = |unit: &str| seen.properties.get(unit).cloned().unwrap_or_default();
        let (slice, gate, found) = (about(&slice), about(&units.gate), &seen.target);
        let mut rows = self.rows(seen.members.clone(), &seen.listed, seen.properties.clone(), directories);
        let whole = whole(&units, &seen.listed, gate.status_text);
        let (verdict, reason) = match named.part {
            None => status::judge(&whole, &rows),
            Some(_) => status::judge_part(&rows),
        };
        let rolled_back = self.outdated(notes, &seen, &mut rows);
        last_lines(self.scope, &mut rows);
        let since =
            (whole.target.is_up() && named.part.is_none()).then_some(found.since).flatten().map(Realtime::micros);
        let resources = if named.part.is_none() { resources(&slice) } else { Resources::default() };
        // systemd says so for ever of a unit that runs and has no file any more: reading again doesn't help there.
        let there = |properties: &Properties| properties.fragment.exists();
        let needs =
            |row: &&Row| row.properties.as_ref().is_some_and(|properties| properties.needs_reload && there(properties));
        let needs_reload = rows.iter().filter(needs).count() + usize::from(found.needs_reload && there(found));
        let overrides = overrides(&rows, directories);
        Ok(Some(Status {
            verdict,
            reason,
            since,
            resources,
            rolled_back,
            needs_reload,
            overrides,
            rows,
            ..self.plain()
        }))
    }

    /// Notes which of them don't run with what the files say; and since when the group as a whole isn't meant to.
    fn outdated(&self, notes: &Notes<'_>, seen: &Seen, rows: &mut [Row]) -> Option<u64> {
        observe::situation(notes, &self.name, self.outcome, seen, |situation| {
            for (row, unit) in rows.iter_mut().zip(&situation.units) {
                row.outdated = plan::outdated(unit, situation);
                row.pinned = unit.pinned.unwrap_or(0);
            }
            situation.rolled_back
        })
    }

    /// What the file alone says.
    fn plain(&self) -> Status {
        let meaning = self.meaning();
        let files = match (meaning, self.outcome) {
            (Some(group), _) => group.files.clone(),
            (None, Some(outcome)) => vec![outcome.path.clone()],
            (None, None) => Vec::new(),
        };
        let diagnostics = self.outcome.into_iter().flat_map(|outcome| outcome.diagnostics.iter());
        let errors: Vec<_> = diagnostics.filter(|found| found.severity() == Severity::Error).collect();
        Status {
            group: self.name.to_string(),
            description: meaning.and_then(|group| group.description.clone()),
            files,
            errors: errors.len(),
            first_error: errors.first().map(|error| error.line()),
            verdict: status::Verdict::Stopped,
            reason: None,
            since: None,
            resources: Resources::default(),
            rolled_back: None,
            needs_reload: 0,
            overrides: Vec::new(),
            rows: Vec::new(),
        }
    }

    fn rows(
        &self,
        members: Vec<Member>,
        listed: &HashMap<String, UnitInfo>,
        mut properties: HashMap<String, Properties>,
        directories: &Directories,
    ) -> Vec<Row> {
        let known = self.outcome.is_none_or(|outcome| outcome.group.is_some());
        let generated = directories.generator.clone().unwrap_or_default();
        let row = |mut member: Member| {
            let properties = properties.remove(&member.unit);
            let listed = listed.get(&member.unit).cloned().unwrap_or_else(|| UnitInfo::absent(&member.unit));
            let from = properties.as_ref().map(|properties| properties.fragment.clone()).unwrap_or_default();
            // Not where the file is invalid: then it isn't known who belongs to the group.
            let gone = known && !member.defined && from.starts_with(&generated);
            if gone {
                // Nobody awaits it any more.
                member.start = Start::Manual;
            }
            Row { gone, ..Row::new(member, listed, properties) }
        };
        members.into_iter().map(row).collect()
    }
}

fn resources(slice: &Properties) -> Resources {
    let &Properties { memory, memory_max, cpu_nsec, tasks, .. } = slice;
    Resources { memory, memory_max, cpu_nsec, tasks }
}

fn by_name(listed: Vec<UnitInfo>) -> HashMap<String, UnitInfo> {
    listed.into_iter().map(|listed| (listed.name.clone(), listed)).collect()
}

fn whole(units: &Units, listed: &HashMap<String, UnitInfo>, waits_for: String) -> Whole {
    let get = |unit: &String| listed.get(unit).cloned().unwrap_or_else(|| UnitInfo::absent(unit));
    Whole { target: get(&units.target), gate: get(&units.gate), waits_for, gave_up: get(&units.mark).is_up() }
}

/// What an administrator laid over the units of the group: drop-ins, and unit files of their own.
fn overrides(rows: &[Row], directories: &Directories) -> Vec<(String, PathBuf)> {
    let generated = directories.generator.clone().unwrap_or_default();
    // A drop-in for all instances, or for all of a group's units, is told once.
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    for row in rows.iter().filter(|row| row.member.defined) {
        let Some(properties) = &row.properties else { continue };
        let paths = properties.drop_ins.iter().chain([&properties.fragment]);
        for path in paths.filter(|path| !path.as_os_str().is_empty() && !path.starts_with(&generated)) {
            if seen.insert(path) {
                all.push((laid_over(path).unwrap_or_else(|| row.member.unit.clone()), path.clone()));
            }
        }
    }
    all
}

/// What a drop-in is for, which may be a template, or all units of a group: its directory says so.
fn laid_over(path: &Path) -> Option<String> {
    Some(path.parent()?.file_name()?.to_str()?.strip_suffix(".d")?.to_owned())
}

/// The last line in the journal of each failed service.
fn last_lines(scope: Scope, rows: &mut [Row]) {
    let failed = |row: &&mut Row| matches!(row.state, State::Failed(_)) && row.member.unit.ends_with(".service");
    let failed = rows.iter_mut().filter(failed).take(LAST_LINES);
    let searches: Vec<_> = failed.map(|row| (journal_excerpt::search(scope, &row.member.unit), row)).collect();
    for (search, row) in searches {
        row.last_line = journal_excerpt::found(&row.member.unit, search);
    }
}

/// All groups with a file, and those that still run without one, in the order of their names. One question for all
/// units; a second one only for those whose row leaves open what it means.
pub(super) async fn all(systemd: &Connected, scope: Scope, outcome: &Outcome) -> zbus::Result<Vec<Status>> {
    let mut names: Vec<GroupName> = outcome.groups.iter().map(|group| group.name.clone()).collect();
    for name in running(systemd, scope).await? {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.sort();
    let groups: Vec<(Group<'_>, Vec<Member>)> = names
        .iter()
        .map(|name| {
            let group = Group::new(scope, name, outcome);
            let members = group.members();
            (group, members)
        })
        .collect();
    let mut units: Vec<String> = Vec::new();
    for (group, members) in &groups {
        let Units { target, gate, mark } = group.units();
        units.extend([target, gate, mark]);
        units.extend(members.iter().map(|member| member.unit.clone()));
    }
    let names: Vec<&str> = units.iter().map(String::as_str).collect();
    let listed = by_name(systemd.list(&names).await?);
    let open: Vec<String> =
        groups.iter().flat_map(|(group, members)| left_open(&group.units(), members, &listed)).collect();
    let mut answers: HashMap<String, Properties> =
        open.iter().cloned().zip(systemd.properties_of(&open).await?).collect();
    let directories = Directories::from_environment(scope, None);
    let rolled_back = Pins::rolled_back(&directories);
    let status = |(group, members): (Group<'_>, Vec<Member>)| {
        let units = group.units();
        let known = members.iter().filter_map(|member| answers.remove_entry(&member.unit)).collect();
        let rows = group.rows(members, &listed, known, &directories);
        let (verdict, reason) = status::judge(&whole(&units, &listed, String::new()), &rows);
        let rolled_back = rolled_back.get(&group.name).map(|since| since.micros());
        Status { verdict, reason, rolled_back, rows, ..group.plain() }
    };
    Ok(groups.into_iter().map(status).collect())
}

/// Members whose row alone doesn't say what it means: how a failed one ended, whether an inactive one is done.
fn left_open(units: &Units, members: &[Member], listed: &HashMap<String, UnitInfo>) -> Vec<String> {
    let up = listed.get(&units.target).is_some_and(UnitInfo::is_up);
    let open = |member: &&Member| {
        let at_rest = listed.get(&member.unit).is_some_and(|row| row.active == ActiveState::Inactive);
        up && at_rest && member.kind != Kind::Setup && member.start == Start::Auto
    };
    members.iter().filter(open).map(|member| member.unit.clone()).collect()
}

/// The groups that have something running, by their slices. A slice stays active when nothing is in it any more, and a
/// target is down while a process of a group goes on whose start failed: either has to show that there is something.
pub(crate) async fn running(systemd: &Connected, scope: Scope) -> zbus::Result<Vec<GroupName>> {
    let before = if scope == Scope::User { "app-copse-" } else { "system-copse-" };
    let pattern = &*format!("{before}*.slice");
    let rows = systemd.ask(|manager| async move { manager.list_units_by_patterns(&[], &[pattern]).await }).await?;
    let mut found = Vec::new();
    for row in rows.into_iter().map(UnitInfo::from).filter(UnitInfo::is_up) {
        let escaped = row.name.strip_prefix(before).and_then(|rest| rest.strip_suffix(".slice"));
        found.extend(escaped.and_then(|name| GroupName::new(&name.replace("\\x2d", "-"))).map(|name| (name, row.name)));
    }
    let targets: Vec<String> = found.iter().map(|(name, _)| name::target(name)).collect();
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    let up: HashSet<String> =
        systemd.list(&targets).await?.into_iter().filter(UnitInfo::is_up).map(|row| row.name).collect();
    let (mut names, quiet): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|(name, _)| up.contains(&name::target(name)));
    for (name, slice) in quiet {
        // Whatever is in a slice requires it.
        let inside: Vec<String> = systemd.unit_property(&slice, "RequiredBy").await?;
        let inside: Vec<&str> = inside.iter().map(String::as_str).collect();
        if systemd.list(&inside).await?.iter().any(UnitInfo::is_up) {
            names.push((name, slice));
        }
    }
    Ok(names.into_iter().map(|(name, _)| name).collect())
}
