//! A plan for people.

mod directives;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use self::directives::{by_directive, changed_lines};
use super::{Action, Plan, Reason, SkipReason, Skipped, Step};
use crate::basic::diagnostic::one_line;
use crate::basic::terminal::{TerminalStyle, Tone, wrap};
use crate::change::observe::members::Subject;

/// The plan as text. With `diff`, each changed directive with its lines before and now.
pub fn render(plan: &Plan, diff: bool, look: TerminalStyle) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}", look.paint(colour_of(plan), &head(plan, look)));
    for file in &plan.files {
        let removed = if file.removed { " (removed)" } else { "" };
        let _ = writeln!(text, "  {}{removed}", one_line(&file.path.display().to_string()));
    }
    let whole = [Subject { unit: String::new(), label: plan.group.to_string() }];
    let read = (plan.steps.is_empty() && plan.daemon_reload).then(|| Line::read(&whole));
    let lines: Vec<Line<'_>> = plan.steps.iter().map(Line::step).chain(read).chain(leaves(plan)).collect();
    if !lines.is_empty() {
        let names: Vec<String> = lines.iter().map(|line| named(line.units)).collect();
        let width = names.iter().map(|name| name.chars().count()).filter(|width| *width <= NAMES).max().unwrap_or(0);
        text.push('\n');
        for (line, name) in lines.iter().zip(&names) {
            line.write(name, width, look, &mut text);
            if diff {
                changed_lines(line.reasons, look, &mut text);
            }
        }
    }
    let notes = plan.notes.iter().map(|note| wrap("  ", note, look.width));
    for (place, note) in notes.enumerate() {
        let lead = if place == 0 { "\n" } else { "" };
        let _ = writeln!(text, "{lead}{}", note.join("\n"));
    }
    text
}

/// As wide as the names of units may be without moving the reasons of all lines.
const NAMES: usize = 24;

fn colour_of(plan: &Plan) -> Tone {
    if plan.is_empty() { Tone::Good } else { Tone::Busy }
}

fn head(plan: &Plan, look: TerminalStyle) -> String {
    let group = &plan.group;
    let ago = |at: u64| look.ago(at, true);
    let since = match plan.applied {
        Some(at) => format!("since the last apply, {} ago", ago(at)),
        None => "since it was started".to_owned(),
    };
    let start = look.command("copse", &format!("start {group}"));
    let what = match (plan.active, plan.is_empty(), plan.files.is_empty()) {
        (true, true, _) => "nothing to do".to_owned(),
        (true, false, true) => "not up to date".to_owned(),
        (true, false, false) => format!("changed {since}"),
        (false, true, _) => {
            format!("not active; nothing is started (`{start}` would), and there is nothing else to do")
        }
        (false, false, _) => format!("not active; nothing is started (`{start}` would)"),
    };
    format!("{group}: {what}")
}

/// A step, or what is left alone.
struct Line<'p> {
    word: &'static str,
    units: &'p [Subject],
    reasons: &'p [Reason],
    /// Behind the reasons.
    how: String,
    colour: Tone,
}

impl<'p> Line<'p> {
    fn step(step: &'p Step) -> Self {
        let how = match &step.action {
            Action::Update => "no restart needed".to_owned(),
            Action::Roll => pace(step),
            Action::Restart if step.units.len() > 1 => "all at once".to_owned(),
            Action::Rebind { sockets } => {
                let are = if sockets.len() == 1 { "is" } else { "are" };
                format!("stopped while {} {are} made anew", named(sockets))
            }
            _ => String::new(),
        };
        let colour = match step.action {
            Action::Stop => Tone::Bad,
            Action::Update => Tone::Plain,
            Action::Run | Action::Start | Action::Reload => Tone::Good,
            Action::Restart | Action::Roll | Action::Rebind { .. } => Tone::Busy,
        };
        Self { word: step.action.word(), units: &step.units, reasons: &step.reasons, how, colour }
    }

    /// Nothing that runs is concerned.
    fn read(group: &'p [Subject]) -> Self {
        let how = "the service manager reads its units again; nothing else".to_owned();
        Self { word: Action::Update.word(), units: group, reasons: &[], how, colour: Tone::Plain }
    }

    fn leave(leave: &'p Skipped) -> Self {
        let how = why(leave.why, !leave.reasons.is_empty()).to_owned();
        Self { word: "leave", units: &leave.units, reasons: &leave.reasons, how, colour: Tone::Faint }
    }

    fn write(&self, name: &str, width: usize, look: TerminalStyle, text: &mut String) {
        let mut said = reasons(self.reasons, look).join(", ");
        if !self.how.is_empty() {
            said = if said.is_empty() { self.how.clone() } else { format!("{said}; {}", self.how) };
        }
        let indent = 11 + width + 2;
        let lead = format!("  {:<8} {name:<width$}  ", self.word);
        // A name that is too long has a line of its own.
        let (first, rest) = match lead.chars().count() > indent {
            true => (Some(lead), " ".repeat(indent)),
            false => (None, lead),
        };
        if let Some(first) = first {
            let _ = writeln!(text, "{}", look.paint(self.colour, first.trim_end()));
        }
        let narrow = look.width.saturating_sub(indent).max(20);
        for (place, line) in wrap("", &one_line(&said), narrow).into_iter().enumerate() {
            let line = line.trim_start();
            let _ = match place {
                0 => writeln!(text, "{}{line}", look.paint(self.colour, &rest)),
                _ => writeln!(text, "{:indent$}{line}", ""),
            };
        }
    }
}

