//! A strict reader of units, for tests: what systemd would only warn about is an error.

use super::parse::{Line, escape, lines, words};
use super::specifiers::expand;
use super::tree::{Entry, UnitTree};

/// The assignments of a unit file: section, name, value.
///
/// # Errors
/// Lines that systemd would ignore.
pub fn directives(text: &str) -> Result<Vec<(String, String, String)>, String> {
    let (mut directives, mut section) = (Vec::new(), None);
    for line in lines(text) {
        match line {
            Line::Comment(_) => {}
            Line::Section(name) => section = Some(name.to_owned()),
            Line::Assignment(name, value) => {
                let section = section.clone().ok_or_else(|| format!("outside of a section: {name:?}"))?;
                directives.push((section, name.into_owned(), value.into_owned()));
            }
            Line::Ignored(text) => return Err(format!("no assignment: {text:?}")),
        }
    }
    if text.ends_with('\\') { Err("a backslash at the end".to_owned()) } else { Ok(directives) }
}

/// What no text in a value may change: each path of a tree with the target of a link, or with the sections and directives
/// of a file.
///
/// # Panics
/// If systemd would ignore a line of a file.
pub fn skeleton(tree: &UnitTree) -> Vec<(String, Vec<String>)> {
    let skeleton = |entry: &Entry| match entry {
        Entry::Link(target) => vec![target.display().to_string()],
        Entry::File(unit) => {
            let read = directives(&unit.to_string()).expect("a unit file");
            read.into_iter().map(|(section, name, _)| format!("[{section}] {name}")).collect()
        }
    };
    tree.entries.iter().map(|(path, entry)| (path.clone(), skeleton(entry))).collect()
}

/// The text without escapes, where systemd knows no quotes (`cunescape()`).
///
/// # Errors
/// Unknown escapes.
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

/// The text with each specifier as its letter in angle brackets, and `%%` as `%`.
///
/// # Errors
/// A specifier that copse never writes.
pub fn specifiers(text: &str) -> Result<String, String> {
    expand(text, |specifier, expanded| {
        match specifier {
            Some('%') => expanded.push('%'),
            Some(known @ ('i' | 'n' | 'N' | 't' | 'S' | 'C' | 'L' | 'E' | 'd')) => expanded.extend(['<', known, '>']),
            other => return Err(format!("an unknown specifier {other:?} in {text:?}")),
        }
        Ok(())
    })
}

/// The arguments that a command line executes. `variable` gives the environment.
///
/// # Errors
/// As [`words`] and [`specifiers`], and a `$` that begins no variable.
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
