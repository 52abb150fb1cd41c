//! YAML with comments: structure and comments are written here, every key and every scalar by serde_norway.

use std::collections::BTreeMap;

use serde::Serialize;

/// A value of a manifest.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    Text(String),
    Number(i64),
    Flag(bool),
    Map(Map),
    List(Vec<Node>),
}

/// Fields in the order in which they are written.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Map {
    /// A comment above the first field.
    head: Option<String>,
    fields: Vec<Field>,
}

#[derive(Debug, Clone, PartialEq)]
struct Field {
    why: Option<String>,
    key: String,
    node: Node,
}

impl Map {
    pub fn new() -> Self {
        Self::default()
    }

    /// With a comment above.
    pub fn about(head: Option<String>) -> Self {
        Self { head, fields: Vec::new() }
    }

    pub fn with(mut self, key: impl Into<String>, node: impl Into<Node>) -> Self {
        self.fields.push(Field { why: None, key: key.into(), node: node.into() });
        self
    }

    /// A field with the reason for it.
    pub fn why(mut self, why: impl Into<String>, key: &str, node: impl Into<Node>) -> Self {
        self.fields.push(Field { why: Some(why.into()), key: key.to_owned(), node: node.into() });
        self
    }

    /// A field, if there is a value.
    pub fn maybe(self, key: &str, node: Option<impl Into<Node>>) -> Self {
        match node {
            Some(node) => self.with(key, node),
            None => self,
        }
    }

    /// A list, unless it is empty.
    pub fn list<T: Into<Node>>(self, key: &str, nodes: impl IntoIterator<Item = T>) -> Self {
        let nodes: Vec<Node> = nodes.into_iter().map(Into::into).collect();
        if nodes.is_empty() { self } else { self.with(key, nodes) }
    }

    /// A map, unless it is empty.
    pub fn map(self, key: &str, map: Map) -> Self {
        if map.is_empty() { self } else { self.with(key, map) }
    }

    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The document.
    pub fn document(&self) -> String {
        let mut text = String::new();
        write_map(self, "", &mut text);
        text
    }
}

impl From<String> for Node {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Node {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&String> for Node {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<i64> for Node {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for Node {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<Map> for Node {
    fn from(map: Map) -> Self {
        Self::Map(map)
    }
}

impl From<Vec<Node>> for Node {
    fn from(list: Vec<Node>) -> Self {
        Self::List(list)
    }
}

fn write_map(map: &Map, indent: &str, text: &mut String) {
    for field in &map.fields {
        comment(field.why.as_deref(), indent, text);
        let key = key(&field.key);
        let deeper = format!("{indent}  ");
        match &field.node {
            Node::Map(map) if !map.is_empty() => {
                text.push_str(&format!("{indent}{key}:\n"));
                comment(map.head.as_deref(), &deeper, text);
                write_map(map, &deeper, text);
            }
            Node::List(list) if !list.is_empty() => {
                text.push_str(&format!("{indent}{key}:\n"));
                write_list(list, indent, text);
            }
            leaf => shifted(&format!("{key}: {}", scalar(leaf)), indent, text),
        }
    }
}

fn write_list(list: &[Node], indent: &str, text: &mut String) {
    for node in list {
        match node {
            Node::Map(map) if !map.is_empty() => {
                comment(map.head.as_deref(), indent, text);
                let mut item = String::new();
                write_map(map, &format!("{indent}  "), &mut item);
                // The first field is never commented.
                text.push_str(&format!("{indent}- {}", &item[indent.len() + 2..]));
            }
            leaf => shifted(&format!("- {}", scalar(leaf)), indent, text),
        }
    }
}

/// A comment of one line or more.
fn comment(why: Option<&str>, indent: &str, text: &mut String) {
    for line in why.into_iter().flat_map(str::lines) {
        text.push_str(&format!("{indent}# {line}\n"));
    }
}

/// The lines, each with the indentation. The lines of a block scalar are relative to that of its key.
fn shifted(lines: &str, indent: &str, text: &mut String) {
    for line in lines.split('\n') {
        if !line.is_empty() {
            text.push_str(indent);
            text.push_str(line);
        }
        text.push('\n');
    }
}

fn key(key: &str) -> String {
    plain(key).unwrap_or_else(|| quoted(key))
}

/// A scalar as it stands after `key: ` or `- `. Only a block scalar has several lines, indented by two blanks.
fn scalar(node: &Node) -> String {
    match node {
        Node::Text(text) if text.contains('\n') => block(text),
        Node::Text(text) => plain(text).unwrap_or_else(|| quoted(text)),
        Node::Number(number) => written(number),
        Node::Flag(flag) => written(flag),
        Node::Map(_) => "{}".to_owned(),
        Node::List(_) => "[]".to_owned(),
    }
}

fn written(value: &impl Serialize) -> String {
    let text = serde_norway::to_string(value).unwrap_or_default();
    text.strip_suffix('\n').unwrap_or(&text).to_owned()
}

/// As the library writes it, unless that is plain and a reader of YAML 1.1 might not take it for a string: `1_000`, `on`,
/// `1e3`, `12:30:45`, `2001-01-01`, `=`. kubectl reads YAML 1.1.
fn plain(text: &str) -> Option<String> {
    if text.chars().any(is_odd) {
        return None;
    }
    let text_written = written(&text);
    let is_plain = !text_written.starts_with(['\'', '"', '|', '>']);
    let start = text.trim_start_matches(['/', '.', '_', '-']);
    let is_word = start.starts_with(|c: char| c.is_ascii_alphabetic()) && !text.starts_with("---");
    let word = text.to_ascii_lowercase();
    let is_ambiguous = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"].contains(&word.as_str())
        || word.trim_start_matches(['.', '-']) == "inf"
        || word.trim_start_matches('.') == "nan";
    let is_one_line = !text_written.contains('\n');
    (is_one_line && (!is_plain || is_word && !is_ambiguous)).then_some(text_written)
}

/// A string of JSON, which is one of YAML.
fn quoted(text: &str) -> String {
    let text = serde_json::to_string(text).unwrap_or_default();
    let escaped = text.chars().map(|c| if is_odd(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() });
    escaped.collect()
}

/// Not printable in YAML, or a line end there, which libyaml does not always escape.
fn is_odd(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Text of several lines, as the value of a key.
fn block(text: &str) -> String {
    let field = written(&BTreeMap::from([("k", text)]));
    match field.strip_prefix("k: ") {
        Some(block) if block.starts_with('|') && !text.chars().any(is_odd) => block.to_owned(),
        _ => quoted(text),
    }
}
