//! TOML as a tree of values that know where they stand, and the merging of drop-ins.
//!
//! The tree is read by hand instead of by derive: serde stops at the first mistake, and an author wants all of them.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, SourceFile, SourceLocation, one_line};
use crate::basic::suggest;

/// A value and where it stands. Like all of a document it borrows from the file's text: only a string with escapes in
/// it is a text of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Node<'t> {
    /// What was written.
    pub value: Value<'t>,
    /// Where.
    pub place: KeySpan<'t>,
}

/// What TOML can hold.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'t> {
    /// A string.
    String(Cow<'t, str>),
    /// An integer; one that doesn't fit is a [`Value::Other`].
    Integer(i64),
    /// A boolean.
    Boolean(bool),
    /// A float, a date, or an integer out of range, as written: nothing takes one but pass-through.
    Other(&'static str, String),
    /// An array.
    Array(Vec<Node<'t>>),
    /// A table.
    Table(Table<'t>),
}

/// A table's entries, sorted by key.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table<'t>(Vec<Entry<'t>>);

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry<'t> {
    /// The key.
    pub name: Cow<'t, str>,
    /// Where the key stands.
    pub key: KeySpan<'t>,
    /// Its value.
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

    /// The path of the file.
    pub fn path(&self) -> &'t Path {
        &self.file.path
    }

    /// What is written there.
    pub fn text(&self) -> Option<&'t str> {
        self.file.text.get(self.start as usize..self.end as usize)
    }
}

impl From<&KeySpan<'_>> for SourceLocation {
    fn from(spot: &KeySpan<'_>) -> Self {
        Self { file: Arc::clone(spot.file), start: spot.start, end: spot.end }
    }
}

impl<'t> Node<'t> {
    /// What it is, in an author's words: "a string".
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
    pub fn as_table(&self) -> Option<&Table<'t>> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }
}

impl<'t> Table<'t> {
    /// Up to here comparing lengths, which differ nearly always, is quicker than halving.
    const FEW: usize = 24;

    /// The entry of that key.
    pub fn get(&self, key: &str) -> Option<&Entry<'t>> {
        match self.0.len() {
            0..=Self::FEW => self.0.iter().find(|entry| entry.name == key),
            _ => self.find(key).ok().map(|at| &self.0[at]),
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

    /// Removes the entry of that key, if there is one.
    pub fn remove(&mut self, key: &str) {
        self.0.retain(|entry| entry.name != key);
    }

    fn find(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|entry| (*entry.name).cmp(key))
    }

    fn get_mut(&mut self, key: &str) -> Option<&mut Entry<'t>> {
        self.find(key).ok().map(|at| &mut self.0[at])
    }

    /// Puts an entry in, in place of the one of its key.
    fn insert(&mut self, entry: Entry<'t>) {
        match self.find(&entry.name) {
            Ok(at) => self.0[at] = entry,
            Err(at) => self.0.insert(at, entry),
        }
    }

    fn extend(&mut self, over: Self) {
        over.0.into_iter().for_each(|entry| self.insert(entry));
    }
}

impl<'t> FromIterator<Entry<'t>> for Table<'t> {
    /// The entries have to come sorted by key.
    fn from_iter<I: IntoIterator<Item = Entry<'t>>>(entries: I) -> Self {
        let entries: Vec<_> = entries.into_iter().collect();
        debug_assert!(entries.is_sorted_by(|a, b| a.name < b.name));
        Self(entries)
    }
}

/// A mistake of TOML's grammar, in the parser's words but for those that newcomers make most.
fn syntax(place: &SourceLocation, message: &str, text: &str) -> Diagnostic {
    let message = message.lines().next().unwrap_or("not TOML");
    let there = text.get(place.start as usize..place.end as usize).unwrap_or_default();
    let new = |message: String| Diagnostic::new(Code::Syntax, place, message);
    match message {
        "duplicate key" if !there.is_empty() => new(format!("`{}` is there for the second time", one_line(there))),
        message if message.starts_with("string values must be quoted") && !there.contains(['"', '\\', '\n']) => {
            new("text stands in quotes".to_owned()).help(format!("write `\"{}\"`", one_line(there.trim())))
        }
        message => new(message.to_owned()),
    }
}

