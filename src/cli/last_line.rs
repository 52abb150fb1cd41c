//! The last line in a unit's journal: mostly it says why the unit failed.
//!
//! Where the program was never executed, its journal says nothing, and systemd's own lines do: that its user doesn't
//! exist, that a file can't be read. Those of errors count, but not the one that only says that the start failed.

use std::io;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::scope::Scope;

/// `SD_MESSAGE_UNIT_FAILED`: `Failed to start …`, which is known already.
const UNIT_FAILED: &str = "be02cf6855d2428ba40df7e9d022f03d";

/// How many lines are looked at: systemd says at each attempt that it failed, and more than one in between is rare.
const LINES: &str = "--lines=4";

/// Begins to look it up. Several can be under way side by side.
pub(super) fn search(scope: Scope, unit: &str) -> io::Result<Child> {
    let (own, about) =
        if scope == Scope::User { ("_SYSTEMD_USER_UNIT", "USER_UNIT") } else { ("_SYSTEMD_UNIT", "UNIT") };
    Command::new("journalctl")
        .args(["--no-pager", "--quiet", "--boot", LINES, "--all", "--output=json"])
        .arg("--output-fields=MESSAGE,MESSAGE_ID")
        .args([format!("{own}={unit}"), "+".to_owned(), format!("{about}={unit}"), "PRIORITY=3".to_owned()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
}

/// As soon as a unit has failed: its last words may still be on their way to the journal.
pub(super) fn just_now(scope: Scope, unit: &str) -> Option<String> {
    let mut sync = Command::new("journalctl");
    sync.arg("--sync").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Who isn't root may not ask for that, and sees what is there already.
    let _ = sync.status();
    found(unit, search(scope, unit))
}

/// What was found. Without a journal there is no line, which is no reason to fail.
pub(super) fn found(unit: &str, search: io::Result<Child>) -> Option<String> {
    let output = search.and_then(Child::wait_with_output).ok()?;
    last(unit, &String::from_utf8_lossy(&output.stdout))
}

/// The last message that says why, of `journalctl --output=json`; without the unit's name in front, which is known.
fn last(unit: &str, entries: &str) -> Option<String> {
    let message = |line: &str| {
        let Value::Object(fields) = serde_json::from_str(line).ok()? else { return None };
        let known = fields.get("MESSAGE_ID").and_then(Value::as_str) == Some(UNIT_FAILED);
        let text = match fields.get("MESSAGE")? {
            Value::String(text) => text.clone(),
            // What isn't UTF-8 is written as bytes.
            Value::Array(bytes) => {
                let bytes = bytes.iter().filter_map(|byte| u8::try_from(byte.as_u64()?).ok()).collect::<Vec<_>>();
                String::from_utf8_lossy(&bytes).into_owned()
            }
            _ => return None,
        };
        let line = text.lines().rfind(|line| !line.trim().is_empty()).filter(|_| !known)?;
        Some(line.strip_prefix(&format!("{unit}: ")).unwrap_or(line).to_owned())
    };
    entries.lines().rev().find_map(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_that_says_why() {
        let failed = format!(r#"{{"MESSAGE":"Failed to start a.","MESSAGE_ID":"{UNIT_FAILED}"}}"#);
        for (entries, expected) in [
            (vec![r#"{"MESSAGE":"one"}"#, r#"{"MESSAGE":"two\nthree\n"}"#], Some("three")),
            (vec![r#"{"MESSAGE":"a.service: Failed at step EXEC spawning x: No such file"}"#, &failed], {
                Some("Failed at step EXEC spawning x: No such file")
            }),
            // A program may say the same words.
            (vec![r#"{"MESSAGE":"why"}"#, r#"{"MESSAGE":"Failed to start a."}"#], Some("Failed to start a.")),
            (vec![r#"{"MESSAGE":[255,98]}"#], Some("\u{fffd}b")),
            (vec![&failed], None),
            (vec!["", "x"], None),
        ] {
            assert_eq!(last("a.service", &entries.join("\n")).as_deref(), expected, "{entries:?}");
        }
    }
}
