//! A line in the journal of the group that marks the end of its run. It comes after the lines of its processes, so a reader
//! that follows the journal has all of them when it reads the mark.

use std::io;
use std::os::unix::net::UnixDatagram;

use crate::basic::scope::Scope;

/// Where journald receives messages (systemd.journal-fields(7), "Native protocol").
const SOCKET: &str = "/run/systemd/journal/socket";

/// Writes the line, and returns its message, which is unique.
///
/// # Errors
/// There is no journal.
pub(super) fn put(scope: Scope, group: &str) -> io::Result<String> {
    let message = format!("copse run ({}) has ended: {group} is stopped", std::process::id());
    // The fields by which the group's lines are found.
    let fields = match scope {
        Scope::System => format!("COPSE_GROUP={group}"),
        Scope::User => format!("USER_UNIT={group}.target"),
    };
    let entry = format!("MESSAGE={message}\nPRIORITY=6\nSYSLOG_IDENTIFIER=copse\n{fields}\n");
    UnixDatagram::unbound()?.send_to(entry.as_bytes(), SOCKET)?;
    Ok(message)
}
