//! What is drawn on a terminal: columns, colors, spans of time.

use std::io::IsTerminal;

use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use rustix::fd::AsFd;
use textwrap::{Options, WordSeparator, WordSplitter};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// How to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalStyle {
    pub colour: bool,
    /// Columns.
    pub width: usize,
    /// The time in microseconds since the epoch.
    pub now: u64,
    /// It is about a user's service manager: remedies have `--user`.
    pub user: bool,
}

/// What a color stands for. A sign or a word always says the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Good,
    Bad,
    Busy,
    Faint,
}

impl TerminalStyle {
    /// `PROGRAM ARGS`, for copse(1) and systemctl(1) with `--user` if needed.
    pub(crate) fn command(self, program: &str, args: &str) -> String {
        format!("{program}{} {args}", if self.user { " --user" } else { "" })
    }

    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        paint(self.colour, tone, text)
    }

    /// The time since `since` (microseconds since the epoch), as [`span`]; empty for 0, which is systemd's "never".
    pub(crate) fn ago(self, since: u64, exact: bool) -> String {
        match since {
            0 => String::new(),
            since => span(self.now.saturating_sub(since) / 1_000_000, exact),
        }
    }
}

/// The text with the color for `tone`, as ANSI escape sequences.
pub(crate) fn paint(color: bool, tone: Tone, text: &str) -> String {
    let style = match tone {
        Tone::Plain => Style::new(),
        Tone::Good => AnsiColor::Green.on_default(),
        Tone::Bad => AnsiColor::Red.on_default().bold(),
        Tone::Busy => AnsiColor::Yellow.on_default(),
        Tone::Faint => Style::new().dimmed(),
    };
    if color { format!("{style}{text}{style:#}") } else { text.to_owned() }
}

/// `2d`, or exactly `2d 3h`.
pub(crate) fn span(seconds: u64, exact: bool) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let first = UNITS.iter().position(|(unit, _)| seconds >= *unit).unwrap_or(UNITS.len() - 1);
    let (unit, name) = UNITS[first];
    let rest = UNITS.get(first + 1).map(|(smaller, name)| (seconds % unit / smaller, name));
    match rest.filter(|(rest, _)| exact && *rest > 0) {
        Some((rest, smaller)) => format!("{}{name} {rest}{smaller}", seconds / unit),
        None => format!("{}{name}", seconds / unit),
    }
}

/// The longest beginning of `text` that fits into `width` columns.
pub(crate) fn take_columns(text: &str, width: usize) -> &str {
    let mut columns = 0;
    let end = text.char_indices().find(|(_, c)| {
        columns += c.width().unwrap_or(0);
        columns > width
    });
    end.map_or(text, |(end, _)| &text[..end])
}

/// `text` in at most `width` columns; a text that is cut ends with an ellipsis.
pub(crate) fn cut(text: &str, width: usize) -> String {
    match text.width() <= width {
        true => text.to_owned(),
        false => format!("{}…", take_columns(text, width.saturating_sub(1))),
    }
}

/// `lead` and `text` in lines of `width` columns, broken at spaces; all but the first are indented by four. A word that
/// is longer than a line has a line of its own.
pub(crate) fn wrap(lead: &str, text: &str, width: usize) -> Vec<String> {
    let options = Options::new(width)
        .initial_indent(lead)
        .subsequent_indent("    ")
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(text, options).into_iter().map(Into::into).collect()
}

/// When to use colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal that has them, unless `$NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl ColorChoice {
    /// Whether to use colors on `stream`.
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

/// The columns of a terminal; `None` if `stream` is not a terminal, or its size is unknown.
pub fn columns(stream: &(impl IsTerminal + AsFd)) -> Option<usize> {
    let columns = rustix::termios::tcgetwinsize(stream).map_or(0, |size| usize::from(size.ws_col));
    (stream.is_terminal() && columns > 0).then_some(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_by_columns_not_characters() {
        for (text, width, expected) in [
            ("web", 3, "web"),
            ("worker", 4, "wor…"),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            // Half a wide character does not fit.
            ("日本語", 4, "日…"),
            // A combining character takes no column.
            ("e\u{301}e\u{301}", 2, "e\u{301}e\u{301}"),
            ("web", 0, "…"),
        ] {
            assert_eq!(cut(text, width), expected, "{text} {width}");
        }
    }

    #[test]
    fn lines_are_broken_at_spaces_where_columns_end() {
        for (lead, text, width, expected) in [
            ("● a   ", "active: b and c", 14, &["● a   active:", "    b and c"][..]),
            ("", "a-long-word b", 5, &["a-long-word", "    b"]),
            ("lead ", "a-long-word", 5, &["lead a-long-word"]),
            ("", "日本 日本 日本", 9, &["日本 日本", "    日本"]),
        ] {
            assert_eq!(wrap(lead, text, width), expected, "{lead}{text}");
        }
    }

    #[test]
    fn spans_have_one_unit_or_two() {
        for (seconds, short, exact) in
            [(0, "0s", "0s"), (59, "59s", "59s"), (3_600, "1h", "1h"), (97_200, "1d", "1d 3h"), (61, "1min", "1min 1s")]
        {
            assert_eq!((span(seconds, false).as_str(), span(seconds, true).as_str()), (short, exact));
        }
    }
}
