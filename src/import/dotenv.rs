//! `.env` files, as foreman reads them and as their authors mean them.
//!
//! There is no specification. foreman reads `NAME=` and all that follows, without one pair of quotes around it; honcho
//! splits the line as a shell would, and joins the words again; the `dotenv` libraries have comments after a value, blanks
//! around the `=`, and `export`. A line is read here as its author means it, and a diagnostic reports if foreman or honcho
//! would have read it differently ([`dialects`]).

mod dialects;

use std::sync::Arc;

use super::lines;
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, SourceFile, SourceLocation};
use crate::model::{LONGEST_ARGUMENT, is_variable};
use crate::unit::environment_file::can_hold;

/// A variable that systemd accepts, with a value that an environment file can hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub value: String,
}

/// The content of a `.env` file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DotEnv {
    /// Each with its last value, in the order in which they first appear.
    pub variables: Vec<Variable>,
    /// Ignored lines, and differences to foreman and honcho. Values may be secrets: none is in a message or an excerpt.
    pub diagnostics: Diagnostics,
}

/// Reads a `.env` file. Nothing in it is an error.
pub fn read(file: &Arc<SourceFile>) -> DotEnv {
    let mut env = DotEnv::default();
    let mut by_honcho: Option<(SourceLocation, Vec<String>)> = None;
    let shown = without_values(file);
    for ((_, line), (location, _)) in lines(file).zip(lines(&shown)) {
        let honcho = dialects::honcho(line);
        if let Err(reason) = honcho {
            let message = format!("honcho refuses the file: {reason}");
            env.diagnostics.push(Diagnostic::new(Code::Otherwise, &location, message));
        }
        let (name, value) = match assignment(line) {
            Ok(Some(variable)) => variable,
            Ok(None) => continue,
            Err(message) => {
                env.diagnostics.push(Diagnostic::new(Code::LeftOut, &location, message));
                continue;
            }
        };
        let foreman = match dialects::foreman(line) {
            None => Some("; foreman ignores this line"),
            Some((_, other)) if other != value => Some(" without the blanks, quotes or comment that foreman keeps"),
            Some(_) => None,
        };
        if let Some(difference) = foreman {
            let message = format!("`{name}` is read{difference}");
            env.diagnostics.push(Diagnostic::new(Code::Otherwise, &location, message));
        }
        if honcho.is_ok_and(|other| other != Some((name.to_owned(), value.clone()))) {
            let (_, names) = by_honcho.get_or_insert_with(|| (location, Vec::new()));
            let name = format!("`{name}`");
            if !names.contains(&name) {
                names.push(name);
            }
        }
        set(&mut env.variables, name, value);
    }
    // One for all: honcho joins the words of each value without quotes, and many files are full of those.
    if let Some((location, names)) = by_honcho {
        let message = format!(
            "honcho reads {} differently: it handles quotes, backslashes, blanks and `#` as a shell does, joins the words, \
             and ignores empty values",
            names.join(", ")
        );
        env.diagnostics.push(Diagnostic::new(Code::Otherwise, location, message));
    }
    env
}

/// The file as excerpts may show it: the names of the variables.
fn without_values(file: &Arc<SourceFile>) -> Arc<SourceFile> {
    let line = |line: &str| match line.split_once('=') {
        _ if line.trim().is_empty() => String::new(),
        Some((name, _)) if name.split_whitespace().all(is_variable) => format!("{name}=…"),
        _ => "…".to_owned(),
    };
    let text = lines(file).map(|(_, text)| line(text)).collect::<Vec<_>>().join("\n");
    Arc::new(SourceFile { path: file.path.clone(), text })
}

/// Sets a variable, in the place of the one with its name.
pub fn set(variables: &mut Vec<Variable>, name: &str, value: String) {
    match variables.iter_mut().find(|variable| variable.name == name) {
        Some(variable) => variable.value = value,
        None => variables.push(Variable { name: name.to_owned(), value }),
    }
}

