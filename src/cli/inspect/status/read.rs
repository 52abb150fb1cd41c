//! Asks the service manager for what a [`Status`] shows.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::basic::clock::Realtime;
use crate::basic::diagnostic::Severity;
use crate::basic::scope::{Directories, Scope};
use crate::change::observe::Observer;
use crate::change::observe::live::{LiveGroup, Query, query};
use crate::change::observe::members;
use crate::change::observe::members::{Kind, Member, Start};
use crate::change::observe::state::{GroupState, State};
use crate::change::plan::outdated;
use crate::cli::common::error::Error;
use crate::cli::common::exit::Exit;
use crate::cli::common::groups;
use crate::cli::common::groups::{context, load, running, unknown};
use crate::cli::common::journal::excerpt;
use crate::cli::common::selector::Selector;
use crate::generator::load::{GroupOutcome, Outcome};
use crate::manager::Connected;
use crate::manager::properties::Properties;
use crate::manager::state::ActiveState;
use crate::manager::unit::UnitInfo;
use crate::model;
use crate::state::pins::Pins;
use crate::status::{Resources, Row, Status, Verdict, verdict, verdict_of_part};
use crate::unit::name;
use crate::unit::name::GroupName;

/// The status of all that `names` select, and the exit status.
pub(super) async fn collect(names: &[String], scope: Scope, systemd: &Connected) -> Result<(Vec<Status>, Exit), Error> {
    let (directories, outcome) = load(scope);
    let observer = Observer::read(&directories, context(scope));
    let (mut shown, mut exit) = (Vec::new(), Exit::Done);
    for name in names {
        let selector = Selector::new(name, &outcome.groups);
        let status = match GroupName::new(&selector.group) {
            Some(name) => {
                Group::new(scope, &name, &outcome).status(systemd, &directories, &observer, &selector).await?
            }
            None => None,
        };
        exit = exit.worse(match &status {
            Some(status) if status.errors > 0 => Exit::Invalid,
            Some(status) => Exit::from(status.verdict),
            None => unknown(&selector, &outcome).report(scope),
        });
        shown.extend(status);
    }
    Ok((shown, exit))
}

/// How many failed units are shown with their last line in the journal.
const EXCERPTS: usize = 5;

pub(super) struct Group<'o> {
    scope: Scope,
    name: GroupName,
    /// The group file; `None` if it was removed while the group runs.
    file: Option<&'o GroupOutcome>,
}

/// The units of a group as a whole.
struct Units {
    target: String,
    gate: String,
    failed: String,
}

impl<'o> Group<'o> {
    pub(super) fn new(scope: Scope, name: &GroupName, outcome: &'o Outcome) -> Self {
        let file = outcome.groups.iter().find(|group| group.name == *name);
        Self { scope, name: name.clone(), file }
    }

    fn units(&self) -> Units {
        let name = &self.name;
        Units { target: name::target(name), gate: name::own("ready", name), failed: name::failed(name) }
    }

