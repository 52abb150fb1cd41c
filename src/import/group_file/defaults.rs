use super::{Entry, GroupFile, Table, Value};
use crate::group_file::keys;
use crate::group_file::keys::{DEFAULTS, PROCESS, SETUP};

/// Tables of `[defaults]` that are merged key by key with those of a process.
const MERGED: &[&str] = &["environment", "service", "unit"];

impl GroupFile {
    /// Moves settings that more than half of the processes share to `[defaults]`; the others override them. Only keys that
    /// all processes, and all setup steps that accept the key, have can be moved: most keys cannot be unset.
    pub fn move_to_defaults(&mut self) {
        for key in keys::KEYS.iter().filter(|key| key.places & DEFAULTS != 0) {
            let mut members = self.members(key.places);
            if !MERGED.contains(&key.name) {
                let shared = take_shared(&mut members, key.name);
                self.defaults.entries.extend(shared);
                continue;
            }
            let mut shared = Table::default();
            for name in common_names(&members, key.name) {
                let mut tables: Vec<&mut Table> = members.iter_mut().map(|table| table.table(key.name)).collect();
                shared.entries.extend(take_shared(&mut tables, &name));
            }
            if !shared.entries.is_empty() {
                let empty = Value::Table(Table::default());
                let emptied = members.iter_mut().filter(|table| table.get(key.name) == Some(&empty));
                emptied.for_each(|table| table.remove(key.name));
                self.defaults.set(key.name, shared);
            }
        }
    }

    /// The processes and setup steps that accept a key of these `places`.
    fn members(&mut self, places: u8) -> Vec<&mut Table> {
        let setup = self.setup.iter_mut().filter(|_| places & SETUP != 0);
        let processes = self.processes.iter_mut().filter(|_| places & PROCESS != 0);
        setup.chain(processes).map(|(_, table)| table).collect()
    }
}

/// The names with a scalar value in the table at `key` of every member, in the order of the first.
fn common_names(members: &[&mut Table], key: &str) -> Vec<String> {
    let tables = members.iter().map(|member| match member.get(key) {
        Some(Value::Table(table)) => Some(table),
        _ => None,
    });
    let Some(tables) = tables.collect::<Option<Vec<&Table>>>() else { return Vec::new() };
    let scalar = |value: &Value| !matches!(value, Value::Array(_) | Value::Table(_));
    let common = |name: &str| tables.iter().all(|table| table.get(name).is_some_and(scalar));
    let names = tables.first().into_iter().flat_map(|table| &table.entries).map(|entry| &entry.name);
    names.filter(|name| common(name)).cloned().collect()
}

/// Removes the entry `name` from the members that have the value of more than half of them, if all have one.
fn take_shared(members: &mut [&mut Table], name: &str) -> Option<Entry> {
    let entry = |table: &'_ &mut Table| table.entries.iter().find(|entry| entry.name == name).cloned();
    let entries: Vec<Entry> = members.iter().map(entry).collect::<Option<_>>()?;
    let count = |entry: &Entry| entries.iter().filter(|other| *other == entry).count();
    let shared = entries.iter().find(|entry| count(entry) > 1 && count(entry) * 2 > entries.len())?.clone();
    members.iter_mut().for_each(|table| table.entries.retain(|entry| *entry != shared));
    Some(shared)
}
