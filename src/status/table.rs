//! The members of a group, in columns.

use std::fmt::Write as _;

use super::types::Row;
use super::words::Words;
use crate::basic::clock::Realtime;
use crate::basic::diagnostic::one_line;
use crate::basic::terminal::{TerminalStyle, Tone, cut, span};
use crate::change::observe::members::Kind;
use crate::change::observe::state::State;
use crate::change::plan;
use crate::manager::cause::Cause;
use crate::manager::properties::Properties;
use crate::manager::state::UnitResult;

/// `38.2M`, as systemctl writes sizes.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];
    match UNITS.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{}.{}{name}", bytes / unit, bytes % unit * 10 / unit),
        None => format!("{bytes}B"),
    }
}

/// A column with its cells.
struct Column {
    head: &'static str,
    /// Its cells are aligned to the right.
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

/// A line for each member, and below it its status text, its last line, and why it is outdated.
pub(super) fn table(rows: &[Row], style: TerminalStyle, text: &mut String) {
    let properties =
        |row: &Row, cell: fn(&Properties) -> Option<String>| row.properties.as_ref().and_then(cell).unwrap_or_default();
    let since = |row: &Row| {
        style.ago(row.properties.as_ref().and_then(|properties| properties.since).map_or(0, Realtime::micros), false)
    };
    let mut columns = vec![
        Column::new("PROCESS", false, rows, |row| one_line(&row.member.subject.label)),
        Column::new("STATE", false, rows, |row| Words::of(row).people),
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
    // The last ones are the least important.
    while columns.len() > 3 && total(&columns) > style.width {
        columns.pop();
    }
    let mut widths: Vec<usize> = columns.iter().map(Column::width).collect();
    for column in [0, 1] {
        let over = widths.iter().sum::<usize>() + SIGN + GAP * (widths.len() - 1);
        let over = over.saturating_sub(style.width);
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
    let _ = writeln!(text, "  {}", style.paint(Tone::Faint, &head));
    let below = SIGN + widths.first().copied().unwrap_or(0) + GAP;
    for (index, row) in rows.iter().enumerate() {
        let (sign, tone) = sign(row);
        let cells = line(&|_, column| column.cells.get(index).cloned().unwrap_or_default());
        let _ = writeln!(text, "{}", style.paint(tone, &format!("{sign} {cells}")));
        let above = index.checked_sub(1).and_then(|above| rows.get(above));
        for line in texts(row).into_iter().chain(changed(row, above, style)) {
            for line in fold(&one_line(&line), style.width.saturating_sub(below)) {
                let _ = writeln!(text, "{:below$}{line}", "");
            }
        }
    }
}

/// The sockets that systemd closed because a service that accepts on them hit its start limit.
pub(super) fn is_closed(row: &Row) -> bool {
    let hit = |cause: &Cause| cause.result == UnitResult::ServiceStartLimitHit;
    row.member.kind == Kind::Socket && matches!(&row.state, State::Failed(Some(cause)) if hit(cause))
}

fn sign(row: &Row) -> (&'static str, Tone) {
    match row.state {
        State::Up | State::Done if row.orphaned => ("-", Tone::Busy),
        State::Up | State::Done if !row.outdated.is_empty() => ("↻", Tone::Busy),
        State::Up | State::Done => (" ", Tone::Plain),
        State::Failed(_) | State::NotLoaded(_) | State::Refused => ("✗", Tone::Bad),
        State::Starting | State::Restarting | State::Stopping => ("↻", Tone::Busy),
        State::Stopped => ("○", Tone::Busy),
        State::Idle | State::Skipped | State::Masked => ("-", Tone::Faint),
    }
}

/// The status text of a member, and its last line or what its failure means.
fn texts(row: &Row) -> Vec<String> {
    let cause = match &row.state {
        State::Failed(cause) => cause.as_ref(),
        _ => None,
    };
    let has_text = match &row.state {
        State::Up | State::Starting | State::Stopping => true,
        // What it still waited for.
        State::Failed(_) => cause.is_some_and(|cause| cause.result == UnitResult::Timeout),
        _ => false,
    };
    let status = row.properties.as_ref().map(|properties| properties.status_text.clone());
    let mut texts: Vec<String> = status.filter(|status| has_text && !status.is_empty()).into_iter().collect();
    texts.extend(row.last_line.clone().or_else(|| cause?.explanation().map(ToOwned::to_owned)));
    if is_closed(row) {
        let text =
            "closed when an instance hit its start limit; the other instances keep serving until they are restarted";
        texts.push(text.to_owned());
    }
    texts
}

/// Why a member is outdated, unless the row above shows the same.
fn changed(row: &Row, above: Option<&Row>, style: TerminalStyle) -> Option<String> {
    let new = !row.outdated.is_empty() && above.is_none_or(|above| above.outdated != row.outdated);
    let reasons = || plan::render::reasons(&row.outdated, style);
    new.then(|| reasons().join(", "))
}

/// `text` in at most three lines of `width` columns, broken at spaces if possible.
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
