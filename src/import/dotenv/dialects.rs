//! How foreman and honcho themselves read a line of a `.env` file.

/// The variable that foreman takes from the line (lib/foreman/env.rb of 0.90): `None` if it doesn't.
pub(super) fn of_foreman(line: &str) -> Option<(&str, String)> {
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

/// honcho refuses the whole file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refused;

/// The variable that honcho takes from the line (`parse` in honcho/environ.py of 2.0): `None` if it doesn't.
pub(super) fn of_honcho(line: &str) -> Result<Option<(String, String)>, Refused> {
    // There are more line ends to Python.
    let mut values = None;
    for line in line.split(['\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}']) {
        let tokens = tokens(line)?;
        let [name, is, value @ ..] = tokens.as_slice() else { continue };
        if is == "=" && !value.is_empty() && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            values = Some((name.clone(), value.concat().replace("\\n", "\n").replace("\\t", "\t")));
        }
    }
    Ok(values)
}

/// `list(shlex.shlex(line, posix=True))`: words, with what is quoted in them, and every other character alone.
fn tokens(line: &str) -> Result<Vec<String>, Refused> {
    // What Latin-1 has of letters, but for `ª`, `µ`, `º`, belongs to a word.
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || matches!(c, 'À'..='ÿ') && !matches!(c, '×' | '÷');
    let mut tokens = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\n' => tokens.extend(word.take()),
            '#' => break,
            '\\' => word.get_or_insert_default().push(chars.next().ok_or(Refused)?),
            '\'' | '"' => quoted(c, &mut chars, word.get_or_insert_default())?,
            c if is_word(c) => word.get_or_insert_default().push(c),
            c => {
                tokens.extend(word.take());
                tokens.push(c.to_string());
            }
        }
    }
    tokens.extend(word);
    Ok(tokens)
}

/// Reads up to the closing quote.
fn quoted(quote: char, chars: &mut std::str::Chars<'_>, into: &mut String) -> Result<(), Refused> {
    loop {
        match chars.next().ok_or(Refused)? {
            c if c == quote => return Ok(()),
            '\\' if quote == '"' => {
                let escaped = chars.next().ok_or(Refused)?;
                if !matches!(escaped, '\\' | '"') {
                    into.push('\\');
                }
                into.push(escaped);
            }
            c => into.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_honcho_reads() {
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
            assert_eq!(of_honcho(line), Ok(expected), "{line}");
        }
        for line in ["A=it's", "A=\"", "# it's fine\rA='", "A=\\"] {
            assert_eq!(of_honcho(line), Err(Refused), "{line}");
        }
    }
}
