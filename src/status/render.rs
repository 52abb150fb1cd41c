//! A group for people: as wide as their terminal, and no colour that isn't a sign or a word as well.

mod table;
#[cfg(test)]
mod tests;

use crate::basic::terminal::{TerminalStyle, Tone, cut, span, wrap};
use std::fmt::Write as _;

use super::{Resources, Row, Status, Verdict, named};
use crate::basic::diagnostic::one_line;
use crate::change::observe::members::{Kind, Start};
use crate::change::observe::state::State;
use crate::manager::state::{ActiveState, LoadState, SubState, UnitResult};

/// `38.2M`, as systemctl writes sizes.
fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(1 << 40, "T"), (1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")];
    match UNITS.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, name)) => format!("{}.{}{name}", bytes / unit, bytes % unit * 10 / unit),
        None => format!("{bytes}B"),
    }
}

fn verdict_colour(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Active => Tone::Good,
        Verdict::Degraded | Verdict::Failed => Tone::Bad,
        Verdict::Starting | Verdict::Stopping => Tone::Busy,
        Verdict::Stopped => Tone::Plain,
    }
}

fn verdict_sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Active => "●",
        Verdict::Degraded | Verdict::Failed => "✗",
        Verdict::Starting | Verdict::Stopping => "↻",
        Verdict::Stopped => "○",
    }
}

/// The word, with what it rests on, and what is wrong with the file.
fn words(status: &Status) -> String {
    let mut text = status.verdict.word().to_owned();
    if status.errors > 0 {
        text.push_str(", file invalid");
    } else if status.files.is_empty() {
        text.push_str(", file removed");
    }
    if status.rolled_back.is_some() {
        text.push_str(", rolled back");
    }
    if let Some(reason) = &status.reason {
        let _ = write!(text, ": {}", one_line(reason));
    }
    text
}

/// The whole of it: a head, a line for each member, and what can be done next.
pub fn render(status: &Status, look: TerminalStyle) -> String {
    let mut text = String::new();
    head(status, look, &mut text);
    if !status.rows.is_empty() {
        text.push('\n');
        table::table(&status.rows, look, &mut text);
    }
    let next = next(status, look);
    for (place, command) in next.iter().enumerate() {
        let lead = if place == 0 { "\n  next  " } else { "        " };
        let _ = writeln!(text, "{lead}{command}");
    }
    text
}

fn head(status: &Status, look: TerminalStyle, text: &mut String) {
    let colour = verdict_colour(status.verdict);
    let title = format!("{} {}   ", verdict_sign(status.verdict), status.group);
    for (place, line) in wrap(&title, &words(status), look.width).into_iter().enumerate() {
        let (title, line) = if place == 0 { line.split_at(title.len()) } else { line.split_at(4) };
        let _ = writeln!(text, "{title}{}", look.paint(colour, line));
    }
    if let Some(description) = &status.description {
        let _ = writeln!(text, "  {}", cut(&one_line(description), look.width.saturating_sub(2)));
    }
    let mut facts = Vec::new();
    facts.extend(status.since.map(|since| format!("up for {}", look.ago(since, true))));
    let Resources { memory, memory_max, cpu_nsec, tasks } = status.resources;
    facts.extend(memory.map(|memory| {
        let of = memory_max.map(|max| format!(" of {}", size(max))).unwrap_or_default();
        format!("memory {}{of}", size(memory))
    }));
    facts.extend(cpu_nsec.map(|nsec| format!("cpu {}", span(nsec / 1_000_000_000, true))));
    facts.extend(tasks.map(|tasks| format!("{tasks} task{}", if tasks == 1 { "" } else { "s" })));
    let mut paragraph = |line: String| {
        wrap("  ", &line, look.width).into_iter().for_each(|line| text.push_str(&(line + "\n")));
    };
    if !facts.is_empty() {
        paragraph(facts.join(" · "));
    }
    for file in &status.files {
        paragraph(one_line(&file.display().to_string()));
    }
    for (unit, path) in &status.overrides {
        paragraph(format!("override of {unit}: {}", one_line(&path.display().to_string())));
    }
    let reload = look.command("systemctl", "daemon-reload");
    if status.errors > 0 {
        // The generator writes the last good units again.
        let errors = if status.errors == 1 { "an error".to_owned() } else { format!("{} errors", status.errors) };
        paragraph(format!("the file has {errors}; its last good units of this boot, if any, stay in force"));
        status.first_error.iter().for_each(|error| paragraph(one_line(error)));
    }
    if unread(status) {
        paragraph(format!("systemd hasn't read the file yet: `{reload}`"));
    }
    for line in pinned(status, look) {
        paragraph(line);
    }
    if status.needs_reload > 0 {
        let units = if status.needs_reload == 1 { "a unit" } else { "units" };
        paragraph(format!("files of {units} changed since systemd read them: `{reload}`"));
    }
}

