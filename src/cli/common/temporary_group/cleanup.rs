//! Removes a temporary group; only its lines in the journal stay.

use std::collections::BTreeSet;

use super::workspace::Workspace;
use crate::basic::scope::Scope;
use crate::manager::jobs::{Jobs, Request};
use crate::manager::state::ActiveState;
use crate::manager::{Connected, is_unknown};
use crate::unit::name;

/// Stops what still runs of the group, and removes its files and units. Running it twice, or by two processes at once, does
/// no harm.
///
/// # Errors
/// What the manager or the file system refuses, as a message.
pub(in crate::cli) async fn clear(jobs: &Jobs, scope: Scope, workspace: &Workspace) -> Result<(), String> {
    let group = &workspace.name;
    let target = name::target(group);
    let systemd = jobs.systemd();
    let own = own(systemd, workspace).await.map_err(|error| error.to_string())?;
    // The target first, so that all units stop in their order; then those that are no longer part of it.
    for unit in [target, name::slice(scope == Scope::User, group), format!("copse-failed@{group}.target")] {
        stop(jobs, &unit).await.map_err(|error| format!("cannot stop {unit}: {error}"))?;
    }
    let names: Vec<&str> = own.iter().map(String::as_str).collect();
    let rows = systemd.list(&names).await.map_err(|error| error.to_string())?;
    let failed: Vec<String> =
        rows.into_iter().filter(|row| row.active == ActiveState::Failed).map(|row| row.name).collect();
    systemd.reset_failed(&failed).await.map_err(|error| error.to_string())?;
    workspace.remove().map_err(|error| format!("cannot remove the files of {group}: {error}"))?;
    systemd.reload().await.map_err(|error| format!("cannot remove its units: {error}"))
}

/// All units of the group.
async fn own(systemd: &Connected, workspace: &Workspace) -> zbus::Result<BTreeSet<String>> {
    let group = &workspace.name;
    let target = name::target(group);
    // The inverse of PartOf=.
    let members: Vec<String> = systemd.unit_property(&target, "ConsistsOf").await?;
    let checked = members.iter().filter_map(|member| member.strip_suffix(".service"));
    let mut own: BTreeSet<String> = checked.map(|stem| format!("copse-gave-up@{stem}.service")).collect();
    own.extend(members.iter().cloned());
    own.extend(["ready", "reset", "directories", "invalid"].map(|kind| name::own(kind, group)));
    own.insert(target);
    Ok(own)
}

/// Stops a unit if it is loaded, and waits for it.
async fn stop(jobs: &Jobs, unit: &str) -> zbus::Result<()> {
    match jobs.run(Request::Stop, unit).await {
        Err(error) if is_unknown(&error) => Ok(()),
        Err(error) => Err(error),
        // If the stop fails, or is replaced by a start, there is nothing else to do.
        Ok(_) => Ok(()),
    }
}

/// Cleans up after all runs whose `copse run` and keeper have exited.
///
/// # Errors
/// As [`clear`].
pub(in crate::cli) async fn left_over(jobs: &Jobs, scope: Scope, state: &std::path::Path) -> Result<(), String> {
    for workspace in Workspace::left_over(state) {
        clear(jobs, scope, &workspace).await?;
    }
    Ok(())
}
