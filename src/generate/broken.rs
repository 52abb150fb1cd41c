//! What is written where a definition is missing: for a group whose file is broken, and for a process that left its group.

use std::path::PathBuf;

use super::Options;
use super::context::{origin, place_of_changes, source_path};
use super::pin::unpinned;
use super::target::drop_in_path;
use crate::basic::diagnostic::one_line;
use crate::basic::scope::Scope;
use crate::unit::name;
use crate::unit::name::GroupName;
use crate::unit::{Section, Unit, UnitTree, Value};

/// What marks a unit that its group no longer has. In the unit, so that whoever reads it there (systemd ignores `X-`)
/// sees it too.
const GONE: &str = "X-CopseGone=yes";

/// The longest line of a diagnosis; each goes to the journal as a message of its own.
const LINE: usize = 1_800;

/// What starts a group whose file is broken, so that its failure is seen wherever the group would be missed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartedBy {
    /// These units want the target, as they would want that of a good group.
    Units(Vec<String>),
    /// The file doesn't say: the boot asks what reports the mistake. Not the target, which may be one that nobody wants
    /// to start, with units of an administrator's below it.
    Unknown,
}

/// The units of a group whose file is broken, and of which no good ones are left from earlier in this boot: a
/// `G.target` whose start fails. `files` are the group's files, `message` is one line for `systemctl status`, `text`
/// the whole diagnosis for the journal. A static target is started by whoever enabled it.
pub fn invalid(
    group: &GroupName,
    scope: Scope,
    target: Options,
    started_by: &StartedBy,
    files: &[PathBuf],
    message: &str,
    text: &str,
) -> UnitTree {
    let (mut tree, name, reporter) = (UnitTree::default(), name::target(group), name::own("invalid", group));
    let message = one_line(message);
    let message = Value::plain(&message);

    let mut unit = Unit::new(&[&origin(files), &place_of_changes(scope, &name)]);
    unit.push(Section::Unit, "Description", message.clone());
    if let Some(path) = source_path(files) {
        unit.push(Section::Unit, "SourcePath", path);
    }
    unit.push(Section::Unit, "X-CopseGroup", Value::fixed("yes"));
    unit.push_why(
        Section::Unit,
        "the group file can't be used, so starting the group has to fail: this reports why and does",
        "Requires",
        Value::plain(&reporter),
    );
    unit.push(Section::Unit, "After", Value::plain(&reporter));
    let path = if target.static_target { drop_in_path(&name) } else { name.clone() };
    tree.file(path, &unit);
    match started_by {
        _ if target.static_target => {}
        StartedBy::Units(units) => {
            units.iter().for_each(|wanting| tree.link(format!("{wanting}.wants/{name}"), format!("../{name}")));
        }
        StartedBy::Unknown => {
            let file = name::template_of(&reporter).unwrap_or_else(|| reporter.clone());
            tree.link(format!("{}.wants/{reporter}", scope.boot_target()), format!("../{file}"));
        }
    }

    let mut unit = Unit::new(&[&origin(files), &place_of_changes(scope, &reporter)]);
    unit.push(Section::Unit, "Description", message);
    if let Some(path) = source_path(files) {
        unit.push(Section::Unit, "SourcePath", path);
    }
    for line in text.lines().flat_map(short_lines).filter(|line| !line.is_empty()) {
        unit.push(Section::Service, "StandardInputText", Value::input_text(line));
    }
    tree.file(drop_in_path(&reporter), &unit);
    tree
}

/// `line` in pieces that are short enough, never in the middle of a character.
fn short_lines(line: &str) -> Vec<&str> {
    let (mut pieces, mut rest) = (Vec::new(), line);
    while rest.len() > LINE {
        let end = (0..=LINE).rev().find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces.push(rest);
    pieces
}

/// The text of a unit whose process left its group while running, marked as such and without the file that it came from.
/// Everything else stays: how it is stopped, and that it stops with its group. Marking twice changes nothing. A text
/// without `[Unit]` (no unit of copse's) gets the section.
pub fn gone(unit: &str) -> String {
    if is_gone(unit) {
        return unit.to_owned();
    }
    let why = "no longer in its group: kept until it is stopped, because how to stop it stands here";
    // Where the file is gone as well, systemctl would say for ever that it changed since.
    let lines = unit.split_inclusive('\n').filter(|line| !line.starts_with("SourcePath="));
    marked(&unpinned(&lines.collect::<String>()), &mark(why, GONE))
}

/// Whether a unit's text carries the mark of [`gone`].
pub fn is_gone(unit: &str) -> bool {
    unit.lines().any(|line| line == GONE)
}

/// A line for `[Unit]`, with why it is there.
pub(super) fn mark(why: &str, line: &str) -> String {
    format!("# {why}\n{line}\n")
}

/// A unit's text with `mark` on top of `[Unit]`.
pub(super) fn marked(unit: &str, mark: &str) -> String {
    match unit.split_once("[Unit]\n") {
        Some((before, after)) if before.is_empty() || before.ends_with('\n') => {
            format!("{before}[Unit]\n{mark}{after}")
        }
        _ => format!("{unit}\n[Unit]\n{mark}"),
    }
}

/// The units without which this one wouldn't be stopped, or fenced, as before; templates for instances.
pub fn leans_on(unit: &str) -> impl Iterator<Item = String> {
    let lines = unit.lines().filter_map(|line| line.split_once('='));
    let values = lines.filter(|(key, _)| matches!(*key, "PartOf" | "Slice" | "Sockets" | "Requires"));
    let words = values.flat_map(|(_, value)| value.split_ascii_whitespace());
    words.flat_map(|word| [Some(word.to_owned()), name::template_of(word)]).flatten()
}
