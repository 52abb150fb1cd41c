//! A line of a `.env` file as foreman and honcho read it.

use crate::import::shlex;

/// The variable that foreman reads (lib/foreman/env.rb of 0.90); `None` if it ignores the line.
pub(super) fn foreman(line: &str) -> Option<(&str, String)> {
    let (name, written) = line.split_once('=')?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let between = |quote| written.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    let value = match (between('\''), between('"')) {
        (Some(inner), _) => inner.to_owned(),
        (None, Some(inner)) => unescaped(&inner.replace("\\n", "\n")),
        (None, None) => written.to_owned(),
    };
    is_name.then_some((name, value))
}

/// Without each backslash that a character, but for a newline, follows.
fn unescaped(text: &str) -> String {
    let mut value = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some(next)) if *next != '\n' => value.extend(chars.next()),
            _ => value.push(c),
        }
    }
    value
}

/// The variable that honcho reads (`parse` in honcho/environ.py of 2.0); `None` if it ignores the line.
///
/// # Errors
/// honcho refuses the whole file.
pub(super) fn honcho(line: &str) -> Result<Option<(String, String)>, &'static str> {
    let mut variable = None;
    // The line ends of Python's `str.splitlines`.
    for line in line.split(['\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}']) {
        let tokens = shlex::posix(&line.chars().collect::<Vec<_>>(), false)?;
        let tokens: Vec<String> = tokens.into_iter().map(String::from_iter).collect();
        let [name, equals, value @ ..] = &tokens[..] else { continue };
        if equals == "=" && !value.is_empty() && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            variable = Some((name.clone(), value.concat().replace("\\n", "\n").replace("\\t", "\t")));
        }
    }
    Ok(variable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn honcho_reads_as_a_shell() {
        for (line, value) in [
            ("A=plain", Some("plain")),
            ("A=two words", Some("twowords")),
            ("A = b", Some("b")),
            ("A='two words' # c", Some("two words")),
            ("A=a#b", Some("a")),
            ("A=\"a\\nb\\\"\"", Some("a\nb\"")),
            ("A=C:\\new", Some("C:new")),
            ("A=é日=", Some("é日=")),
            ("A=''", Some("")),
            ("A=", None),
            ("A=#fff", None),
            ("export A=b", None),
            ("A.B=c", None),
            ("1A=b", None),
        ] {
            let expected = value.map(|value| ("A".to_owned(), value.to_owned()));
            assert_eq!(honcho(line), Ok(expected), "{line}");
        }
        for line in ["A=it's", "A=\"", "# it's fine\rA='", "A=\\"] {
            assert!(honcho(line).is_err(), "{line}");
        }
    }
}
