//! What a verb that changes something shows meanwhile: a line for each unit. On a terminal the lines of those that are
//! being dealt with stand at the bottom, with the time that they take, and are brought up to date in place.

use std::io::{self, IsTerminal, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::journal_excerpt;
use super::output;
use crate::basic::diagnostic::one_line;
use crate::basic::scope::Scope;
use crate::basic::terminal::{ColorChoice, columns};
use crate::change::observe::members::Subject;
use crate::change::plan::json;
use crate::change::rollout::{Event, Problem, Reached, Reporter, Stop};

/// How many lines are brought up to date at the same time.
const BUSY: usize = 8;

/// Labels longer than this move the rest of their line.
const WIDEST: usize = 40;

/// How often the times move on.
const TICK: Duration = Duration::from_millis(500);

/// Shows the events of roll-outs, and keeps them for `--json`.
#[derive(Debug, Clone)]
pub(crate) struct Progress(Arc<Mutex<Board>>);

#[derive(Debug)]
struct Board {
    scope: Scope,
    /// Nothing is shown until the end.
    silent: bool,
    /// The terminal's columns, where there is one.
    terminal: Option<usize>,
    colour: bool,
    /// Of the labels, so that what follows them stands in a column.
    width: usize,
    busy: Vec<Busy>,
    /// How many lines at the bottom are to be drawn anew.
    drawn: usize,
    /// What happened to the units, as objects.
    done: Vec<Value>,
    /// Whether anything changed, where what happened to units doesn't say it.
    changed: Option<bool>,
}

/// A unit that is being dealt with.
#[derive(Debug)]
struct Busy {
    action: &'static str,
    label: String,
    waits: String,
    since: Instant,
}

impl Progress {
    /// Shows on the standard output; nothing where `silent`, and no line that moves where the terminal is `shared` with
    /// somebody else. Needs a running tokio runtime.
    pub(crate) fn new(scope: Scope, color: ColorChoice, silent: bool, shared: bool) -> Self {
        let stdout = io::stdout();
        let terminal = columns(&stdout).filter(|_| !silent && !shared && stdout.is_terminal());
        let board = Board {
            scope,
            silent,
            terminal,
            colour: color.on(&stdout),
            width: 0,
            busy: Vec::new(),
            drawn: 0,
            done: Vec::new(),
            changed: None,
        };
        let progress = Self(Arc::new(Mutex::new(board)));
        if terminal.is_some() {
            let board = Arc::downgrade(&progress.0);
            tokio::spawn(async move {
                while let Some(board) = board.upgrade() {
                    Self(board).board().draw(&[]);
                    tokio::time::sleep(TICK).await;
                }
            });
        }
        progress
    }

    /// Labels that are going to be shown.
    pub(crate) fn expect<'s>(&self, subjects: impl IntoIterator<Item = &'s Subject>) {
        let width = subjects.into_iter().map(|subject| subject.label.chars().count()).max().unwrap_or(0);
        let mut board = self.board();
        board.width = board.width.max(width.min(WIDEST));
    }

    /// Shows a sentence.
    pub(crate) fn note(&self, text: &str) {
        self.board().draw(&[one_line(text)]);
    }

    /// Shows text of several lines as it is.
    pub(crate) fn note_lines(&self, text: &str) {
        self.board().draw(&text.lines().map(ToOwned::to_owned).collect::<Vec<_>>());
    }

    /// Notes that something changed beside what happens to units: a file, a link.
    pub(crate) fn changed(&self, changed: bool) {
        let mut board = self.board();
        board.changed = changed.then_some(true).or(board.changed);
    }

    /// Notes that nothing changed, whatever was done to units.
    pub(crate) fn unchanged(&self) {
        self.board().changed = Some(false);
    }

    /// With `--json`, writes what came of a verb for one of the things that it was about, since the last call: one shape for
    /// all verbs, to which `more` adds what only one of them knows.
    pub(crate) fn report(&self, group: &str, name: &str, more: Value) -> Result<(), Stop> {
        let (silent, units, changed) = {
            let mut board = self.board();
            (board.silent, std::mem::take(&mut board.done), board.changed.take())
        };
        if !silent {
            return Ok(());
        }
        let changed = changed.unwrap_or(!units.is_empty());
        let mut object = json!({ "group": group, "name": name, "changed": changed, "units": units });
        if let (Value::Object(all), Value::Object(more)) = (&mut object, more) {
            all.extend(more);
        }
        output::print(&format!("{object}\n"))
            .map_err(|error| Stop::State(format!("the result can't be written: {error}")))
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        // A panic while it was held is a mistake that shows itself elsewhere.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reporter for Progress {
    fn tell(&self, event: &Event<'_>) {
        let mut board = self.board();
        match event {
            Event::Begins { action, subject } => board.begin(action, subject),
            Event::Waits { subject, what } => {
                if let Some(busy) = board.busy.iter_mut().find(|busy| busy.label == subject.label) {
                    busy.waits = one_line(what);
                }
            }
            Event::Ends { action, subject, reasons, end } => {
                let took = board.end(&subject.label);
                let line = board.ended(action, subject, end, took);
                let reasons: Vec<Value> = reasons.iter().map(json::reason).collect();
                board.done.push(json!({
                    "unit": subject.unit,
                    "name": subject.label,
                    "action": action,
                    "reasons": reasons,
                    "result": end.as_ref().map_or_else(|_| "failed".to_owned(), ToString::to_string),
                    "error": end.as_ref().err().map(ToString::to_string),
                    "seconds": (took.as_secs_f64() * 1000.0).round() / 1000.0,
                }));
                let mut lines = vec![line];
                if let Err(Problem::Failed(failure)) = end {
                    let last = journal_excerpt::just_now(board.scope, &subject.unit)
                        .or_else(|| failure.cause.as_ref()?.explanation().map(ToOwned::to_owned));
                    lines.extend(last.map(|line| format!("  {}", one_line(&line))));
                }
                board.draw(&lines);
            }
            Event::Notes(text) => board.draw(&[one_line(text)]),
        }
    }
}

impl Board {
    fn begin(&mut self, action: &'static str, subject: &Subject) {
        // One of which nobody knew before, such as a socket that is made anew with its service.
        self.width = self.width.max(subject.label.chars().count().min(WIDEST));
        self.busy.push(Busy { action, label: subject.label.clone(), waits: String::new(), since: Instant::now() });
        self.draw(&[]);
    }

    fn end(&mut self, label: &str) -> Duration {
        match self.busy.iter().position(|busy| busy.label == label) {
            Some(at) => self.busy.remove(at).since.elapsed(),
            None => Duration::ZERO,
        }
    }

    fn ended(&self, action: &str, subject: &Subject, end: &Result<Reached, Problem<'_>>, took: Duration) -> String {
        let head = format!("{action:<8} {:<width$}", subject.label, width = self.width);
        match end {
            Ok(reached) => format!("  {head}  {reached}{}", after(took)),
            Err(what) => {
                let text = format!("{head}  {}{}", one_line(&what.to_string()), after(took));
                if self.colour { format!("\u{1b}[1;31m✗ {text}\u{1b}[0m") } else { format!("✗ {text}") }
            }
        }
    }

    /// Writes `lines`, and below them anew those that move. That nobody reads it is no reason to stop.
    fn draw(&mut self, lines: &[String]) {
        let mut text = String::new();
        if self.terminal.is_some() {
            for _ in 0..self.drawn {
                // One line up, and clear it.
                text.push_str("\u{1b}[A\u{1b}[2K");
            }
        }
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        if let Some(columns) = self.terminal {
            let moving = moving(&self.busy, Instant::now(), self.width, columns);
            self.drawn = moving.len();
            for line in moving {
                text.push_str(&line);
                text.push('\n');
            }
        }
        if !self.silent && !text.is_empty() {
            let mut stdout = io::stdout().lock();
            let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
        }
    }
}

/// `, 1.2s`; nothing where it took no time that anybody would notice.
fn after(took: Duration) -> String {
    match took.as_millis() {
        0..50 => String::new(),
        50..10_000 => format!(", {:.1}s", took.as_secs_f64()),
        _ => format!(", {}", crate::basic::time_span::format(Duration::from_secs(took.as_secs()))),
    }
}

/// The lines of those that are being dealt with.
fn moving(busy: &[Busy], now: Instant, width: usize, columns: usize) -> Vec<String> {
    let line = |busy: &Busy| {
        let spent = match now.duration_since(busy.since).as_secs() {
            // A span of nothing is written without a unit.
            0 => "0s".to_owned(),
            seconds => crate::basic::time_span::format(Duration::from_secs(seconds)),
        };
        let line = format!("↻ {:<8} {:<width$}  {spent}  {}", busy.action, busy.label, busy.waits);
        line.trim_end().chars().take(columns.saturating_sub(1)).collect()
    };
    let mut lines: Vec<String> = busy.iter().take(BUSY).map(line).collect();
    if busy.len() > BUSY {
        lines.push(format!("  and {} more", busy.len() - BUSY));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_moving_lines_fit_on_the_terminal() {
        let since = Instant::now();
        let busy = |label: &str| Busy {
            action: "restart",
            label: label.to_owned(),
            waits: "activating, auto-restart".to_owned(),
            since,
        };
        let now = since + Duration::from_millis(3_400);
        assert_eq!(
            moving(&[busy("web@1"), busy("web@10")], now, 6, 80),
            ["↻ restart  web@1   3s  activating, auto-restart", "↻ restart  web@10  3s  activating, auto-restart"]
        );
        assert_eq!(moving(&[busy("web@1")], now, 6, 24), ["↻ restart  web@1   3s  "]);
        assert_eq!(moving(&[busy("web@1")], since, 6, 24), ["↻ restart  web@1   0s  "]);
        let many: Vec<_> = (0..11).map(|_| busy("w")).collect();
        assert_eq!(moving(&many, now, 1, 80).last().map(String::as_str), Some("  and 3 more"));
    }

    #[test]
    fn the_time_that_something_took() {
        for (millis, expected) in [(3, ""), (1_234, ", 1.2s"), (9_999, ", 10.0s"), (61_000, ", 1min 1s")] {
            assert_eq!(after(Duration::from_millis(millis)), expected, "{millis}");
        }
    }
}
