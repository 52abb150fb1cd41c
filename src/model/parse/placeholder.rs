//! Placeholders: `{instance}`, `{env:NAME}` and their like become pieces; everything else stays as written.

use super::value;
use super::value::shown;
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::basic::suggest;
use crate::group_file::document::Node;
use crate::model::{DirectoryKind, Piece, Pieces, Text};

/// What placeholders can be replaced by, at one place of the file.
#[derive(Debug, Clone)]
pub struct Names<'a> {
    /// `{group}`
    pub group: &'a str,
    /// `{process}`
    pub process: &'a str,
    /// Whether the process has instances, so that `{instance}` means something.
    pub instances: bool,
    /// The first directory of each kind: the process's own, or else the group's.
    pub directories: &'a [(DirectoryKind, Text)],
    /// Whether the process has credentials, so that `{credentials-directory}` means something.
    pub credentials: bool,
}

/// Where a text stands: decides about `{env:…}` and the placeholders of the running process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// An element of a command: everything may stand here.
    Argument,
    /// The text of `shell`: `{env:NAME}` is the shell's own `${NAME}`, so that a value is never read as shell text.
    Shell,
    /// A string of a probe.
    Probe,
    /// The value of an environment variable.
    Environment,
    /// A path, an address.
    Path,
}

const PLAIN: [&str; 5] = ["instance", "group", "process", "unit", "credentials-directory"];

fn placeholders() -> impl Iterator<Item = &'static str> {
    PLAIN.into_iter().chain(DirectoryKind::ALL.into_iter().map(DirectoryKind::key))
}

/// Reads the string at `node`.
pub fn read(
    key: &str,
    node: &Node,
    position: Position,
    names: &Names<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Text> {
    let written = match position {
        Position::Argument | Position::Shell | Position::Probe => value::carried_text(key, node, diagnostics)?,
        Position::Environment | Position::Path => value::text(key, node, diagnostics)?,
    };
    parse(written, node, position, names, diagnostics)
}

/// Reads `written`, which stands at `node` or is a part of it.
pub fn parse(
    written: &str,
    node: &Node,
    position: Position,
    names: &Names<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Text> {
    if !written.is_empty() && !written.contains('{') {
        return Some(Text::literal(written));
    }
    let mut text = Text::default();
    let mut good = true;
    let mut rest = written;
    while let Some(open) = rest.find('{') {
        text.push_literal(&rest[..open]);
        rest = &rest[open..];
        if let Some(literal) = doubled(rest) {
            text.push_literal(&literal[1..literal.len() - 1]);
            rest = &rest[literal.len()..];
            continue;
        }
        let name =
            rest[1..].find(['{', '}']).map(|end| &rest[1..=end]).filter(|name| rest.as_bytes()[name.len() + 1] == b'}');
        match name.map(|name| (name, piece(name, position, names))) {
            Some((name, Ok(Some(piece)))) => {
                match piece {
                    Piece::EnvWords(_) if written.len() != name.len() + 2 || position != Position::Argument => {
                        let message =
                            format!("`{{{name}}}` becomes several words, so it must be a whole element of an array");
                        diagnostics.push(Diagnostic::new(Code::Placeholder, &node.place, message));
                        good = false;
                    }
                    Piece::Literal(literal) => text.push_literal(&literal),
                    piece => text.push(piece),
                }
                rest = &rest[name.len() + 2..];
            }
            Some((name, Err(problem))) => {
                diagnostics.push(problem.diagnostic(name, node));
                good = false;
                rest = &rest[name.len() + 2..];
            }
            Some((_, Ok(None))) | None => {
                text.push_literal("{");
                rest = &rest[1..];
            }
        }
    }
    text.push_literal(rest);
    good.then_some(text)
}

/// `{{NAME}}` at the start of `text`, where `{NAME}` would be a placeholder or an error; other double braces are literal.
fn doubled(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("{{")?;
    let end = inner.find(['{', '}'])?;
    (inner[end..].starts_with("}}") && is_special(&inner[..end])).then(|| &text[..end + 4])
}

/// Whether `{NAME}` is a placeholder somewhere, or a near miss of one.
fn is_special(name: &str) -> bool {
    name.starts_with("env:") || placeholders().any(|known| known == name) || near(name).is_err()
}

/// The text as it is written in a group file: what [`read`] makes the same text of. `None` where there is no way to
/// write it: a placeholder between literal braces would be read as literal text.
pub fn spelled(text: &Text) -> Option<String> {
    let mut spelled = String::new();
    let mut opened = false;
    for piece in text.pieces() {
        let name = match piece {
            Piece::Literal(literal) => {
                if opened && literal.starts_with('}') {
                    return None;
                }
                spelled.push_str(&literally(literal));
                opened = false;
                continue;
            }
            Piece::Instance => "instance",
            Piece::Unit => "unit",
            Piece::Directory(kind, _) => kind.key(),
            Piece::CredentialsDirectory => "credentials-directory",
            Piece::Env(name) => &format!("env:{name}"),
            Piece::EnvWords(name) => &format!("env:{name}..."),
        };
        opened = spelled.ends_with('{');
        spelled.extend(["{", name, "}"]);
    }
    Some(spelled)
}

/// Literal text, with what would be a placeholder in double braces.
fn literally(text: &str) -> String {
    let mut spelled = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, braced) = rest.split_at(open);
        spelled.push_str(before);
        let name = braced[1..].split(['{', '}']).next().unwrap_or_default();
        if braced[1 + name.len()..].starts_with('}') && is_special(name) {
            spelled.push_str(&format!("{{{{{name}}}}}"));
            rest = &braced[name.len() + 2..];
        } else {
            spelled.push('{');
            rest = &braced[1..];
        }
    }
    spelled + rest
}

