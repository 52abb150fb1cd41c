//! The file as text. Whatever the strings hold, what is written reads back as the same values.

use std::fmt;

use super::{Entry, GroupFile, Table, Value, position};
use crate::basic::diagnostic::one_line;
use crate::model::toml_string;

/// Columns after which arrays and comments go on in the next line.
const WIDTH: usize = 100;

impl fmt::Display for GroupFile {
    /// TOML, with an empty line between tables.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = comments(&self.group.comments);
        if !text.is_empty() && !self.group.entries.is_empty() {
            text.push('\n');
        }
        keys(&self.group, &[], &mut text);
        if !self.defaults.is_empty() {
            section(&self.defaults, &["defaults"], &mut text);
        }
        for (kind, members) in [("setup", &self.setup), ("process", &self.processes)] {
            for (name, table) in members {
                paragraphs(&table.above, &mut text);
                section(table, &[kind, name], &mut text);
            }
        }
        paragraphs(&self.end, &mut text);
        f.write_str(&text)
    }
}

/// Comments that stand alone.
fn paragraphs(texts: &[String], text: &mut String) {
    for one in texts {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&comments(std::slice::from_ref(one)));
    }
}

/// A table below its header. A table that holds nothing but sections needs no header of its own.
fn section(table: &Table, path: &[&str], text: &mut String) {
    let only_sections =
        !table.entries.is_empty() && table.entries.iter().all(|entry| entry.value.is_section(&entry.name));
    if !only_sections || table.has_comments() {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&comments(&table.comments));
        let path: Vec<String> = path.iter().map(|name| key(name)).collect();
        text.push_str(&format!("[{}]\n", path.join(".")));
    }
    keys(table, path, text);
}

/// The keys of a table, and then the sections below it.
fn keys(table: &Table, path: &[&str], text: &mut String) {
    let mut entries: Vec<&Entry> = table.entries.iter().collect();
    entries.sort_by_key(|entry| position(&entry.name));
    let (sections, lines): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|entry| entry.value.is_section(&entry.name));
    for entry in lines {
        text.push_str(&comments(&entry.comments));
        let start = format!("{} = ", key(&entry.name));
        text.push_str(&start);
        text.push_str(&value(&entry.value, start.chars().count()));
        text.push('\n');
    }
    for entry in sections {
        let Value::Table(table) = &entry.value else { continue };
        let mut path = path.to_vec();
        path.push(&entry.name);
        if entry.name == "instance" {
            for instance in &table.entries {
                let Value::Table(own) = &instance.value else { continue };
                path.push(&instance.name);
                section(own, &path, text);
                path.pop();
            }
        } else {
            let mut table = table.clone();
            table.comments.splice(0..0, entry.comments.iter().cloned());
            section(&table, &path, text);
        }
    }
}

fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if bare { name.to_owned() } else { toml_string(name) }
}

/// `column`: where the value begins in its line.
fn value(value: &Value, column: usize) -> String {
    let short = inline(value);
    match value {
        Value::Array(elements) if column + short.chars().count() > WIDTH => {
            let lines: String = filled(&elements.iter().map(inline).collect::<Vec<_>>());
            format!("[\n{lines}]")
        }
        _ => short,
    }
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => toml_string(text),
        Value::Integer(number) => number.to_string(),
        Value::Boolean(value) => value.to_string(),
        Value::Array(elements) => format!("[{}]", elements.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Table(table) if table.entries.is_empty() => "{}".to_owned(),
        Value::Table(table) => {
            let entries: Vec<_> =
                table.entries.iter().map(|entry| format!("{} = {}", key(&entry.name), inline(&entry.value))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
    }
}

/// Elements, as many in a line as there is room for.
fn filled(elements: &[String]) -> String {
    let mut text = String::new();
    let mut line = String::new();
    for element in elements {
        if !line.is_empty() && line.chars().count() + element.chars().count() + 6 > WIDTH {
            text.push_str(&format!("   {line}\n"));
            line.clear();
        }
        line.push_str(&format!(" {element},"));
    }
    text + &format!("   {line}\n")
}

/// Comment lines, cut at blanks. TOML takes no control character in them, and one could end the line.
fn comments(comments: &[String]) -> String {
    let mut text = String::new();
    for comment in comments {
        let mut line = String::from("#");
        for word in one_line(comment).split(' ') {
            if line.len() > 1 && line.chars().count() + word.chars().count() >= WIDTH {
                text.push_str(&line);
                text.push('\n');
                line = String::from("#  ");
            }
            line.push(' ');
            line.push_str(word);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
