//! Messages of commands that copse's own units run.

use std::fmt;
use std::io::Write as _;

/// Priorities of sd-daemon(3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Priority {
    Error = 3,
    Notice = 5,
}

/// Writes `text` to stderr. If stderr is the journal, each line starts with its priority (`<3>`, sd-daemon(3)), so that
/// `journalctl -p err` finds it. A closed stderr is ignored.
pub(crate) fn log(priority: Priority, text: impl fmt::Display) {
    let to_journal = std::env::var_os("JOURNAL_STREAM").is_some();
    let prefix = if to_journal { format!("<{}>", priority as u8) } else { String::new() };
    let lines: String = text.to_string().lines().map(|line| format!("{prefix}{line}\n")).collect();
    let _ = std::io::stderr().lock().write_all(lines.as_bytes());
}
