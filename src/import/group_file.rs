//! A group file to be written: keys with values and comments, laid out as a person would.
//!
//! Keys are written in the order of [`keys::KEYS`]. Nothing is checked here: [`crate::model::read`] reads the text like any
//! other group file.

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
    String(String),
    Integer(i64),
    Boolean(bool),
    Array(Vec<Value>),
    Table(Table),
}

/// Keys with their values.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Comments before the table that are not about it.
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
    /// The keys of the group, with the comments at the top of the file.
    pub group: Table,
    pub defaults: Table,
    pub setup: Vec<(String, Table)>,
    pub processes: Vec<(String, Table)>,
    /// The comments at the end of the file.
    pub end: Vec<String>,
}

impl GroupFile {
    /// The table of a process, which is added if it is missing.
    pub fn process(&mut self, name: &str) -> &mut Table {
        member(&mut self.processes, name)
    }

    /// The table of a setup step, which is added if it is missing.
    pub fn setup(&mut self, name: &str) -> &mut Table {
        member(&mut self.setup, name)
    }

    /// Removes a process, also from `after` of the others. Returns whether there was one.
    pub fn remove_process(&mut self, name: &str) -> bool {
        let Some(index) = self.processes.iter().position(|(known, _)| known == name) else { return false };
        let (_, table) = self.processes.remove(index);
        let next = self.processes.get_mut(index).map_or(&mut self.end, |(_, next)| &mut next.above);
        next.splice(0..0, table.above);
        for (_, table) in self.processes.iter_mut().chain(&mut self.setup) {
            if let Some(Value::Array(after)) = table.get("after") {
                let rest: Vec<Value> = after.iter().filter(|other| **other != Value::from(name)).cloned().collect();
                match rest.is_empty() {
                    true => table.remove("after"),
                    false => table.set("after", rest),
                }
            }
        }
        true
    }
}

fn member<'m>(members: &'m mut Vec<(String, Table)>, name: &str) -> &'m mut Table {
    let index = members.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
        members.push((name.to_owned(), Table::default()));
        members.len() - 1
    });
    &mut members[index].1
}

impl Table {
    /// Sets the value of a key; its comments stay.
    pub fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.entry(name).value = value.into();
    }

    /// Adds a comment above a key, which has to be set as well.
    pub fn comment_at(&mut self, name: &str, comment: impl Into<String>) {
        self.entry(name).comments.push(comment.into());
    }

    /// Adds a comment about the table.
    pub fn comment(&mut self, comment: impl Into<String>) {
        self.comments.push(comment.into());
    }

    /// Adds a comment before the table that is not about it: an empty line separates them.
    pub fn comment_above(&mut self, comment: impl Into<String>) {
        self.above.push(comment.into());
    }

    /// The table at a key, which is added if it is missing.
    pub fn table(&mut self, name: &str) -> &mut Table {
        let value = &mut self.entry(name).value;
        if !matches!(value, Value::Table(_)) {
            *value = Value::Table(Table::default());
        }
        match value {
            Value::Table(table) => table,
            _ => unreachable!("the value is a table"),
        }
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        self.entries.iter().find(|entry| entry.name == name).map(|entry| &entry.value)
    }

    /// Removes a key and its comments.
    pub fn remove(&mut self, name: &str) {
        self.entries.retain(|entry| entry.name != name);
    }

    /// Whether there is neither a key nor a comment.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.comments.is_empty() && self.above.is_empty()
    }

    fn has_comments(&self) -> bool {
        !self.comments.is_empty() || self.entries.iter().any(|entry| !entry.comments.is_empty())
    }

    fn entry(&mut self, name: &str) -> &mut Entry {
        let index = self.entries.iter().position(|entry| entry.name == name).unwrap_or_else(|| {
            self.entries.push(Entry { name: name.to_owned(), comments: Vec::new(), value: Value::Boolean(false) });
            self.entries.len() - 1
        });
        &mut self.entries[index]
    }
}

impl Value {
    /// A command for `exec`: a string of plain words if possible, or else an array. `None` if a word cannot be written in
    /// a group file ([`model::spelled`]).
    pub fn command(argv: &[Text]) -> Option<Self> {
        let words: Vec<String> = argv.iter().map(model::spelled).collect::<Option<_>>()?;
        let plain = !words.is_empty() && words.iter().all(|word| model::is_plain_word(word));
        Some(if plain { words.join(" ").into() } else { words.into() })
    }
}

impl Entry {
    /// Whether the value is written below a header of its own.
    fn is_section(&self) -> bool {
        let Value::Table(table) = &self.value else { return false };
        match &*self.name {
            "environment" => table.entries.len() > 2 || table.has_comments(),
            name => matches!(name, "instance" | "credentials" | "service" | "unit" | "socket" | "timer"),
        }
    }

    /// Keys are written in the order of the manual; variables, instances and directives in the order in which they were
    /// set.
    fn position(&self) -> usize {
        let of_process = keys::KEYS.iter().position(|key| key.name == self.name);
        of_process.or_else(|| keys::GROUP_KEYS.iter().position(|key| *key == self.name)).unwrap_or(usize::MAX)
    }
}

macro_rules! values {
    ($($of:ty => $variant:ident,)+) => {
        $(impl From<$of> for Value {
            fn from(value: $of) -> Self {
                Self::$variant(value.into())
            }
        })+
    };
}

values! {
    &str => String,
    String => String,
    i64 => Integer,
    bool => Boolean,
    Table => Table,
}

impl<V: Into<Value>> From<Vec<V>> for Value {
    fn from(values: Vec<V>) -> Self {
        Self::Array(values.into_iter().map(Into::into).collect())
    }
}