    fn definition(&self) -> Option<&'o model::Group> {
        self.file.and_then(|file| file.group.as_ref())
    }

    fn members(&self) -> Vec<Member> {
        self.definition().map(members::members).unwrap_or_default()
    }

    /// The status of what is selected; `None` if there is no such group or part.
    pub(super) async fn status(
        &self,
        systemd: &Connected,
        directories: &Directories,
        observer: &Observer<'_>,
        selector: &Selector,
    ) -> zbus::Result<Option<Status>> {
        let units = self.units();
        let slice = name::slice(self.scope == Scope::User, &self.name);
        let query_of_group = Query {
            name: &self.name,
            group: self.definition(),
            exists: self.file.is_some() || running(systemd, self.scope).await?.contains(&self.name),
            selects: &|member| selector.matches(&member.subject.label),
            others: &[units.gate.clone(), units.failed.clone(), slice.clone()],
        };
        let live = match query(systemd, &query_of_group).await {
            Ok(Some(live)) => live,
            // A name that is invalid for systemd.
            Ok(None) | Err(zbus::Error::MethodError(..)) => return Ok(None),
            Err(error) => return Err(error),
        };
        if live.members.is_empty() && selector.part.is_some() {
            return Ok(None);
        }
        let properties = |unit: &str| live.properties.get(unit).cloned().unwrap_or_default();
        let group_state = group_state(&units, &live.infos, properties(&units.gate).status_text);
        let mut rows = self.rows(live.members.clone(), &live.infos, live.properties.clone(), directories);
        let rolled_back = self.mark_outdated(observer, &live, &mut rows);
        add_excerpts(self.scope, &mut rows).await;
        // systemd reports it forever for a running unit whose file was removed, and a reload changes nothing.
        let needs_reload = |properties: &Properties| properties.needs_reload && properties.fragment.exists();
        let outdated = rows.iter().filter(|row| row.properties.as_ref().is_some_and(needs_reload)).count();
        let status = Status {
            rolled_back,
            needs_reload: outdated + usize::from(needs_reload(&live.target)),
            overrides: overrides(&rows, directories),
            ..self.plain()
        };
        Ok(Some(match selector.part {
            None => {
                let (verdict, reason) = verdict(&group_state, &rows);
                let since = live.target.since.filter(|_| group_state.target.is_up());
                Status { verdict, reason, since, resources: resources(&properties(&slice)), rows, ..status }
            }
            Some(_) => Status { verdict: verdict_of_part(&rows), reason: None, rows, ..status },
        }))
    }

    /// Marks the rows of units that do not run what the files define. Returns when the group was rolled back, if it is.
    fn mark_outdated(&self, observer: &Observer<'_>, live: &LiveGroup, rows: &mut [Row]) -> Option<Realtime> {
        let situation = observer.situation(&self.name, self.file, live);
        for (row, unit) in rows.iter_mut().zip(&situation.units) {
            row.outdated = outdated(unit, &situation);
            row.pinned = unit.pinned;
        }
        situation.rolled_back
    }

    /// What the group file alone shows.
    fn plain(&self) -> Status {
        let definition = self.definition();
        let files = match (definition, self.file) {
            (Some(group), _) => group.files.clone(),
            (None, Some(file)) => vec![file.path.clone()],
            (None, None) => Vec::new(),
        };
        let diagnostics = self.file.into_iter().flat_map(|file| file.diagnostics.iter());
        let errors: Vec<_> = diagnostics.filter(|found| found.severity() == Severity::Error).collect();
        Status {
            group: self.name.to_string(),
            description: definition.and_then(|group| group.description.clone()),
            files,
            errors: errors.len(),
            first_error: errors.first().map(|error| error.line()),
            verdict: Verdict::Stopped,
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
        infos: &HashMap<String, UnitInfo>,
        mut properties: HashMap<String, Properties>,
        directories: &Directories,
    ) -> Vec<Row> {
        // Without a valid file, it is not known which units are orphaned.
        let known = self.file.is_none_or(|file| file.group.is_some());
        let generated = directories.generator.clone().unwrap_or_default();
        let row = |mut member: Member| {
            let properties = properties.remove(member.unit());
            let info = infos.get(member.unit()).cloned().unwrap_or_else(|| UnitInfo::absent(member.unit()));
            let fragment = properties.as_ref().map(|properties| properties.fragment.clone()).unwrap_or_default();
            let orphaned = known && !member.defined && fragment.starts_with(&generated);
            if orphaned {
                // The group no longer waits for it.
                member.start = Start::Manual;
            }
            Row { orphaned, ..Row::new(member, info, properties) }
        };
        members.into_iter().map(row).collect()
    }
}

fn resources(slice: &Properties) -> Resources {
    let &Properties { memory, memory_max, cpu_nsec, tasks, .. } = slice;
    Resources { memory, memory_max, cpu_nsec, tasks }
}

fn group_state(units: &Units, infos: &HashMap<String, UnitInfo>, waits_for: String) -> GroupState {
    let get = |unit: &String| infos.get(unit).cloned().unwrap_or_else(|| UnitInfo::absent(unit));
    GroupState { target: get(&units.target), gate: get(&units.gate), waits_for, failed: get(&units.failed).is_up() }
}

