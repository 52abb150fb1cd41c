//! `.env` files, as foreman reads them and as their authors mean them.
//!
//! Nobody wrote down what a `.env` file is. foreman (lib/foreman/env.rb) takes `NAME=` and everything behind it, less one
//! pair of quotes round the whole. honcho and the `dotenv` libraries also know comments behind a value, blanks round the
//! `=`, and `export`, and people write files for those. Here both are read; where foreman would have read the line
//! otherwise, a [`Remark`] says so.

use super::Remark;
use crate::model::{LONGEST_WORD, is_variable};
use crate::unit::environment_file::can_hold;

/// A variable and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name, which systemd takes.
    pub name: String,
    /// Its value, which an environment file can hold.
    pub value: String,
}

/// What a `.env` file says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DotEnv {
    /// Each variable once, with its last value, in the order in which they first stand.
    pub variables: Vec<Variable>,
    /// What was left out, or read otherwise than by foreman. No value is in it: they may be secrets.
    pub remarks: Vec<Remark>,
}

/// Reads the text of a `.env` file. Nothing in it is an error.
#[must_use]
pub fn read(text: &str) -> DotEnv {
    let mut found = DotEnv::default();
    for (at, line) in lines(text) {
        let meant = assignment(line);
        let (name, value) = match meant {
            Ok(Some(meant)) => meant,
            Ok(None) => continue,
            Err(why) => {
                found.remarks.push(Remark::left_out(at, why));
                continue;
            }
        };
        match of_foreman(line) {
            None => found.remarks.push(Remark::new(at, format!("`{name}` is taken; foreman leaves the line out"))),
            Some((_, other)) if other != value => {
                let what = "without the blanks, quotes or comment that foreman takes for a part of it";
                found.remarks.push(Remark::new(at, format!("`{name}` is read {what}")));
            }
            Some(_) => {}
        }
        set(&mut found.variables, name, value);
    }
    found
}

/// Puts a variable in, in place of the one of its name.
pub fn set(variables: &mut Vec<Variable>, name: &str, value: String) {
    match variables.iter_mut().find(|variable| variable.name == name) {
        Some(variable) => variable.value = value,
        None => variables.push(Variable { name: name.to_owned(), value }),
    }
}

/// The lines of a file that may come from anywhere, with their numbers. A carriage return alone ends none.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)))
}

/// The variable of a line and what its author means it to be; `None` for a blank line or a comment.
fn assignment(line: &str) -> Result<Option<(&str, String)>, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let exported = line.strip_prefix("export").filter(|rest| rest.starts_with([' ', '\t']));
    let Some((name, written)) = exported.unwrap_or(line).split_once('=') else {
        return Err("not `NAME=value`: left out".to_owned());
    };
    let name = name.trim();
    if !is_variable(name) {
        return Err(match name.chars().any(|c| c.is_whitespace() || "'\"$".contains(c)) {
            true => "not `NAME=value`: left out".to_owned(),
            false => format!("`{name}` can't be a variable's name: left out (letters, digits and `_`)"),
        });
    }
    let value = value(written);
    match can_hold(&value) && name.len() + 1 + value.len() < LONGEST_WORD {
        true => Ok(Some((name, value))),
        false => Err(format!("`{name}` holds more than an environment can carry: left out")),
    }
}

/// A value as it is meant: what stands behind the `=`.
fn value(written: &str) -> String {
    let trimmed = written.trim();
    if let Some(inner) = trimmed.strip_prefix('\'').and_then(|rest| quoted(rest, '\'')) {
        return inner.to_owned();
    }
    if let Some(inner) = trimmed.strip_prefix('"').and_then(|rest| quoted(rest, '"')) {
        return unescaped(inner);
    }
    // A `#` in the middle of a word, or at once behind the `=`, is a part of it.
    let comment = written.match_indices('#').map(|(at, _)| at).find(|at| written[..*at].ends_with([' ', '\t']));
    written[..comment.unwrap_or(written.len())].trim().to_owned()
}

/// What stands between the quotes: `rest` up to the first of them behind which nothing but a comment comes. A quote in
/// the middle of the value (`'it's'`, JSON) doesn't end it.
fn quoted(rest: &str, quote: char) -> Option<&str> {
    let ends = |at: &usize| {
        let behind = &rest[at + 1..];
        behind.is_empty() || behind.starts_with([' ', '\t']) && behind.trim_start().starts_with('#')
    };
    let escaped =
        |at: &usize| quote == '"' && rest[..*at].bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1;
    rest.match_indices(quote).map(|(at, _)| at).find(|at| ends(at) && !escaped(at)).map(|at| &rest[..at])
}

