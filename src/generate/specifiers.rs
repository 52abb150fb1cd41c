//! Texts of the model in units: placeholders become specifiers and variables.

use std::ops::Deref;

use super::context::Context;
use crate::model::{Argv, Piece, Text};
use crate::unit::value::Part;

/// A word of a command line. Nearly all are one literal.
#[derive(Debug, Clone)]
pub(super) enum Word<'t> {
    One([Part<'t>; 1]),
    Many(Vec<Part<'t>>),
}

impl<'t> Deref for Word<'t> {
    type Target = [Part<'t>];

    fn deref(&self) -> &[Part<'t>] {
        match self {
            Self::One(part) => part,
            Self::Many(parts) => parts,
        }
    }
}

impl Context<'_> {
    /// The parts of `text`.
    pub fn parts<'t>(&self, text: &'t Text) -> Word<'t> {
        if let [Piece::Literal(literal)] = text.pieces() {
            return Word::One([Part::Literal(literal)]);
        }
        let mut parts = Vec::with_capacity(text.pieces().len());
        self.push_parts(text, &mut parts);
        Word::Many(parts)
    }

    fn push_parts<'t>(&self, text: &'t Text, parts: &mut Vec<Part<'t>>) {
        for piece in text.pieces() {
            parts.push(match piece {
                Piece::Literal(literal) => Part::Literal(literal),
                Piece::Instance => Part::Specifier("%i"),
                Piece::Unit => Part::Specifier("%n"),
                Piece::Directory(kind, name) => {
                    parts.extend([Part::Specifier(kind.specifier()), Part::Literal("/")]);
                    self.push_parts(name, parts);
                    continue;
                }
                // `%d` is new in 250; the directory was the same before.
                Piece::CredentialsDirectory if self.options.systemd.version >= 250 => Part::Specifier("%d"),
                Piece::CredentialsDirectory => Part::Specifier("%t/credentials/%n"),
                Piece::Env(name) => Part::Variable(name),
                Piece::EnvWords(name) => Part::Words(name),
            });
        }
    }

    /// The words of a command.
    pub fn argv<'t>(&self, argv: &'t Argv) -> Vec<Word<'t>> {
        argv.iter().map(|text| self.parts(text)).collect()
    }
}

/// `text` with its placeholders as in the group file. The same text has the same form for all versions of copse and systemd.
pub(super) fn source_form(text: &Text, out: &mut String) {
    for piece in text.pieces() {
        match piece {
            Piece::Literal(literal) => out.push_str(&literal.replace('{', "{{")),
            Piece::Instance => out.push_str("{instance}"),
            Piece::Unit => out.push_str("{unit}"),
            Piece::Directory(kind, name) => {
                out.push('{');
                out.push_str(kind.key());
                out.push(' ');
                source_form(name, out);
                out.push('}');
            }
            Piece::CredentialsDirectory => out.push_str("{credentials-directory}"),
            Piece::Env(name) => out.extend(["{env:", name, "}"]),
            Piece::EnvWords(name) => out.extend(["{env:", name, "...}"]),
        }
    }
}
