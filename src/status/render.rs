//! A group for people: as wide as their terminal. A sign or a word always says what a color says.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use super::table::{is_closed, size, table};
use super::types::{Resources, Row, Status, Verdict};
use super::verdict::some_are;
use crate::basic::clock::Realtime;
use crate::basic::diagnostic::one_line;
use crate::basic::terminal::{TerminalStyle, Tone, cut, span, wrap};
use crate::change::observe::members::{Kind, Start};
use crate::change::observe::state::State;
use crate::manager::state::LoadState;

fn tone_of(verdict: Verdict) -> Tone {
    match verdict {
        Verdict::Active => Tone::Good,
        Verdict::Degraded | Verdict::Failed => Tone::Bad,
        Verdict::Starting | Verdict::Stopping => Tone::Busy,
        Verdict::Stopped => Tone::Plain,
    }
}

fn sign_of(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Active => "●",
        Verdict::Degraded | Verdict::Failed => "✗",
        Verdict::Starting | Verdict::Stopping => "↻",
        Verdict::Stopped => "○",
    }
}

/// The verdict with its reason, and what is wrong with the file.
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

/// All of a group: a head, a line for each member, and the next commands.
pub fn render(status: &Status, style: TerminalStyle) -> String {
    let mut text = String::new();
    head(status, style, &mut text);
    if !status.rows.is_empty() {
        text.push('\n');
        table(&status.rows, style, &mut text);
    }
    for (index, command) in next(status, style).iter().enumerate() {
        let lead = if index == 0 { "\n  next  " } else { "        " };
        let _ = writeln!(text, "{lead}{command}");
    }
    text
}

