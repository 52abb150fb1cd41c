//! The units of a group whose file is broken and that has no last good version.

use std::path::PathBuf;

use super::marks;
use super::marks::yes;
use super::options::Options;
use super::origin::Origin;
use crate::basic::diagnostic::one_line;
use crate::basic::scope::Scope;
use crate::unit::name;
use crate::unit::name::GroupName;
use crate::unit::{Section, UnitTree, Value};

/// The longest line of the report. Each is a message of its own in the journal.
const LINE: usize = 1_800;

/// What starts a group whose file is broken, so that its failure is seen where the group is missed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartedBy {
    /// These units want the target, as in a valid group.
    Units(Vec<String>),
    /// Unknown: the boot wants the unit that reports the errors. Not the target, which may not be meant to start at boot.
    Unknown,
}

/// A `G.target` whose start fails. `files` are the group's files, `message` is one line for `systemctl status`, and `text`
/// is the report for the journal. What wants a static target is up to its `[Install]`.
pub fn invalid(
    group: &GroupName,
    scope: Scope,
    options: Options,
    started_by: &StartedBy,
    files: &[PathBuf],
    message: &str,
    text: &str,
) -> UnitTree {
    let (mut tree, name, reporter) = (UnitTree::default(), name::target(group), name::own("invalid", group));
    let origin = Origin::generated(scope, files);
    let message = Value::plain(&one_line(message));

    let mut unit = origin.unit();
    unit.push(Section::Unit, "Description", message.clone());
    origin.source_path(&mut unit);
    unit.push(Section::Unit, marks::GROUP, yes());
    unit.push_why(
        Section::Unit,
        "the group file is invalid: this unit reports the errors and fails the start",
        "Requires",
        Value::plain(&reporter),
    );
    unit.push(Section::Unit, "After", Value::plain(&reporter));
    let path = if options.static_target { name::drop_in(&name) } else { name.clone() };
    tree.file(path, unit);
    match started_by {
        _ if options.static_target => {}
        StartedBy::Units(units) => {
            units.iter().for_each(|wanting| tree.link(format!("{wanting}.wants/{name}"), format!("../{name}")));
        }
        StartedBy::Unknown => {
            let file = name::template_of(&reporter).unwrap_or_else(|| reporter.clone());
            tree.link(format!("{}.wants/{reporter}", scope.boot_target()), format!("../{file}"));
        }
    }

    let mut unit = origin.unit();
    unit.push(Section::Unit, "Description", message);
    origin.source_path(&mut unit);
    for line in text.lines().flat_map(short_lines).filter(|line| !line.is_empty()) {
        unit.push(Section::Service, "StandardInputText", Value::input_text(line));
    }
    tree.file(name::drop_in(&reporter), unit);
    tree
}

/// `line` in pieces of at most [`LINE`] bytes.
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
