//! TOML as a tree of values that know where they stand, and the merging of drop-ins.
//!
//! The tree is read by hand instead of by derive: serde stops at the first mistake, and an author wants all of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{Code, Diagnostic, Diagnostics, Place, SourceFile};
use crate::suggest;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// What was written.
    pub value: Value,
    /// Where.
    pub place: Place,
}

/// What TOML can hold.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A string.
    String(String),
    /// An integer; one that doesn't fit is a [`Value::Other`].
    Integer(i64),
    /// A boolean.
    Boolean(bool),
    /// A float, a date, or an integer out of range, as written: nothing takes one but pass-through.
    Other(&'static str, String),
    /// An array.
    Array(Vec<Node>),
    /// A table.
    Table(Table),
}

/// A table's entries by key.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table(pub BTreeMap<String, Entry>);

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Where the key stands.
    pub key: Place,
    /// Its value.
    pub node: Node,
}

impl Node {
    /// What it is, in an author's words: "a string".
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match &self.value {
            Value::String(_) => "a string",
            Value::Integer(_) => "an integer",
            Value::Boolean(_) => "a boolean",
            Value::Other(name, _) => name,
            Value::Array(_) => "an array",
            Value::Table(_) => "a table",
        }
    }

    /// The table, if it is one.
    #[must_use]
    pub fn as_table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }
}

impl Table {
    /// The entry of that key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.0.get(key)
    }

    /// The table of that key, if it is one.
    #[must_use]
    pub fn table(&self, key: &str) -> Option<&Table> {
        self.get(key)?.node.as_table()
    }

    /// The entries in the order in which they were written.
    #[must_use]
    pub fn written_order(&self) -> Vec<(&str, &Entry)> {
        let mut entries: Vec<_> = self.0.iter().map(|(key, entry)| (key.as_str(), entry)).collect();
        entries.sort_by_key(|(_, entry)| (entry.key.file.path.clone(), entry.key.start));
        entries
    }
}

/// Reads one file. Every syntax error is a diagnostic; with one there is no table.
#[must_use]
pub fn parse(file: &Arc<SourceFile>, diagnostics: &mut Diagnostics) -> Option<Table> {
    let (table, errors) = DeTable::parse_recoverable(&file.text);
    for error in &errors {
        let place = Place::new(file, error.span().unwrap_or(0..0));
        let message = error.message().lines().next().unwrap_or("not TOML").to_owned();
        diagnostics.push(Diagnostic::new(Code::Syntax, &place, message));
    }
    errors.is_empty().then(|| table_of(table.into_inner(), file))
}

fn table_of(table: DeTable<'_>, file: &Arc<SourceFile>) -> Table {
    let entry = |(key, value): (Spanned<_>, Spanned<DeValue<'_>>)| {
        let place = Place::new(file, key.span());
        let text: std::borrow::Cow<'_, str> = key.into_inner();
        (text.into_owned(), Entry { key: place, node: node_of(value, file) })
    };
    Table(table.into_iter().map(entry).collect())
}

fn node_of(value: Spanned<DeValue<'_>>, file: &Arc<SourceFile>) -> Node {
    let place = Place::new(file, value.span());
    let value = match value.into_inner() {
        DeValue::String(text) => Value::String(text.into_owned()),
        DeValue::Integer(integer) => match i64::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(number) => Value::Integer(number),
            Err(_) => Value::Other("an integer out of range", integer.to_string()),
        },
        DeValue::Float(float) => Value::Other("a float", float.to_string()),
        DeValue::Boolean(boolean) => Value::Boolean(boolean),
        DeValue::Datetime(datetime) => Value::Other("a date", datetime.to_string()),
        DeValue::Array(array) => Value::Array(array.into_iter().map(|element| node_of(element, file)).collect()),
        DeValue::Table(table) => Value::Table(table_of(table, file)),
    };
    Node { value, place }
}

/// The tables below a process, setup step, instance or `[defaults]` that merge key by key; every other value replaces.
const MERGED: [&str; 6] = ["environment", "credentials", "service", "unit", "socket", "timer"];

/// Puts a drop-in over the group file. A process or step that isn't there is an error.
pub fn merge_drop_in(base: &mut Table, drop_in: Table, diagnostics: &mut Diagnostics) {
    for (key, entry) in drop_in.0 {
        match (key.as_str(), base.0.get_mut(&key), entry.node.value) {
            ("process" | "setup", below, Value::Table(members)) => {
                let mut nothing = Table::default();
                let below = below.and_then(|entry| table_mut(&mut entry.node)).unwrap_or(&mut nothing);
                merge_members(&key, below, members, diagnostics);
            }
            ("defaults", Some(Entry { node: Node { value: Value::Table(below), .. }, .. }), Value::Table(over)) => {
                merge_settings(below, over);
            }
            (
                "target" | "slice",
                Some(Entry { node: Node { value: Value::Table(below), .. }, .. }),
                Value::Table(over),
            ) => {
                below.0.extend(over.0);
            }
            (_, _, value) => {
                base.0.insert(key, Entry { key: entry.key, node: Node { value, place: entry.node.place } });
            }
        }
    }
}

fn table_mut(node: &mut Node) -> Option<&mut Table> {
    match &mut node.value {
        Value::Table(table) => Some(table),
        _ => None,
    }
}

fn merge_members(kind: &str, base: &mut Table, members: Table, diagnostics: &mut Diagnostics) {
    for (name, entry) in members.0 {
        let Some(below) = base.0.get_mut(&name) else {
            let what = if kind == "setup" { "setup step" } else { "process" };
            let mut diagnostic = Diagnostic::new(
                Code::UnknownName,
                &entry.key,
                format!("a drop-in can only change what the group file has, and it has no {what} named `{name}`"),
            );
            if let Some(near) = suggest::nearest(&name, base.0.keys().map(String::as_str)) {
                diagnostic = diagnostic.help(format!("did you mean `[{kind}.{near}]`?"));
            }
            diagnostics.push(diagnostic);
            continue;
        };
        match (&mut below.node.value, entry.node.value) {
            (Value::Table(below), Value::Table(over)) => merge_settings(below, over),
            (_, value) => below.node = Node { value, place: entry.node.place },
        }
    }
}

/// Puts the keys of one process, setup step, instance or `[defaults]` over those of another. `exec` and `shell` are two
/// ways of saying one thing: either replaces either.
pub fn merge_settings(base: &mut Table, over: Table) {
    if over.get("exec").is_some() || over.get("shell").is_some() {
        base.0.remove("exec");
        base.0.remove("shell");
    }
    for (key, entry) in over.0 {
        let below = base.0.get_mut(&key).and_then(|entry| table_mut(&mut entry.node));
        match (below, entry.node.value) {
            (Some(below), Value::Table(over)) if MERGED.contains(&key.as_str()) => below.0.extend(over.0),
            (Some(below), Value::Table(over)) if key == "instance" => {
                for (name, instance) in over.0 {
                    match (below.0.get_mut(&name).and_then(|entry| table_mut(&mut entry.node)), instance.node.value) {
                        (Some(below), Value::Table(over)) => merge_settings(below, over),
                        (_, value) => {
                            let node = Node { value, place: instance.node.place };
                            below.0.insert(name, Entry { key: instance.key, node });
                        }
                    }
                }
            }
            (_, value) => {
                base.0.insert(key, Entry { key: entry.key, node: Node { value, place: entry.node.place } });
            }
        }
    }
}
