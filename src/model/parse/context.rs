//! What reading a table needs besides the table.

use super::placeholder;
use super::placeholder::{Placeholders, Position};
use super::units;
use super::value;
use super::value::{Result, conflict, invalid, shown, unrepresentable};
use crate::basic::diagnostic::{Diagnostic, Diagnostics};
use crate::group_file::document::{Node, Table, Value};
use crate::model::service::TimeSpan;
use crate::model::text::{DirectoryKind, Text};
use crate::model::types::Context;

/// What a table describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A process that the target starts.
    Auto,
    /// A process that an administrator or the group's manager starts.
    Manual,
    /// A process that a timer starts.
    Timed,
    Setup,
}

/// What the group contributes to its members.
#[derive(Clone, Copy)]
pub struct GroupContext<'a> {
    pub name: &'a str,
    pub machine: Context,
    /// `[defaults]`
    pub defaults: &'a Table<'a>,
    /// The first shared directory of each kind.
    pub shared: &'a [(DirectoryKind, Text)],
    /// True for the name of a unit of the group.
    pub has_unit: &'a dyn Fn(&str) -> bool,
    /// It has `[supervisor]`.
    pub has_supervisor: bool,
}

impl GroupContext<'_> {
    /// The name of a unit outside the group. The group's own units are refused: a process is named as such, with the
    /// checks that go with it, and a member that waits for the target or the gate of its group would wait for itself.
    pub fn outside<'n>(&self, key: &str, node: &'n Node) -> Result<&'n str> {
        let name = units::outside(key, node, self.machine.scope)?;
        if !(self.has_unit)(name) {
            return Ok(name);
        }
        let message = format!("`{}` is a unit of this group, and `{key}` takes units outside", shown(name));
        Err(conflict(node, message).help("name a process or setup step without suffix, in the `after` of another one"))
    }
}

/// Reads the keys of one table.
pub struct Reader<'a, 'd> {
    pub table: &'a Table<'a>,
    pub placeholders: Placeholders<'a>,
    /// `working-directory`, which relative programs are joined to.
    pub working_directory: Option<Text>,
    pub diagnostics: &'d mut Diagnostics,
}

impl<'a, 'd> Reader<'a, 'd> {
    /// For the table of the group, or of `process`, in which placeholders stand for no directory yet.
    pub fn new(
        table: &'a Table<'a>,
        group: &'a str,
        process: &'a str,
        instances: bool,
        diagnostics: &'d mut Diagnostics,
    ) -> Self {
        let placeholders = Placeholders { group, process, instances, directories: Vec::new(), table };
        Self { table, placeholders, working_directory: None, diagnostics }
    }

    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// The value of a key; `None` if it is missing or not valid.
    pub fn get<T>(&mut self, key: &str, read: impl FnOnce(&str, &'a Node<'a>) -> Result<T>) -> Option<T> {
        self.diagnostics.ok(read(key, &self.table.get(key)?.node))
    }

    /// The strings of a key that takes one or an array of them.
    pub fn strings(&mut self, key: &str) -> Vec<&'a Node<'a>> {
        self.table.get(key).map_or_else(Vec::new, |entry| value::strings(key, &entry.node, self.diagnostics))
    }

    /// The valid ones of the strings of a key.
    pub fn each<T>(&mut self, key: &str, read: impl Fn(&str, &'a Node<'a>) -> Result<T>) -> Vec<T> {
        self.strings(key).into_iter().filter_map(|node| self.diagnostics.ok(read(key, node))).collect()
    }

    /// The time span of a key, or its default.
    pub fn span_or(&mut self, key: &str, default: TimeSpan) -> TimeSpan {
        self.get(key, value::span).unwrap_or(default)
    }

    /// A text with placeholders.
    pub fn text(&mut self, key: &str, node: &Node, position: Position) -> Option<Text> {
        placeholder::read(key, node, position, &self.placeholders, self.diagnostics)
    }

    /// A path for a directive that has no quoting.
    pub fn path(&mut self, key: &str, node: &Node) -> Option<Text> {
        let text = self.text(key, node, Position::Path)?;
        self.diagnostics.ok(check_path(key, node)).map(|()| text)
    }
}

fn check_path(key: &str, node: &Node) -> Result<()> {
    match &node.value {
        Value::String(text) if text.is_empty() => Err(invalid(node, format!("`{key}` is empty"))),
        Value::String(text) if !value::is_plain(text) => {
            Err(unrepresentable(node, format!("`{key}` must be {}", value::PLAIN)))
        }
        _ => Ok(()),
    }
}
