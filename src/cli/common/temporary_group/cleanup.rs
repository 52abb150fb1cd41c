//! The end of a throw-away group: nothing of it stays but what it wrote to the journal.

use std::collections::BTreeSet;

use super::workspace::Workspace;
use crate::basic::scope::Scope;
use crate::manager::jobs::{Jobs, Request};
use crate::manager::state::ActiveState;
use crate::manager::{Connected, is_unknown};
use crate::unit::name;

/// Stops what still runs of the group, and removes its files and units. Done twice, or by two at once, it comes to the
/// same.
///
/// # Errors
/// What the manager or the file system refuses, in a sentence.
pub(in crate::cli) async fn clear(jobs: &Jobs, scope: Scope, place: &Workspace) -> Result<(), String> {
    let group = &place.name;
    let target = name::target(group);
    let systemd = jobs.systemd();
    let own = own(systemd, place).await.map_err(|error| error.to_string())?;
    // The target first, so that all stop in their order; then what isn't part of it any more.
    for unit in [target, name::slice(scope == Scope::User, group), format!("copse-failed@{group}.target")] {
        stop(jobs, &unit).await.map_err(|error| format!("{unit} can't be stopped: {error}"))?;
    }
    let names: Vec<&str> = own.iter().map(String::as_str).collect();
    let rows = systemd.list(&names).await.map_err(|error| error.to_string())?;
    let failed: Vec<String> =
        rows.into_iter().filter(|row| row.active == ActiveState::Failed).map(|row| row.name).collect();
    systemd.reset_failed(&failed).await.map_err(|error| error.to_string())?;
    place.remove().map_err(|error| format!("the files of {group} can't be removed: {error}"))?;
    systemd.reload().await.map_err(|error| format!("its units can't be removed: {error}"))
}

/// Every unit that is the group's.
async fn own(systemd: &Connected, place: &Workspace) -> zbus::Result<BTreeSet<String>> {
    let group = &place.name;
    let target = name::target(group);
    // The inverse of PartOf=.
    let members: Vec<String> = systemd.unit_property(&target, "ConsistsOf").await?;
    let judges = members.iter().filter_map(|member| member.strip_suffix(".service"));
    let mut own: BTreeSet<String> = judges.map(|stem| format!("copse-gave-up@{stem}.service")).collect();
    own.extend(members.iter().cloned());
    own.extend(["ready", "reset", "directories", "invalid"].map(|kind| name::own(kind, group)));
    own.insert(target);
    Ok(own)
}

/// Stops a unit and waits for it, if it is there.
async fn stop(jobs: &Jobs, unit: &str) -> zbus::Result<()> {
    match jobs.run(Request::Stop, unit).await {
        Err(error) if is_unknown(&error) => Ok(()),
        Err(error) => Err(error),
        // A stop that fails, or that a start got in the way of, has nothing else to be done about.
        Ok(_) => Ok(()),
    }
}

/// Clears up after all whose `copse run` is gone, and whose keeper as well.
///
/// # Errors
/// As [`clear`].
pub(in crate::cli) async fn left_over(jobs: &Jobs, scope: Scope, state: &std::path::Path) -> Result<(), String> {
    for place in Workspace::left_over(state) {
        clear(jobs, scope, &place).await?;
    }
    Ok(())
}