enum Problem {
    Near(&'static str),
    NotHere(&'static str),
    BadVariable,
    NoDirectory(DirectoryKind),
    NoInstances,
    NoCredentials,
}

impl Problem {
    fn diagnostic(&self, name: &str, node: &Node) -> Diagnostic {
        let name = shown(name);
        let new = |message: String| Diagnostic::new(Code::Placeholder, &node.place, message);
        match self {
            Self::Near(near) => new(format!("there is no placeholder `{{{name}}}`"))
                .help(format!("did you mean `{{{near}}}`? the literal text is written `{{{{{name}}}}}`")),
            Self::NotHere(why) => new(format!("`{{{name}}}` can't stand here: {why}")),
            Self::BadVariable => new(format!("`{{{name}}}` doesn't name a variable: letters, digits and `_` only")),
            Self::NoDirectory(kind) => {
                new(format!("`{{{name}}}` has no value: neither the process nor the group has `{}`", kind.key()))
            }
            Self::NoInstances => {
                new("`{instance}` has no value: the process has no instances".to_owned()).help("add `instances = 1`")
            }
            Self::NoCredentials => {
                new("`{credentials-directory}` has no value: the process has no `credentials`".to_owned())
            }
        }
    }
}

/// What `{name}` stands for; `Ok(None)`: it is no placeholder, and not near one.
fn piece(name: &str, position: Position, names: &Names<'_>) -> Result<Option<Piece>, Problem> {
    if let Some(variable) = name.strip_prefix("env:") {
        return environment(variable, position).map(Some);
    }
    let kind = DirectoryKind::ALL.into_iter().find(|kind| kind.key() == name);
    Ok(Some(match (name, kind) {
        ("group", _) => Piece::Literal(names.group.to_owned()),
        ("process", _) => Piece::Literal(names.process.to_owned()),
        ("unit", _) => Piece::Unit,
        ("instance", _) if names.instances => Piece::Instance,
        ("instance", _) => return Err(Problem::NoInstances),
        ("credentials-directory", _) if names.credentials => Piece::CredentialsDirectory,
        ("credentials-directory", _) => return Err(Problem::NoCredentials),
        (_, Some(kind)) => match names.directories.iter().find(|(found, _)| *found == kind) {
            Some((_, directory)) => Piece::Directory(kind, Box::new(directory.clone())),
            None => return Err(Problem::NoDirectory(kind)),
        },
        _ => return near(name),
    }))
}

fn environment(variable: &str, position: Position) -> Result<Piece, Problem> {
    let (variable, words) = match variable.strip_suffix("...") {
        Some(variable) => (variable, true),
        None => (variable, false),
    };
    if !is_variable(variable) {
        return Err(Problem::BadVariable);
    }
    match position {
        // Both are the shell's own affair: it splits what isn't between quotes.
        Position::Shell => Ok(Piece::Literal(format!("${{{variable}}}"))),
        Position::Argument | Position::Probe if words => Ok(Piece::EnvWords(variable.to_owned())),
        Position::Argument | Position::Probe => Ok(Piece::Env(variable.to_owned())),
        Position::Environment => Err(Problem::NotHere("systemd doesn't expand variables in `environment`")),
        Position::Path => Err(Problem::NotHere("systemd expands variables in commands only")),
    }
}

/// Only what can be a slip of a placeholder is looked at: `{foo bar}` or `{"a":1}` never is.
fn near(name: &str) -> Result<Option<Piece>, Problem> {
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c)) {
        return Ok(None);
    }
    if name == "env" || name.get(..4).is_some_and(|prefix| prefix.eq_ignore_ascii_case("env:")) {
        return Err(Problem::Near("env:NAME"));
    }
    match suggest::nearest(name, placeholders()) {
        Some(near) => Err(Problem::Near(near)),
        None => Ok(None),
    }
}