fn head(status: &Status, style: TerminalStyle, text: &mut String) {
    let tone = tone_of(status.verdict);
    let title = format!("{} {}   ", sign_of(status.verdict), status.group);
    for (index, line) in wrap(&title, &words(status), style.width).into_iter().enumerate() {
        let (title, line) = if index == 0 { line.split_at(title.len()) } else { line.split_at(4) };
        let _ = writeln!(text, "{title}{}", style.paint(tone, line));
    }
    if let Some(description) = &status.description {
        let _ = writeln!(text, "  {}", cut(&one_line(description), style.width.saturating_sub(2)));
    }
    let mut facts = Vec::new();
    facts.extend(status.since.map(|since| format!("up for {}", style.ago(since.micros(), true))));
    let Resources { memory, memory_max, cpu_nsec, tasks } = status.resources;
    facts.extend(memory.map(|memory| {
        let of = memory_max.map(|max| format!(" of {}", size(max))).unwrap_or_default();
        format!("memory {}{of}", size(memory))
    }));
    facts.extend(cpu_nsec.map(|nsec| format!("cpu {}", span(nsec / 1_000_000_000, true))));
    facts.extend(tasks.map(|tasks| format!("{tasks} task{}", if tasks == 1 { "" } else { "s" })));
    let mut paragraph = |line: String| {
        wrap("  ", &line, style.width).into_iter().for_each(|line| text.push_str(&(line + "\n")));
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
    let reload = style.command("systemctl", "daemon-reload");
    if status.errors > 0 {
        let errors = if status.errors == 1 { "an error".to_owned() } else { format!("{} errors", status.errors) };
        paragraph(format!("group file has {errors}; the last good units of this boot, if any, stay loaded"));
        status.first_error.iter().for_each(|error| paragraph(one_line(error)));
    }
    if is_unread(status) {
        paragraph(format!("systemd has not read the file yet; run `{reload}`"));
    }
    for line in pinned(status, style) {
        paragraph(line);
    }
    if status.needs_reload > 0 {
        let units = if status.needs_reload == 1 { "a unit" } else { "units" };
        paragraph(format!("files of {units} changed since systemd read them; run `{reload}`"));
    }
}

/// That older files than the current ones are used: for the whole group, or for units that no rollout reached.
fn pinned(status: &Status, style: TerminalStyle) -> Vec<String> {
    let apply = style.command("copse", &format!("apply {}", status.group));
    let ago = |since: Realtime| style.ago(since.micros(), true);
    let rolled_back = status.rolled_back.map(|since| {
        format!(
            "rolled back {} ago to the last complete apply; run `{apply}` to return to the current files",
            ago(since)
        )
    });
    // The latest rollout that stopped half-way.
    let since = status.rows.iter().filter_map(|row| row.pinned).max();
    let left = since.zip(some_are(&status.rows, |row| row.pinned.is_some(), "pinned")).map(|(since, units)| {
        format!("{units} to the definition before the rollout {} ago; run `{apply}` to continue it", ago(since))
    });
    rolled_back.into_iter().chain(left).collect()
}

/// Whether systemd has loaded nothing of a group that has a file.
fn is_unread(status: &Status) -> bool {
    let absent = |row: &Row| row.state == State::NotLoaded(LoadState::NotFound) && row.member.defined;
    status.errors == 0 && !status.files.is_empty() && !status.rows.is_empty() && status.rows.iter().all(absent)
}

/// The commands for what to do next: for the first of the members that need any.
fn next(status: &Status, style: TerminalStyle) -> Vec<String> {
    let group = &status.group;
    let (copse, systemctl) = (|args: &str| style.command("copse", args), |args: &str| style.command("systemctl", args));
    let start = || systemctl(&format!("start {group}.target"));
    if status.errors > 0 {
        return vec![copse(&format!("check {group}"))];
    }
    if status.files.is_empty() {
        let up = |row: &Row| row.info.is_up();
        return match status.rows.iter().any(up) || status.verdict == Verdict::Active {
            true => vec![systemctl(&format!("stop {group}.target"))],
            false => vec![copse(&format!("logs {group}")), copse(&format!("reset-failed {group}"))],
        };
    }
    let of = |is: fn(&Row) -> bool| status.rows.iter().find(|row| is(row));
    if of(is_closed).is_some() {
        // No start opens it again while a service accepts on it.
        let why = of(|row| matches!(row.state, State::Failed(_)) && row.member.kind == Kind::Process);
        let logs = why.map(|row| copse(&format!("logs {group}/{}", row.member.subject.label)));
        return logs.into_iter().chain([copse(&format!("apply {group}"))]).collect();
    }
    if let Some(row) = of(|row| matches!(row.state, State::Failed(_))) {
        let logs = copse(&format!("logs {group}/{}", row.member.subject.label));
        // Not of the unit alone: at its start limit that is refused, which the group's start resets first.
        let again = (row.member.start == Start::Auto).then(start);
        return [Some(logs), again].into_iter().flatten().collect();
    }
    if let Some(row) = of(|row| row.state == State::Restarting) {
        return vec![copse(&format!("logs {group}/{}", row.member.subject.label))];
    }
    match status.verdict {
        Verdict::Failed => vec![copse(&format!("logs {group}")), start()],
        Verdict::Degraded => {
            let stopped: Vec<&Row> = status.rows.iter().filter(|row| row.state == State::Stopped).collect();
            match stopped.as_slice() {
                [] => Vec::new(),
                [row] if row.member.kind != Kind::Setup => vec![systemctl(&format!("start {}", row.member.unit()))],
                _ => vec![copse(&format!("start {group}"))],
            }
        }
        _ if status.rolled_back.is_some() || of(|row| !row.outdated.is_empty() || row.pinned.is_some()).is_some() => {
            vec![copse(&format!("plan {group}"))]
        }
        _ => Vec::new(),
    }
}

/// Groups, a line each.
pub fn list(all: &[Status], style: TerminalStyle) -> String {
    let name = all.iter().map(|status| status.group.chars().count()).max().unwrap_or(0).min(style.width / 3);
    let mut text = String::new();
    for status in all {
        let awaited = || status.rows.iter().filter(|row| row.member.start == Start::Auto);
        let up = awaited().filter(|row| matches!(row.state, State::Up | State::Done)).count();
        let count = match status.verdict {
            Verdict::Stopped | Verdict::Failed => String::new(),
            // Without a valid file its members are not known here.
            _ if status.rows.is_empty() => String::new(),
            _ => format!(" ({up} of {} up)", awaited().count()),
        };
        let words = words(status) + &count;
        let (sign, group) = (sign_of(status.verdict), cut(&status.group, name));
        let line = cut(&words, style.width.saturating_sub(name + 4));
        let rest = style.width.saturating_sub(name + 4 + line.chars().count() + 3);
        let description = status.description.as_deref().map(one_line).filter(|_| rest >= 12).unwrap_or_default();
        let line = style.paint(tone_of(status.verdict), &line);
        let description = match cut(&description, rest) {
            none if none.is_empty() => none,
            some => style.paint(Tone::Faint, &some),
        };
        let gap = if description.is_empty() { "" } else { "   " };
        let _ = writeln!(text, "{sign} {group:<name$}  {line}{gap}{description}");
    }
    text
}
