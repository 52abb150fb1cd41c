//! systemd's reading of values: what a line of a unit means, and for the tests, that what was written means what was meant.
//!
//! Follows systemd.syntax(7) and systemd.service(5), "Command lines": words with quotes and C escapes, specifiers, and
//! the variables of a command line. Strict: what systemd would only warn about is `Err`.

use super::lines::{Line, lines};
use super::{Entry, UnitTree};

/// The directives of a unit file: section, name, value. Continued lines are joined, as systemd does, by a blank.
///
/// # Errors
/// What systemd would ignore.
pub fn directives(text: &str) -> Result<Vec<(String, String, String)>, String> {
    let (mut all, mut section) = (Vec::new(), None);
    for line in lines(text) {
        match line {
            Line::Section(name) => section = Some(name.to_owned()),
            Line::Assignment(name, value) => {
                let section = section.clone().ok_or_else(|| format!("outside of a section: {name:?}"))?;
                all.push((section, name.into_owned(), value.into_owned()));
            }
            Line::Ignored(text) => return Err(format!("no directive: {text:?}")),
        }
    }
    if text.ends_with('\\') { Err("a backslash at the end".to_owned()) } else { Ok(all) }
}

/// Every path of a tree with, of a file, its sections and directives without their values, or, of a link, where it
/// leads: what no text that stands in a value may change.
///
/// # Panics
/// Where a file isn't one that systemd would read as a whole.
pub fn skeleton(tree: &UnitTree) -> Vec<(String, Vec<String>)> {
    let of = |entry: &Entry| match entry {
        Entry::Link(target) => vec![target.display().to_string()],
        Entry::File(text) => {
            let read = directives(text).expect("a unit file");
            read.into_iter().map(|(section, name, _)| format!("[{section}] {name}")).collect()
        }
    };
    tree.entries.iter().map(|(path, entry)| (path.clone(), of(entry))).collect()
}

/// The words of a value, unquoted and unescaped.
///
/// # Errors
/// Quotes that aren't closed, escapes that aren't any, a bare `;` (which separates commands).
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

/// What a backslash and the text after it mean.
fn escape(text: &str) -> Result<(char, &str), String> {
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

/// The character that `xHH`, and the escapes after it where it has more bytes, spell out.
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

/// cunescape(): escapes in text that has no quotes.
///
/// # Errors
/// Escapes that aren't any.
pub fn unescape(text: &str) -> Result<String, String> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c == '\\' {
            let (unescaped, after) = escape(rest)?;
            out.push(unescaped);
            rest = after;
        } else {
            out.push(c);
        }
    }
    Ok(out)
}

/// Specifiers replaced by themselves in angle brackets; only those that copse writes are known.
///
/// # Errors
/// Any other.
pub fn specifiers(text: &str) -> Result<String, String> {
    let (mut out, mut chars) = (String::new(), text.chars());
    while let Some(c) = chars.next() {
        match (c, if c == '%' { chars.next() } else { None }) {
            ('%', Some('%')) => out.push('%'),
            ('%', Some(specifier @ ('i' | 'n' | 'N' | 't' | 'S' | 'C' | 'L' | 'E' | 'd'))) => {
                out.extend(['<', specifier, '>']);
            }
            ('%', other) => return Err(format!("an unknown specifier {other:?} in {text:?}")),
            (c, _) => out.push(c),
        }
    }
    Ok(out)
}

/// What a command line executes; `variable` gives the environment.
///
/// # Errors
/// As [`words`] and [`specifiers`], and a `$` that is no variable.
pub fn argv(command: &str, variable: impl Fn(&str) -> String) -> Result<Vec<String>, String> {
    let mut all = words(command)?;
    let first = all.first_mut().ok_or("an empty command")?;
    let program = first.trim_start_matches(['-', ':']);
    let literal = first[..first.len() - program.len()].contains(':');
    *first = program.to_owned();
    let mut expanded = Vec::new();
    for word in all {
        let word = specifiers(&word)?;
        match word.strip_prefix('$') {
            _ if literal => expanded.push(word),
            Some(name) if !name.starts_with(['{', '$']) => {
                expanded.extend(variable(name).split_whitespace().map(str::to_owned));
            }
            _ => expanded.push(variables(&word, &variable)?),
        }
    }
    Ok(expanded)
}

/// `${NAME}` and `$$` in a word.
fn variables(word: &str, variable: impl Fn(&str) -> String) -> Result<String, String> {
    let (mut out, mut rest) = (String::new(), word);
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else {
            let inner = rest.strip_prefix('{').ok_or_else(|| format!("a bare `$` in {word:?}"))?;
            let (name, after) = inner.split_once('}').ok_or("an open ${")?;
            out.push_str(&variable(name));
            rest = after;
        }
    }
    out.push_str(rest);
    Ok(out)
}
