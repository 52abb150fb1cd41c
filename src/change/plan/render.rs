//! A plan for people.

mod directives;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use self::directives::{by_directive, changed_lines};
use super::step::{Action, Plan, Reason, SkipReason, Skipped, Step};
use crate::basic::diagnostic::one_line;
use crate::basic::terminal::{TerminalStyle, Tone, wrap};
use crate::change::observe::subject::{Subject, enumerate};

/// The plan as text. With `diff`, each changed directive with its lines before and now.
pub fn render(plan: &Plan, diff: bool, style: TerminalStyle) -> String {
    let mut text = String::new();
    let tone = if plan.is_empty() { Tone::Good } else { Tone::Busy };
    let _ = writeln!(text, "{}", style.paint(tone, &head(plan, style)));
    for file in &plan.files {
        let removed = if file.removed { " (removed)" } else { "" };
        let _ = writeln!(text, "  {}{removed}", one_line(&file.path.display().to_string()));
    }
    let group = [Subject::of_group(String::new(), plan.group.as_str())];
    let reload = (plan.steps.is_empty() && plan.daemon_reload).then(|| Line::reload(&group));
    // That its units are inactive is said once of a group, above.
    let shown = |skipped: &&Skipped| {
        skipped.why != SkipReason::UpToDate && (plan.active || skipped.why != SkipReason::GroupInactive)
    };
    let skipped = plan.skipped.iter().filter(shown).map(Line::skip);
    let lines: Vec<Line<'_>> = plan.steps.iter().map(Line::step).chain(reload).chain(skipped).collect();
    let names: Vec<String> = lines.iter().map(|line| enumerate(line.units)).collect();
    let width = names.iter().map(|name| name.chars().count()).filter(|width| *width <= NAMES).max().unwrap_or(0);
    let mut paragraphs: [Vec<String>; 2] = Default::default();
    for (line, name) in lines.iter().zip(&names) {
        let mut shown = String::new();
        line.write(name, width, style, &mut shown);
        if diff {
            changed_lines(line.reasons, style, &mut shown);
        }
        paragraphs[0].push(shown);
    }
    let up_to_date = plan.skipped.iter().filter(|skipped| skipped.why == SkipReason::UpToDate);
    match up_to_date.map(|skipped| skipped.units.len()).sum() {
        0 => {}
        1 => paragraphs[0].push("  1 unit up to date\n".to_owned()),
        units => paragraphs[0].push(format!("  {units} units up to date\n")),
    }
    paragraphs[1].extend(plan.notes.iter().map(|note| wrap("  ", note, style.width).join("\n") + "\n"));
    for paragraph in paragraphs.iter().filter(|paragraph| !paragraph.is_empty()) {
        text.push('\n');
        text.push_str(&paragraph.concat());
    }
    text
}

/// Longer names have a line of their own, and do not move the reasons of all lines.
const NAMES: usize = 24;

fn head(plan: &Plan, style: TerminalStyle) -> String {
    let group = &plan.group;
    let since = match plan.applied {
        Some(at) => format!("since the last apply, {} ago", style.ago(at.micros(), true)),
        None => "since it was started".to_owned(),
    };
    let start = style.command("copse", &format!("start {group}"));
    let what = match (plan.active, plan.is_empty(), plan.files.is_empty()) {
        (true, true, _) => "nothing to do".to_owned(),
        (true, false, true) => "not up to date".to_owned(),
        (true, false, false) => format!("changed {since}"),
        (false, true, _) => format!("not active, nothing to do; `{start}` starts it"),
        (false, false, _) => format!("not active, nothing is started; `{start}` starts it"),
    };
    format!("{group}: {what}")
}

/// A step, or units that are skipped.
struct Line<'p> {
    word: &'static str,
    units: &'p [Subject],
    reasons: &'p [Reason],
    /// After the reasons.
    how: String,
    tone: Tone,
}

impl<'p> Line<'p> {
    fn step(step: &'p Step) -> Self {
        let how = match &step.action {
            Action::Update => "no restart".to_owned(),
            Action::Roll => pace(step),
            Action::Restart if step.units.len() > 1 => "all at once".to_owned(),
            Action::Rebind { sockets } => {
                let are = if sockets.len() == 1 { "is" } else { "are" };
                format!("stopped while {} {are} restarted", enumerate(sockets))
            }
            _ => String::new(),
        };
        let tone = match step.action {
            Action::Stop => Tone::Bad,
            Action::Update => Tone::Plain,
            Action::Run | Action::Start | Action::Reload => Tone::Good,
            Action::Restart | Action::Roll | Action::Rebind { .. } => Tone::Busy,
        };
        Self { word: step.action.word(), units: &step.units, reasons: &step.reasons, how, tone }
    }

