//! `copse internal invalid`: makes the start of a group with an invalid file fail, with the reason in the journal.

use std::io::Read as _;

use crate::cli::common::error::Error;
use crate::cli::common::exit::Exit;
use crate::cli::common::journal::priority::{Priority, log};

/// Logs standard input: the diagnostics, which the generator wrote into the unit.
pub(super) fn run(group: &str) -> Result<Exit, Error> {
    let mut text = Vec::new();
    if let Err(error) = std::io::stdin().lock().read_to_end(&mut text) {
        log(Priority::Error, format_args!("cannot read the diagnostics: {error}"));
    }
    let text = String::from_utf8_lossy(&text);
    if text.trim().is_empty() {
        // A drop-in may have removed the text. The start fails with a reason in any case.
        log(Priority::Error, format_args!("group file of `{group}` is invalid; run `copse check {group}`"));
    } else {
        log(Priority::Error, text.trim_end());
    }
    Ok(Exit::Invalid)
}
