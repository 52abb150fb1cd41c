//! `.env` files, as foreman reads them and as their authors mean them.
//!
//! Nobody wrote down what a `.env` file is. foreman takes `NAME=` and everything behind it, less one pair of quotes round
//! the whole; honcho splits the line as a shell would, and joins the words again; the `dotenv` libraries know comments
//! behind a value, blanks round the `=`, and `export`. People write files for each of them. Here a line is read as its
//! author means it; where foreman or honcho would have read it otherwise ([`tools`]), a diagnostic says so.

mod dialects;

use std::sync::Arc;

use super::lines;
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, SourceFile, SourceLocation};
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
    /// What was left out, or read otherwise than by foreman. No value is in it, not even in the excerpt: they may be
    /// secrets.
    pub diagnostics: Diagnostics,
}

/// Reads a `.env` file. Nothing in it is an error.
pub fn read(file: &Arc<SourceFile>) -> DotEnv {
    let mut found = DotEnv::default();
    let mut by_honcho: Option<(SourceLocation, Vec<&str>)> = None;
    let shown = shown(file);
    for ((_, line), (place, _)) in lines(file).zip(lines(&shown)) {
        let mut say = |code, message| found.diagnostics.push(Diagnostic::new(code, &place, message));
        let of_honcho = dialects::of_honcho(line);
        if of_honcho.is_err() {
            say(
                Code::Otherwise,
                "honcho refuses the file: a quote isn't closed, or nothing is behind a `\\`".to_owned(),
            );
        }
        let (name, value) = match assignment(line) {
            Ok(Some(meant)) => meant,
            Ok(None) => continue,
            Err(why) => {
                say(Code::LeftOut, why);
                continue;
            }
        };
        match dialects::of_foreman(line) {
            None => say(Code::Otherwise, format!("`{name}` is taken; foreman leaves the line out")),
            Some((_, other)) if other != value => {
                let what = "without the blanks, quotes or comment that foreman takes for a part of it";
                say(Code::Otherwise, format!("`{name}` is read {what}"));
            }
            Some(_) => {}
        }
        if of_honcho.is_ok_and(|other| other != Some((name.to_owned(), value.clone()))) {
            let (_, names) = by_honcho.get_or_insert_with(|| (place, Vec::new()));
            if !names.contains(&name) {
                names.push(name);
            }
        }
        set(&mut found.variables, name, value);
    }
    // One for all: honcho reads what isn't quoted without its blanks, and many files are full of it.
    if let Some((place, names)) = by_honcho {
        let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
        let message = format!(
            "honcho reads {} otherwise: it takes quotes, backslashes, blanks and `#` in a value as a shell does, joins the words, and leaves what is empty out",
            names.join(", ")
        );
        found.diagnostics.push(Diagnostic::new(Code::Otherwise, place, message));
    }
    found
}

/// The file as an excerpt may show it: with the names of variables, and nothing else.
fn shown(file: &Arc<SourceFile>) -> Arc<SourceFile> {
    let line = |line: &str| match line.split_once('=') {
        _ if line.trim().is_empty() => String::new(),
        Some((name, _)) if name.split_whitespace().all(is_variable) => format!("{name}=…"),
        _ => "…".to_owned(),
    };
    let text = lines(file).map(|(_, text)| line(text)).collect::<Vec<_>>().join("\n");
    Arc::new(SourceFile { path: file.path.clone(), text })
}

/// Puts a variable in, in place of the one of its name.
pub fn set(variables: &mut Vec<Variable>, name: &str, value: String) {
    match variables.iter_mut().find(|variable| variable.name == name) {
        Some(variable) => variable.value = value,
        None => variables.push(Variable { name: name.to_owned(), value }),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basic::diagnostic::At;

    fn file(text: &str) -> Arc<SourceFile> {
        Arc::new(SourceFile { path: "/srv/.env".into(), text: text.to_owned() })
    }

    fn only(text: &str) -> (Vec<(String, String)>, Vec<String>) {
        let found = read(&file(text));
        let pairs = found.variables.into_iter().map(|variable| (variable.name, variable.value)).collect();
        let said = found.diagnostics.iter().map(|diagnostic| diagnostic.message.clone());
        (pairs, said.filter(|message| !message.starts_with("honcho ")).collect())
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
    fn what_honcho_reads_otherwise_is_said_once() {
        let found = read(&file("A=b\nB=two words\nC='two words'\nD=\nB=three more words\n# it's\n"));
        let said: Vec<String> = found.diagnostics.iter().map(Diagnostic::line).collect();
        assert_eq!(said.len(), 1);
        assert!(
            said[0].starts_with("/srv/.env:2:1: note[works-otherwise]: honcho reads `B`, `D` otherwise:"),
            "{said:?}"
        );
        let found = read(&file("A=it's\n"));
        assert!(found.diagnostics.iter().any(|found| found.message.starts_with("honcho refuses the file")));
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
    fn a_diagnostic_shows_the_name_and_no_value() {
        let found = read(&file("A=1\r\n\r\nexport B=secret\r\nC=x#1\nsecret\n"));
        let lines: Vec<String> = found.diagnostics.iter().map(Diagnostic::line).collect();
        assert_eq!(lines[0], "/srv/.env:3:1: note[works-otherwise]: `B` is taken; foreman leaves the line out");
        assert_eq!(lines[1], "/srv/.env:5:1: warning[left-out]: not `NAME=value`: left out");
        assert!(lines.iter().all(|line| !line.contains("secret")));
        for diagnostic in found.diagnostics.iter() {
            let At::Location(SourceLocation { file, .. }) = &diagnostic.at else { panic!("{diagnostic:?}") };
            assert_eq!(file.text, "A=…\n\nexport B=…\nC=…\n…\n");
        }
    }
}
