//! What the service manager has of groups.

use std::collections::{HashMap, HashSet};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::members::{Kind, Member, Start, all_members};
use crate::manager::Connected;
use crate::manager::calls::{CHANGED_ON_DISK, CONTENT, Property, RUN, SHOWN, START};
use crate::manager::properties::Properties;
use crate::manager::unit::UnitInfo;
use crate::model::Group;
use crate::unit::name;
use crate::unit::name::GroupName;

/// How many groups are looked at at the same time.
const WINDOW: usize = 16;

/// A group as the service manager has it.
#[derive(Debug)]
pub struct LiveGroup {
    /// Of `G.target`.
    pub target: Properties,
    /// Members of the file, then what else is part of the target.
    pub members: Vec<Member>,
    /// The states of all of them, and of the target.
    pub infos: HashMap<String, UnitInfo>,
    /// Their properties, and those of the owner of shared directories.
    pub properties: HashMap<String, Properties>,
}

/// What the service manager is asked about a group for its status.
pub struct Query<'q> {
    pub name: &'q GroupName,
    /// The group, if its file is valid.
    pub group: Option<&'q Group>,
    /// It exists even if nothing of it is loaded.
    pub exists: bool,
    /// Selects members.
    pub selects: &'q dyn Fn(&Member) -> bool,
    /// Other units, about which the same is asked.
    pub others: &'q [String],
}

/// All about a group. `None` if it does not exist.
///
/// # Errors
/// What the connection or the manager refuses.
pub async fn query(systemd: &Connected, query: &Query<'_>) -> zbus::Result<Option<LiveGroup>> {
    let target_unit = name::target(query.name);
    let target = systemd.properties(&target_unit).await?;
    if !query.exists && target.consists_of.is_empty() {
        return Ok(None);
    }
    let mut members = all_members(query.name.as_str(), query.group, &target.consists_of);
    members.retain(query.selects);
    let units: Vec<&str> = members.iter().map(Member::unit).chain(query.others.iter().map(String::as_str)).collect();
    let names: Vec<&str> = units.iter().copied().chain([&*target_unit]).collect();
    let infos = by_name(systemd.list(&names).await?);
    let others: Vec<&str> = query.others.iter().map(String::as_str).collect();
    let needed = Needed { service: &SHOWN, other: None };
    let mut properties = properties(systemd, &members, &others, &infos, needed).await?;
    let services = members.iter().filter(|member| simply_runs(member, &infos) && is_service(member));
    find_changed_on_disk(systemd, services, &mut properties).await?;
    let members = with_orphaned_steps(members, &properties);
    Ok(Some(LiveGroup { target, members, infos, properties }))
}

/// What a plan needs to know of groups, in their order. `None` if there is neither a valid file nor anything that runs.
///
/// A machine may have a thousand groups of which nothing changed: the manager is not made to load units for this, and is
/// asked for all properties only of units that do not simply run.
///
/// # Errors
/// What the connection or the manager refuses.
pub async fn groups(
    systemd: &Connected,
    groups: &[(&GroupName, Option<&Group>)],
) -> zbus::Result<Vec<Option<LiveGroup>>> {
    let loaded = by_name(systemd.list_loaded(&patterns(groups)).await?);
    let live = groups.iter().map(|(name, group)| live(systemd, name, *group, &loaded));
    stream::iter(live).buffered(WINDOW).try_collect().await
}

/// Patterns for the units of these groups. None, for all units of the machine, if comparing them with that many would cost
/// more.
fn patterns(groups: &[(&GroupName, Option<&Group>)]) -> Vec<String> {
    const FEW: usize = 16;
    let of_group = |(name, _): &(&GroupName, Option<&Group>)| {
        let escaped = name.as_str().replace('-', "\\\\x2d");
        [
            format!("{name}.*"),
            format!("{name}-*"),
            format!("{name}@*"),
            format!("copse-*@{name}.*"),
            format!("*-copse-{escaped}.slice"),
        ]
    };
    if groups.len() > FEW { Vec::new() } else { groups.iter().flat_map(of_group).collect() }
}

