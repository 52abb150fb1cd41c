//! Expanded texts as texts of a group file.

use crate::import::supervisord::python_format::{Expanded, Part};
use crate::model::{Piece, Text, is_variable};

/// A word of a command. An unquoted variable may become several words, or none, as it may with supervisord. `None` if
/// systemd cannot have the variable.
pub(super) fn argument(word: &Expanded) -> Option<Text> {
    match &word.0[..] {
        [Part::Env(name, false)] => is_variable(name).then(|| Text::from(vec![Piece::EnvWords(name.to_string())])),
        _ => text(word),
    }
}

/// A text. `None` if systemd cannot have a variable in it.
pub(super) fn text(text: &Expanded) -> Option<Text> {
    let mut pieces = Vec::new();
    for part in &text.0 {
        match (part, pieces.last_mut()) {
            (Part::Char(c), Some(Piece::Literal(literal))) => literal.push(*c),
            (Part::Char(c), _) => pieces.push(Piece::Literal(c.to_string())),
            (Part::Env(name, _), _) if is_variable(name) => pieces.push(Piece::Env(name.to_string())),
            (Part::Env(..), _) => return None,
            (Part::Number(_), _) => pieces.push(Piece::Instance),
        }
    }
    Some(if pieces.is_empty() { Text::literal("") } else { Text::from(pieces) })
}
