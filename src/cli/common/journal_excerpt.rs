//! The last line in a unit's journal: mostly it says why the unit failed.
//!
//! Where the program was never executed, its journal says nothing, and systemd's own lines do: that its user doesn't
//! exist, that a file can't be read. Those of errors count, but not the one that only says that the start failed. What a
//! unit said when it ran before is no reason.

use std::io;
use std::process::{Child, Command, Stdio};

use serde_json::{Map, Value};

use crate::basic::scope::Scope;
use crate::cli::inspect::logs::line::message;
use crate::notify::wait;

/// `SD_MESSAGE_UNIT_FAILED`: `Failed to start …`, which is known already.
const UNIT_FAILED: &str = "be02cf6855d2428ba40df7e9d022f03d";

/// Which run of the unit a line is from, or about.
const INVOCATIONS: [&str; 3] = ["_SYSTEMD_INVOCATION_ID", "INVOCATION_ID", "USER_INVOCATION_ID"];

/// How many lines are looked at: systemd says at each attempt that it failed, and more than one in between is rare.
const LINES: &str = "--lines=6";

/// Begins to look it up. Several can be under way side by side.
pub(crate) fn search(scope: Scope, unit: &str) -> io::Result<Child> {
    let (own, about) =
        if scope == Scope::User { ("_SYSTEMD_USER_UNIT", "USER_UNIT") } else { ("_SYSTEMD_UNIT", "UNIT") };
    Command::new("journalctl")
        .args(["--no-pager", "--quiet", "--boot", LINES, "--all", "--output=json"])
        .arg(format!("--output-fields=MESSAGE,MESSAGE_ID,{}", INVOCATIONS.join(",")))
        .args([format!("{own}={unit}"), "+".to_owned(), format!("{about}={unit}"), "PRIORITY=3".to_owned()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
}

/// As soon as a unit has failed: its last words may still be on their way to the journal.
pub(crate) fn just_now(scope: Scope, unit: &str) -> Option<String> {
    let mut sync = Command::new("journalctl");
    sync.arg("--sync").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Who isn't root may not ask for that, and sees what is there already.
    let _ = sync.status();
    found(unit, search(scope, unit))
}

/// What was found. Without a journal there is no line, which is no reason to fail.
pub(crate) fn found(unit: &str, search: io::Result<Child>) -> Option<String> {
    let output = search.and_then(Child::wait_with_output).ok()?;
    last(unit, &String::from_utf8_lossy(&output.stdout))
}

/// The last message that says why, of `journalctl --output=json`; without the unit's name in front, which is known.
fn last(unit: &str, entries: &str) -> Option<String> {
    let entries = entries.lines().rev().filter_map(|line| serde_json::from_str::<Map<String, Value>>(line).ok());
    let mut latest = None;
    let mut end = None;
    for fields in entries {
        let text = |field: &str| fields.get(field).and_then(Value::as_str);
        // Within a unit the service manager's own invocation is that of init.scope, so what a line is about comes first.
        let run = INVOCATIONS.iter().rev().find_map(|field| text(field)).map(str::to_owned);
        if latest.is_some() && run.is_some() && run != latest {
            break;
        }
        latest = latest.or(run);
        let message = message(&fields);
        let line = message.lines().rfind(|line| !line.trim().is_empty());
        let Some(line) = line.filter(|_| text("MESSAGE_ID") != Some(UNIT_FAILED)) else { continue };
        let line = line.strip_prefix(&format!("{unit}: ")).unwrap_or(line).to_owned();
        if !wait::tells_only_of_an_end(&line) {
            return Some(line);
        }
        end.get_or_insert(line);
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_that_says_why() {
        let failed = format!(r#"{{"MESSAGE":"Failed to start a.","MESSAGE_ID":"{UNIT_FAILED}"}}"#);
        let of_this_run = failed.replace('}', r#","_SYSTEMD_INVOCATION_ID":"9","INVOCATION_ID":"2"}"#);
        let ended =
            r#"{"MESSAGE":"copse-notify: the process 7 ended before a listener held","_SYSTEMD_INVOCATION_ID":"2"}"#;
        for (entries, expected) in [
            (vec![r#"{"MESSAGE":"one"}"#, r#"{"MESSAGE":"two\nthree\n"}"#], Some("three")),
            (vec![r#"{"MESSAGE":"a.service: Failed at step EXEC spawning x: No such file"}"#, &failed], {
                Some("Failed at step EXEC spawning x: No such file")
            }),
            // A program may say the same words.
            (vec![r#"{"MESSAGE":"why"}"#, r#"{"MESSAGE":"Failed to start a."}"#], Some("Failed to start a.")),
            (vec![r#"{"MESSAGE":[255,98]}"#], Some("\u{fffd}b")),
            (vec![&failed], None),
            // What it said in an earlier run is no reason.
            (vec![r#"{"MESSAGE":"served","_SYSTEMD_INVOCATION_ID":"1"}"#, &of_this_run], None),
            (
                vec![r#"{"MESSAGE":"no such option","_SYSTEMD_INVOCATION_ID":"2"}"#, ended, &of_this_run],
                Some("no such option"),
            ),
            (vec![r#"{"MESSAGE":"served","_SYSTEMD_INVOCATION_ID":"1"}"#, ended, &of_this_run], {
                Some("copse-notify: the process 7 ended before a listener held")
            }),
            (vec!["", "x"], None),
        ] {
            assert_eq!(last("a.service", &entries.join("\n")).as_deref(), expected, "{entries:?}");
        }
    }
}
