//! What units and diagnostics say about a group that cannot be generated.

use super::load::GroupOutcome;
use crate::basic::diagnostic::{At, Code, Diagnostic, Diagnostics, Severity};
use crate::generate;
use crate::generate::{Options, StartedBy};
use crate::model;
use crate::model::Context;
use crate::unit::UnitTree;
use crate::unit::tree::write::Failure;

/// The longest message in a `Description=`, in bytes.
const MESSAGE_MAX: usize = 200;

/// The units of a broken group that has no last good version.
pub(super) fn invalid(outcome: &GroupOutcome, context: Context, options: Options, masked: bool) -> UnitTree {
    // A dangling link is no broken file, and a foreign target must not be hidden to show an error.
    if !outcome.diagnostics.has_errors() || outcome.foreign_target {
        return UnitTree::default();
    }
    let errors = outcome.diagnostics.iter().filter(|diagnostic| diagnostic.severity() == Severity::Error);
    let text = errors.map(Diagnostic::line).collect::<Vec<_>>().join("\n");
    let files = [outcome.path.clone()];
    let wanted_by = outcome.source.as_ref().and_then(|source| model::wanted_by(source, context.scope));
    let started_by = match wanted_by {
        Some(units) => StartedBy::Units(units),
        // An administrator who masked the target does not expect it to start.
        None if masked => StartedBy::Units(Vec::new()),
        None => StartedBy::Unknown,
    };
    let message = message(&outcome.diagnostics);
    generate::invalid(&outcome.name, context.scope, options, &started_by, &files, &message, &text)
}

/// The first error, or else the first diagnostic, in one short line.
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

/// A file of a group that could not be written.
pub(super) fn unwritten(outcome: &GroupOutcome, failure: Failure) -> Diagnostic {
    let place = outcome.group.as_ref().map(|group| At::Location(group.location.clone()));
    let at = place.unwrap_or_else(|| At::Path(outcome.path.clone()));
    let (code, message) = match failure.error {
        None => (Code::Clash, format!("`{}` of another generator already exists, not overwriting", failure.path)),
        Some(error) => (Code::Write, format!("cannot write `{}`: {error}", failure.path)),
    };
    Diagnostic { code, at, message, related: Vec::new(), help: None }
}

/// An orphaned unit that could not be written.
pub(super) fn not_kept(failure: Failure) -> Diagnostic {
    let why = failure.error.map_or("the file of another generator exists".to_owned(), |error| error.to_string());
    let message = format!("cannot keep the unit of a removed process that still runs: {why}");
    Diagnostic::file(Code::Write, failure.path, message)
}
