//! `copse internal reset`: a start of a group begins with a clean slate.
//!
//! systemd refuses to start a unit that failed too often within its start-limit interval, in 40 ms and without
//! a reason shown. Somebody who starts the group by hand means it, so the counters go first.

use std::collections::HashSet;

use crate::basic::scope::Scope;
use crate::cli::common::exit::Exit;
use crate::cli::common::sd_daemon::{Level, line};
use crate::manager::{Connected, connect};

/// Resets the units of `group` that aren't up. Never a reason for a start to fail: its unit ignores the status.
pub(super) async fn run(scope: Scope, group: &str) -> Exit {
    let systemd = match connect(scope).await {
        Ok(systemd) => systemd,
        Err(error) => {
            line(Level::Error, format_args!("nothing was reset: {error}"));
            return Exit::Failed;
        }
    };
    match reset(&systemd, group).await {
        Ok(()) => Exit::Done,
        Err(error) => {
            line(Level::Error, format_args!("group {group}: not everything was reset: {error}"));
            Exit::Failed
        }
    }
}

async fn reset(systemd: &Connected, group: &str) -> zbus::Result<()> {
    let target = format!("{group}.target");
    // The inverse of PartOf=: every loaded unit of the group, also those that an administrator added.
    let members: Vec<String> = systemd.unit_property(&target, "ConsistsOf").await?;
    if members.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = members.iter().map(String::as_str).collect();
    let stale: Vec<String> = systemd
        .list(&names)
        .await?
        .into_iter()
        // What runs keeps its restart counter: `systemctl start` of a running group restarts nobody.
        .filter(|unit| !unit.is_up())
        .map(|unit| unit.name)
        .chain(failed_judges(systemd, &members).await?)
        .collect();
    systemd.reset_failed(&stale).await
}

/// The instances of copse-gave-up@.service that failed for one of `members`.
async fn failed_judges(systemd: &Connected, members: &[String]) -> zbus::Result<Vec<String>> {
    let of_this_group: HashSet<String> = members
        .iter()
        .filter_map(|member| member.strip_suffix(".service"))
        .map(|member| format!("copse-gave-up@{member}.service"))
        .collect();
    const JUDGES: &[&str] = &["copse-gave-up@*.service"];
    let failed =
        systemd.ask(|manager| async move { manager.list_units_by_patterns(&["failed"], JUDGES).await }).await?;
    Ok(failed.into_iter().map(|row| row.0).filter(|name| of_this_group.contains(name)).collect())
}
