//! The last line in the journal of a failed unit, which mostly shows why it failed.
//!
//! If the program was never executed, it printed nothing, but systemd logged the reason: its user does not exist, a file
//! cannot be read. Of systemd's lines about a unit, the errors count, but for the one that the start failed. Lines of an
//! earlier run of the unit do not count.

use std::collections::HashMap;
use std::io;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

use super::line::message;
use crate::basic::scope::Scope;
use crate::notify::wait;

/// A journal that does not answer holds up nothing: after this time, there are no excerpts.
const TIMEOUT: Duration = Duration::from_secs(1);

/// `SD_MESSAGE_UNIT_FAILED`: `Failed to start …`.
const UNIT_FAILED: &str = "be02cf6855d2428ba40df7e9d022f03d";

/// The fields with the invocation of the unit that a line is from, or about.
const INVOCATIONS: [&str; 3] = ["_SYSTEMD_INVOCATION_ID", "INVOCATION_ID", "USER_INVOCATION_ID"];

/// How many lines of a unit are looked at. systemd logs one for each failed attempt, rarely more than one in between.
const LINES: usize = 6;

/// How many lines of all units together: one may write many, while another writes none.
const LINES_MAX: usize = 1000;

/// Has journald write what units that failed just now have logged. Only root may; others find what is written already.
pub(crate) async fn sync() {
    let mut sync = Command::new("journalctl");
    sync.arg("--sync").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let _ = timeout(TIMEOUT, sync.status()).await;
}

/// The last line of each of `units` that explains its failure, with one search for all.
pub(crate) async fn find(scope: Scope, units: &[&str]) -> HashMap<String, String> {
    let mut search = Search::new(scope, units);
    let _ = timeout(TIMEOUT, search.run(units)).await;
    search.finish()
}

struct Search {
    /// The field with the unit that a line is from.
    from: &'static str,
    /// The field with the unit that a line is about.
    about: &'static str,
    units: HashMap<String, Excerpt>,
}

/// A unit's lines, from the last one on.
#[derive(Default)]
struct Excerpt {
    lines: usize,
    /// The invocation of the last line.
    run: Option<String>,
    line: Option<String>,
    /// A line that only reports the end of the process: shown if there is no better one.
    end: Option<String>,
    is_over: bool,
}

impl Search {
    fn new(scope: Scope, units: &[&str]) -> Self {
        let (from, about) = match scope {
            Scope::System => ("_SYSTEMD_UNIT", "UNIT"),
            Scope::User => ("_SYSTEMD_USER_UNIT", "USER_UNIT"),
        };
        Self { from, about, units: units.iter().map(|unit| ((*unit).to_owned(), Excerpt::default())).collect() }
    }