/// Whether systemd takes it as a variable's name: others are dropped without a word.
pub fn is_variable(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl Text {
    /// Whether it is no absolute path, whatever its placeholders are replaced by.
    pub fn is_relative(&self) -> bool {
        match self.pieces() {
            [Piece::Literal(literal), Piece::Directory(..) | Piece::CredentialsDirectory, ..] if literal.is_empty() => {
                false
            }
            [Piece::Literal(literal), ..] => !literal.starts_with('/'),
            [Piece::Directory(..) | Piece::CredentialsDirectory, ..] => false,
            _ => true,
        }
    }

    /// Text without placeholders.
    pub fn literal(text: impl Into<String>) -> Self {
        Self(Pieces::One(Piece::Literal(text.into())))
    }

    /// What it is made of, in order.
    pub fn pieces(&self) -> &[Piece] {
        match &self.0 {
            Pieces::One(piece) => std::slice::from_ref(piece),
            Pieces::Many(pieces) => pieces,
        }
    }

    /// What it is made of, in order.
    pub fn into_pieces(self) -> Vec<Piece> {
        match self.0 {
            Pieces::One(piece) => vec![piece],
            Pieces::Many(pieces) => pieces,
        }
    }

    /// The literal that it begins with, to be changed.
    pub fn leading_mut(&mut self) -> Option<&mut String> {
        let first = match &mut self.0 {
            Pieces::One(piece) => Some(piece),
            Pieces::Many(pieces) => pieces.first_mut(),
        };
        match first {
            Some(Piece::Literal(text)) => Some(text),
            _ => None,
        }
    }

    /// Adds a piece.
    pub fn push(&mut self, piece: Piece) {
        let mut pieces = std::mem::take(self).into_pieces();
        pieces.push(piece);
        *self = Self::from(pieces);
    }

    /// Adds literal text, joined to what is there.
    pub fn push_literal(&mut self, more: &str) {
        let last = match &mut self.0 {
            Pieces::One(piece) => Some(piece),
            Pieces::Many(pieces) => pieces.last_mut(),
        };
        match last {
            Some(Piece::Literal(text)) => text.push_str(more),
            _ if more.is_empty() => {}
            _ => self.push(Piece::Literal(more.to_owned())),
        }
    }

    /// Whether a piece of that kind is in it.
    pub fn has(&self, wanted: impl Fn(&Piece) -> bool) -> bool {
        self.pieces().iter().any(wanted)
    }

    /// The literal text at its start.
    pub fn leading(&self) -> &str {
        match self.pieces().first() {
            Some(Piece::Literal(text)) => text,
            _ => "",
        }
    }

    /// The bytes of its literal pieces.
    pub fn literal_len(&self) -> usize {
        self.pieces().iter().map(|piece| if let Piece::Literal(text) = piece { text.len() } else { 0 }).sum()
    }
}

impl Default for Text {
    /// The empty text.
    fn default() -> Self {
        Self(Pieces::Many(Vec::new()))
    }
}

impl From<Vec<Piece>> for Text {
    fn from(pieces: Vec<Piece>) -> Self {
        Self(Pieces::Many(pieces))
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.pieces() == other.pieces()
    }
}

impl Eq for Text {}
