//! What most processes have in common goes to `[defaults]`.

use super::{Entry, GroupFile, Table, Value};
use crate::group_file::keys;
use crate::group_file::keys::{DEFAULTS, PROCESS, SETUP};

/// Tables of `[defaults]` that are merged key by key with those of a process.
const MERGED: &[&str] = &["environment", "service", "unit"];

impl GroupFile {
    /// Moves settings that more than half of the processes share to `[defaults]`; the others keep their own, which
    /// replace them. Only what *every* process (and setup step, where it may stand in one) has can be moved: there is no
    /// way for one of them to take most keys away again. What it means stays the same.
    pub fn lift(&mut self) {
        for key in keys::KEYS.iter().filter(|key| key.places & DEFAULTS != 0) {
            let mut members = self.members(key.places);
            if MERGED.contains(&key.name) {
                let mut common = Table::default();
                for name in names_of_all(&members, key.name) {
                    let mut tables: Vec<&mut Table> = members.iter_mut().map(|table| table.table(key.name)).collect();
                    common.entries.extend(taken(&mut tables, &name));
                }
                if !common.entries.is_empty() {
                    let emptied =
                        |table: &&mut &mut Table| table.get(key.name) == Some(&Value::Table(Table::default()));
                    members.iter_mut().filter(emptied).for_each(|table| table.remove(key.name));
                    self.defaults.set(key.name, common);
                }
            } else if let Some(entry) = taken(&mut members, key.name) {
                self.defaults.entries.push(entry);
            }
        }
    }

    /// The members that take a key which may stand in `places`.
    fn members(&mut self, places: u8) -> Vec<&mut Table> {
        let of = |place, members| if places & place != 0 { members } else { &mut [][..] };
        let setup = of(SETUP, &mut self.setup);
        let processes = of(PROCESS, &mut self.processes);
        setup.iter_mut().chain(processes).map(|(_, table)| table).collect()
    }
}

/// The scalar keys that the table at `key` has in every member, in the order of the first.
fn names_of_all(members: &[&mut Table], key: &str) -> Vec<String> {
    let mut tables = members.iter().map(|member| match member.get(key) {
        Some(Value::Table(table)) => Some(table),
        _ => None,
    });
    let Some(Some(first)) = tables.next() else { return Vec::new() };
    let rest: Vec<Option<&Table>> = tables.collect();
    let scalar = |value: &Value| !matches!(value, Value::Array(_) | Value::Table(_));
    let everywhere = |name: &str| rest.iter().all(|table| table.and_then(|table| table.get(name)).is_some_and(scalar));
    let names = first.entries.iter().filter(|entry| scalar(&entry.value) && everywhere(&entry.name));
    names.map(|entry| entry.name.clone()).collect()
}

/// Takes the entry `name` out of those members that agree with more than half of all, if all have one.
fn taken(members: &mut [&mut Table], name: &str) -> Option<Entry> {
    let entries: Vec<&Entry> = members
        .iter()
        .map(|table| table.entries.iter().find(|entry| entry.name == name))
        .collect::<Option<Vec<_>>>()?;
    let agreeing = |entry: &Entry| entries.iter().filter(|other| **other == entry).count();
    let common = (*entries.iter().find(|entry| {
        let count = agreeing(entry);
        count > 1 && count * 2 > entries.len()
    })?)
    .clone();
    for table in members {
        table.entries.retain(|entry| *entry != common);
    }
    Some(common)
}
