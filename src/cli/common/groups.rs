//! The groups of a scope: those that have a group file, and those that run.

use std::collections::HashSet;

use super::error::Error;
use super::message::{copse, warn};
use super::report::Report;
use super::selector::Selector;
use crate::basic::diagnostic::{Diagnostic, Severity};
use crate::basic::scope::{Directories, Scope};
use crate::basic::suggest;
use crate::generator;
use crate::generator::load;
use crate::generator::load::{GroupOutcome, Outcome};
use crate::manager::Connected;
use crate::manager::unit::UnitInfo;
use crate::model::Context;
use crate::unit::name;
use crate::unit::name::GroupName;

/// What group files are read for on this machine.
pub(crate) fn context(scope: Scope) -> Context {
    Context { scope, cpus: generator::cpus() }
}

/// Reads the group files of a scope, as the generator does.
pub(crate) fn load(scope: Scope) -> (Directories, Outcome) {
    let directories = Directories::from_environment(scope, None);
    let outcome = load::load(&directories, &context(scope));
    (directories, outcome)
}

/// Prints that there is no group at all, and how to make one.
pub(crate) fn warn_no_groups(directories: &Directories) {
    let paths: Vec<_> = directories.groups.iter().map(|path| path.display().to_string()).collect();
    let help = format!("run `{} edit --full NAME` to create one, see copse.toml(5)", copse(directories.scope));
    warn(&format!("no groups in {}", paths.join(", ")), Some(&help));
}

/// The error for a selector that matches nothing.
pub(crate) fn unknown(selector: &Selector, outcome: &Outcome) -> Error {
    let mut groups = outcome.groups.iter().map(|group| group.name.as_str());
    match &selector.part {
        Some(part) if groups.clone().any(|group| group == selector.group) => {
            Error::no_such_group(format_args!("group `{}` has no process `{part}`", selector.group))
        }
        _ => Error::no_such_group(format_args!("there is no group `{}`", selector.group))
            .did_you_mean(suggest::nearest(&selector.group, &mut groups)),
    }
}

/// The groups that `names` select: groups, or their targets; without any, all that have a file or run without one.
///
/// # Errors
/// A name is not that of a group. The group need not exist.
pub(crate) async fn select(
    names: &[String],
    systemd: &Connected,
    scope: Scope,
    outcome: &Outcome,
) -> Result<Vec<GroupName>, Error> {
    if names.is_empty() {
        return all(systemd, scope, outcome).await;
    }
    let group = |name: &String| {
        let selector = Selector::new(name, &outcome.groups);
        match (&selector.part, GroupName::new(&selector.group)) {
            _ if is_path(name) && !outcome.groups.iter().any(|group| group.name.as_str() == name) => {
                let help = format!("run `{} plan --as GROUP {name}`", copse(scope));
                Err(Error::usage(format_args!("cannot take `{name}` as a group: it is a file")).help(help))
            }
            (None, Some(group)) => Ok(group),
            (None, None) => Err(unknown(&selector, outcome)),
            (Some(_), _) => {
                let help = format!("name the group: `{}`", selector.group);
                Err(Error::usage(format_args!("cannot plan a part of a group: `{name}`")).help(help))
            }
        }
    };
    names.iter().map(group).collect()
}

/// Whether a name is that of a file: `GROUP/PROCESS` is not.
fn is_path(name: &str) -> bool {
    name == "-" || name.starts_with(['/', '.']) || name.ends_with(".toml")
}

/// All groups that have a file or run without one, sorted.
pub(crate) async fn all(systemd: &Connected, scope: Scope, outcome: &Outcome) -> Result<Vec<GroupName>, Error> {
    let mut all: Vec<GroupName> = outcome.groups.iter().map(|group| group.name.clone()).collect();
    all.extend(running(systemd, scope).await?);
    all.sort();
    all.dedup();
    Ok(all)
}

/// The groups of which something runs.
///
/// Their slices show which these are. A slice stays active when nothing is left in it, and a target is inactive while a
/// process runs on whose group's start failed, so a slice counts if the target or something in the slice is up.
pub(crate) async fn running(systemd: &Connected, scope: Scope) -> zbus::Result<Vec<GroupName>> {
    let prefix = if scope == Scope::User { "app-copse-" } else { "system-copse-" };
    let pattern = &*format!("{prefix}*.slice");
    let rows = systemd.ask(|manager| async move { manager.list_units_by_patterns(&[], &[pattern]).await }).await?;
    let mut slices = Vec::new();
    for row in rows.into_iter().map(UnitInfo::from).filter(UnitInfo::is_up) {
        let escaped = row.name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(".slice"));
        let group = escaped.and_then(|name| GroupName::new(&name.replace("\\x2d", "-")));
        slices.extend(group.map(|group| (group, row.name)));
    }
    let targets: Vec<String> = slices.iter().map(|(group, _)| name::target(group)).collect();
    let up = up(systemd, &targets).await?;
    let mut groups = Vec::new();
    for (group, slice) in slices {
        // What is in a slice requires it.
        let is_up = up.contains(&name::target(&group))
            || !self::up(systemd, &systemd.unit_property::<Vec<String>>(&slice, "RequiredBy").await?).await?.is_empty();
        groups.extend(is_up.then_some(group));
    }
    Ok(groups)
}

/// The names of those units that are up.
async fn up(systemd: &Connected, units: &[String]) -> zbus::Result<HashSet<String>> {
    let names: Vec<&str> = units.iter().map(String::as_str).collect();
    Ok(systemd.list(&names).await?.into_iter().filter(UnitInfo::is_up).map(|row| row.name).collect())
}

/// Prints the errors of a group file on stderr, and returns how many there are.
pub(crate) fn report_invalid(group: &GroupOutcome, report: &Report) -> usize {
    let errors: Vec<&Diagnostic> =
        group.diagnostics.iter().filter(|found| found.severity() == Severity::Error).collect();
    report.print(errors.iter().copied());
    errors.len()
}
