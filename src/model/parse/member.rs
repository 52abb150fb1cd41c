//! The table of a process or setup step, merged with `[defaults]`.

use std::borrow::Cow;

use super::context::Role;
use super::defaults;
use super::unknown_key;
use super::value;
use super::value::{conflict, missing, wrong_type};
use crate::basic::diagnostic::Diagnostics;
use crate::group_file::document::{Entry, KeySpan, Table, merge_settings};
use crate::group_file::keys;
use crate::unit::name::ProcessName;

/// A process or setup step, before its settings are read.
pub struct Member<'a> {
    pub name: &'a ProcessName,
    /// `process.web`
    pub header: String,
    /// The location of the header.
    pub location: KeySpan<'a>,
    /// Its table, merged with the defaults that fit it.
    pub table: Cow<'a, Table<'a>>,
    pub role: Role,
}

impl<'a> Member<'a> {
    /// Merges the defaults that fit, and reports unknown keys. `None` if the entry is no table.
    pub fn new(
        name: &'a ProcessName,
        entry: &'a Entry<'a>,
        setup: bool,
        defaults: &'a Table<'a>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        let (kind, place) = if setup { ("setup", keys::SETUP) } else { ("process", keys::PROCESS) };
        let header = format!("{kind}.{name}");
        let Some(own) = entry.node.as_table() else {
            diagnostics.push(wrong_type(&header, "a table", &entry.node));
            return None;
        };
        unknown_key::check(&header, own, place, diagnostics);
        if !setup {
            check_pass_through(&header, own, diagnostics);
        }
        let mut fitting = defaults::fitting(own, defaults, setup).peekable();
        let table = match fitting.peek() {
            None => Cow::Borrowed(own),
            Some(_) => {
                let mut table: Table = fitting.cloned().collect();
                merge_settings(&mut table, own.clone());
                Cow::Owned(table)
            }
        };
        let role = role(&table, setup, diagnostics);
        Some(Self { name, header, location: entry.key, table, role })
    }
}

fn role(table: &Table, setup: bool, diagnostics: &mut Diagnostics) -> Role {
    match (table.get("start"), table.get("on-calendar")) {
        _ if setup => Role::Setup,
        (Some(entry), Some(_)) => {
            let message = "`start` cannot be combined with `on-calendar`: the timer starts the process";
            diagnostics.push(conflict(entry, message).help("remove `start`"));
            Role::Timed
        }
        (None, Some(_)) => Role::Timed,
        (Some(entry), None) => match diagnostics.ok(value::word("start", &entry.node, keys::START)) {
            Some("manual") => Role::Manual,
            _ => Role::Auto,
        },
        (None, None) => Role::Auto,
    }
}

/// Pass-through for a unit that is not generated would be dropped silently.
fn check_pass_through(header: &str, own: &Table, diagnostics: &mut Diagnostics) {
    for (table, key, example) in [("socket", "listen", "\"tcp:8080\""), ("timer", "on-calendar", "\"daily\"")] {
        if let Some(entry) = own.get(table).filter(|_| own.get(key).is_none()) {
            let message = format!("`[{header}.{table}]` has no effect without `{key}`");
            diagnostics.push(missing(entry, message).help(format!("add `{key} = {example}` to `[{header}]`")));
        }
    }
}
