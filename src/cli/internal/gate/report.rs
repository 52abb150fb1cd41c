//! What the gate shows: its status (`systemctl status`) while it waits, and messages in the journal at its end.

use std::time::Duration;

use super::awaited::Awaited;
use crate::basic::scope::Scope;
use crate::basic::time_span;
use crate::cli::common::exit::Exit;
use crate::cli::common::journal::priority::{Priority, log};
use crate::cli::common::message::systemctl;
use crate::manager::Connected;
use crate::manager::readiness::{Readiness, StartFailure};
use crate::manager::unit::UnitInfo;

/// How many units the status names: it is one line.
const NAMED: usize = 3;

pub(super) struct Report {
    systemctl: &'static str,
    status: String,
}

impl Report {
    pub(super) fn new(scope: Scope) -> Self {
        Self { systemctl: systemctl(scope), status: String::new() }
    }

    /// Shows what the gate waits for.
    pub(super) fn progress(&mut self, awaited: &[Awaited], seen: &[(UnitInfo, Readiness)]) {
        self.show(waiting_text(awaited, seen));
    }

    /// Shows the result: success if each essential unit is ready, has exited, or was skipped by a condition or a mask.
    /// `timeout` matters only for units that are still waited for.
    pub(super) async fn end(
        &mut self,
        systemd: &Connected,
        awaited: &[Awaited],
        seen: &[(UnitInfo, Readiness)],
        timeout: Option<Duration>,
    ) -> zbus::Result<Exit> {
        let mut failed = Vec::new();
        let mut others = 0;
        for (Awaited { unit, essential }, (row, readiness)) in awaited.iter().zip(seen) {
            let problem = match readiness {
                Readiness::Ready | Readiness::Exited | Readiness::Skipped => continue,
                Readiness::Masked => {
                    log(Priority::Notice, format_args!("{unit}: masked, skipped"));
                    others += 1;
                    continue;
                }
                Readiness::Pending(state) => not_ready(state, timeout),
                Readiness::Failed(StartFailure::Failed) if unit.ends_with(".service") => {
                    let result: String = systemd.service_property(&row.name, "Result").await?;
                    format!("failed ({result})")
                }
                Readiness::Failed(why) => why.to_string(),
            };
            let (priority, rank) =
                if *essential { (Priority::Error, "") } else { (Priority::Notice, " (not essential)") };
            log(priority, format_args!("{unit}{rank}: {problem}; see `{} status {unit}`", self.systemctl));
            match essential {
                true => failed.push((unit.clone(), problem)),
                false => others += 1,
            }
        }
        self.show(end_text(&failed, seen.len(), others, self.systemctl));
        Ok(if failed.is_empty() { Exit::Done } else { Exit::Failed })
    }

    fn show(&mut self, status: String) {
        if status != self.status {
            // Without NOTIFY_SOCKET, nothing is sent.
            let _ = sd_notify::notify(&[sd_notify::NotifyState::Status(&status)]);
            self.status = status;
        }
    }
}

fn not_ready(state: &str, timeout: Option<Duration>) -> String {
    match timeout {
        Some(timeout) => format!("not ready after {} ({state})", time_span::format(timeout)),
        None => format!("not ready ({state})"),
    }
}

fn waiting_text(awaited: &[Awaited], seen: &[(UnitInfo, Readiness)]) -> String {
    let (mut waiting, mut failed) = (Vec::new(), Vec::new());
    for (Awaited { unit, .. }, (_, readiness)) in awaited.iter().zip(seen) {
        match readiness {
            Readiness::Pending(state) => waiting.push(format!("{unit} ({state})")),
            Readiness::Failed(_) => failed.push(unit.clone()),
            _ => {}
        }
    }
    let failed = if failed.is_empty() { String::new() } else { format!("; failed: {}", listed(&failed, ", ")) };
    format!("waiting for {} of {}: {}{failed}", waiting.len(), seen.len(), listed(&waiting, ", "))
}

/// The units that `failed` come with the reason; `others` of all are masked or not essential.
fn end_text(failed: &[(String, String)], all: usize, others: usize, systemctl: &str) -> String {
    match failed {
        [] if others == 0 => format!("all {all} ready"),
        [] => format!("{} of {all} ready; the others are masked or not essential", all - others),
        [(unit, problem)] => format!("{unit}: {problem}; see `{systemctl} status {unit}`"),
        several => {
            let several: Vec<String> = several.iter().map(|(unit, problem)| format!("{unit}: {problem}")).collect();
            format!("not ready: {}", listed(&several, "; "))
        }
    }
}

fn listed(items: &[String], separator: &str) -> String {
    let more = if items.len() > NAMED { format!(" and {} more", items.len() - NAMED) } else { String::new() };
    items[..items.len().min(NAMED)].join(separator) + &more
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(all: &[(&str, Readiness)]) -> (Vec<Awaited>, Vec<(UnitInfo, Readiness)>) {
        all.iter()
            .map(|(name, readiness)| {
                let unit = (*name).to_owned();
                let row = UnitInfo::absent(name);
                let awaited = Awaited { unit, essential: true };
                (awaited, (row, readiness.clone()))
            })
            .unzip()
    }

    #[test]
    fn it_says_what_it_waits_for() {
        let waiting = |state: &str| Readiness::Pending(state.to_owned());
        let (awaited, looked) =
            seen(&[("a.service", Readiness::Ready), ("b.service", waiting("activating, auto-restart"))]);
        assert_eq!(waiting_text(&awaited, &looked), "waiting for 1 of 2: b.service (activating, auto-restart)");
        let (awaited, looked) = seen(&[
            ("a.service", waiting("start job")),
            ("b.service", waiting("start job")),
            ("c.service", Readiness::Failed(StartFailure::Failed)),
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
        let failed = |failed: &[(&str, &str)]| {
            failed.iter().map(|(unit, problem)| ((*unit).to_owned(), (*problem).to_owned())).collect::<Vec<_>>()
        };
        for (failures, notes, expected) in [
            (&[][..], 0, "all 4 ready"),
            (&[], 1, "3 of 4 ready; the others are masked or not essential"),
            (
                &[("a.service", "failed (exit-code)")],
                0,
                "a.service: failed (exit-code); see `systemctl status a.service`",
            ),
            (
                &[("a.service", "failed (signal)"), ("b.service", "failed (timeout)")],
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
