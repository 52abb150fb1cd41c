//! Diagnostics for people or programs.

use std::fmt;
use std::io::{IsTerminal, Write as _, stderr};

use clap::{Args, ValueEnum};
use rustix::fd::AsFd;

use super::output::counted;
use crate::basic::diagnostic::snippet::SnippetStyle;
use crate::basic::diagnostic::{Diagnostic, Severity, json, snippet};
use crate::basic::terminal::{ColorChoice, columns};

/// How to print diagnostics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Format {
    /// With an excerpt of the file.
    #[default]
    Auto,
    /// One line each.
    Short,
    /// One JSON object per line.
    Json,
}

#[derive(Debug, Default, Args)]
pub(crate) struct Report {
    /// How to print diagnostics.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "auto")]
    pub(crate) format: Format,

    /// When to use colors.
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
}

/// The width if the stream is not a terminal.
const WIDTH: usize = 100;

impl Report {
    /// The diagnostics as text for `stream`.
    pub(crate) fn text<'d>(
        &self,
        diagnostics: impl IntoIterator<Item = &'d Diagnostic>,
        stream: &(impl IsTerminal + AsFd),
    ) -> String {
        let style = SnippetStyle { colour: self.color.on(stream), width: columns(stream).unwrap_or(WIDTH) };
        let texts = diagnostics.into_iter().map(|diagnostic| match self.format {
            Format::Auto => snippet::render(diagnostic, style),
            Format::Short => diagnostic.line() + "\n",
            Format::Json => json::render(diagnostic) + "\n",
        });
        texts.collect::<Vec<_>>().join(if self.format == Format::Auto { "\n" } else { "" })
    }

    /// Prints the diagnostics on stderr. A closed stderr is ignored.
    pub(crate) fn print<'d>(&self, diagnostics: impl IntoIterator<Item = &'d Diagnostic>) {
        let _ = stderr().write_all(self.text(diagnostics, &stderr()).as_bytes());
    }
}

/// How many diagnostics there are of each severity.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    errors: usize,
    warnings: usize,
    notes: usize,
}

impl Counts {
    pub(crate) fn of<'d>(diagnostics: impl IntoIterator<Item = &'d Diagnostic>) -> Self {
        let mut counts = Self::default();
        for diagnostic in diagnostics {
            *match diagnostic.severity() {
                Severity::Error => &mut counts.errors,
                Severity::Warning => &mut counts.warnings,
                Severity::Note => &mut counts.notes,
            } += 1;
        }
        counts
    }
}

/// `2 errors, 1 warning`, or `nothing wrong`.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [(self.errors, "error"), (self.warnings, "warning"), (self.notes, "note")];
        let some = counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, noun)| counted(count, noun));
        let text = some.collect::<Vec<_>>().join(", ");
        f.write_str(if text.is_empty() { "nothing wrong" } else { &text })
    }
}
