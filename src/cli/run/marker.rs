//! A line in the journal of the group that says that its run is over. It comes behind the lines of its processes, so who
//! follows the journal has seen them when it comes by.

use std::io;
use std::os::unix::net::UnixDatagram;

use crate::basic::scope::Scope;

/// Where journald takes lines (systemd.journal-fields(7), "Native protocol").
const SOCKET: &str = "/run/systemd/journal/socket";

/// Writes the line; gives its message, which is found nowhere else.
///
/// # Errors
/// Where there is no journal.
pub(super) fn put(scope: Scope, group: &str) -> io::Result<String> {
    let message = format!("copse run ({}) is over: {group} has stopped", std::process::id());
    // The fields by which the group's lines are found.
    let fields = match scope {
        Scope::System => format!("COPSE_GROUP={group}"),
        Scope::User => format!("USER_UNIT={group}.target"),
    };
    let entry = format!("MESSAGE={message}\nPRIORITY=6\nSYSLOG_IDENTIFIER=copse\n{fields}\n");
    UnixDatagram::unbound()?.send_to(entry.as_bytes(), SOCKET)?;
    Ok(message)
}
