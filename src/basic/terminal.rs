//! What is drawn on a terminal: columns and colours.

use std::fmt::Write as _;
use std::io::IsTerminal;

use clap::ValueEnum;
use rustix::fd::AsFd;

/// How to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalStyle {
    /// With colours, as ANSI escape sequences.
    pub colour: bool,
    /// Columns.
    pub width: usize,
    /// Now, in microseconds since the epoch: people want to know how long ago, in whatever time zone.
    pub now: u64,
    /// It is about a user's service manager: commands that help say `--user`.
    pub user: bool,
}

/// What a colour stands for; never the only sign of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Good,
    Bad,
    Busy,
    Faint,
}

impl TerminalStyle {
    /// A command that helps, `systemctl` or `copse` with words.
    pub(crate) fn command(self, program: &str, words: &str) -> String {
        format!("{program}{} {words}", if self.user { " --user" } else { "" })
    }

    pub(crate) fn paint(self, colour: Tone, text: &str) -> String {
        let code = match colour {
            Tone::Plain => return text.to_owned(),
            Tone::Good => "32",
            Tone::Bad => "1;31",
            Tone::Busy => "33",
            Tone::Faint => "2",
        };
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// How long ago, shortly: `3h`; empty for never.
    pub(crate) fn ago(self, since: u64, exact: bool) -> String {
        match since {
            0 => String::new(),
            since => span(self.now.saturating_sub(since) / 1_000_000, exact),
        }
    }
}

/// `2d 3h`, or less exact `2d`.
pub(crate) fn span(seconds: u64, exact: bool) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let first = UNITS.iter().position(|(unit, _)| seconds >= *unit).unwrap_or(UNITS.len() - 1);
    let (unit, name) = UNITS[first];
    let mut text = format!("{}{name}", seconds / unit);
    if exact && let Some((smaller, name)) = UNITS.get(first + 1) {
        let rest = seconds % unit / smaller;
        if rest > 0 {
            let _ = write!(text, " {rest}{name}");
        }
    }
    text
}

/// `text` in at most `width` columns.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

/// `lead` and `text` in lines of `width` columns, broken at blanks; all but the first indented. A word that is longer
/// than a line has one of its own.
pub(crate) fn wrap(lead: &str, text: &str, width: usize) -> Vec<String> {
    const INDENT: &str = "    ";
    let mut lines = Vec::new();
    let (mut line, mut begins) = (lead.to_owned(), true);
    for word in text.split(' ') {
        if !begins && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::replace(&mut line, INDENT.to_owned()));
            begins = true;
        }
        if !begins {
            line.push(' ');
        }
        line.push_str(word);
        begins = false;
    }
    lines.push(line);
    lines
}

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless `$NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl ColorChoice {
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