    /// Reads the journal backwards until each unit has its line.
    async fn run(&mut self, units: &[&str]) -> io::Result<()> {
        let fields = ["MESSAGE", "MESSAGE_ID", "PRIORITY", self.from, self.about].into_iter().chain(INVOCATIONS);
        let mut journalctl = Command::new("journalctl");
        journalctl
            .args(["--no-pager", "--quiet", "--boot", "--reverse", "--all", "--output=json"])
            .arg(format!("--lines={LINES_MAX}"))
            .arg(format!("--output-fields={}", fields.collect::<Vec<_>>().join(",")))
            .args(units.iter().map(|unit| format!("{}={unit}", self.from)))
            .arg("+")
            .args(units.iter().map(|unit| format!("{}={unit}", self.about)))
            .arg("PRIORITY=3")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let mut child = journalctl.spawn()?;
        let mut lines = BufReader::new(child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?).lines();
        while !self.is_over()
            && let Some(line) = lines.next_line().await?
        {
            self.take(&line);
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.units.values().all(|excerpt| excerpt.is_over)
    }

    fn take(&mut self, line: &str) {
        let Ok(fields) = serde_json::from_str::<Map<String, Value>>(line) else { return };
        let unit = |field: &str| fields.get(field).and_then(Value::as_str);
        let is_error = unit("PRIORITY") == Some("3");
        for unit in [unit(self.from), unit(self.about).filter(|_| is_error)].into_iter().flatten() {
            if let Some(excerpt) = self.units.get_mut(unit).filter(|excerpt| !excerpt.is_over) {
                excerpt.take(unit, &fields);
            }
        }
    }

    fn finish(self) -> HashMap<String, String> {
        let units = self.units.into_iter();
        units.filter_map(|(unit, excerpt)| Some((unit, excerpt.line.or(excerpt.end)?))).collect()
    }
}

impl Excerpt {
    fn take(&mut self, unit: &str, fields: &Map<String, Value>) {
        let text = |field: &str| fields.get(field).and_then(Value::as_str);
        // A line of the service manager has its own invocation as well, so what the line is about comes first.
        let run = INVOCATIONS.iter().rev().find_map(|field| text(field)).map(str::to_owned);
        if self.run.is_some() && run.is_some() && run != self.run {
            self.is_over = true;
            return;
        }
        self.run = self.run.take().or(run);
        self.lines += 1;
        self.is_over = self.lines >= LINES;
        let message = message(fields);
        let line = message.lines().rfind(|line| !line.trim().is_empty());
        let Some(line) = line.filter(|_| text("MESSAGE_ID") != Some(UNIT_FAILED)) else { return };
        let line = line.strip_prefix(&format!("{unit}: ")).unwrap_or(line).to_owned();
        if wait::tells_only_of_an_end(&line) {
            self.end.get_or_insert(line);
        } else {
            (self.line, self.is_over) = (Some(line), true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The excerpt of `a.service`, from lines in the order in which they were written.
    fn last(lines: &[&str]) -> Option<String> {
        let mut search = Search::new(Scope::System, &["a.service"]);
        for line in lines.iter().rev() {
            let line = line.replacen('{', r#"{"_SYSTEMD_UNIT":"a.service","#, 1);
            search.take(&line);
        }
        search.finish().remove("a.service")
    }

    #[test]
    fn the_last_line_that_explains_a_failure() {
        let failed = format!(r#"{{"MESSAGE":"Failed to start a.","MESSAGE_ID":"{UNIT_FAILED}"}}"#);
        let of_this_run = failed.replace('}', r#","_SYSTEMD_INVOCATION_ID":"9","INVOCATION_ID":"2"}"#);
        let ended =
            r#"{"MESSAGE":"copse-notify: the process 7 ended before a listener held","_SYSTEMD_INVOCATION_ID":"2"}"#;
        for (lines, expected) in [
            (vec![r#"{"MESSAGE":"one"}"#, r#"{"MESSAGE":"two\nthree\n"}"#], Some("three")),
            (vec![r#"{"MESSAGE":"a.service: Failed at step EXEC spawning x: No such file"}"#, &failed], {
                Some("Failed at step EXEC spawning x: No such file")
            }),
            // A program may print the same words.
            (vec![r#"{"MESSAGE":"why"}"#, r#"{"MESSAGE":"Failed to start a."}"#], Some("Failed to start a.")),
            (vec![r#"{"MESSAGE":[255,98]}"#], Some("\u{fffd}b")),
            (vec![&failed], None),
            // What it printed in an earlier run is no reason.
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
            assert_eq!(last(&lines).as_deref(), expected, "{lines:?}");
        }
    }

    #[test]
    fn each_unit_has_its_own_line() {
        let mut search = Search::new(Scope::System, &["a.service", "b.service"]);
        for line in [
            r#"{"MESSAGE":"of another","_SYSTEMD_UNIT":"c.service"}"#,
            r#"{"MESSAGE":"not an error","_SYSTEMD_UNIT":"init.scope","UNIT":"b.service","PRIORITY":"6"}"#,
            r#"{"MESSAGE":"a","_SYSTEMD_UNIT":"a.service"}"#,
        ] {
            search.take(line);
        }
        assert!(!search.is_over());
        search.take(r#"{"MESSAGE":"b.service: b","_SYSTEMD_UNIT":"init.scope","UNIT":"b.service","PRIORITY":"3"}"#);
        assert!(search.is_over());
        let found = search.finish();
        assert_eq!((found["a.service"].as_str(), found["b.service"].as_str()), ("a", "b"));
    }
}
