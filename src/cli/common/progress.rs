//! What a command that changes something shows while it works, and reports with `--json` at the end.

mod board;

use std::io::{self, Write as _, stdout};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use self::board::{Board, Busy};
use super::error::Error;
use super::journal::excerpt;
use super::output::print_json;
use crate::basic::diagnostic::one_line;
use crate::basic::scope::Scope;
use crate::basic::signal;
use crate::basic::terminal::{ColorChoice, columns};
use crate::change::observe::subject::Subject;
use crate::change::plan::Reason;
use crate::change::rollout::{Event, Failure, Problem, Reporter};
use crate::manager::cause::{Cause, ProcessEnd};
use crate::manager::state::UnitResult;
use crate::unit::name::GroupName;

/// How often the times of units in progress are redrawn.
const TICK: Duration = Duration::from_millis(500);

/// Shows what happens to units: a line each. On a terminal, those in progress are at the bottom and redrawn in place.
#[derive(Debug, Clone)]
pub(crate) struct Progress(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    scope: Scope,
    /// For `--json`: nothing is shown.
    silent: bool,
    board: Board,
    units: Vec<UnitReport>,
    /// Units that failed since the last report: their last lines in the journal are still to be shown.
    failed: Vec<Failure>,
    /// Whether anything changed, if the units do not show it.
    changed: Option<bool>,
}

/// What a command did with one of its arguments (copse(1), "JSON").
#[derive(Debug, Serialize)]
struct Report<'r> {
    group: &'r str,
    name: &'r str,
    changed: bool,
    units: Vec<UnitReport>,
    #[serde(flatten)]
    details: Details<'r>,
}

/// What was done with a unit.
#[derive(Debug, Serialize)]
struct UnitReport {
    unit: String,
    name: String,
    action: &'static str,
    reasons: Vec<Reason>,
    /// The outcome, or `failed`.
    result: String,
    error: Option<String>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    failure: Option<FailureReport>,
    seconds: f64,
}

/// Why a unit failed: what systemd recorded, and the last line in the journal, as `copse status` shows them.
#[derive(Debug, Serialize)]
struct FailureReport {
    /// `Result=`
    unit_result: Option<UnitResult>,
    exit_status: Option<i32>,
    /// `SEGV`
    signal: Option<String>,
    last_line: Option<String>,
}

impl FailureReport {
    fn new(cause: Option<&Cause>) -> Self {
        let (exit_status, signal) = match cause.and_then(|cause| cause.main) {
            Some(ProcessEnd::Exited(status)) => (Some(status), None),
            Some(ProcessEnd::Killed(number)) => (None, Some(signal::short_name(number))),
            None => (None, None),
        };
        Self { unit_result: cause.map(|cause| cause.result.clone()), exit_status, signal, last_line: None }
    }
}

/// What only some commands report.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Details<'r> {
    None {},
    /// `held`: the units that are pinned to an earlier definition.
    Apply {
        complete: bool,
        held: &'r [String],
    },
    Hold {
        held: bool,
    },
    Enable {
        enabled: bool,
    },
    Scale {
        instances: usize,
    },
}

impl Progress {
    /// Shows on stdout, unless `silent`. Nothing is redrawn if the terminal is `shared` with another program. Needs a
    /// tokio runtime.
    pub(crate) fn new(scope: Scope, color: ColorChoice, silent: bool, shared: bool) -> Self {
        let terminal = columns(&stdout()).filter(|_| !silent && !shared);
        let board = Board::new(terminal, color.on(&stdout()));
        let state = State { scope, silent, board, units: Vec::new(), failed: Vec::new(), changed: None };
        let progress = Self(Arc::new(Mutex::new(state)));
        if terminal.is_some() {
            let state = Arc::downgrade(&progress.0);
            tokio::spawn(async move {
                while let Some(state) = state.upgrade() {
                    Self(state).show(&[]);
                    tokio::time::sleep(TICK).await;
                }
            });
        }
        progress
    }