/// What needs saying first; who runs just what the files say comes last, in one line.
fn leaves(plan: &Plan) -> impl Iterator<Item = Line<'_>> {
    // Of a group that isn't active that is said once, above.
    let told = |leave: &&Skipped| plan.active || leave.why != SkipReason::GroupInactive;
    let (current, others): (Vec<_>, Vec<_>) =
        plan.leave.iter().filter(told).partition(|leave| leave.why == SkipReason::Current);
    others.into_iter().chain(current).map(Line::leave)
}

/// `one at a time, each until ready; at most 1 of 4 down`
fn pace(step: &Step) -> String {
    let pace = &step.pace;
    let settled = if pace.settled.is_empty() { "ready" } else { "ready and settled" };
    let ready = match pace.min_ready.as_secs() {
        0 => settled.to_owned(),
        seconds => format!("{settled} for {seconds}s"),
    };
    match (step.units.len(), pace.max_unavailable) {
        (1, _) if pace.of <= 1 => String::new(),
        (1, most) => format!("at most {} of {} down", most.min(pace.of), pace.of),
        (_, 1) => format!("one at a time, each until {ready}"),
        (_, most) => format!("at most {} of {} down, each until {ready}", most.min(pace.of), pace.of),
    }
}

/// `web@1 … @4`, `web@1, @3`, `db`
pub fn named(units: &[Subject]) -> String {
    let mut text = String::new();
    let mut rest = units;
    let mut process = None;
    while let Some(first) = rest.first() {
        let (stem, number) = instance(&first.label);
        let run = rest.iter().enumerate().take_while(|(place, unit)| {
            let (other, other_number) = instance(&unit.label);
            let next = number.zip(u64::try_from(*place).ok()).and_then(|(number, place)| number.checked_add(place));
            other == stem && other_number.is_some() && other_number == next
        });
        let length = run.count().max(1);
        if !text.is_empty() {
            text.push_str(", ");
        }
        let shown = |label: &str| match label.split_once('@') {
            Some((stem, instance)) if process == Some(stem) => format!("@{instance}"),
            _ => label.to_owned(),
        };
        let last = rest.get(length - 1).and_then(|last| last.label.split_once('@')).map(|(_, instance)| instance);
        match (length, last) {
            (3.., Some(last)) => {
                let _ = write!(text, "{} … @{last}", shown(&first.label));
                rest = &rest[length..];
            }
            _ => {
                text.push_str(&shown(&first.label));
                rest = &rest[1..];
            }
        }
        process = first.label.split_once('@').map(|(stem, _)| stem);
    }
    one_line(&text)
}

/// `web` and 3 of `web@3`; the number only where it is one.
fn instance(label: &str) -> (&str, Option<u64>) {
    label.split_once('@').map_or((label, None), |(stem, instance)| (stem, instance.parse().ok()))
}

/// The reasons in a few words each; those of several units that come to the same are said once.
pub fn reasons(all: &[Reason], look: TerminalStyle) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    let mut defined = false;
    for reason in all {
        let text = match reason {
            Reason::Definition(_) if std::mem::replace(&mut defined, true) => continue,
            Reason::Definition(_) => directives::in_words(&by_directive(all)),
            other => self::reason(other, look),
        };
        if !said.contains(&text) {
            said.push(text);
        }
    }
    said
}

/// A reason in a few words.
pub fn reason(reason: &Reason, look: TerminalStyle) -> String {
    match reason {
        Reason::Definition(_) => directives::in_words(&by_directive(std::slice::from_ref(reason))),
        Reason::Input(path) => format!("input changed: {}", path.display()),
        Reason::Inputs => "what it depends on changed".to_owned(),
        Reason::Program(path) => format!("program changed: {}", path.display()),
        Reason::Setup(step) => format!("after setup step {step}, which runs again"),
        Reason::New => "new".to_owned(),
        Reason::Wanted => "the group starts it now".to_owned(),
        Reason::Held => "held".to_owned(),
        Reason::Gone => "no longer in the group".to_owned(),
        Reason::Failed(how) if how.is_empty() => "failed".to_owned(),
        Reason::Failed(how) => format!("failed: {how}"),
        Reason::LeftBehind(at) => format!("left behind by the roll-out {} ago", look.ago(*at, true)),
        Reason::Interrupted => "left down by an apply that stopped half-way".to_owned(),
        Reason::Asked => "asked for".to_owned(),
    }
}

/// SkipReason something is left alone; `outdated` where it would otherwise be touched.
fn why(why: SkipReason, outdated: bool) -> &'static str {
    match why {
        SkipReason::Current => "runs what the files say",
        SkipReason::Stopped => "stopped by hand",
        SkipReason::Manual => "inactive, manual",
        SkipReason::Timed if outdated => "outdated; its next run has it",
        SkipReason::Timed => "timed",
        SkipReason::Keep => "outdated; left running (`refresh = \"keep\"`)",
        SkipReason::Held => "held",
        SkipReason::Skipped => "its condition isn't met",
        SkipReason::GroupInactive => "the group isn't active",
        SkipReason::Done => "ended well",
        SkipReason::Masked => "masked",
        SkipReason::InMotion => "in motion already",
        SkipReason::Unknown => "started from what isn't known any more; a restart brings it up to date",
    }
}
