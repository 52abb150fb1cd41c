//! The last line in a unit's journal: mostly it says why the unit failed.

use std::io;
use std::process::{Child, Command, Stdio};

use crate::scope::Scope;

/// Begins to look it up. Several can be under way side by side.
pub(super) fn search(scope: Scope, unit: &str) -> io::Result<Child> {
    let field = if scope == Scope::User { "_SYSTEMD_USER_UNIT" } else { "_SYSTEMD_UNIT" };
    Command::new("journalctl")
        .args(["--no-pager", "--quiet", "--boot", "--lines=1", "--output=cat"])
        .arg(format!("{field}={unit}"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
}

/// What was found. Without a journal there is no line, which is no reason to fail.
pub(super) fn found(search: io::Result<Child>) -> Option<String> {
    let output = search.and_then(Child::wait_with_output).ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().last().map(ToOwned::to_owned).filter(|line| !line.is_empty())
}