async fn live(
    systemd: &Connected,
    name: &GroupName,
    group: Option<&Group>,
    loaded: &HashMap<String, UnitInfo>,
) -> zbus::Result<Option<LiveGroup>> {
    let target_unit = name::target(name);
    let target = match loaded.contains_key(&target_unit) {
        true => systemd.only(&target_unit, &CONTENT).await?,
        false => Properties::default(),
    };
    if group.is_none() && target.consists_of.is_empty() {
        return Ok(None);
    }
    let members = all_members(name.as_str(), group, &target.consists_of);
    let of_group = [target_unit, name::own("ready", name), name::own("directories", name)];
    let slices = [true, false].map(|user| name::slice(user, name));
    let units = members.iter().map(Member::unit).chain(of_group.iter().chain(&slices).map(String::as_str));
    let mut infos: HashMap<String, UnitInfo> =
        units.filter_map(|unit| Some((unit.to_owned(), loaded.get(unit)?.clone()))).collect();
    // What an administrator made a part of the target may have any name.
    let found: HashSet<&str> = target.consists_of.iter().map(String::as_str).collect();
    let others: Vec<&str> =
        members.iter().map(Member::unit).filter(|unit| found.contains(unit) && !infos.contains_key(*unit)).collect();
    infos.extend(by_name(systemd.list(&others).await?));
    let owner = &*of_group[2];
    let others: &[&str] = if infos.contains_key(owner) { &[owner] } else { &[] };
    let needed = Needed { service: &RUN, other: Some(&START) };
    let properties = properties(systemd, &members, others, &infos, needed).await?;
    let members = with_orphaned_steps(members, &properties);
    Ok(Some(LiveGroup { target, members, infos, properties }))
}

/// Marks the setup steps among members that are not in the file. Their names do not tell them from processes, but only
/// steps refuse to be stopped.
fn with_orphaned_steps(mut members: Vec<Member>, properties: &HashMap<String, Properties>) -> Vec<Member> {
    for member in members.iter_mut().filter(|member| !member.defined) {
        if properties.get(member.unit()).is_some_and(|properties| properties.refuses_stop) {
            member.kind = Kind::Setup;
        }
    }
    members
}

/// The properties that are needed of units that simply run.
struct Needed<'n> {
    service: &'n [Property],
    /// Sockets and timers; `None` for all properties.
    other: Option<&'n [Property]>,
}

/// The properties of the loaded members and of `others`, by unit. All of them cost the manager much, so it is asked for
/// these only if a unit does not simply run.
async fn properties(
    systemd: &Connected,
    members: &[Member],
    others: &[&str],
    infos: &HashMap<String, UnitInfo>,
    needed: Needed<'_>,
) -> zbus::Result<HashMap<String, Properties>> {
    let (mut services, mut rest, mut all) = (Vec::new(), Vec::new(), others.to_vec());
    for member in members {
        let unit = member.unit();
        if !infos.contains_key(unit) {
            continue;
        }
        match simply_runs(member, infos) {
            true if is_service(member) => services.push(unit),
            true if needed.other.is_some() => rest.push(unit),
            _ => all.push(unit),
        }
    }
    let answers = [
        systemd.only_of(&services, needed.service).await?,
        systemd.only_of(&rest, needed.other.unwrap_or_default()).await?,
        systemd.properties_of(&all).await?,
    ];
    let units = [services, rest, all].concat().into_iter().map(ToOwned::to_owned);
    Ok(units.zip(answers.into_iter().flatten()).collect())
}

fn simply_runs(member: &Member, infos: &HashMap<String, UnitInfo>) -> bool {
    member.defined && infos.get(member.unit()).is_some_and(|info| info.is_up() && info.job.is_none())
}

fn is_service(member: &Member) -> bool {
    member.unit().ends_with(".service")
}

/// Completes the properties of `services` with whether their files changed on disk. That costs the manager more than all
/// other properties that a status shows. So it is asked for one of the instances of a process only: the target has them
/// loaded at the same time, from the same files. It is asked for each instance that has drop-ins of its own.
async fn find_changed_on_disk<'m>(
    systemd: &Connected,
    services: impl Iterator<Item = &'m Member>,
    properties: &mut HashMap<String, Properties>,
) -> zbus::Result<()> {
    let directories = systemd.unit_directories().await?;
    let own: HashSet<_> = directories
        .iter()
        .flat_map(std::fs::read_dir)
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(".d"))
        .collect();
    let mut alike: HashMap<_, Vec<&str>> = HashMap::new();
    for member in services {
        let unit = member.unit();
        let Some(Properties { fragment, drop_ins, .. }) = properties.get(unit) else { continue };
        let own = (member.start != Start::Auto || own.contains(&format!("{unit}.d"))).then_some(unit);
        alike.entry((fragment.clone(), drop_ins.clone(), own)).or_default().push(unit);
    }
    let first: Vec<&str> = alike.values().filter_map(|units| units.first().copied()).collect();
    let answers = systemd.only_of(&first, &CHANGED_ON_DISK).await?;
    for (units, answer) in alike.values().zip(answers) {
        for unit in units {
            if let Some(properties) = properties.get_mut(*unit) {
                properties.needs_reload = answer.needs_reload;
            }
        }
    }
    Ok(())
}

fn by_name(infos: Vec<UnitInfo>) -> HashMap<String, UnitInfo> {
    infos.into_iter().map(|info| (info.name.clone(), info)).collect()
}
