//! What the gate says: its status text (`systemctl status`) while it waits, and the journal at its end.

use std::fmt::Write as _;
use std::time::Duration;

use super::Seen;
use super::awaited::Awaited;
use crate::basic::scope::Scope;
use crate::basic::time_span;
use crate::cli::common::exit::Exit;
use crate::cli::common::sd_daemon::{Level, line};
use crate::manager::Connected;
use crate::manager::readiness::{Loss, Standing};

/// How many units a status text names; it is one line.
const NAMED: usize = 3;

/// Says what is new, once.
pub(super) struct Report {
    systemctl: &'static str,
    status: String,
}

impl Report {
    pub(super) fn new(scope: Scope) -> Self {
        Self { systemctl: crate::cli::common::output::systemctl(scope), status: String::new() }
    }

    /// Shows what the gate waits for.
    pub(super) fn progress(&mut self, awaited: &[Awaited], seen: &[Seen]) {
        self.show(waiting_text(awaited, seen));
    }

    /// Says how it ended, and judges it: every essential unit ready, done, or left out by a condition or a mask.
    /// `timeout` matters only for units that are still waited for.
    pub(super) async fn end(
        &mut self,
        systemd: &Connected,
        awaited: &[Awaited],
        seen: &[Seen],
        timeout: Option<Duration>,
    ) -> zbus::Result<Exit> {
        let mut failed = Vec::new();
        let mut notes = 0;
        for (unit, (row, standing)) in awaited.iter().zip(seen) {
            let name = &unit.unit;
            let what = match standing {
                Standing::Ready | Standing::Done | Standing::Skipped => continue,
                Standing::LeftOut => {
                    line(Level::Notice, format_args!("{name}: left out, as it is masked"));
                    notes += 1;
                    continue;
                }
                Standing::Waiting(state) => not_ready(state, timeout),
                Standing::Lost(Loss::Failed) if name.ends_with(".service") => {
                    let result: String = systemd.service_property(&row.name, "Result").await?;
                    format!("failed ({result})")
                }
                Standing::Lost(loss) => loss.to_string(),
            };
            let (level, rank) = if unit.essential { (Level::Error, "") } else { (Level::Notice, " (not essential)") };
            line(level, format_args!("{name}{rank}: {what}; see `{} status {name}`", self.systemctl));
            if unit.essential {
                failed.push(format!("{name}: {what}"));
            } else {
                notes += 1;
            }
        }
        self.show(end_text(&failed, seen.len(), notes, self.systemctl));
        Ok(if failed.is_empty() { Exit::Done } else { Exit::Failed })
    }

    fn show(&mut self, status: String) {
        if status == self.status {
            return;
        }
        // Without NOTIFY_SOCKET (by hand) nobody listens, and that is all right.
        let _ = sd_notify::notify(&[sd_notify::NotifyState::Status(&status)]);
        self.status = status;
    }
}

fn not_ready(state: &str, timeout: Option<Duration>) -> String {
    match timeout {
        Some(timeout) => format!("not ready after {} ({state})", time_span::format(timeout)),
        None => format!("not ready ({state})"),
    }
}

fn waiting_text(awaited: &[Awaited], seen: &[Seen]) -> String {
    let waiting: Vec<String> = awaited
        .iter()
        .zip(seen)
        .filter_map(|(unit, (_, standing))| match standing {
            Standing::Waiting(state) => Some(format!("{} ({state})", unit.unit)),
            _ => None,
        })
        .collect();
    let lost: Vec<String> = awaited
        .iter()
        .zip(seen)
        .filter(|(_, (_, standing))| matches!(standing, Standing::Lost(_)))
        .map(|(unit, _)| unit.unit.clone())
        .collect();
    let mut text = format!("waiting for {} of {}: {}", waiting.len(), seen.len(), listed(&waiting, ", "));
    if !lost.is_empty() {
        // Writing to a String can't fail.
        let _ = write!(text, "; failed: {}", listed(&lost, ", "));
    }
    text
}

fn end_text(failed: &[String], all: usize, notes: usize, systemctl: &str) -> String {
    match failed {
        [] if notes == 0 => format!("all {all} ready"),
        [] => format!("{} of {all} ready; the others are masked or not essential", all - notes),
        [one] => {
            let unit = one.split(": ").next().unwrap_or_default();
            format!("{one}; see `{systemctl} status {unit}`")
        }
        several => format!("not ready: {}", listed(several, "; ")),
    }
}

fn listed(items: &[String], between: &str) -> String {
    let mut text = items.iter().take(NAMED).cloned().collect::<Vec<_>>().join(between);
    if items.len() > NAMED {
        // Writing to a String can't fail.
        let _ = write!(text, " and {} more", items.len() - NAMED);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::unit::UnitInfo;

    fn seen(standings: &[(&str, Standing)]) -> (Vec<Awaited>, Vec<Seen>) {
        standings
            .iter()
            .map(|(name, standing)| {
                let unit = (*name).to_owned();
                let row = UnitInfo::absent(name);
                let awaited = Awaited { unit, essential: true };
                (awaited, (row, standing.clone()))
            })
            .unzip()
    }

    #[test]
    fn it_says_what_it_waits_for() {
        let waiting = |state: &str| Standing::Waiting(state.to_owned());
        let (awaited, looked) =
            seen(&[("a.service", Standing::Ready), ("b.service", waiting("activating, auto-restart"))]);
        assert_eq!(waiting_text(&awaited, &looked), "waiting for 1 of 2: b.service (activating, auto-restart)");
        let (awaited, looked) = seen(&[
            ("a.service", waiting("start job")),
            ("b.service", waiting("start job")),
            ("c.service", Standing::Lost(Loss::Failed)),
            ("d.service", waiting("start job")),
            ("e.service", waiting("start job")),
            ("f.service", waiting("start job")),
        ]);
        assert_eq!(
            waiting_text(&awaited, &looked),
            "waiting for 5 of 6: a.service (start job), b.service (start job), d.service (start job) and 2 more; failed: c.service"
        );
    }

    #[test]
    fn it_says_how_it_ended() {
        let failed = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        for (failures, notes, expected) in [
            (&[][..], 0, "all 4 ready"),
            (&[], 1, "3 of 4 ready; the others are masked or not essential"),
            (&["a.service: failed (exit-code)"], 0, "a.service: failed (exit-code); see `systemctl status a.service`"),
            (
                &["a.service: failed (signal)", "b.service: failed (timeout)"],
                0,
                "not ready: a.service: failed (signal); b.service: failed (timeout)",
            ),
        ] {
            assert_eq!(end_text(&failed(failures), 4, notes, "systemctl"), expected);
        }
        assert_eq!(
            not_ready("activating, start", Some(Duration::from_secs(600))),
            "not ready after 10min (activating, start)"
        );
    }
}