    /// Makes room for the labels of units that are going to be shown.
    pub(crate) fn expect<'s>(&self, subjects: impl IntoIterator<Item = &'s Subject>) {
        let mut state = self.lock();
        subjects.into_iter().for_each(|subject| state.board.make_room(&subject.label));
    }

    /// Shows a sentence.
    pub(crate) fn note(&self, text: &str) {
        self.show(&[one_line(text)]);
    }

    /// Shows several lines as they are.
    pub(crate) fn note_lines(&self, text: &str) {
        self.show(&text.lines().map(ToOwned::to_owned).collect::<Vec<_>>());
    }

    /// Records that something other than a unit changed: a file, a symbolic link.
    pub(crate) fn changed(&self, changed: bool) {
        let mut state = self.lock();
        state.changed = changed.then_some(true).or(state.changed);
    }

    /// Records that nothing changed, although units were acted on.
    pub(crate) fn unchanged(&self) {
        self.lock().changed = Some(false);
    }

    /// Ends the work on one of the command's arguments: shows why units failed; with `--json`, prints the report.
    ///
    /// # Errors
    /// stdout cannot be written.
    pub(crate) async fn report(&self, group: &GroupName, name: &str, details: Details<'_>) -> Result<(), Error> {
        self.show_excerpts().await;
        let (silent, units, changed) = {
            let mut state = self.lock();
            (state.silent, std::mem::take(&mut state.units), state.changed.take())
        };
        if !silent {
            return Ok(());
        }
        let changed = changed.unwrap_or(!units.is_empty());
        print_json(&Report { group: group.as_str(), name, changed, units, details })
    }

    /// Finds the last line in the journal of each unit that failed, and shows it. Not earlier, so that nothing waits for
    /// the journal while units are being started.
    async fn show_excerpts(&self) {
        let (scope, failed) = {
            let mut state = self.lock();
            (state.scope, std::mem::take(&mut state.failed))
        };
        if failed.is_empty() {
            return;
        }
        let units: Vec<&str> = failed.iter().map(|failure| failure.subject.unit.as_str()).collect();
        excerpt::sync().await;
        let mut lines = excerpt::find(scope, &units).await;
        for report in &mut self.lock().units {
            if let Some(failure) = &mut report.failure {
                failure.last_line = lines.get(&report.unit).cloned();
            }
        }
        let excerpts = failed.iter().filter_map(|Failure { subject, cause, .. }| {
            let explanation = || Some(cause.as_ref()?.explanation()?.to_owned());
            let line = lines.remove(subject.unit.as_str()).or_else(explanation)?;
            Some(format!("  {}: {}", subject.label, one_line(&line)))
        });
        self.show(&excerpts.collect::<Vec<_>>());
    }

    /// Prints lines above those that are redrawn. A closed stdout is ignored: the work goes on.
    fn show(&self, lines: &[String]) {
        let mut state = self.lock();
        let text = state.board.draw(lines, Instant::now());
        if !state.silent && !text.is_empty() {
            let mut stdout = stdout().lock();
            let _: io::Result<()> = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reporter for Progress {
    fn report(&self, event: &Event<'_>) {
        let line = match event {
            Event::Begins { action, subject } => {
                self.lock().board.begin(Busy::new(action, &subject.label));
                None
            }
            Event::Waits { subject, what } => return self.lock().board.wait(&subject.label, one_line(what)),
            Event::Ends { action, subject, reasons, end } => {
                let mut state = self.lock();
                let took = state.board.end(&subject.label);
                if let Err(Problem::Failed(failure)) = end {
                    state.failed.push((*failure).clone());
                }
                let failure = match end {
                    Err(Problem::Failed(failure)) => Some(FailureReport::new(failure.cause.as_ref())),
                    _ => None,
                };
                let outcome = end.as_ref().map(ToString::to_string).map_err(ToString::to_string);
                let line = state.board.ended(action, &subject.label, outcome.as_deref(), took);
                state.units.push(UnitReport {
                    unit: subject.unit.clone(),
                    name: subject.label.clone(),
                    action,
                    reasons: reasons.to_vec(),
                    result: end.as_ref().map_or_else(|_| "failed".to_owned(), |outcome| outcome.word()),
                    error: outcome.err(),
                    failure,
                    seconds: (took.as_secs_f64() * 1000.0).round() / 1000.0,
                });
                Some(line)
            }
            Event::Notes(text) => Some(one_line(text)),
        };
        self.show(line.as_slice());
    }
}
