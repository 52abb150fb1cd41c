//! The `*-directory` keys of a process, a setup step, or the group.

use super::context::Reader;
use super::directive::directive;
use super::placeholder::Position;
use super::value;
use super::value::{Result, invalid, missing, shown};
use crate::group_file::document::{Node, Value};
use crate::group_file::keys::KeyKind;
use crate::model::service::Directory;
use crate::model::text::{DirectoryKind, Piece, Text};

impl Reader<'_, '_> {
    pub fn directories(&mut self) -> Vec<Directory> {
        let mut directories = Vec::new();
        for kind in DirectoryKind::ALL {
            let (key, mode_key) = (kind.key(), kind.mode_key());
            let mode_entry = self.table.get(mode_key);
            let mode = mode_entry.and_then(|entry| directive(mode_key, KeyKind::Mode, &entry.node, self.diagnostics));
            if let Some(entry) = self.table.get(key) {
                let nodes = value::strings(key, &entry.node, self.diagnostics);
                let mut names: Vec<Text> = nodes.into_iter().filter_map(|node| self.directory(kind, node)).collect();
                // One that is not valid still counts as a directory, different from all others, so that what uses it is
                // not a second error.
                if names.is_empty() && entry.node.value != Value::Array(Vec::new()) {
                    names.push(Text::from(vec![Piece::Unit]));
                }
                directories.push(Directory { kind, names, mode });
            } else if let Some(entry) = mode_entry {
                self.push(missing(entry, format!("`{mode_key}` has no effect without `{key}`")));
            }
        }
        directories
    }

    fn directory(&mut self, kind: DirectoryKind, node: &Node) -> Option<Text> {
        let text = self.text(kind.key(), node, Position::Path)?;
        self.diagnostics.ok(check(kind, node, text))
    }
}

fn check(kind: DirectoryKind, node: &Node, text: Text) -> Result<Text> {
    let key = kind.key();
    let Value::String(written) = &node.value else { return Ok(text) };
    let relative = written.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if !relative || written.chars().any(|c| c.is_control() || c.is_whitespace() || "\\\"':".contains(c)) {
        let expected = "a relative path such as `\"name\"`, without `..`, blanks, quotes and `:`";
        let diagnostic = invalid(node, format!("`{key}` takes {expected}"));
        let below = written.strip_prefix(kind.base()).map(|rest| rest.trim_end_matches('/'));
        return Err(match below.filter(|rest| !rest.is_empty()) {
            Some(rest) => {
                diagnostic.help(format!("write `\"{}\"`, which systemd creates below `{}`", shown(rest), kind.base()))
            }
            None => diagnostic,
        });
    }
    // systemd would change the owner of copse's own directories, with the group files.
    if let Some(top) = text.leading().split('/').next().filter(|top| matches!(*top, "copse" | "private")) {
        let owner = if top == "copse" { "copse" } else { "systemd" };
        return Err(invalid(node, format!("`{key}` must not be `{top}` or below it, which {owner} uses itself")));
    }
    if text.has(|piece| *piece == Piece::CredentialsDirectory) {
        return Err(invalid(node, format!("`{key}` takes a relative path, not `{{credentials-directory}}`")));
    }
    Ok(text)
}

/// The first directory of each kind, of `own` or else of the group.
pub fn first(own: &[Directory], shared: &[(DirectoryKind, Text)]) -> Vec<(DirectoryKind, Text)> {
    let mut first: Vec<_> =
        own.iter().filter_map(|directory| Some((directory.kind, directory.names.first()?.clone()))).collect();
    first.extend(shared.iter().filter(|(kind, _)| !own.iter().any(|own| own.kind == *kind)).cloned());
    first
}

/// True for a placeholder that differs from instance to instance.
pub fn is_instance(piece: &Piece) -> bool {
    matches!(piece, Piece::Instance | Piece::Unit)
}
