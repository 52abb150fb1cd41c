//! `copse internal gave-up`: `failure-policy = "stop"`. Judges one failed unit; if systemd gave it up, stops
//! its group, and marks the group as failed.

use std::time::Duration;

use crate::basic::scope::Scope;
use crate::cli::common::exit::Exit;
use crate::cli::common::sd_daemon::{Level, line};
use crate::manager::gave_up::{Diagnosis, diagnose};
use crate::manager::properties::Properties;
use crate::manager::state::UnitResult;
use crate::manager::{Connected, connect};

/// Between two looks at a unit that seems given up. Somebody may be between `systemctl stop` and
/// `systemctl start`, and a whole group is at stake.
const SECOND_THOUGHT: Duration = Duration::from_millis(100);

/// How long a restart is waited for. One that takes longer to come meets a program that is gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// Judges `unit`, a service's name without its suffix, and acts on it.
pub(super) async fn run(scope: Scope, unit: &str) -> Exit {
    let unit = format!("{unit}.service");
    let outcome = match connect(scope).await {
        Ok(systemd) => act(scope, &systemd, &unit).await.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match outcome {
        Ok(exit) => exit,
        Err(error) => {
            line(Level::Error, format_args!("{unit} failed, and its group can't be stopped: {error}"));
            Exit::Failed
        }
    }
}

async fn act(scope: Scope, systemd: &Connected, unit: &str) -> zbus::Result<Exit> {
    let first = settled(systemd, unit).await?;
    if diagnose(&first) != Diagnosis::GaveUp {
        return Ok(Exit::Done);
    }
    tokio::time::sleep(SECOND_THOUGHT).await;
    let second = systemd.properties(unit).await?;
    if diagnose(&second) != Diagnosis::GaveUp || second.times != first.times {
        return Ok(Exit::Done);
    }
    let Some(group) = group_of(unit, &first.part_of) else {
        line(Level::Error, format_args!("{unit} gave up, but it isn't part of a group's target: nothing is stopped"));
        return Ok(Exit::Failed);
    };
    let systemctl = crate::cli::common::output::systemctl(scope);
    line(
        Level::Error,
        format_args!(
            "{unit} gave up ({}) and failure-policy is \"stop\": stopping {group}.target; `{systemctl} status {unit}` shows why",
            first.result.as_ref().map_or("", UnitResult::as_str)
        ),
    );
    // The marker's Conflicts= would stop an active target, but reaches nobody while the target is still
    // inactive, as it is during a start. Stopping it by name reaches what is PartOf= it always.
    let (target, mark) = (&*format!("{group}.target"), &*format!("copse-failed@{group}.target"));
    systemd.ask(|manager| async move { manager.stop_unit(target, "replace").await }).await?;
    systemd.ask(|manager| async move { manager.start_unit(mark, "replace").await }).await?;
    Ok(Exit::Done)
}

/// The unit's properties once the restart that it waits for has been tried, or isn't near.
///
/// A failure that comes while this program still runs doesn't start it a second time: systemd merges the two starts.
/// So the last failure, the one that the start limit makes, would go unheard if it followed soon enough on the crash
/// before it, as it does on a busy machine or after a short `RestartSec=`.
async fn settled(systemd: &Connected, unit: &str) -> zbus::Result<Properties> {
    let mut pause = Duration::from_millis(10);
    let mut waited = Duration::ZERO;
    loop {
        let properties = systemd.properties(unit).await?;
        let near = properties.restart_delay < PATIENCE && waited < PATIENCE;
        let undecided = matches!(diagnose(&properties), Diagnosis::Restarted | Diagnosis::Busy);
        // If it runs again, its next failure comes long after this program's end.
        if !near || !undecided || properties.active.is_up() {
            return Ok(properties);
        }
        tokio::time::sleep(pause).await;
        waited += pause;
        pause = (pause * 2).min(SECOND_THOUGHT);
    }
}

/// The group among the targets that `unit` is part of: the longest name that `unit` begins with, as units of
/// a group are called `G.service` or `G-….service`.
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
