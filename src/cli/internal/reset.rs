//! `copse internal reset`: resets failed units before a group starts.
//!
//! At its start limit, systemd refuses to start a unit at once, and shows no reason. A start of the group is a new attempt,
//! so the start counters are reset first.

use std::collections::HashSet;

use crate::basic::scope::Scope;
use crate::cli::common::error::Error;
use crate::cli::common::exit::Exit;
use crate::manager::Connected;

/// Resets the units of `group` that are not up. A failure does not fail the start: the unit ignores the exit status.
pub(super) async fn run(systemd: &Connected, scope: Scope, group: &str) -> Result<Exit, Error> {
    let reset = reset(systemd, group).await;
    reset.map_err(|error| Error::from(error).context(scope, format_args!("reset all units of group `{group}`")))?;
    Ok(Exit::Done)
}

async fn reset(systemd: &Connected, group: &str) -> zbus::Result<()> {
    let target = format!("{group}.target");
    // The inverse of PartOf=: all loaded units of the group, also those that an administrator added.
    let members: Vec<String> = systemd.unit_property(&target, "ConsistsOf").await?;
    if members.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = members.iter().map(String::as_str).collect();
    // Running units keep their restart counter: starting a running group restarts nothing.
    let down = systemd.list(&names).await?.into_iter().filter(|unit| !unit.is_up()).map(|unit| unit.name);
    let units: Vec<String> = down.chain(failed_checks(systemd, &members).await?).collect();
    systemd.reset_failed(&units).await
}

/// The failed instances of copse-gave-up@.service for `members`.
async fn failed_checks(systemd: &Connected, members: &[String]) -> zbus::Result<Vec<String>> {
    const CHECKS: &[&str] = &["copse-gave-up@*.service"];
    let own: HashSet<String> = members
        .iter()
        .filter_map(|member| member.strip_suffix(".service"))
        .map(|member| format!("copse-gave-up@{member}.service"))
        .collect();
    let failed =
        systemd.ask(|manager| async move { manager.list_units_by_patterns(&["failed"], CHECKS).await }).await?;
    Ok(failed.into_iter().map(|row| row.0).filter(|name| own.contains(name)).collect())
}
