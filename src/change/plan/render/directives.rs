//! The directives that differ, in a few words and line by line.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::basic::diagnostic::one_line;
use crate::basic::terminal::{TerminalStyle, Tone};
use crate::change::plan::step::Reason;
use crate::unit::effective::Difference;

/// More directives than these are counted, not named.
const NAMED: usize = 3;

/// Longer values, in characters, are not shown but by `--diff`.
const SHORT: usize = 24;

/// All that differs in the definitions, by directive: of several units, each may have differences of its own.
pub(super) fn by_directive(reasons: &[Reason]) -> Vec<Vec<&Difference>> {
    let mut all: Vec<Vec<&Difference>> = Vec::new();
    for reason in reasons {
        let Reason::Definition { directives } = reason else { continue };
        for one in directives {
            let same = |other: &&mut Vec<&Difference>| {
                other.first().is_some_and(|other| other.section == one.section && other.name == one.name)
            };
            match all.iter_mut().find(same) {
                Some(known) if known.contains(&one) => {}
                Some(known) => known.push(one),
                None => all.push(vec![one]),
            }
        }
    }
    all
}

/// The first of them in a few words, and how many more there are.
pub(super) fn in_words(all: &[Vec<&Difference>]) -> String {
    let text = |same: &Vec<&Difference>| {
        let mut texts: Vec<String> = same.iter().map(|one| difference(one)).collect();
        texts.dedup();
        match texts.as_slice() {
            [one] => one.clone(),
            _ => format!("{}= changed", same[0].name),
        }
    };
    let mut texts: Vec<String> = all.iter().take(NAMED).map(text).collect();
    if all.len() > NAMED {
        texts.push(format!("{} more", all.len() - NAMED));
    }
    texts.join(", ")
}

/// `RestartSec= 1s → 5s`, `Nice= removed`, `ExecStartPre= changed`, `Environment= A, B changed, C added`
fn difference(difference: &Difference) -> String {
    let Difference { name, old, new, .. } = difference;
    // Reasons go into the journal, and secrets are in values like these.
    match name.as_str() {
        "Environment" => return format!("{name}= {}", variables(old, new)),
        "SetCredential" | "SetCredentialEncrypted" => return format!("{name}= changed"),
        _ => {}
    }
    let short = |value: &str| value.chars().count() <= SHORT;
    // copse's own prefix, which keeps systemd from expanding variables.
    let shown = |value: &str| {
        if name.starts_with("Exec") { value.trim_start_matches(':').to_owned() } else { value.to_owned() }
    };
    match (old.as_slice(), new.as_slice()) {
        ([old], [new]) if short(old) && short(new) => format!("{name}= {} → {}", shown(old), shown(new)),
        ([], [new]) if short(new) => format!("{name}= {} added", shown(new)),
        ([], _) => format!("{name}= added"),
        (_, []) => format!("{name}= removed"),
        _ => format!("{name}= changed"),
    }
}

/// `A, B changed, C added`: the variables in these assignments, and what became of them.
fn variables(old: &[String], new: &[String]) -> String {
    let read = |all: &[String]| -> BTreeMap<String, String> {
        let pair = |value: &String| {
            let (name, value) = value.split_once('=').unwrap_or((value, ""));
            (name.to_owned(), value.to_owned())
        };
        all.iter().map(pair).collect()
    };
    let (before, now) = (read(old), read(new));
    let mut by_fate: [(&str, Vec<&str>); 3] = [("changed", vec![]), ("added", vec![]), ("removed", vec![])];
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    for name in names {
        let fate = match (before.get(name), now.get(name)) {
            (Some(before), Some(now)) if before == now => continue,
            (Some(_), Some(_)) => 0,
            (None, _) => 1,
            (_, None) => 2,
        };
        by_fate[fate].1.push(name);
    }
    let fates = by_fate.iter().filter(|(_, names)| !names.is_empty()).map(|(fate, names)| {
        let more = names.len().saturating_sub(NAMED);
        let shown = names[..names.len() - more].join(", ");
        if more > 0 { format!("{shown}, {more} more {fate}") } else { format!("{shown} {fate}") }
    });
    let text = fates.collect::<Vec<_>>().join(", ");
    // The same variables, in another order.
    if text.is_empty() { "changed".to_owned() } else { text }
}

/// The lines of each directive before and now, as in a unified diff; of several units, all that differ.
pub(super) fn changed_lines(reasons: &[Reason], style: TerminalStyle, text: &mut String) {
    let all = by_directive(reasons);
    let mut sections: Vec<&str> = Vec::new();
    all.iter().flatten().for_each(|one| {
        if !sections.contains(&one.section.as_str()) {
            sections.push(&one.section);
        }
    });
    for section in sections {
        let _ = writeln!(text, "             [{section}]");
        for same in all.iter().filter(|same| same.iter().any(|one| one.section == section)) {
            directive_lines(same, style, text);
        }
    }
}

fn directive_lines(same: &[&Difference], style: TerminalStyle, text: &mut String) {
    let mut lines: Vec<(Tone, String)> = Vec::new();
    for sign in ['-', '+'] {
        for Difference { name, old, new, .. } in same {
            let (tone, these, others) = if sign == '-' { (Tone::Bad, old, new) } else { (Tone::Good, new, old) };
            for value in these.iter().filter(|value| !others.contains(value)) {
                let line = format!("            {sign}{name}={}", one_line(value));
                if !lines.iter().any(|(_, known)| *known == line) {
                    lines.push((tone, line));
                }
            }
        }
    }
    for (tone, line) in lines {
        let _ = writeln!(text, "{}", style.paint(tone, &line));
    }
    let reordered =
        |one: &&&Difference| one.old.len() == one.new.len() && one.old.iter().all(|value| one.new.contains(value));
    if let Some(one) = same.iter().find(reordered) {
        let _ = writeln!(text, "             {}= in another order", one.name);
    }
}