/// That not the files of now are in force, but older ones: for the whole group, or for those that no roll-out came to.
fn pinned(status: &Status, look: TerminalStyle) -> Vec<String> {
    let apply = look.command("copse", &format!("apply {}", status.group));
    let back = status.rolled_back.map(|since| {
        let ago = look.ago(since, true);
        format!("rolled back {ago} ago: its units are those of the last complete apply, until `{apply}`")
    });
    // Of each roll-out that stopped half-way, as a rule the last one.
    let since = status.rows.iter().map(|row| row.pinned).max().unwrap_or(0);
    let left = named(&status.rows, |row| row.pinned != 0, "pinned").map(|what| {
        let ago = look.ago(since, true);
        format!("{what} to the definition from before the roll-out {ago} ago; `{apply}` goes on with it")
    });
    back.into_iter().chain(left).collect()
}

/// Whether systemd knows nothing of the group, but its file is there.
fn unread(status: &Status) -> bool {
    let absent = |row: &Row| row.state == State::NotLoaded(LoadState::NotFound) && row.member.defined;
    status.errors == 0 && !status.files.is_empty() && !status.rows.is_empty() && status.rows.iter().all(absent)
}

/// A socket that systemd closed because one of those that accept on it reached its start limit.
fn is_lost(row: &Row) -> bool {
    row.member.kind == Kind::Socket
        && matches!(&row.state, State::Failed(Some(cause)) if cause.result == UnitResult::ServiceStartLimitHit)
}

fn sign(row: &Row) -> (&'static str, Tone) {
    match row.state {
        State::Up | State::Done if row.gone => ("-", Tone::Busy),
        State::Up | State::Done if !row.outdated.is_empty() => ("↻", Tone::Busy),
        State::Up | State::Done => (" ", Tone::Plain),
        State::Failed(_) | State::NotLoaded(_) | State::Refused => ("✗", Tone::Bad),
        State::Starting | State::Restarting | State::Stopping => ("↻", Tone::Busy),
        State::Stopped => ("○", Tone::Busy),
        State::Idle | State::Skipped | State::Masked => ("-", Tone::Faint),
    }
}

/// A member's state: systemd's word, and what it means where that says more.
pub fn state(row: &Row) -> String {
    let word = row.listed.active.as_str();
    let mut text = match &row.state {
        State::Up if row.listed.load == LoadState::Masked => format!("{word}, masked"),
        State::Up if row.listed.sub == SubState::Listening => format!("{word}, listening"),
        State::Up | State::Stopping => word.to_owned(),
        State::Done if row.member.kind == Kind::Setup => "done (setup)".to_owned(),
        State::Done => format!("{word}, done"),
        State::Skipped => format!("{word}, condition unmet"),
        State::Masked => "masked".to_owned(),
        State::Idle => match row.member.start {
            Start::Timed => format!("{word}, timed"),
            Start::Held => format!("{word}, held"),
            _ => format!("{word}, manual"),
        },
        State::Stopped => format!("{word}, stopped"),
        State::Starting if row.listed.active == ActiveState::Activating => "activating".to_owned(),
        State::Starting => format!("{word}, start job waiting"),
        State::Restarting => "waiting for its restart".to_owned(),
        State::Failed(None) => "failed".to_owned(),
        State::Failed(Some(cause)) => format!("failed: {cause}"),
        State::NotLoaded(load) => load.to_string(),
        State::Refused => format!("{word}, Assert…= unmet"),
    };
    if row.properties.as_ref().is_some_and(|properties| properties.frozen) {
        text.push_str(", frozen");
    }
    if row.gone {
        text.push_str(", gone from the file");
    }
    if !row.outdated.is_empty() {
        text.push_str(", outdated");
    }
    if row.pinned != 0 {
        text.push_str(", pinned");
    }
    text
}

