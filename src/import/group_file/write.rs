//! The text of a group file. It reads back as the same values, whatever the strings hold.

use std::fmt;

use super::{Entry, GroupFile, Table, Value};
use crate::basic::diagnostic::one_line;
use crate::model::toml_string;

/// The columns of arrays and comments.
const WIDTH: usize = 100;

impl fmt::Display for GroupFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = comments(&self.group.comments);
        if !text.is_empty() && !self.group.entries.is_empty() {
            text.push('\n');
        }
        entries(&self.group, &[], &mut text);
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

/// Separates what follows by an empty line.
fn gap(text: &mut String) {
    if !text.is_empty() {
        text.push('\n');
    }
}

fn paragraphs(paragraphs: &[String], text: &mut String) {
    for paragraph in paragraphs {
        gap(text);
        *text += &comments(std::slice::from_ref(paragraph));
    }
}

/// A table below its header, which a table of nothing but sections does not need.
fn section(table: &Table, path: &[&str], text: &mut String) {
    let only_sections = !table.entries.is_empty() && table.entries.iter().all(Entry::is_section);
    if !only_sections || table.has_comments() {
        gap(text);
        let path: Vec<String> = path.iter().map(|name| key(name)).collect();
        *text += &format!("{}[{}]\n", comments(&table.comments), path.join("."));
    }
    entries(table, path, text);
}

/// The keys of a table, and then the sections below it.
fn entries(table: &Table, path: &[&str], text: &mut String) {
    let mut entries: Vec<&Entry> = table.entries.iter().collect();
    entries.sort_by_key(|entry| entry.position());
    let (sections, lines): (Vec<&Entry>, Vec<&Entry>) = entries.into_iter().partition(|entry| entry.is_section());
    for entry in lines {
        let start = format!("{} = ", key(&entry.name));
        *text += &format!("{}{start}{}\n", comments(&entry.comments), value(&entry.value, start.chars().count()));
    }
    for entry in sections {
        let Value::Table(table) = &entry.value else { continue };
        let path = [path, &[&entry.name]].concat();
        if entry.name == "instance" {
            for instance in &table.entries {
                if let Value::Table(own) = &instance.value {
                    section(own, &[&path[..], &[&instance.name]].concat(), text);
                }
            }
        } else {
            let comments = [&entry.comments[..], &table.comments].concat();
            section(&Table { comments, ..table.clone() }, &path, text);
        }
    }
}

fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if bare { name.to_owned() } else { toml_string(name) }
}

/// A value that begins in this column.
fn value(value: &Value, column: usize) -> String {
    let text = inline(value);
    match value {
        Value::Array(elements) if column + text.chars().count() > WIDTH => format!("[\n{}]", filled(elements)),
        _ => text,
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
            let entry = |entry: &Entry| format!("{} = {}", key(&entry.name), inline(&entry.value));
            format!("{{ {} }}", table.entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

/// The lines of an array.
fn filled(elements: &[Value]) -> String {
    let mut text = String::new();
    let mut line = String::new();
    for element in elements.iter().map(inline) {
        if !line.is_empty() && line.chars().count() + element.chars().count() + 6 > WIDTH {
            text += &format!("   {line}\n");
            line.clear();
        }
        line += &format!(" {element},");
    }
    text + &format!("   {line}\n")
}

/// Comments in lines that are broken at blanks. TOML accepts no control characters in them.
fn comments(comments: &[String]) -> String {
    let mut text = String::new();
    for comment in comments {
        let mut line = String::from("#");
        for word in one_line(comment).split(' ') {
            if line.len() > 1 && line.chars().count() + word.chars().count() >= WIDTH {
                text += &format!("{line}\n");
                line = String::from("#  ");
            }
            line += &format!(" {word}");
        }
        text += &format!("{}\n", line.trim_end());
    }
    text
}
