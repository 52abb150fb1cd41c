//! `copse internal invalid`: makes the start of a group with a broken file fail, with the reason in the journal.

use std::io::Read as _;

use crate::cli::common::exit::Exit;
use crate::cli::common::sd_daemon::{Level, line};

/// Prints standard input, which holds the diagnostics as the generator wrote them into the unit.
pub(super) fn run(group: &str) -> Exit {
    let mut text = Vec::new();
    if let Err(error) = std::io::stdin().lock().read_to_end(&mut text) {
        line(Level::Error, format_args!("the diagnostics can't be read: {error}"));
    }
    let text = String::from_utf8_lossy(&text);
    if text.trim().is_empty() {
        // Somebody's drop-in took the text away; the start must fail with a reason all the same.
        line(Level::Error, format_args!("the file of group {group} is invalid; `copse check` shows why"));
    } else {
        line(Level::Error, text.trim_end());
    }
    Exit::Invalid
}
