//! Placeholders: `{instance}`, `{env:NAME}` etc. become pieces of a text, everything else stays as written.

use std::fmt::Display;

use super::value;
use super::value::{Result, shown};
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::basic::suggest;
use crate::group_file::document::{Node, Table, Value};
use crate::model::text::{DirectoryKind, Piece, Text};

/// What the placeholders of a table stand for.
#[derive(Debug, Clone)]
pub struct Placeholders<'a> {
    pub group: &'a str,
    pub process: &'a str,
    /// True if the process has instances, so that `{instance}` has a value.
    pub instances: bool,
    /// The first directory of each kind, of the process or else of the group.
    pub directories: Vec<(DirectoryKind, Text)>,
    /// The table, which decides whether `{credentials-directory}` has a value.
    pub table: &'a Table<'a>,
}

/// Where a text stands, which decides about `{env:…}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// An element of a command.
    Argument,
    /// The text of `shell`: `{env:NAME}` becomes the shell's own `${NAME}`, so that a value is never read as shell text.
    Shell,
    /// A string of a probe.
    Probe,
    /// The value of an environment variable.
    Environment,
    /// A path or an address.
    Path,
}

fn names() -> impl Iterator<Item = &'static str> {
    let others = ["instance", "group", "process", "unit", "credentials-directory"];
    others.into_iter().chain(DirectoryKind::ALL.into_iter().map(DirectoryKind::key))
}

/// Reads the string at `node`.
pub fn read(
    key: &str,
    node: &Node,
    position: Position,
    placeholders: &Placeholders<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Text> {
    let written = match position {
        Position::Argument | Position::Shell | Position::Probe => value::any_text(key, node),
        Position::Environment | Position::Path => value::text(key, node),
    };
    parse(diagnostics.ok(written)?, node, position, placeholders, diagnostics)
}

/// Reads `written`, the string at `node` or a part of it.
pub fn parse(
    written: &str,
    node: &Node,
    position: Position,
    placeholders: &Placeholders<'_>,
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
        let name = braced(rest).unwrap_or_default();
        match piece(name, node, position, placeholders) {
            Ok(None) => {
                text.push_literal("{");
                rest = &rest[1..];
                continue;
            }
            Ok(Some(Piece::EnvWords(_))) if position != Position::Argument || written.len() != name.len() + 2 => {
                let why = "becomes several arguments, so it must be a whole element of an array";
                diagnostics.push(problem(name, why, node));
                good = false;
            }
            Ok(Some(Piece::Literal(literal))) => text.push_literal(&literal),
            Ok(Some(piece)) => text.push(piece),
            Err(diagnostic) => {
                diagnostics.push(diagnostic);
                good = false;
            }
        }
        rest = &rest[name.len() + 2..];
    }
    text.push_literal(rest);
    good.then_some(text)
}

/// The `NAME` of a `{NAME}` at the start of `text`.
fn braced(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('{')?;
    let end = inner.find(['{', '}'])?;
    inner[end..].starts_with('}').then(|| &inner[..end])
}

/// A `{{NAME}}` at the start of `text`, if `{NAME}` would be a placeholder or an error. Other double braces are literal.
fn doubled(text: &str) -> Option<&str> {
    let name = braced(text.strip_prefix('{')?)?;
    (text[name.len() + 3..].starts_with('}') && is_special(name)).then(|| &text[..name.len() + 4])
}

/// True if `{NAME}` is a placeholder in some position, or nearly one.
fn is_special(name: &str) -> bool {
    name.starts_with("env:") || names().any(|known| known == name) || near(name).is_some()
}

/// The text as it is written in a group file, the inverse of [`read`]. `None` if it cannot be written: a placeholder
/// between literal braces would be read as literal text.
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

