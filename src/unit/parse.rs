//! systemd's reading of unit files (systemd.syntax(7), `config_parse()`) and of the values in them: of units that an
//! administrator, a package or an earlier copse wrote.

use std::borrow::Cow;

use super::file::{Section, Unit};
use super::value::Value;

/// A line of a unit file, blanks around it taken off, continued lines joined by a blank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line<'t> {
    Comment(&'t str),
    /// `[Service]`
    Section(&'t str),
    /// `NAME=VALUE`
    Assignment(Cow<'t, str>, Cow<'t, str>),
    /// Something else, which systemd ignores with a warning.
    Ignored(Cow<'t, str>),
}

const BLANKS: [char; 3] = [' ', '\t', '\r'];

/// Reads a unit file. What systemd ignores is left out: lines that are no assignment, and sections that no unit of a
/// group has. Comments in the middle of a continued line are left out, too.
pub fn unit(text: &str) -> Unit {
    let mut lines = lines(text).peekable();
    let mut header: Vec<&str> = Vec::new();
    while let Some(Line::Comment(line)) = lines.next_if(|line| matches!(line, Line::Comment(_))) {
        header.push(line);
    }
    let mut unit = Unit::new(header.join("\n"));
    let (mut section, mut comment) = (None, None::<String>);
    for line in lines {
        match line {
            Line::Comment(text) => match &mut comment {
                None => comment = Some(text.to_owned()),
                Some(comment) => comment.extend(["\n", text]),
            },
            Line::Section(name) => section = Section::ALL.into_iter().find(|section| section.text() == name),
            Line::Assignment(name, value) => {
                let comment = comment.take();
                if let Some(section) = section {
                    comment.into_iter().for_each(|comment| unit.comment(section, comment));
                    unit.push(section, name.into_owned(), Value::read(value.into_owned()));
                }
            }
            Line::Ignored(_) => {}
        }
    }
    unit
}

/// All lines but empty ones.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut rest = text.split('\n');
    std::iter::from_fn(move || {
        let mut continued: Option<String> = None;
        for line in rest.by_ref() {
            let plain = line.trim_matches(BLANKS);
            if let Some(comment) = plain.strip_prefix(['#', ';']) {
                match continued {
                    None => return Some(Line::Comment(comment.strip_prefix(' ').unwrap_or(comment))),
                    Some(_) => continue,
                }
            }
            if plain.is_empty() {
                continue;
            }
            if let Some(before) = line.strip_suffix('\\').filter(|before| !ends_escaped(before)) {
                let whole = continued.get_or_insert_default();
                whole.push_str(before);
                whole.push(' ');
                continue;
            }
            return Some(match continued {
                None => read(plain),
                Some(mut whole) => {
                    whole.push_str(line);
                    joined(&whole)
                }
            });
        }
        // A backslash at the end of the file continues nothing.
        continued.map(|whole| joined(&whole))
    })
}

/// Whether a backslash after `text` would be the second of a pair.
fn ends_escaped(text: &str) -> bool {
    text.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

fn read(line: &str) -> Line<'_> {
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

/// A continued section head is none: systemd ignores a section that is named by joined lines.
fn joined(whole: &str) -> Line<'static> {
    match read(whole.trim_matches(BLANKS)) {
        Line::Assignment(name, value) => Line::Assignment(name.into_owned().into(), value.into_owned().into()),
        _ => Line::Ignored(whole.to_owned().into()),
    }
}

/// The words of a value, unquoted and unescaped (systemd.syntax(7), "Quoting"; systemd.service(5), "Command lines").
///
/// # Errors
/// Unbalanced quotes, unknown escapes, and a bare `;`, which separates commands.
pub fn words(value: &str) -> Result<Vec<String>, String> {
    let (mut all, mut rest) = (Vec::new(), value);
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', '\r']);
        if rest.is_empty() {
            return Ok(all);
        }
        let (word, after) = word(rest)?;
        if word == ";" && rest.starts_with(';') {
            return Err("a bare `;` begins another command".to_owned());
        }
        all.push(word);
        rest = after;
    }
}

