//! TOML as a tree of values with their locations, and the merging of drop-ins.
//!
//! The tree is walked by hand: a derived reader stops at the first error, and an author needs all of them.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, SourceFile, SourceLocation, one_line};
use crate::basic::suggest;
use crate::group_file::keys;
use crate::group_file::keys::KeyKind;

/// A value with its location. Like the whole document it borrows from the file's text: only a string with escapes is
/// owned.
#[derive(Debug, Clone, PartialEq)]
pub struct Node<'t> {
    pub value: Value<'t>,
    pub location: KeySpan<'t>,
}

/// A value of TOML.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'t> {
    String(Cow<'t, str>),
    Integer(i64),
    /// As written, for pass-through.
    Float(String),
    Boolean(bool),
    Array(Vec<Node<'t>>),
    Table(Table<'t>),
    /// An integer beyond 64 bits; no key takes one.
    LargeInteger,
    /// A date or a time; no key takes one.
    Datetime,
}

/// The entries of a table, sorted by key.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table<'t>(Vec<Entry<'t>>);

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry<'t> {
    pub name: Cow<'t, str>,
    /// The location of the key.
    pub key: KeySpan<'t>,
    pub node: Node<'t>,
}

/// A [`SourceLocation`] that borrows its file: there is one for each key and each value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeySpan<'t> {
    file: &'t Arc<SourceFile>,
    start: u32,
    end: u32,
}

impl<'t> KeySpan<'t> {
    fn new(file: &'t Arc<SourceFile>, range: std::ops::Range<usize>) -> Self {
        let byte = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self { file, start: byte(range.start), end: byte(range.end) }
    }

    pub fn path(&self) -> &'t Path {
        &self.file.path
    }

    /// The text that it covers.
    pub fn text(&self) -> Option<&'t str> {
        self.file.text.get(self.start as usize..self.end as usize)
    }
}

impl From<&KeySpan<'_>> for SourceLocation {
    fn from(span: &KeySpan<'_>) -> Self {
        Self { file: Arc::clone(span.file), start: span.start, end: span.end }
    }
}

/// A diagnostic about a value points at the value.
impl From<&Node<'_>> for SourceLocation {
    fn from(node: &Node<'_>) -> Self {
        Self::from(&node.location)
    }
}

/// A diagnostic about an entry points at its key.
impl From<&Entry<'_>> for SourceLocation {
    fn from(entry: &Entry<'_>) -> Self {
        Self::from(&entry.key)
    }
}

impl<'t> Node<'t> {
    /// Its type with an article: "a string".
    pub fn type_name(&self) -> &'static str {
        match &self.value {
            Value::String(_) => "a string",
            Value::Integer(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Boolean(_) => "a boolean",
            Value::Array(_) => "an array",
            Value::Table(_) => "a table",
            Value::LargeInteger => "an integer out of range",
            Value::Datetime => "a date",
        }
    }

    pub fn as_table(&self) -> Option<&Table<'t>> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    fn as_table_mut(&mut self) -> Option<&mut Table<'t>> {
        match &mut self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }
}

impl<'t> Table<'t> {
    /// Up to this length a search from the start is faster: the lengths of keys nearly always differ.
    const FEW: usize = 24;

    /// The entry of that key.
    pub fn get(&self, key: &str) -> Option<&Entry<'t>> {
        match self.0.len() {
            0..=Self::FEW => self.0.iter().find(|entry| entry.name == key),
            _ => self.find(key).ok().map(|index| &self.0[index]),
        }
    }

    /// The table of that key, if it is one.
    pub fn table(&self, key: &str) -> Option<&Table<'t>> {
        self.get(key)?.node.as_table()
    }

    /// All entries, sorted by key.
    pub fn entries(&self) -> &[Entry<'t>] {
        &self.0
    }

    /// All keys, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.0.iter().map(|entry| &*entry.name)
    }

    /// The entries in the order in which they were written.
    pub fn written_order(&self) -> Vec<&Entry<'t>> {
        let mut entries: Vec<_> = self.0.iter().collect();
        entries.sort_by_key(|entry| (&entry.key.file.path, entry.key.start));
        entries
    }

    fn remove(&mut self, key: &str) {
        self.0.retain(|entry| entry.name != key);
    }

    fn find(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|entry| (*entry.name).cmp(key))
    }

    /// Adds an entry, replacing the one of its key.
    fn insert(&mut self, entry: Entry<'t>) {
        match self.find(&entry.name) {
            Ok(index) => self.0[index] = entry,
            Err(index) => self.0.insert(index, entry),
        }
    }

    fn extend(&mut self, over: Self) {
        over.0.into_iter().for_each(|entry| self.insert(entry));
    }

    /// Adds an entry. If both it and the entry of its key are tables, they are merged with `merge`.
    fn merge(&mut self, entry: Entry<'t>, merge: fn(&mut Self, Self)) {
        let below = self.find(&entry.name).ok().and_then(|index| self.0[index].node.as_table_mut());
        match (below, entry.node.value) {
            (Some(below), Value::Table(over)) => merge(below, over),
            (_, value) => self.insert(Entry { node: Node { value, ..entry.node }, ..entry }),
        }
    }
}

impl<'t> FromIterator<Entry<'t>> for Table<'t> {
    /// From entries that are sorted by key.
    fn from_iter<I: IntoIterator<Item = Entry<'t>>>(entries: I) -> Self {
        let entries: Vec<_> = entries.into_iter().collect();
        debug_assert!(entries.is_sorted_by(|a, b| a.name < b.name));
        Self(entries)
    }
}

