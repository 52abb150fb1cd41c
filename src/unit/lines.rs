//! The lines of a unit file, as systemd splits them up (systemd.syntax(7), `config_parse()`).

use std::borrow::Cow;

/// What a line is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line<'t> {
    /// `[Service]`
    Section(&'t str),
    /// `Name=value`, blanks around both taken off, continued lines joined by a blank.
    Assignment(Cow<'t, str>, Cow<'t, str>),
    /// Something else, of which systemd says that it ignores it.
    Ignored(Cow<'t, str>),
}

const BLANKS: [char; 3] = [' ', '\t', '\r'];

/// All lines but empty ones and comments, which are left out in the middle of a continued line, too.
pub fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut rest = text.split('\n');
    std::iter::from_fn(move || {
        let mut continued: Option<String> = None;
        for line in rest.by_ref() {
            let plain = line.trim_start_matches(BLANKS);
            if plain.is_empty() || plain.starts_with(['#', ';']) {
                continue;
            }
            if let Some(before) = line.strip_suffix('\\').filter(|before| !ends_escaped(before)) {
                let whole = continued.get_or_insert_default();
                whole.push_str(before);
                whole.push(' ');
                continue;
            }
            return Some(match continued {
                None => read(line),
                Some(mut whole) => {
                    whole.push_str(line);
                    owned(read(&whole))
                }
            });
        }
        // A backslash at the end of the file continues nothing.
        continued.map(|whole| owned(read(&whole)))
    })
}

/// Whether a backslash after this would only be the second of a pair.
fn ends_escaped(text: &str) -> bool {
    text.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

fn read(line: &str) -> Line<'_> {
    let line = line.trim_matches(BLANKS);
    if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return Line::Section(name);
    }
    match line.split_once('=') {
        Some((name, value)) if !line.starts_with('[') => {
            Line::Assignment(name.trim_end_matches(BLANKS).into(), value.trim_start_matches(BLANKS).into())
        }
        _ => Line::Ignored(line.into()),
    }
}

/// A section's head that was continued is none: systemd compares what it finds in one piece, and knows no such section.
fn owned(line: Line<'_>) -> Line<'static> {
    match line {
        Line::Section(name) => Line::Ignored(format!("[{name}]").into()),
        Line::Assignment(name, value) => Line::Assignment(name.into_owned().into(), value.into_owned().into()),
        Line::Ignored(text) => Line::Ignored(text.into_owned().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_as_systemd_does() {
        let assignment = |name: &'static str, value: &'static str| Line::Assignment(name.into(), value.into());
        for (text, expected) in [
            ("", vec![]),
            ("# a\n\n; b\n  # c\n", vec![]),
            ("[Unit]\nA=1\n B = 2 \n", vec![Line::Section("Unit"), assignment("A", "1"), assignment("B", "2")]),
            ("A=1 \\\n  2\nB=3\n", vec![assignment("A", "1    2"), assignment("B", "3")]),
            ("A=1 \\\n# not of it\n\n  2\n", vec![assignment("A", "1    2")]),
            ("A=x\\\\\nB=y\\\\\\\nz\n", vec![assignment("A", "x\\\\"), assignment("B", "y\\\\ z")]),
            ("A=1\\", vec![assignment("A", "1")]),
            ("A=\nB==\n", vec![assignment("A", ""), assignment("B", "=")]),
            ("word\n[Unit\n", vec![Line::Ignored("word".into()), Line::Ignored("[Unit".into())]),
        ] {
            assert_eq!(lines(text).collect::<Vec<_>>(), expected, "{text:?}");
        }
    }
}