/// `\n` is a newline; of another character behind a `\` only the character stays.
fn unescaped(inner: &str) -> String {
    let mut value = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => value.extend(chars.next().map(|c| if c == 'n' { '\n' } else { c }).or(Some('\\'))),
            c => value.push(c),
        }
    }
    value
}

/// How foreman 0.87 reads the line (lib/foreman/env.rb): `None` if it doesn't.
fn of_foreman(line: &str) -> Option<(&str, String)> {
    let (name, written) = line.split_once('=')?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let between = |quote| written.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    is_name.then(|| match (between('\''), between('"')) {
        (Some(inner), _) => (name, inner.to_owned()),
        // First every `\n` is replaced, then each `\` that has a character behind it goes.
        (None, Some(inner)) => (name, {
            let mut value = String::new();
            let newlines = inner.replace("\\n", "\n");
            let mut chars = newlines.chars().peekable();
            while let Some(c) = chars.next() {
                match (c, chars.peek()) {
                    ('\\', Some(next)) if *next != '\n' => value.extend(chars.next()),
                    _ => value.push(c),
                }
            }
            value
        }),
        (None, None) => (name, written.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> (Vec<(String, String)>, Vec<String>) {
        let found = read(text);
        let pairs = found.variables.into_iter().map(|variable| (variable.name, variable.value)).collect();
        (pairs, found.remarks.into_iter().map(|remark| remark.text).collect())
    }

    #[test]
    fn what_foreman_and_everybody_else_read_alike() {
        for (line, value) in [
            ("A=plain", "plain"),
            ("A=", ""),
            ("A=two words", "two words"),
            ("A=a=b", "a=b"),
            ("A=postgres://u:p%40@h/db?x=1#frag", "postgres://u:p%40@h/db?x=1#frag"),
            ("A=#fff", "#fff"),
            ("A='single $HOME \\n'", "single $HOME \\n"),
            ("A='it's'", "it's"),
            ("A=\"double\"", "double"),
            ("A=\"one\\ntwo\"", "one\ntwo"),
            ("A=\"say \\\"hi\\\"\"", "say \"hi\""),
            ("A=\"{\"a\": 1}\"", "{\"a\": 1}"),
            ("A=\"back\\\\slash\"", "back\\slash"),
            ("A='a # b'", "a # b"),
            ("A=C:\\new", "C:\\new"),
            ("A=$OTHER", "$OTHER"),
            ("A='", "'"),
            ("A=windows\r", "windows"),
        ] {
            assert_eq!(only(line), (vec![("A".to_owned(), value.to_owned())], Vec::new()), "{line}");
        }
    }

    #[test]
    fn what_foreman_reads_otherwise_is_remarked() {
        let otherwise = "`A` is read without the blanks, quotes or comment that foreman takes for a part of it";
        let left_out = "`A` is taken; foreman leaves the line out";
        for (line, value, remark) in [
            ("A=bar # comment", "bar", otherwise),
            ("A=bar\t# comment", "bar", otherwise),
            ("A= # comment", "", otherwise),
            ("A='bar' # it's", "bar", otherwise),
            ("A=\"bar\" # comment", "bar", otherwise),
            ("A= bar ", "bar", otherwise),
            ("A=\"a\\\\nb\"", "a\\nb", otherwise),
            ("A = bar", "bar", left_out),
            ("  A=bar", "bar", left_out),
            ("export A=bar", "bar", left_out),
            ("export\tA='b r'", "b r", left_out),
        ] {
            assert_eq!(only(line), (vec![("A".to_owned(), value.to_owned())], vec![remark.to_owned()]), "{line}");
        }
    }

    #[test]
    fn what_is_no_assignment_is_left_out_and_its_text_isnt_repeated() {
        for (line, remark) in [
            ("lol$wut", "not `NAME=value`: left out"),
            ("source secret=x", "not `NAME=value`: left out"),
            ("A.B=x", "`A.B` can't be a variable's name: left out (letters, digits and `_`)"),
            ("1A=x", "`1A` can't be a variable's name: left out (letters, digits and `_`)"),
            ("A=a\0b", "`A` holds more than an environment can carry: left out"),
            ("A=\u{fffe}", "`A` holds more than an environment can carry: left out"),
        ] {
            assert_eq!(only(line), (Vec::new(), vec![remark.to_owned()]), "{line:?}");
        }
        assert_eq!(only("\n# A=b\n   \n\t# c\n"), (Vec::new(), Vec::new()));
    }

    #[test]
    fn the_last_value_counts_in_the_place_of_the_first() {
        let found = only("A=1\nB=2\nA=3\n");
        assert_eq!(found.0, [("A".to_owned(), "3".to_owned()), ("B".to_owned(), "2".to_owned())]);
    }

    #[test]
    fn a_remark_names_its_line() {
        assert_eq!(read("A=1\r\n\r\nexport B=2\r\n").remarks[0].line, 3);
    }
}