/// The variable of a line, as its author means it; `None` for a blank line or a comment.
fn assignment(line: &str) -> Result<Option<(&str, String)>, String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let exported = line.strip_prefix("export").filter(|rest| rest.starts_with([' ', '\t']));
    let is_text = |(name, _): &(&str, &str)| name.trim().chars().any(|c| c.is_whitespace() || "'\"$".contains(c));
    let Some((name, written)) = exported.unwrap_or(line).split_once('=').filter(|pair| !is_text(pair)) else {
        return Err("not `NAME=value`, ignoring the line".to_owned());
    };
    let (name, value) = (name.trim(), value(written));
    let reason = if !is_variable(name) {
        format!("`{name}` is not a variable name (letters, digits and `_`)")
    } else if !can_hold(&value) || name.len() + 1 + value.len() >= LONGEST_ARGUMENT {
        format!("the value of `{name}` does not fit into an environment")
    } else {
        return Ok(Some((name, value)));
    };
    Err(format!("{reason}, ignoring the line"))
}

/// The value that the text after the `=` means.
fn value(written: &str) -> String {
    let trimmed = written.trim();
    if let Some(inner) = trimmed.strip_prefix('\'').and_then(|rest| quoted(rest, '\'')) {
        return inner.to_owned();
    }
    if let Some(inner) = trimmed.strip_prefix('"').and_then(|rest| quoted(rest, '"')) {
        return unescaped(inner);
    }
    // A `#` within a word, or directly after the `=`, begins no comment.
    let comment = written.match_indices('#').map(|(at, _)| at).find(|at| written[..*at].ends_with([' ', '\t']));
    written[..comment.unwrap_or(written.len())].trim().to_owned()
}

/// The text up to the first quote that only a comment follows. A quote within the value (`'it's'`, JSON) does not end it.
fn quoted(rest: &str, quote: char) -> Option<&str> {
    let ends = |at: &usize| {
        let after = &rest[at + 1..];
        after.is_empty() || after.starts_with([' ', '\t']) && after.trim_start().starts_with('#')
    };
    let escaped =
        |at: &usize| quote == '"' && rest[..*at].bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1;
    rest.match_indices(quote).map(|(at, _)| at).find(|at| ends(at) && !escaped(at)).map(|at| &rest[..at])
}

/// `\n` is a newline; another escaped character is itself.
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
        let otherwise = "`A` is read without the blanks, quotes or comment that foreman keeps";
        let left_out = "`A` is read; foreman ignores this line";
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
            said[0].starts_with("/srv/.env:2:1: note[works-otherwise]: honcho reads `B`, `D` differently:"),
            "{said:?}"
        );
        let found = read(&file("A=it's\n"));
        assert!(
            found.diagnostics.iter().any(|found| found.message == "honcho refuses the file: a quote is not closed")
        );
    }

    #[test]
    fn what_is_no_assignment_is_left_out_and_its_text_isnt_repeated() {
        for (line, remark) in [
            ("lol$wut", "not `NAME=value`, ignoring the line"),
            ("source secret=x", "not `NAME=value`, ignoring the line"),
            ("A.B=x", "`A.B` is not a variable name (letters, digits and `_`), ignoring the line"),
            ("1A=x", "`1A` is not a variable name (letters, digits and `_`), ignoring the line"),
            ("A=a\0b", "the value of `A` does not fit into an environment, ignoring the line"),
            ("A=\u{fffe}", "the value of `A` does not fit into an environment, ignoring the line"),
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
        assert_eq!(lines[0], "/srv/.env:3:1: note[works-otherwise]: `B` is read; foreman ignores this line");
        assert_eq!(lines[1], "/srv/.env:5:1: warning[left-out]: not `NAME=value`, ignoring the line");
        assert!(lines.iter().all(|line| !line.contains("secret")));
        for diagnostic in found.diagnostics.iter() {
            let At::Location(SourceLocation { file, .. }) = &diagnostic.at else { panic!("{diagnostic:?}") };
            assert_eq!(file.text, "A=…\n\nexport B=…\nC=…\n…\n");
        }
    }
}
