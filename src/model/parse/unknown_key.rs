//! Keys that do not exist, or not in that table, with the likely fix.

use super::pass_through;
use super::probe;
use super::value::{did_you_mean, shown};
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::basic::suggest;
use crate::group_file::document::{Entry, Table};
use crate::group_file::keys;
use crate::unit::directives;

/// Reports each key of `table`, which has this header, that cannot stand in such a table. `place`: as in
/// [`keys::Key::places`].
pub fn check(header: &str, table: &Table, place: u8, diagnostics: &mut Diagnostics) {
    for entry in table.entries() {
        if keys::find(&entry.name).is_none_or(|key| key.places & place == 0) {
            diagnostics.push_error(|| member_key(header, entry, place));
        }
    }
}

/// Reports each key that is none of the group.
pub fn check_group(table: &Table, diagnostics: &mut Diagnostics) {
    for entry in table.entries().iter().filter(|entry| !keys::GROUP_KEYS.contains(&&*entry.name)) {
        diagnostics.push_error(|| group_key(entry));
    }
}

fn member_key(header: &str, entry: &Entry, place: u8) -> Diagnostic {
    let name = &*entry.name;
    let new = |code, message: String| Diagnostic::new(code, entry, message);
    if let Some(key) = keys::find(name) {
        let message = format!("`{name}` is not possible in `[{header}]`");
        return new(Code::MisplacedKey, message).help(format!("move it to {}", tables_of(key)));
    }
    let of_group = keys::GROUP_KEYS.iter().find(|key| suggest::same_word(key, name));
    if let Some(key) = of_group.filter(|key| **key == name || directives::sections_of(name).next().is_none()) {
        let message = format!("`{key}` is a group key, used in the table `[{header}]`");
        let alone = pass_through::as_directive(header, entry).map(|lines| format!("; or, for this one alone, {lines}"));
        let help = format!("move it above the first line that begins with `[`{}", alone.unwrap_or_default());
        return new(Code::MisplacedKey, message).help(help);
    }
    let diagnostic = new(Code::UnknownKey, format!("unknown key `{}` in `[{header}]`", shown(name)));
    if name.eq_ignore_ascii_case("install") {
        return diagnostic.help(keys::INSTALL);
    }
    if probe::is_key_of_ready(name) {
        let value = shown(entry.node.location.text().unwrap_or("…"));
        return diagnostic.help(format!("write `ready = {{ {name} = {value} }}`"));
    }
    let also_called = keys::ALSO_CALLED.iter().find(|(other, _)| suggest::same_word(other, name)).map(|(_, key)| *key);
    let known = || keys::KEYS.iter().filter(|key| key.places & place != 0).map(|key| key.name);
    let near = also_called.filter(|key| known().any(|known| known == *key)).or_else(|| suggest::nearest(name, known()));
    // A directive with a key (`RestartSec`) is that key, any other one is pass-through.
    match (near, pass_through::as_directive(header, entry)) {
        (Some(near), Some(lines)) if also_called.is_none() && !suggest::same_word(near, name) => diagnostic.help(lines),
        (None, Some(lines)) => diagnostic.help(lines),
        (near, _) => did_you_mean(diagnostic, near),
    }
}

fn tables_of(key: &keys::Key) -> String {
    let tables = [
        (keys::PROCESS, "`[process.NAME]`"),
        (keys::SETUP, "`[setup.NAME]`"),
        (keys::INSTANCE, "`[process.NAME.instance.N]`"),
        (keys::DEFAULTS, "`[defaults]`"),
    ];
    let tables: Vec<_> = tables.iter().filter(|(place, _)| key.places & place != 0).map(|(_, text)| *text).collect();
    tables.join(" or ")
}

fn group_key(entry: &Entry) -> Diagnostic {
    let name = &*entry.name;
    let new = |code, message: String| Diagnostic::new(code, entry, message);
    if keys::find(name).is_some() {
        return new(Code::MisplacedKey, format!("`{name}` is a process key, used outside a `[process.NAME]` table"))
            .help("move it below a header such as `[process.NAME]`, or below `[defaults]` for all");
    }
    let diagnostic = new(Code::UnknownKey, format!("unknown group key `{}`", shown(name)));
    if name.eq_ignore_ascii_case("install") {
        return diagnostic.help(keys::INSTALL);
    }
    if let Some(near) = suggest::nearest(name, keys::GROUP_KEYS.iter().copied()) {
        return did_you_mean(diagnostic, Some(near));
    }
    if entry.node.as_table().is_some() {
        return diagnostic.help(format!("write `[process.{}]` for a process", shown(&name.to_ascii_lowercase())));
    }
    match pass_through::as_directive("process.NAME", entry) {
        Some(lines) => diagnostic.help(lines),
        None => diagnostic,
    }
}