/// A syntax error in the parser's words, but for the most frequent two.
fn syntax(location: &SourceLocation, message: &str) -> Diagnostic {
    let message = message.lines().next().unwrap_or("not TOML");
    let text = location.file.text.get(location.start as usize..location.end as usize).unwrap_or_default();
    let new = |message: String| Diagnostic::new(Code::Syntax, location, message);
    match message {
        "duplicate key" if !text.is_empty() => new(format!("duplicate key `{}`", one_line(text))),
        message if message.starts_with("string values must be quoted") && !text.contains(['"', '\\', '\n']) => {
            new("a string needs quotes".to_owned()).help(format!("write `\"{}\"`", one_line(text.trim())))
        }
        message => new(message.to_owned()),
    }
}

/// Parses one file. Each syntax error is a diagnostic; with one there is no table.
pub fn parse<'t>(file: &'t Arc<SourceFile>, diagnostics: &mut Diagnostics) -> Option<Table<'t>> {
    let (table, errors) = DeTable::parse_recoverable(&file.text);
    for error in &errors {
        let location = SourceLocation::new(file, error.span().unwrap_or(0..0));
        diagnostics.push(syntax(&location, error.message()));
    }
    errors.is_empty().then(|| table_of(table.into_inner(), file))
}

fn table_of<'t>(table: DeTable<'t>, file: &'t Arc<SourceFile>) -> Table<'t> {
    let entry = |(key, value): (Spanned<Cow<'t, str>>, Spanned<DeValue<'t>>)| {
        let span = KeySpan::new(file, key.span());
        Entry { name: key.into_inner(), key: span, node: node_of(value, file) }
    };
    // toml's tables are sorted by key.
    table.into_iter().map(entry).collect()
}

fn node_of<'t>(value: Spanned<DeValue<'t>>, file: &'t Arc<SourceFile>) -> Node<'t> {
    let location = KeySpan::new(file, value.span());
    let value = match value.into_inner() {
        DeValue::String(text) => Value::String(text),
        DeValue::Integer(integer) => {
            i64::from_str_radix(integer.as_str(), integer.radix()).map_or(Value::LargeInteger, Value::Integer)
        }
        DeValue::Float(float) => Value::Float(float.to_string()),
        DeValue::Boolean(boolean) => Value::Boolean(boolean),
        DeValue::Datetime(_) => Value::Datetime,
        DeValue::Array(array) => Value::Array(array.into_iter().map(|element| node_of(element, file)).collect()),
        DeValue::Table(table) => Value::Table(table_of(table, file)),
    };
    Node { value, location }
}

/// Merges a drop-in into the group file. A process or step that the file does not have is an error.
pub fn merge_drop_in<'t>(base: &mut Table<'t>, drop_in: Table<'t>, diagnostics: &mut Diagnostics) {
    for entry in drop_in.0 {
        match &*entry.name {
            "process" | "setup" if entry.node.as_table().is_some() => merge_members(base, entry, diagnostics),
            "defaults" => base.merge(entry, merge_settings),
            "target" | "slice" => base.merge(entry, Table::extend),
            _ => base.insert(entry),
        }
    }
}

fn merge_members<'t>(base: &mut Table<'t>, over: Entry<'t>, diagnostics: &mut Diagnostics) {
    let (kind, Value::Table(members)) = (&over.name, over.node.value) else { return };
    let below = base.find(kind).ok().and_then(|index| base.0[index].node.as_table_mut());
    let mut nothing = Table::default();
    let base = below.unwrap_or(&mut nothing);
    for entry in members.0 {
        if base.get(&entry.name).is_some() {
            base.merge(entry, merge_settings);
            continue;
        }
        let member = if kind == "setup" { "setup step" } else { "process" };
        let message = format!("the group file has no {member} `{}` for this drop-in to change", entry.name);
        let mut diagnostic = Diagnostic::new(Code::UnknownName, &entry, message);
        if let Some(near) = suggest::nearest(&entry.name, base.names()) {
            diagnostic = diagnostic.help(format!("did you mean `[{kind}.{near}]`?"));
        }
        diagnostics.push(diagnostic);
    }
}

/// Removes the keys that the file at `path` sets to `false` although they take no boolean.
pub fn remove_false(table: &mut Table<'_>, path: &Path) {
    table.0.retain(|entry| {
        // `non-blocking` is an error without `listen`, which may be removed as well.
        let takes_boolean =
            keys::find(&entry.name).is_some_and(|key| key.kind == KeyKind::Boolean && key.name != "non-blocking");
        takes_boolean || entry.node.value != Value::Boolean(false) || entry.key.path() != path
    });
    for entry in &mut table.0 {
        // There, `false` has a meaning already.
        if !matches!(&*entry.name, "environment" | "credentials")
            && let Some(table) = entry.node.as_table_mut()
        {
            remove_false(table, path);
        }
    }
}

/// Merges the keys of one process, setup step, instance or `[defaults]` into those of another. `exec` and `shell` replace
/// each other. A few tables merge key by key; any other value replaces.
pub fn merge_settings<'t>(base: &mut Table<'t>, over: Table<'t>) {
    if over.get("exec").is_some() || over.get("shell").is_some() {
        base.remove("exec");
        base.remove("shell");
    }
    for entry in over.0 {
        match &*entry.name {
            "environment" | "credentials" | "service" | "unit" | "socket" | "timer" => base.merge(entry, Table::extend),
            "instance" => base.merge(entry, merge_instances),
            _ => base.insert(entry),
        }
    }
}

fn merge_instances<'t>(base: &mut Table<'t>, over: Table<'t>) {
    over.0.into_iter().for_each(|entry| base.merge(entry, merge_settings));
}