/// Commands that help, in the words of today: the first of the members that need any.
fn next(status: &Status, look: TerminalStyle) -> Vec<String> {
    let group = &status.group;
    let (copse, systemctl) =
        (|words: &str| look.command("copse", words), |words: &str| look.command("systemctl", words));
    let start = || systemctl(&format!("start {group}.target"));
    if status.errors > 0 {
        return vec![copse(&format!("check {group}"))];
    }
    if status.files.is_empty() {
        // Nothing starts it any more.
        let up = |row: &Row| row.listed.is_up();
        return match status.rows.iter().any(up) || status.verdict == Verdict::Active {
            true => vec![systemctl(&format!("stop {group}.target"))],
            false => vec![copse(&format!("logs {group}")), copse(&format!("reset-failed {group}"))],
        };
    }
    let of = |is: fn(&Row) -> bool| status.rows.iter().find(|row| is(row));
    if of(is_lost).is_some() {
        // No start brings it back while somebody holds it.
        let why = of(|row| matches!(row.state, State::Failed(_)) && row.member.kind == Kind::Process);
        let logs = why.map(|row| copse(&format!("logs {group}/{}", row.member.label)));
        return logs.into_iter().chain([copse(&format!("apply {group}"))]).collect();
    }
    if let Some(row) = of(|row| matches!(row.state, State::Failed(_))) {
        let logs = copse(&format!("logs {group}/{}", row.member.label));
        // Not the unit alone: the start limit refuses that for a while, and the group's start clears it first.
        let again = (row.member.start == Start::Auto).then(start);
        return [Some(logs), again].into_iter().flatten().collect();
    }
    if let Some(row) = of(|row| row.state == State::Restarting) {
        return vec![copse(&format!("logs {group}/{}", row.member.label))];
    }
    match status.verdict {
        Verdict::Failed => vec![copse(&format!("logs {group}")), start()],
        Verdict::Degraded => {
            let stopped: Vec<&Row> = status.rows.iter().filter(|row| row.state == State::Stopped).collect();
            match stopped.as_slice() {
                [] => Vec::new(),
                [row] if row.member.kind != Kind::Setup => vec![systemctl(&format!("start {}", row.member.unit))],
                _ => vec![copse(&format!("start {group}"))],
            }
        }
        _ if status.rolled_back.is_some() || of(|row| !row.outdated.is_empty() || row.pinned != 0).is_some() => {
            vec![copse(&format!("plan {group}"))]
        }
        _ => Vec::new(),
    }
}

/// All groups, a line each.
pub fn list(all: &[Status], look: TerminalStyle) -> String {
    let name = all.iter().map(|status| status.group.chars().count()).max().unwrap_or(0).min(look.width / 3);
    let mut text = String::new();
    for status in all {
        let awaited = || status.rows.iter().filter(|row| row.member.start == Start::Auto);
        let up = awaited().filter(|row| matches!(row.state, State::Up | State::Done)).count();
        let count = match status.verdict {
            Verdict::Stopped | Verdict::Failed => String::new(),
            // Without a valid file nobody knows here who belongs to it.
            _ if status.rows.is_empty() => String::new(),
            _ => format!(" ({up} of {} up)", awaited().count()),
        };
        let words = words(status) + &count;
        let (sign, group) = (verdict_sign(status.verdict), cut(&status.group, name));
        let line = cut(&words, look.width.saturating_sub(name + 4));
        let rest = look.width.saturating_sub(name + 4 + line.chars().count() + 3);
        let description = status.description.as_deref().map(one_line).filter(|_| rest >= 12).unwrap_or_default();
        let line = look.paint(verdict_colour(status.verdict), &line);
        let description = match cut(&description, rest) {
            none if none.is_empty() => none,
            some => look.paint(Tone::Faint, &some),
        };
        let gap = if description.is_empty() { "" } else { "   " };
        let _ = writeln!(text, "{sign} {group:<name$}  {line}{gap}{description}");
    }
    text
}
