//! Lines for the journal, from what runs as a unit.

use std::fmt;
use std::io::Write as _;

/// How grave a line is: the priorities of sd-daemon(3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// Something failed.
    Error = 3,
    /// Nothing failed, but somebody will want to know.
    Notice = 5,
}

/// Writes `text` to stderr. Where that is the journal, each line carries its level in front (`<3>`,
/// sd-daemon(3)), so that `journalctl -p err` finds it; on a terminal it would be noise.
pub(crate) fn line(level: Level, text: impl fmt::Display) {
    let text = text.to_string();
    let mut out = std::io::stderr().lock();
    let to_journal = std::env::var_os("JOURNAL_STREAM").is_some();
    for line in text.lines() {
        // Nobody is left to tell when stderr is closed.
        let _ = if to_journal { writeln!(out, "<{}>{line}", level as u8) } else { writeln!(out, "{line}") };
    }
}
