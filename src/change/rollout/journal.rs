//! What copse does to units is in the journal, beside what the units write themselves: `journalctl COPSE_GROUP=G` shows who
//! restarted what, and why. systemd.journal-fields(7) adds the process that did it (`_UID=`, `_AUDIT_LOGINUID=`).

use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::SubscriberExt as _;

use super::event::{Event, Reporter};
use crate::basic::clock;
use crate::basic::terminal::TerminalStyle;
use crate::change::plan::{Reason, render};
use crate::unit::name::GroupName;

/// Reports to the journal, and then to another reporter.
pub struct JournalReporter<'r> {
    group: &'r GroupName,
    next: &'r dyn Reporter,
    caller: String,
}

/// The reasons in a few words each.
fn sentence(reasons: &[Reason]) -> String {
    let style = TerminalStyle { colour: false, width: usize::MAX, now: clock::now(), user: false };
    render::reasons(reasons, style).join("; ")
}

/// Who called copse. The journal's own fields are missing if copse exits before journald reads the message.
fn caller() -> String {
    let uid = rustix::process::getuid();
    match std::env::var("SUDO_USER") {
        Ok(user) if uid.is_root() && !user.is_empty() => crate::basic::diagnostic::one_line(&user),
        _ if uid.is_root() => "root".to_owned(),
        _ => format!("user {}", uid.as_raw()),
    }
}

/// Sends what is recorded to the journal, as long as the value lives. Without a journal nothing is recorded.
pub fn to_journal() -> Option<DefaultGuard> {
    let layer = tracing_journald::layer().ok()?.with_field_prefix(None).with_syslog_identifier("copse".to_owned());
    Some(tracing::subscriber::set_default(tracing_subscriber::registry().with(layer)))
}

impl<'r> JournalReporter<'r> {
    /// Records what happens to units of `group`.
    pub fn new(group: &'r GroupName, next: &'r dyn Reporter) -> Self {
        Self { group, next, caller: caller() }
    }
}

impl Reporter for JournalReporter<'_> {
    fn report(&self, event: &Event<'_>) {
        let group = self.group.as_str();
        match event {
            Event::Ends { action, subject, reasons, end } => {
                let (reason, caller) = (sentence(reasons), &self.caller);
                let (result, outcome) = match end {
                    Ok(outcome) => (outcome.word(), outcome.to_string()),
                    Err(problem) => ("failed".to_owned(), problem.to_string()),
                };
                // The level of an event of tracing is part of its static description.
                macro_rules! record {
                    ($level:ident) => {
                        tracing::$level!(
                            COPSE_GROUP = group,
                            COPSE_UNIT = subject.unit,
                            COPSE_ACTION = action,
                            COPSE_REASON = reason,
                            COPSE_CALLER = caller,
                            COPSE_RESULT = result,
                            "{action} {}: {outcome} ({reason}; by {caller})",
                            subject.label
                        )
                    };
                }
                if end.is_ok() { record!(info) } else { record!(error) }
            }
            Event::Notes(text) => tracing::info!(COPSE_GROUP = group, "{text}"),
            Event::Begins { .. } | Event::Waits { .. } => {}
        }
        self.next.report(event);
    }
}