/// What overrides generated units: drop-ins, and unit files of the administrator. Each is listed once, also if it is for
/// several units: for a template, or for all units of a group.
fn overrides(rows: &[Row], directories: &Directories) -> Vec<(String, PathBuf)> {
    let generated = directories.generator.clone().unwrap_or_default();
    let mut listed = HashSet::new();
    let mut overrides = Vec::new();
    for row in rows.iter().filter(|row| row.member.defined) {
        let Some(properties) = &row.properties else { continue };
        let paths = properties.drop_ins.iter().chain([&properties.fragment]);
        for path in paths.filter(|path| !path.as_os_str().is_empty() && !path.starts_with(&generated)) {
            if listed.insert(path) {
                overrides.push((unit_of_drop_in(path).unwrap_or_else(|| row.member.unit().to_owned()), path.clone()));
            }
        }
    }
    overrides
}

/// What a drop-in is for, by its directory.
fn unit_of_drop_in(path: &Path) -> Option<String> {
    Some(path.parent()?.file_name()?.to_str()?.strip_suffix(".d")?.to_owned())
}

async fn add_excerpts(scope: Scope, rows: &mut [Row]) {
    let failed = |row: &&mut Row| matches!(row.state, State::Failed(_)) && row.member.unit().ends_with(".service");
    let mut failed: Vec<&mut Row> = rows.iter_mut().filter(failed).take(EXCERPTS).collect();
    if failed.is_empty() {
        return;
    }
    let units: Vec<&str> = failed.iter().map(|row| row.member.unit()).collect();
    let mut excerpts = excerpt::find(scope, &units).await;
    for row in &mut failed {
        row.last_line = excerpts.remove(row.member.unit());
    }
}

/// The status of all groups, sorted. The service manager is asked once for all units, and again only for those whose
/// state alone does not show how they ended.
pub(super) async fn all(systemd: &Connected, scope: Scope, outcome: &Outcome) -> Result<Vec<Status>, Error> {
    let names = groups::all(systemd, scope, outcome).await?;
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
        let Units { target, gate, failed } = group.units();
        units.extend([target, gate, failed]);
        units.extend(members.iter().map(|member| member.unit().to_owned()));
    }
    let units: Vec<&str> = units.iter().map(String::as_str).collect();
    let infos: HashMap<String, UnitInfo> =
        systemd.list(&units).await?.into_iter().map(|info| (info.name.clone(), info)).collect();
    let open: Vec<String> =
        groups.iter().flat_map(|(group, members)| left_open(&group.units(), members, &infos)).collect();
    let mut properties: HashMap<String, Properties> =
        open.iter().cloned().zip(systemd.properties_of(&open).await?).collect();
    let directories = Directories::from_environment(scope, None);
    let rolled_back = Pins::rolled_back(&directories);
    let status = |(group, members): (Group<'_>, Vec<Member>)| {
        let known = members.iter().filter_map(|member| properties.remove_entry(member.unit())).collect();
        let rows = group.rows(members, &infos, known, &directories);
        let (verdict, reason) = verdict(&group_state(&group.units(), &infos, String::new()), &rows);
        let rolled_back = rolled_back.get(&group.name).copied();
        Status { verdict, reason, rolled_back, rows, ..group.plain() }
    };
    Ok(groups.into_iter().map(status).collect())
}

/// Members that are inactive while their group is up: their details show whether they have run.
fn left_open(units: &Units, members: &[Member], infos: &HashMap<String, UnitInfo>) -> Vec<String> {
    let up = infos.get(&units.target).is_some_and(UnitInfo::is_up);
    let open = |member: &&Member| {
        let inactive = infos.get(member.unit()).is_some_and(|row| row.active == ActiveState::Inactive);
        up && inactive && member.kind != Kind::Setup && member.start == Start::Auto
    };
    members.iter().filter(open).map(|member| member.unit().to_owned()).collect()
}
