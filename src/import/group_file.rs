//! A group file that is to be written: keys with values and comments, as a person would lay them out.
//!
//! The order in which keys are set doesn't matter; they are written in the order of [`keys::KEYS`]. Nothing is checked
//! here: what is written is read by [`crate::model::read`] like any other group file.

mod defaults;
#[cfg(test)]
mod tests;
mod write;

use crate::group_file::keys;
use crate::model;
use crate::model::Text;

/// A TOML value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A string.
    String(String),
    /// A whole number.
    Integer(i64),
    /// `true` or `false`.
    Boolean(bool),
    /// An array.
    Array(Vec<Value>),
    /// A table: written in braces or, where the key has many lines by nature ([`Value::is_section`]), below a header.
    Table(Table),
}

/// Keys with their values. Each name is there once.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    above: Vec<String>,
    comments: Vec<String>,
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq)]
struct Entry {
    name: String,
    comments: Vec<String>,
    value: Value,
}

/// The whole file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GroupFile {
    /// The keys of the group itself, with the comments that the file begins with.
    pub group: Table,
    /// `[defaults]`.
    pub defaults: Table,
    /// `[setup.NAME]`, in this order.
    pub setup: Vec<(String, Table)>,
    /// `[process.NAME]`, in this order.
    pub processes: Vec<(String, Table)>,
    /// Comments that the file ends with.
    pub end: Vec<String>,
}

impl GroupFile {
    /// The table of that process, which comes last if it is new.
    pub fn process(&mut self, name: &str) -> &mut Table {
        member(&mut self.processes, name)
    }

    /// The table of that setup step, which comes last if it is new.
    pub fn setup(&mut self, name: &str) -> &mut Table {
        member(&mut self.setup, name)
    }

    /// Takes a process out, also of what others are after.
    pub fn remove_process(&mut self, name: &str) {
        if let Some(at) = self.processes.iter().position(|(known, _)| known == name) {
            let (_, table) = self.processes.remove(at);
            let next = self.processes.get_mut(at).map_or(&mut self.end, |(_, next)| &mut next.above);
            next.splice(0..0, table.above);
        }
        for (_, table) in self.processes.iter_mut().chain(&mut self.setup) {
            if let Some(Value::Array(after)) = table.get("after") {
                let rest: Vec<Value> = after.iter().filter(|other| **other != Value::from(name)).cloned().collect();
                match rest.is_empty() {
                    true => table.remove("after"),
                    false => table.set("after", rest),
                }
            }
        }
    }
}

fn member<'m>(members: &'m mut Vec<(String, Table)>, name: &str) -> &'m mut Table {
    let at = members.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
        members.push((name.to_owned(), Table::default()));
        members.len() - 1
    });
    &mut members[at].1
}

impl Table {
    /// Sets a key, or replaces its value; its comments stay.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.entry(name).value = value.into();
    }

    /// Adds a comment above the key, which is to be set as well.
    pub fn comment_at(&mut self, name: &str, comment: impl Into<String>) {
        self.entry(name).comments.push(comment.into());
    }

    /// Adds a comment above the table.
    pub fn comment(&mut self, comment: impl Into<String>) {
        self.comments.push(comment.into());
    }

    /// Adds a comment above the table that isn't about it: an empty line stands between the two.
    pub fn comment_above(&mut self, comment: impl Into<String>) {
        self.above.push(comment.into());
    }

    /// The table at that key, which is made if it isn't there.
    pub fn table(&mut self, name: &str) -> &mut Table {
        let entry = self.entry(name);
        if !matches!(entry.value, Value::Table(_)) {
            entry.value = Value::Table(Table::default());
        }
        match &mut entry.value {
            Value::Table(table) => table,
            _ => unreachable!("it was made one"),
        }
    }

    /// The value at that key.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.entries.iter().find(|entry| entry.name == name).map(|entry| &entry.value)
    }

    /// Takes a key away, with its comments.
    pub fn remove(&mut self, name: &str) {
        self.entries.retain(|entry| entry.name != name);
    }

    /// Whether there is neither key nor comment.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.comments.is_empty() && self.above.is_empty()
    }

    fn entry(&mut self, name: &str) -> &mut Entry {
        let at = self.entries.iter().position(|entry| entry.name == name).unwrap_or_else(|| {
            let value = Value::Boolean(false);
            self.entries.push(Entry { name: name.to_owned(), comments: Vec::new(), value });
            self.entries.len() - 1
        });
        &mut self.entries[at]
    }
}

impl Value {
    /// A command as `exec` and its relatives take it: a string of plain words where it may be one, else an array.
    /// `None` where a word can't be written in a group file ([`model::spelled`]).
    pub fn command(argv: &[Text]) -> Option<Self> {
        let words: Vec<String> = argv.iter().map(model::spelled).collect::<Option<_>>()?;
        if !words.is_empty() && words.iter().all(|word| model::is_plain_word(word)) {
            return Some(Self::String(words.join(" ")));
        }
        Some(Self::Array(words.into_iter().map(Self::String).collect()))
    }

    /// Whether the value of `key` is a section of its own: a table whose lines a person wouldn't put into braces.
    fn is_section(&self, key: &str) -> bool {
        let Self::Table(table) = self else { return false };
        match key {
            "environment" => table.entries.len() > 2 || table.has_comments(),
            _ => matches!(key, "instance" | "credentials" | "service" | "unit" | "socket" | "timer"),
        }
    }
}

impl Table {
    fn has_comments(&self) -> bool {
        !self.comments.is_empty() || self.entries.iter().any(|entry| !entry.comments.is_empty())
    }
}

/// Where a key stands among its siblings: group keys and keys of processes in the order of the manual; others, which
/// are variables, instances and directives, in the order in which they were set.
fn position(name: &str) -> usize {
    let of_process = keys::KEYS.iter().position(|key| key.name == name);
    of_process.or_else(|| keys::GROUP_KEYS.iter().position(|key| *key == name)).unwrap_or(usize::MAX)
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl<V: Into<Value>> From<Vec<V>> for Value {
    fn from(values: Vec<V>) -> Self {
        Self::Array(values.into_iter().map(Into::into).collect())
    }
}

impl From<Table> for Value {
    fn from(table: Table) -> Self {
        Self::Table(table)
    }
}
