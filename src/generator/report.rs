//! What is said of groups that can't be generated, in units and to the log.

use super::load::GroupOutcome;
use crate::basic::diagnostic::{At, Code, Diagnostic, Diagnostics, Severity};
use crate::generate;
use crate::generate::{Options, StartedBy};
use crate::model;
use crate::model::Context;
use crate::unit::UnitTree;
use crate::unit::tree::Failure;

/// As much of a message as goes into a `Description=`.
const MESSAGE_MAX: usize = 200;

/// What is written for a broken group that has no good units left.
pub(super) fn invalid(outcome: &GroupOutcome, context: Context, target: Options, masked: bool) -> UnitTree {
    // A link that leads nowhere is no broken file; and the name of a foreign target isn't ours to show an error with.
    if !outcome.diagnostics.has_errors() || outcome.foreign_target {
        return UnitTree::default();
    }
    let errors = outcome.diagnostics.iter().filter(|diagnostic| diagnostic.severity() == Severity::Error);
    let text = errors.map(Diagnostic::line).collect::<Vec<_>>().join("\n");
    let files = [outcome.path.clone()];
    let said = outcome.source.as_ref().and_then(|source| model::wanted_by(source, context.scope));
    let started_by = match said {
        Some(units) => StartedBy::Units(units),
        // Who masked the target doesn't want it started, whatever the file would say.
        None if masked => StartedBy::Units(Vec::new()),
        None => StartedBy::Unknown,
    };
    let message = message(&outcome.diagnostics);
    generate::invalid(&outcome.name, context.scope, target, &started_by, &files, &message, &text)
}

/// The first error (or what there is) in one short line.
pub(super) fn message(diagnostics: &Diagnostics) -> String {
    let first = diagnostics.iter().min_by_key(|diagnostic| diagnostic.severity());
    let mut line = first.map(Diagnostic::line).unwrap_or_default();
    if line.len() > MESSAGE_MAX {
        let end = (0..=MESSAGE_MAX).rev().find(|end| line.is_char_boundary(*end)).unwrap_or(0);
        line.truncate(end);
        line.push('…');
    }
    line
}

/// Says what couldn't be written.
pub(super) fn unwritten(outcome: &GroupOutcome, failure: Failure) -> Diagnostic {
    let place = outcome.group.as_ref().map(|group| At::Location(group.place.clone()));
    let at = place.unwrap_or_else(|| At::Path(outcome.path.clone()));
    let (code, message) = match failure.error {
        None => (Code::Clash, format!("`{}` is there already, made by another generator: left as it is", failure.path)),
        Some(error) => (Code::Write, format!("`{}` can't be written: {error}", failure.path)),
    };
    Diagnostic { code, at, message, related: Vec::new(), help: None }
}