/// Literal text, with double braces for what would be a placeholder.
fn literally(text: &str) -> String {
    let mut spelled = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        spelled.push_str(&rest[..open]);
        rest = &rest[open..];
        let length = match braced(rest).filter(|name| is_special(name)) {
            Some(name) => {
                spelled.push_str(&format!("{{{{{name}}}}}"));
                name.len() + 2
            }
            None => {
                spelled.push('{');
                1
            }
        };
        rest = &rest[length..];
    }
    spelled + rest
}

fn problem(name: &str, why: impl Display, node: &Node) -> Diagnostic {
    Diagnostic::new(Code::Placeholder, node, format!("`{{{}}}` {why}", shown(name)))
}

/// What `{name}` stands for; `Ok(None)` if it is neither a placeholder nor nearly one.
fn piece(name: &str, node: &Node, position: Position, placeholders: &Placeholders<'_>) -> Result<Option<Piece>> {
    if let Some(variable) = name.strip_prefix("env:") {
        return environment(name, variable, node, position).map(Some);
    }
    let no_value = |why: &str| problem(name, format_args!("has no value: {why}"), node);
    Ok(Some(match name {
        "group" => Piece::Literal(placeholders.group.to_owned()),
        "process" => Piece::Literal(placeholders.process.to_owned()),
        "unit" => Piece::Unit,
        "instance" if placeholders.instances => Piece::Instance,
        "instance" => return Err(no_value("the process has no instances").help("add `instances = 1`")),
        "credentials-directory" if has_credentials(placeholders.table) => Piece::CredentialsDirectory,
        "credentials-directory" => return Err(no_value("the process has no `credentials`")),
        _ => {
            if let Some(kind) = DirectoryKind::ALL.into_iter().find(|kind| kind.key() == name) {
                let directory = placeholders.directories.iter().find(|(found, _)| *found == kind);
                let missing = || no_value(&format!("neither the process nor the group has `{name}`"));
                let (_, directory) = directory.ok_or_else(missing)?;
                return Ok(Some(Piece::Directory(kind, Box::new(directory.clone()))));
            }
            let Some(near) = near(name) else { return Ok(None) };
            let help = format!("write `{{{near}}}`, or `{{{{{}}}}}` for the literal text", shown(name));
            return Err(problem(name, "is not a placeholder", node).help(help));
        }
    }))
}

/// True if a table gives its unit credentials, by the key or by pass-through.
fn has_credentials(table: &Table) -> bool {
    let entries = |key: &str| table.table(key).map_or(&[][..], Table::entries);
    // A key of another type is an error already; a placeholder that relies on it is not a second one.
    table.get("credentials").is_some_and(|entry| entry.node.as_table().is_none())
        || entries("credentials").iter().any(|entry| entry.node.value != Value::Boolean(false))
        || entries("service").iter().any(|entry| entry.name.contains("Credential"))
}

fn environment(name: &str, variable: &str, node: &Node, position: Position) -> Result<Piece> {
    let (variable, words) = match variable.strip_suffix("...") {
        Some(variable) => (variable, true),
        None => (variable, false),
    };
    if !is_variable(variable) {
        let help = "use letters, digits and `_`, without a digit first";
        return Err(problem(name, "does not name a variable", node).help(help));
    }
    match position {
        // The shell itself splits a variable that is not quoted.
        Position::Shell => Ok(Piece::Literal(format!("${{{variable}}}"))),
        Position::Argument | Position::Probe if words => Ok(Piece::EnvWords(variable.to_owned())),
        Position::Argument | Position::Probe => Ok(Piece::Env(variable.to_owned())),
        Position::Environment | Position::Path => {
            Err(problem(name, "is not possible here: systemd expands variables in commands only", node))
        }
    }
}

/// The placeholder that is nearly `name`. `{foo bar}` or `{"a":1}` is near none.
fn near(name: &str) -> Option<&'static str> {
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c)) {
        return None;
    }
    if name == "env" || name.get(..4).is_some_and(|prefix| prefix.eq_ignore_ascii_case("env:")) {
        return Some("env:NAME");
    }
    suggest::nearest(name, names())
}

/// True if systemd takes it as the name of a variable; it silently drops others.
pub fn is_variable(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
