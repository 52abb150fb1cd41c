//! Diagnostics on the terminal, in a pipe, or for programs.

use super::exit::Exit;
use crate::basic::diagnostic::one_line;
use crate::basic::os_error::{reason, without_number};
use crate::basic::terminal::{ColorChoice, columns};
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use clap::{Args, ValueEnum};
use rustix::fd::AsFd;

use crate::basic::clock;
use crate::basic::diagnostic::{Diagnostic, Severity, json, snippet};
use crate::basic::scope::Scope;
use crate::basic::terminal::TerminalStyle;

/// How to show diagnostics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// With an excerpt of the file.
    Auto,
    /// One line each.
    Short,
    /// One JSON object on one line each.
    Json,
}

/// The arguments.
#[derive(Debug, Args)]
pub struct Report {
    /// How to show what is wrong.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "auto")]
    pub format: Format,

    /// When to use colours.
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
}

/// Columns where there is no terminal to ask.
const WIDTH: usize = 100;

impl Report {
    /// The diagnostics as text for `stream`.
    pub fn text<'d>(
        &self,
        diagnostics: impl IntoIterator<Item = &'d Diagnostic>,
        stream: &(impl IsTerminal + AsFd),
    ) -> String {
        let look = self.look(stream);
        let mut text = String::new();
        for diagnostic in diagnostics {
            match self.format {
                Format::Auto => {
                    if !text.is_empty() {
                        text.push('\n');
                    }
                    text.push_str(&snippet::render(diagnostic, look));
                }
                Format::Short => text.push_str(&(diagnostic.line() + "\n")),
                Format::Json => text.push_str(&(json::render(diagnostic) + "\n")),
            }
        }
        text
    }

    fn look(&self, stream: &(impl IsTerminal + AsFd)) -> snippet::SnippetStyle {
        snippet::SnippetStyle { colour: self.color.on(stream), width: columns(stream).unwrap_or(WIDTH) }
    }
}

/// Columns of a status or a plan where there is no terminal to ask.
const NARROW: usize = 80;

/// How a status or a plan is drawn on the standard output, now.
pub fn look(color: ColorChoice, scope: Scope) -> TerminalStyle {
    let stdout = io::stdout();
    TerminalStyle { colour: color.on(&stdout), width: width(), now: clock::now(), user: scope == Scope::User }
}

/// The columns of what is printed.
pub fn width() -> usize {
    columns(&io::stdout()).unwrap_or(NARROW)
}

/// How many of each kind.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    errors: usize,
    warnings: usize,
    notes: usize,
}

impl Counts {
    /// Counts.
    pub fn of<'d>(diagnostics: impl IntoIterator<Item = &'d Diagnostic>) -> Self {
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

/// `2 errors, 1 warning`; `nothing wrong`
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (count, word) in [(self.errors, "error"), (self.warnings, "warning"), (self.notes, "note")] {
            if count > 0 {
                write!(f, "{separator}{}", counted(count, word))?;
                separator = ", ";
            }
        }
        if separator.is_empty() { f.write_str("nothing wrong") } else { Ok(()) }
    }
}

/// `1 group`, `3 groups`
pub fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// Writes to the standard output. That its reader went away early (`| head`) is no error.
///
/// # Errors
/// Anything else, a full disk for instance.
pub fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

/// The systemctl(1) of a scope, for commands that help.
pub(crate) fn systemctl(scope: Scope) -> &'static str {
    match scope {
        Scope::System => "systemctl",
        Scope::User => "systemctl --user",
    }
}

/// This command in a scope, for commands that help.
pub(crate) fn copse(scope: Scope) -> &'static str {
    match scope {
        Scope::System => "copse",
        Scope::User => "copse --user",
    }
}

/// How long lasts what is written below `/run`, or a user's own part of it, which goes with the last session.
pub(crate) fn passing(scope: Scope) -> &'static str {
    match scope {
        Scope::System => "until the next boot",
        Scope::User => "until your last session ends",
    }
}

/// Says on the standard error what went wrong with the command itself.
pub(crate) fn complain(what: std::fmt::Arguments<'_>) {
    say(&format!("copse: {}", one_line(&without_number(&what.to_string()))));
}

/// Writes a line to the standard error. Whose terminal is gone is told nothing, and loses nothing.
pub(crate) fn say(line: &str) {
    use std::io::Write as _;

    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Says so, and that the verb failed.
pub(crate) fn failed(error: &dyn std::fmt::Display) -> Exit {
    complain(format_args!("{error}"));
    Exit::Failed
}

/// Says that a file couldn't be written, and which exit status that is.
pub(crate) fn unwritten(path: &Path, error: &io::Error) -> Exit {
    let path = one_line(&path.display().to_string());
    let denied = matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem);
    match denied {
        true => complain(format_args!("you may not write `{path}`: {}", reason(error))),
        false => complain(format_args!("`{path}` can't be written: {}", reason(error))),
    }
    if error.kind() == io::ErrorKind::PermissionDenied { Exit::NotAllowed } else { Exit::Failed }
}