    fn reload(group: &'p [Subject]) -> Self {
        let how = "daemon-reload only".to_owned();
        Self { word: Action::Update.word(), units: group, reasons: &[], how, tone: Tone::Plain }
    }

    fn skip(skipped: &'p Skipped) -> Self {
        let how = why(skipped.why, !skipped.reasons.is_empty()).to_owned();
        Self { word: "skip", units: &skipped.units, reasons: &skipped.reasons, how, tone: Tone::Faint }
    }

    fn write(&self, name: &str, width: usize, style: TerminalStyle, text: &mut String) {
        let mut message = reasons(self.reasons, style).join(", ");
        if !self.how.is_empty() {
            message = if message.is_empty() { self.how.clone() } else { format!("{message}; {}", self.how) };
        }
        let indent = 11 + width + 2;
        let lead = format!("  {:<8} {name:<width$}  ", self.word);
        // A name that is too long has a line of its own.
        let (first, rest) = match lead.chars().count() > indent {
            true => (Some(lead), " ".repeat(indent)),
            false => (None, lead),
        };
        if let Some(first) = first {
            let _ = writeln!(text, "{}", style.paint(self.tone, first.trim_end()));
        }
        let narrow = style.width.saturating_sub(indent).max(20);
        for (index, line) in wrap("", &one_line(&message), narrow).into_iter().enumerate() {
            let line = line.trim_start();
            let _ = match index {
                0 => writeln!(text, "{}{line}", style.paint(self.tone, &rest)),
                _ => writeln!(text, "{:indent$}{line}", ""),
            };
        }
    }
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

/// The reasons in a few words each; if those of several units read the same, only once.
pub fn reasons(all: &[Reason], style: TerminalStyle) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    let mut defined = false;
    for reason in all {
        let text = match reason {
            Reason::Definition { .. } if std::mem::replace(&mut defined, true) => continue,
            Reason::Definition { .. } => directives::in_words(&by_directive(all)),
            other => self::reason(other, style),
        };
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

fn reason(reason: &Reason, style: TerminalStyle) -> String {
    match reason {
        Reason::Definition { .. } => directives::in_words(&by_directive(std::slice::from_ref(reason))),
        Reason::Input { path } => format!("input changed: {}", path.display()),
        Reason::Inputs => "inputs changed".to_owned(),
        Reason::Program { path } => format!("program changed: {}", path.display()),
        Reason::Setup { step } => format!("setup step {step} runs again"),
        Reason::New => "new".to_owned(),
        Reason::Wanted => "started by the group now".to_owned(),
        Reason::Held => "held".to_owned(),
        Reason::Orphaned => "no longer in the group file".to_owned(),
        Reason::Failed { how } if how.is_empty() => "failed".to_owned(),
        Reason::Failed { how } => format!("failed: {how}"),
        Reason::NotReached { since } => format!("not reached by the rollout {} ago", style.ago(since.micros(), true)),
        Reason::Interrupted => "left down by an interrupted apply".to_owned(),
        Reason::Requested => "requested".to_owned(),
    }
}

/// Why units are skipped; `outdated` if there are reasons to touch them.
fn why(why: SkipReason, outdated: bool) -> &'static str {
    match why {
        SkipReason::UpToDate => "up to date",
        SkipReason::Stopped => "inactive",
        SkipReason::Manual => "inactive, manual",
        SkipReason::Scheduled if outdated => "outdated; the next timer run uses the new definition",
        SkipReason::Scheduled => "scheduled",
        SkipReason::Keep => "outdated; kept running (`refresh = \"keep\"`)",
        SkipReason::Held => "held",
        SkipReason::ConditionUnmet => "condition unmet",
        SkipReason::GroupInactive => "the group is not active",
        SkipReason::Exited => "exited",
        SkipReason::Masked => "masked",
        SkipReason::Busy => "busy (activating, deactivating or auto-restart)",
        SkipReason::Unknown => "unknown: no record of what it was started with; restart it to be sure",
    }
}
