//! Diagnostics on the terminal, in a pipe, or for programs.

use std::fmt;
use std::io::{self, IsTerminal, Write};

use clap::{Args, ValueEnum};
use rustix::fd::AsFd;

use crate::basic::clock;
use crate::basic::diagnostic::{Diagnostic, Severity, json, snippet};
use crate::basic::scope::Scope;
use crate::status::render::Look;

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

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless `$NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The arguments.
#[derive(Debug, Args)]
pub struct Report {
    /// How to show what is wrong.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "auto")]
    pub format: Format,

    /// When to use colours.
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
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

    fn look(&self, stream: &(impl IsTerminal + AsFd)) -> snippet::Look {
        snippet::Look { colour: self.color.on(stream), width: columns(stream).unwrap_or(WIDTH) }
    }
}

impl Color {
    /// Whether `stream` gets colours.
    pub fn on(self, stream: &impl IsTerminal) -> bool {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        match self {
            Self::Auto => stream.is_terminal() && !set("NO_COLOR") && !dumb,
            Self::Always => true,
            Self::Never => false,
        }
    }
}

/// The columns of a terminal; `None` where `stream` isn't one, or doesn't know.
pub fn columns(stream: &(impl IsTerminal + AsFd)) -> Option<usize> {
    let columns = rustix::termios::tcgetwinsize(stream).map_or(0, |size| usize::from(size.ws_col));
    (stream.is_terminal() && columns > 0).then_some(columns)
}

/// Columns of a status or a plan where there is no terminal to ask.
const NARROW: usize = 80;

/// How a status or a plan is drawn on the standard output, now.
pub fn look(color: Color, scope: Scope) -> Look {
    let stdout = io::stdout();
    Look { colour: color.on(&stdout), width: width(), now: clock::now(), user: scope == Scope::User }
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
