//! What commands print on stdout.

use std::io::{self, Write as _, stdout};

use serde::Serialize;

use super::error::Error;
use crate::basic::clock;
use crate::basic::scope::Scope;
use crate::basic::terminal::{ColorChoice, TerminalStyle, columns};

/// The width if stdout is not a terminal.
const WIDTH: usize = 80;

/// How to draw on stdout, now.
pub(crate) fn style(color: ColorChoice, scope: Scope) -> TerminalStyle {
    TerminalStyle { colour: color.on(&stdout()), width: width(), now: clock::now(), user: scope == Scope::User }
}

/// The columns of stdout.
pub(crate) fn width() -> usize {
    columns(&stdout()).unwrap_or(WIDTH)
}

/// Prints on stdout. A reader that closed it early (`| head`) is no error.
///
/// # Errors
/// Anything else, for example a full disk.
pub(crate) fn print(text: &str) -> Result<(), Error> {
    let mut stdout = stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Error::cannot("write to stdout", error)),
        _ => Ok(()),
    }
}

/// Prints a value on stdout as a line of JSON.
///
/// # Errors
/// As [`print`].
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Error> {
    let json = serde_json::to_value(value).map_err(|error| Error::cannot("write JSON", error))?;
    print(&format!("{json}\n"))
}

/// `1 group`, `3 groups`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
