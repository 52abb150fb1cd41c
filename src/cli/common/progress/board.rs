//! The lines of a progress, as text.

use std::time::{Duration, Instant};

use crate::basic::diagnostic::one_line;
use crate::basic::terminal::{Tone, paint, take_columns};
use crate::basic::time_span;

/// How many units in progress have a line.
const BUSY: usize = 8;

/// Longer labels push the rest of their line to the right.
const LABEL_MAX: usize = 40;

#[derive(Debug)]
pub(super) struct Board {
    /// The columns of the terminal, if lines can be redrawn.
    terminal: Option<usize>,
    color: bool,
    /// The column of labels.
    width: usize,
    busy: Vec<Busy>,
    /// How many lines at the bottom are going to be redrawn.
    drawn: usize,
}

/// A unit in progress.
#[derive(Debug)]
pub(super) struct Busy {
    action: &'static str,
    label: String,
    waits_for: String,
    since: Instant,
}

impl Busy {
    pub(super) fn new(action: &'static str, label: &str) -> Self {
        Self { action, label: label.to_owned(), waits_for: String::new(), since: Instant::now() }
    }
}

impl Board {
    pub(super) fn new(terminal: Option<usize>, color: bool) -> Self {
        Self { terminal, color, width: 0, busy: Vec::new(), drawn: 0 }
    }

    pub(super) fn make_room(&mut self, label: &str) {
        self.width = self.width.max(label.chars().count().min(LABEL_MAX));
    }

    pub(super) fn begin(&mut self, busy: Busy) {
        // Not every unit is expected: a socket that is made anew with its service is not.
        self.make_room(&busy.label);
        self.busy.push(busy);
    }

    pub(super) fn wait(&mut self, label: &str, waits_for: String) {
        if let Some(busy) = self.busy.iter_mut().find(|busy| busy.label == label) {
            busy.waits_for = waits_for;
        }
    }

    /// Removes a unit, and returns how long it was in progress.
    pub(super) fn end(&mut self, label: &str) -> Duration {
        let index = self.busy.iter().position(|busy| busy.label == label);
        index.map_or(Duration::ZERO, |index| self.busy.remove(index).since.elapsed())
    }

    /// The line of a unit that is no longer in progress.
    pub(super) fn ended(&self, action: &str, label: &str, outcome: Result<&str, &String>, took: Duration) -> String {
        let head = format!("{action:<8} {label:<width$}", width = self.width);
        match outcome {
            Ok(outcome) => format!("  {head}  {outcome}{}", after(took)),
            Err(error) => paint(self.color, Tone::Bad, &format!("✗ {head}  {}{}", one_line(error), after(took))),
        }
    }

    /// `lines`, and below them those of the units in progress.
    pub(super) fn draw(&mut self, lines: &[String], now: Instant) -> String {
        // One line up, and clear it.
        let mut text = "\u{1b}[A\u{1b}[2K".repeat(self.drawn);
        let busy = self.terminal.map(|columns| self.busy_lines(now, columns)).unwrap_or_default();
        self.drawn = busy.len();
        for line in lines.iter().chain(&busy) {
            text.push_str(line);
            text.push('\n');
        }
        text
    }

    fn busy_lines(&self, now: Instant, columns: usize) -> Vec<String> {
        let line = |busy: &Busy| {
            let Busy { action, label, waits_for, since } = busy;
            let spent = span(Duration::from_secs(now.duration_since(*since).as_secs()));
            let line = format!("↻ {action:<8} {label:<width$}  {spent}  {waits_for}", width = self.width);
            take_columns(line.trim_end(), columns.saturating_sub(1)).to_owned()
        };
        let mut lines: Vec<String> = self.busy.iter().take(BUSY).map(line).collect();
        if self.busy.len() > BUSY {
            lines.push(format!("  and {} more", self.busy.len() - BUSY));
        }
        lines
    }
}

/// Whole seconds. A span of zero has no unit otherwise.
fn span(seconds: Duration) -> String {
    if seconds.is_zero() { "0s".to_owned() } else { time_span::format(seconds) }
}

/// `, 1.2s`; nothing for an instant.
fn after(took: Duration) -> String {
    match took.as_millis() {
        0..50 => String::new(),
        50..10_000 => format!(", {:.1}s", took.as_secs_f64()),
        _ => format!(", {}", span(Duration::from_secs(took.as_secs()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_moving_lines_fit_on_the_terminal() {
        let since = Instant::now();
        let lines = |labels: &[&str], width, after, columns| {
            let busy = |label: &&str| Busy {
                action: "restart",
                label: (*label).to_owned(),
                waits_for: "activating, auto-restart".to_owned(),
                since,
            };
            let busy = labels.iter().map(busy).collect();
            let board = Board { busy, width, ..Board::new(Some(columns), false) };
            board.busy_lines(since + Duration::from_millis(after), columns)
        };
        assert_eq!(
            lines(&["web@1", "web@10"], 6, 3_400, 80),
            ["↻ restart  web@1   3s  activating, auto-restart", "↻ restart  web@10  3s  activating, auto-restart"]
        );
        assert_eq!(lines(&["web@1"], 6, 3_400, 24), ["↻ restart  web@1   3s  "]);
        assert_eq!(lines(&["web@1"], 6, 0, 24), ["↻ restart  web@1   0s  "]);
        assert_eq!(lines(&["w"; 11], 1, 3_400, 80).last().map(String::as_str), Some("  and 3 more"));
    }

    #[test]
    fn lines_in_progress_are_cleared_before_others_are_written() {
        let mut board = Board::new(Some(80), false);
        let now = Instant::now();
        board.begin(Busy { since: now, ..Busy::new("start", "a") });
        assert_eq!(board.draw(&[], now), "↻ start    a  0s\n");
        board.end("a");
        assert_eq!(board.draw(&["done".to_owned()], now), "\u{1b}[A\u{1b}[2Kdone\n");
        assert_eq!(board.draw(&[], now), "");
    }

    #[test]
    fn the_time_that_something_took() {
        for (millis, expected) in [(3, ""), (1_234, ", 1.2s"), (9_999, ", 10.0s"), (61_000, ", 1min 1s")] {
            assert_eq!(after(Duration::from_millis(millis)), expected, "{millis}");
        }
    }
}