/// The first word of `text`, unquoted and unescaped, and what follows it.
fn word(text: &str) -> Result<(String, &str), String> {
    let (mut word, mut quote, mut rest) = (String::new(), None, text);
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match (c, quote) {
            ('\\', _) => {
                let (unescaped, after) = escape(after)?;
                word.push(unescaped);
                after
            }
            (c, Some(open)) if c == open => {
                quote = None;
                after
            }
            ('"' | '\'', None) => {
                quote = Some(c);
                after
            }
            (' ' | '\t' | '\n' | '\r', None) => return Ok((word, rest)),
            (c, _) => {
                word.push(c);
                after
            }
        };
    }
    if quote.is_some() { Err(format!("unbalanced quotes: {text:?}")) } else { Ok((word, "")) }
}

/// The character that a backslash and the text after it stand for, and the rest.
pub(super) fn escape(text: &str) -> Result<(char, &str), String> {
    let c = text.chars().next().ok_or("a backslash at the end")?;
    let rest = &text[c.len_utf8()..];
    let plain = match c {
        'a' => '\x07',
        'b' => '\x08',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        's' => ' ',
        '\\' | '"' | '\'' => c,
        'x' => return bytes(text),
        other => return Err(format!("no escape: \\{other}")),
    };
    Ok((plain, rest))
}

/// The character that `xHH` stands for, with as many escapes after it as it has more bytes.
fn bytes(text: &str) -> Result<(char, &str), String> {
    let (mut bytes, mut rest) = (Vec::new(), text);
    loop {
        let digits = rest
            .strip_prefix('x')
            .and_then(|rest| rest.get(..2))
            .ok_or_else(|| format!("half a character: {text:?}"))?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|error| error.to_string())?);
        rest = &rest[3..];
        match std::str::from_utf8(&bytes) {
            Ok("\0") => return Err("a NUL".to_owned()),
            Ok(character) => return Ok((character.chars().next().ok_or("nothing")?, rest)),
            Err(error) if error.error_len().is_none() => {
                rest = rest.strip_prefix('\\').ok_or_else(|| format!("half a character: {text:?}"))?;
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_as_systemd_does() {
        let assignment = |name: &'static str, value: &'static str| Line::Assignment(name.into(), value.into());
        let section = Line::Section("Unit");
        for (text, expected) in [
            ("", vec![]),
            ("# a\n\n; b\n  #c\n", vec![Line::Comment("a"), Line::Comment("b"), Line::Comment("c")]),
            ("[Unit]\nA=1\n B = 2 \n", vec![section.clone(), assignment("A", "1"), assignment("B", "2")]),
            ("A=1 \\\n  2\nB=3\n", vec![assignment("A", "1    2"), assignment("B", "3")]),
            ("A=1 \\\n# not of it\n\n  2\n", vec![assignment("A", "1    2")]),
            ("A=x\\\\\nB=y\\\\\\\nz\n", vec![assignment("A", "x\\\\"), assignment("B", "y\\\\ z")]),
            ("A=1\\", vec![assignment("A", "1")]),
            ("A=\nB==\n", vec![assignment("A", ""), assignment("B", "=")]),
            ("word\n[Unit\n", vec![Line::Ignored("word".into()), Line::Ignored("[Unit".into())]),
            ("[Un\\\nit]\n", vec![Line::Ignored("[Un it]".into())]),
        ] {
            assert_eq!(lines(text).collect::<Vec<_>>(), expected, "{text:?}");
        }
    }

    #[test]
    fn a_unit_keeps_its_comments_and_loses_what_systemd_ignores() {
        let text = "# top\n#\n; of the file\nA=0\n\n[Unit]\n# why\nA=1\nword\n[Mount]\nB=2\n[Service]\n\n# two\n# lines\nC = 3 \n";
        let written = "# top\n#\n# of the file\n\n[Unit]\n# why\nA=1\n\n[Service]\n# two\n# lines\nC=3\n";
        assert_eq!(unit(text).to_string(), written);
        assert_eq!(unit(written), unit(text));
        assert_eq!(unit("# nothing else\n"), Unit::new("nothing else"));
    }
}
