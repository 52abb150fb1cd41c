//! Text with placeholders, as Kubernetes takes it.

use std::collections::BTreeMap;

use crate::model::{Piece, Text};

/// What placeholders stand for in one container.
#[derive(Debug, Clone)]
pub struct Expansion<'a> {
    pub instance: Option<&'a str>,
    /// `{unit}`: the name of the unit on a machine.
    pub unit: String,
    /// `{credentials-directory}`
    pub credentials: String,
}

impl Expansion<'_> {
    /// The text of a path, or of a value in which variables are not possible.
    pub fn literal(&self, text: &Text) -> String {
        self.pieces(text, |literal, _| literal.to_owned(), |name| format!("$({name})"))
    }

    /// An argument, or the value of a variable: Kubernetes replaces `$(NAME)` when the container starts.
    pub fn expanded(&self, text: &Text) -> String {
        self.pieces(text, escape, |name| format!("$({name})"))
    }

    /// With the values of variables. The error is the name of one that has no value.
    pub fn resolved<'t>(&self, text: &'t Text, variables: &BTreeMap<String, Text>) -> Result<String, &'t str> {
        let missing = text.pieces().iter().find_map(|piece| match piece {
            Piece::Env(name) | Piece::EnvWords(name) if !variables.contains_key(name) => Some(name.as_str()),
            _ => None,
        });
        if let Some(name) = missing {
            return Err(name);
        }
        let value = |name: &str| variables.get(name).map(|value| self.literal(value)).unwrap_or_default();
        Ok(self.pieces(text, |literal, _| literal.to_owned(), value))
    }

    fn pieces(&self, text: &Text, literal: impl Fn(&str, bool) -> String, variable: impl Fn(&str) -> String) -> String {
        let mut expanded = String::new();
        // Escaped as one: a `$` at the end of one piece and a `(` at the start of the next are a reference, too.
        let mut plain = String::new();
        for piece in text.pieces() {
            match piece {
                Piece::Literal(text) => plain.push_str(text),
                Piece::Instance => plain.push_str(self.instance.unwrap_or_default()),
                Piece::Unit => plain.push_str(&self.unit),
                Piece::Directory(kind, name) => plain.push_str(&format!("{}{}", kind.base(), self.literal(name))),
                Piece::CredentialsDirectory => plain.push_str(&self.credentials),
                Piece::Env(name) | Piece::EnvWords(name) => {
                    // A `$` right before a reference would be its escape.
                    expanded.push_str(&literal(&std::mem::take(&mut plain), true));
                    expanded.push_str(&variable(name));
                }
            }
        }
        expanded + &literal(&plain, false)
    }
}

/// Text that Kubernetes expands to itself: `$(NAME)` would be a reference, and `$$` is one `$`
/// (third_party/forked/golang/expansion in its source). A `$` before any other ASCII character stands for itself; before
/// another one the first byte of that would become a character. What needs no escape gets none, also for the sake of
/// podman, which expands commands, but not the values of variables.
pub fn escaped(text: &str) -> String {
    escape(text, false)
}

/// As [`escaped`], for text that a reference may follow.
fn escape(text: &str, is_followed: bool) -> String {
    let mut escaped = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        escaped.push(c);
        let is_plain = chars.peek().map_or(!is_followed, |next| next.is_ascii() && !matches!(next, '$' | '('));
        // The second `$` of a run is written together with the first.
        if c == '$' && !is_plain {
            escaped.push('$');
        }
    }
    escaped
}

/// What Kubernetes makes of a text, as its `expansion.Expand` does.
#[cfg(test)]
pub fn expand(text: &str, variable: impl Fn(&str) -> Option<String>) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut expanded = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let next = bytes.get(at + 1);
        match (bytes[at], next) {
            (b'$', Some(b'$')) => {
                expanded.push(b'$');
                at += 2;
            }
            (b'$', Some(b'(')) => match text[at + 2..].find(')') {
                Some(length) => {
                    let name = &text[at + 2..at + 2 + length];
                    expanded.extend(variable(name).unwrap_or_else(|| format!("$({name})")).bytes());
                    at += length + 3;
                }
                None => {
                    expanded.extend(b"$(");
                    at += 2;
                }
            },
            (b'$', Some(byte)) => {
                expanded.push(b'$');
                expanded.extend(char::from(*byte).to_string().bytes());
                at += 2;
            }
            (byte, _) => {
                expanded.push(byte);
                at += 1;
            }
        }
    }
    expanded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_would_be_expanded_is_escaped() {
        for (text, expected) in [
            ("$HOME ${HOME} $1", "$HOME ${HOME} $1"),
            ("$(HOME)", "$$(HOME)"),
            ("$$", "$$$"),
            ("$$(A)", "$$$$(A)"),
            ("a$", "a$"),
            ("$ä", "$$ä"),
        ] {
            assert_eq!(escaped(text), expected);
            assert_eq!(String::from_utf8(expand(&escaped(text), |_| None)).unwrap(), text);
        }
    }

    #[test]
    fn a_dollar_before_a_reference_stays_one() {
        let text = Text::from(vec![Piece::Literal("$".to_owned()), Piece::Env("A".to_owned())]);
        let at = Expansion { instance: None, unit: String::new(), credentials: String::new() };
        let expanded = expand(&at.expanded(&text), |name| (name == "A").then(|| "x".to_owned()));
        assert_eq!(String::from_utf8(expanded).unwrap(), "$x");
    }
}
