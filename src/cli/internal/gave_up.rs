//! `copse internal gave-up`: `failure-policy = "stop"`. Checks whether a unit failed permanently, and then stops its group
//! and marks it as failed.

use std::time::Duration;

use crate::basic::scope::Scope;
use crate::cli::common::error::Error;
use crate::cli::common::exit::Exit;
use crate::cli::common::journal::priority::{Priority, log};
use crate::cli::common::message::systemctl;
use crate::manager::Connected;
use crate::manager::gave_up::{Diagnosis, diagnose};
use crate::manager::properties::Properties;
use crate::manager::state::UnitResult;

/// Before a group is stopped, the unit is looked at again after this time: it may be between `systemctl stop` and
/// `systemctl start`.
const CONFIRM: Duration = Duration::from_millis(100);

/// How long a restart is waited for. After a longer one, this program runs again.
const RESTART_MAX: Duration = Duration::from_secs(10);

/// Checks `unit`, a service's name without its suffix.
pub(super) async fn run(systemd: &Connected, scope: Scope, unit: &str) -> Result<Exit, Error> {
    let unit = format!("{unit}.service");
    let checked = check(systemd, scope, &unit).await;
    checked.map_err(|error| error.context(scope, format_args!("stop the group of `{unit}`, which failed")))
}

async fn check(systemd: &Connected, scope: Scope, unit: &str) -> Result<Exit, Error> {
    let first = settled(systemd, unit).await?;
    if diagnose(&first) != Diagnosis::GaveUp {
        return Ok(Exit::Done);
    }
    tokio::time::sleep(CONFIRM).await;
    let second = systemd.properties(unit).await?;
    if diagnose(&second) != Diagnosis::GaveUp || second.times != first.times {
        return Ok(Exit::Done);
    }
    let group = group_of(unit, &first.part_of).ok_or_else(|| Error::failed("it is not part of a group"))?;
    let (systemctl, result) = (systemctl(scope), first.result.as_ref().map_or("", UnitResult::as_str));
    log(
        Priority::Error,
        format_args!(
            "{unit} failed permanently ({result}) and failure-policy is \"stop\": stopping {group}.target; see `{systemctl} status {unit}`"
        ),
    );
    // Conflicts= of the mark stops an active target, but does nothing while the target is inactive, as during a start.
    // Stopping the target by name always stops what is PartOf= it.
    let (target, mark) = (&*format!("{group}.target"), &*format!("copse-failed@{group}.target"));
    systemd.ask(|manager| async move { manager.stop_unit(target, "replace").await }).await?;
    systemd.ask(|manager| async move { manager.start_unit(mark, "replace").await }).await?;
    Ok(Exit::Done)
}

/// The unit's properties once a pending restart was tried, or is not near.
///
/// A failure that comes while this program still runs does not start it again: systemd merges the two starts. So the last
/// failure, at the start limit, would go unnoticed if it followed the crash before it soon enough: on a busy machine, or
/// with a short `RestartSec=`.
async fn settled(systemd: &Connected, unit: &str) -> zbus::Result<Properties> {
    let mut pause = Duration::from_millis(10);
    let mut waited = Duration::ZERO;
    loop {
        let properties = systemd.properties(unit).await?;
        let near = properties.restart_delay < RESTART_MAX && waited < RESTART_MAX;
        let undecided = matches!(diagnose(&properties), Diagnosis::Restarted | Diagnosis::Busy);
        // If it runs again, its next failure comes after this program has exited.
        if !near || !undecided || properties.active.is_up() {
            return Ok(properties);
        }
        tokio::time::sleep(pause).await;
        waited += pause;
        pause = (pause * 2).min(CONFIRM);
    }
}

/// The group among the targets that `unit` is part of: the longest name that `unit` begins with, as the units of a group
/// are called `G.service` or `G-….service`.
fn group_of<'a>(unit: &str, targets: &'a [String]) -> Option<&'a str> {
    let stem = unit.strip_suffix(".service")?;
    targets
        .iter()
        .filter_map(|target| target.strip_suffix(".target"))
        .filter(|group| stem.strip_prefix(group).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '@'])))
        .max_by_key(|group| group.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_is_the_target_the_unit_is_named_after() {
        for (unit, targets, expected) in [
            ("web.service", &["web.target"][..], Some("web")),
            ("web-api@3.service", &["web.target"], Some("web")),
            ("web@3.service", &["web.target"], Some("web")),
            ("a-b-c.service", &["a.target", "a-b.target"], Some("a-b")),
            ("website.service", &["web.target"], None),
            ("web.service", &["graphical.target"], None),
            ("web.service", &[], None),
            ("web.socket", &["web.target"], None),
        ] {
            let targets: Vec<String> = targets.iter().map(|target| (*target).to_owned()).collect();
            assert_eq!(group_of(unit, &targets), expected, "{unit} {targets:?}");
        }
    }
}
