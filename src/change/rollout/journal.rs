//! What copse does to units is in the journal, beside what the units write themselves: `journalctl COPSE_GROUP=G` tells
//! who restarted what, and why. systemd.journal-fields(7) adds which process that was (`_UID=`, `_AUDIT_LOGINUID=`).

use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::SubscriberExt as _;

use super::event::{Event, Reporter};
use crate::basic::clock;
use crate::basic::terminal::TerminalStyle;
use crate::change::plan::{Reason, render};
use crate::unit::name::GroupName;

/// Tells the journal, and then another.
pub struct JournalReporter<'r> {
    group: &'r GroupName,
    next: &'r dyn Reporter,
    caller: String,
}

/// The reasons in a few words each.
fn sentence(reasons: &[Reason]) -> String {
    let look = TerminalStyle { colour: false, width: usize::MAX, now: clock::now(), user: false };
    render::reasons(reasons, look).join("; ")
}

/// Who asked for it, as far as that is known: the journal's own fields about a process are missing where it ended
/// before the journal looked.
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
    fn tell(&self, event: &Event<'_>) {
        match event {
            Event::Ends { action, subject, reasons, end } => {
                let (unit, label) = (subject.unit.as_str(), &subject.label);
                let (group, reason, caller) = (self.group.as_str(), sentence(reasons), &self.caller);
                match end {
                    Ok(reached) => tracing::info!(
                        COPSE_GROUP = group,
                        COPSE_UNIT = unit,
                        COPSE_ACTION = action,
                        COPSE_REASON = reason,
                        COPSE_CALLER = caller,
                        COPSE_RESULT = %reached,
                        "{action} {label}: {reached} ({reason}; by {caller})"
                    ),
                    Err(what) => tracing::error!(
                        COPSE_GROUP = group,
                        COPSE_UNIT = unit,
                        COPSE_ACTION = action,
                        COPSE_REASON = reason,
                        COPSE_CALLER = caller,
                        COPSE_RESULT = "failed",
                        "{action} {label}: {what} ({reason}; by {caller})"
                    ),
                }
            }
            Event::Notes(text) => tracing::info!(COPSE_GROUP = self.group.as_str(), "{text}"),
            Event::Begins { .. } | Event::Waits { .. } => {}
        }
        self.next.tell(event);
    }
}