/// Reads one file. Every syntax error is a diagnostic; with one there is no table.
pub fn parse<'t>(file: &'t Arc<SourceFile>, diagnostics: &mut Diagnostics) -> Option<Table<'t>> {
    let (table, errors) = DeTable::parse_recoverable(&file.text);
    for error in &errors {
        let place = SourceLocation::new(file, error.span().unwrap_or(0..0));
        diagnostics.push(syntax(&place, error.message(), &file.text));
    }
    errors.is_empty().then(|| table_of(table.into_inner(), file))
}

fn table_of<'t>(table: DeTable<'t>, file: &'t Arc<SourceFile>) -> Table<'t> {
    let entry = |(key, value): (Spanned<Cow<'t, str>>, Spanned<DeValue<'t>>)| {
        let spot = KeySpan::new(file, key.span());
        Entry { name: key.into_inner(), key: spot, node: node_of(value, file) }
    };
    // Sorted as it is: by key.
    table.into_iter().map(entry).collect()
}

fn node_of<'t>(value: Spanned<DeValue<'t>>, file: &'t Arc<SourceFile>) -> Node<'t> {
    let place = KeySpan::new(file, value.span());
    let value = match value.into_inner() {
        DeValue::String(text) => Value::String(text),
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
pub fn merge_drop_in<'t>(base: &mut Table<'t>, drop_in: Table<'t>, diagnostics: &mut Diagnostics) {
    for Entry { name, key, node } in drop_in.0 {
        match (&*name, base.get_mut(&name), node.value) {
            ("process" | "setup", below, Value::Table(members)) => {
                let mut nothing = Table::default();
                let below = below.and_then(|entry| table_mut(&mut entry.node)).unwrap_or(&mut nothing);
                merge_members(&name, below, members, diagnostics);
            }
            ("defaults", Some(Entry { node: Node { value: Value::Table(below), .. }, .. }), Value::Table(over)) => {
                merge_settings(below, over);
            }
            (
                "target" | "slice",
                Some(Entry { node: Node { value: Value::Table(below), .. }, .. }),
                Value::Table(over),
            ) => {
                below.extend(over);
            }
            (_, _, value) => base.insert(Entry { name, key, node: Node { value, place: node.place } }),
        }
    }
}

fn table_mut<'n, 't>(node: &'n mut Node<'t>) -> Option<&'n mut Table<'t>> {
    match &mut node.value {
        Value::Table(table) => Some(table),
        _ => None,
    }
}

fn merge_members<'t>(kind: &str, base: &mut Table<'t>, members: Table<'t>, diagnostics: &mut Diagnostics) {
    for Entry { name, key, node } in members.0 {
        let Some(below) = base.get_mut(&name) else {
            let what = if kind == "setup" { "setup step" } else { "process" };
            let mut diagnostic = Diagnostic::new(
                Code::UnknownName,
                &key,
                format!("a drop-in can only change what the group file has, and it has no {what} named `{name}`"),
            );
            if let Some(near) = suggest::nearest(&name, base.names()) {
                diagnostic = diagnostic.help(format!("did you mean `[{kind}.{near}]`?"));
            }
            diagnostics.push(diagnostic);
            continue;
        };
        match (&mut below.node.value, node.value) {
            (Value::Table(below), Value::Table(over)) => merge_settings(below, over),
            (_, value) => below.node = Node { value, place: node.place },
        }
    }
}

/// Puts the keys of one process, setup step, instance or `[defaults]` over those of another. `exec` and `shell` are two
/// ways of saying one thing: either replaces either.
pub fn merge_settings<'t>(base: &mut Table<'t>, over: Table<'t>) {
    if over.get("exec").is_some() || over.get("shell").is_some() {
        base.remove("exec");
        base.remove("shell");
    }
    for Entry { name, key, node } in over.0 {
        let below = base.get_mut(&name).and_then(|entry| table_mut(&mut entry.node));
        match (below, node.value) {
            (Some(below), Value::Table(over)) if MERGED.contains(&&*name) => below.extend(over),
            (Some(below), Value::Table(over)) if name == "instance" => merge_instances(below, over),
            (_, value) => base.insert(Entry { name, key, node: Node { value, place: node.place } }),
        }
    }
}

fn merge_instances<'t>(base: &mut Table<'t>, over: Table<'t>) {
    for Entry { name, key, node } in over.0 {
        match (base.get_mut(&name).and_then(|entry| table_mut(&mut entry.node)), node.value) {
            (Some(below), Value::Table(over)) => merge_settings(below, over),
            (_, value) => base.insert(Entry { name, key, node: Node { value, place: node.place } }),
        }
    }
}
