//! The members of a group, in columns.

use std::fmt::Write as _;

use super::{is_lost, sign, size, state};
use crate::basic::clock::Realtime;
use crate::basic::diagnostic::one_line;
use crate::basic::terminal::{TerminalStyle, Tone, cut, span};
use crate::change::observe::state::State;
use crate::change::plan;
use crate::manager::properties::Properties;
use crate::manager::state::UnitResult;
use crate::status::Row;

/// A column: its head, whether its cells stand at the right, and its cells.
struct Column {
    head: &'static str,
    right: bool,
    cells: Vec<String>,
}

impl Column {
    fn new(head: &'static str, right: bool, rows: &[Row], cell: impl Fn(&Row) -> String) -> Self {
        Self { head, right, cells: rows.iter().map(cell).collect() }
    }

    fn width(&self) -> usize {
        self.cells.iter().map(|cell| cell.chars().count()).chain([self.head.len()]).max().unwrap_or(0)
    }

    fn pad(&self, cell: &str, width: usize) -> String {
        let cell = cut(cell, width);
        if self.right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
    }
}

/// Between two columns.
const GAP: usize = 2;

/// Before the first column: the sign.
const SIGN: usize = 2;

/// A line for each member, and below it what it says and what is said of it.
pub(super) fn table(rows: &[Row], look: TerminalStyle, text: &mut String) {
    let properties =
        |row: &Row, cell: fn(&Properties) -> Option<String>| row.properties.as_ref().and_then(cell).unwrap_or_default();
    let since = |row: &Row| {
        look.ago(row.properties.as_ref().and_then(|properties| properties.since).map_or(0, Realtime::micros), false)
    };
    let mut columns = vec![
        Column::new("PROCESS", false, rows, |row| one_line(&row.member.label)),
        Column::new("STATE", false, rows, state),
        Column::new("FOR", true, rows, since),
        Column::new("PID", true, rows, |row| properties(row, |d| d.pid.map(|pid| pid.to_string()))),
        Column::new("RESTARTS", true, rows, |row| {
            properties(row, |d| (d.restarts != 0).then(|| d.restarts.to_string()))
        }),
        Column::new("MEMORY", true, rows, |row| properties(row, |d| d.memory.map(size))),
        Column::new("CPU", true, rows, |row| {
            properties(row, |d| d.cpu_nsec.map(|nsec| span(nsec / 1_000_000_000, false)))
        }),
    ];
    columns.retain(|column| column.cells.iter().any(|cell| !cell.is_empty()));
    let total = |columns: &[Column]| SIGN + columns.iter().map(|column| column.width() + GAP).sum::<usize>() - GAP;
    // The least important is the last. The first two are what it is about.
    while columns.len() > 3 && total(&columns) > look.width {
        columns.pop();
    }
    let mut widths: Vec<usize> = columns.iter().map(Column::width).collect();
    for column in [0, 1] {
        let over = widths.iter().sum::<usize>() + SIGN + GAP * (widths.len() - 1);
        let over = over.saturating_sub(look.width);
        if let Some(width) = widths.get_mut(column) {
            *width -= over.min(width.saturating_sub(16));
        }
    }
    let line = |cell: &dyn Fn(usize, &Column) -> String| {
        let cells = columns.iter().zip(&widths).enumerate();
        let cells: Vec<String> = cells.map(|(at, (column, width))| column.pad(&cell(at, column), *width)).collect();
        cells.join("  ").trim_end().to_owned()
    };
    let head = line(&|_, column| column.head.to_owned());
    let _ = writeln!(text, "  {}", look.paint(Tone::Faint, &head));
    let below = SIGN + widths.first().copied().unwrap_or(0) + GAP;
    for (place, row) in rows.iter().enumerate() {
        let (sign, colour) = sign(row);
        let cells = line(&|_, column| column.cells.get(place).cloned().unwrap_or_default());
        let _ = writeln!(text, "{}", look.paint(colour, &format!("{sign} {cells}")));
        let above = place.checked_sub(1).and_then(|place| rows.get(place));
        for line in said(row).into_iter().chain(changed(row, above, look)) {
            for line in fold(&one_line(&line), look.width.saturating_sub(below)) {
                let _ = writeln!(text, "{:below$}{line}", "");
            }
        }
    }
}

/// What a member says about itself, or said last.
fn said(row: &Row) -> Vec<String> {
    let status = row.properties.as_ref().map(|properties| properties.status_text.clone()).unwrap_or_default();
    let says = match &row.state {
        State::Up | State::Starting | State::Stopping => true,
        // What it still waited for when its time was up.
        State::Failed(cause) => cause.as_ref().is_some_and(|cause| cause.result == UnitResult::Timeout),
        _ => false,
    };
    let mut lines = Vec::new();
    if says && !status.is_empty() {
        lines.push(status);
    }
    let meaning = || match &row.state {
        State::Failed(cause) => cause.as_ref()?.explanation().map(ToOwned::to_owned),
        _ => None,
    };
    lines.extend(row.last_line.clone().or_else(meaning));
    if is_lost(row) {
        lines.push("closed when an instance gave up; the others serve on until they are restarted".to_owned());
    }
    lines
}

/// Why it doesn't run with what the files say; not again where the row above said the same.
fn changed(row: &Row, above: Option<&Row>, look: TerminalStyle) -> Option<String> {
    let new = !row.outdated.is_empty() && above.is_none_or(|above| above.outdated != row.outdated);
    let reasons = || plan::render::reasons(&row.outdated, look);
    new.then(|| reasons().join(", "))
}

/// `text` in lines of at most `width` columns, broken at blanks where that is possible; no more than three.
fn fold(text: &str, width: usize) -> Vec<String> {
    const MOST: usize = 3;
    let mut lines: Vec<String> = Vec::new();
    let mut rest = text;
    while lines.len() + 1 < MOST && rest.chars().count() > width {
        let end = rest.char_indices().nth(width).map_or(rest.len(), |(at, _)| at);
        let blank = rest[..end].rfind(' ').filter(|at| *at > 0);
        let (line, more) = rest.split_at(blank.unwrap_or(end));
        lines.push(line.to_owned());
        rest = more.trim_start();
    }
    lines.push(cut(rest, width));
    lines
}
