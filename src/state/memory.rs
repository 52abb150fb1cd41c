//! What the generator remembers until the next boot: each group's history, and units that are gone.
//!
//! systemd empties the generator's directory before each run, so yesterday's units can't be looked up there. A group
//! file that somebody broke must not cost a running group its restart policies, and a process that left its group
//! must still be stopped the way it wants: both are generated again from what is kept here. One file (see
//! [`super::store`]), written only when something changed.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::history::{History, Overrides, Version};
use super::pins::{Pin, Pins};
use super::store;
use super::store::{Decoder, Encoder, Kept, Record};
use crate::basic::diagnostic::{Code, Diagnostic, SourceFile};
use crate::basic::scope::Directories;
use crate::unit::name::GroupName;
use crate::unit::{Unit, parse};

/// What is remembered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Memory {
    /// What each group was generated from; the last version is what it was when it was last generated without an error.
    pub histories: BTreeMap<GroupName, History>,
    /// The files of orphaned units, by path in the generator's directory.
    pub orphans: BTreeMap<String, Unit>,
}

/// As much may the versions before the last take, of all groups together, in bytes. `/run` is memory, and the
/// file is read at each daemon-reload.
const OLDER_MAX: usize = 8 << 20;

/// A [`Memory`] on disk.
#[derive(Debug)]
pub struct Store {
    /// The file, with the root and without. None in user scope without `$XDG_RUNTIME_DIR`.
    paths: Option<(PathBuf, PathBuf)>,
}

impl Store {
    /// Reads the memory of this scope. Nothing is remembered where there is no file (a boot), or where it isn't to be
    /// believed: then a diagnostic says why.
    pub fn read(directories: &Directories) -> (Self, Memory, Option<Diagnostic>) {
        let path = directories.state.as_ref().map(|state| state.join("history"));
        let store = Self { paths: path.map(|path| (directories.rooted(&path), path)) };
        let Some((here, path)) = &store.paths else { return (store, Memory::default(), None) };
        let memory = store::read(here).map(Option::unwrap_or_default);
        let diagnostic = memory.as_ref().err().map(|why| {
            Diagnostic::file(Code::LastGood, path, format!("what was remembered since the boot is ignored: {why}"))
        });
        (store, memory.unwrap_or_default(), diagnostic)
    }

    /// Writes `memory`.
    ///
    /// # Errors
    /// Where it couldn't be written; the file is as it was then.
    pub fn write(&self, memory: &Memory) -> Result<(), Diagnostic> {
        let Some((here, path)) = &self.paths else { return Ok(()) };
        store::write(here, memory)
            .map_err(|error| Diagnostic::file(Code::LastGood, path, format!("the history can't be kept: {error}")))
    }
}

impl Memory {
    /// The same, without the oldest versions where those before the last take more than [`OLDER_MAX`].
    pub fn bounded(&mut self) -> &Self {
        let mut older = Vec::new();
        for (name, history) in &self.histories {
            let mut newer = history.versions.as_slice();
            while let [version, rest @ ..] = newer
                && !rest.is_empty()
            {
                older.push((version.since, version.own_size(rest), name.clone()));
                newer = rest;
            }
        }
        let mut size: usize = older.iter().map(|(_, size, _)| size).sum();
        older.sort();
        for (_, own, name) in older {
            if size <= OLDER_MAX {
                break;
            }
            size -= own;
            // Sorted by time, so it is the oldest one of its group.
            self.histories.entry(name).and_modify(|history| drop(history.versions.remove(0)));
        }
        self
    }
}

impl Kept for Memory {
    const FORMAT: &'static str = "history 1";

    fn encode(&self, to: &mut Encoder) {
        self.histories.values().flat_map(|history| &history.versions).for_each(|version| encode(version, to));
        for (path, unit) in &self.orphans {
            to.record("gone", &[path, &unit.to_string()]);
        }
    }

    fn decode(from: &mut Decoder<'_>) -> Option<Self> {
        let mut memory = Self::default();
        // `above`, `below` and `pin` belong to the version before them.
        let mut versions: Vec<Version> = Vec::new();
        while let Some(record) = from.record() {
            match record.word {
                "version" => versions.push(decode(&record, from)?),
                "above" => versions.last_mut()?.overrides.above = files(&record, from)?,
                "below" => versions.last_mut()?.overrides.below = files(&record, from)?,
                "pin" => versions.last_mut()?.pins.0.push(Pin::decode(&record, from)?),
                "gone" => {
                    let (path, unit) = (record.field(0)?.to_owned(), parse::unit(record.field(1)?));
                    memory.orphans.insert(path, unit);
                }
                _ => {}
            }
        }
        for version in versions {
            let name = version.source.name.clone();
            memory.histories.entry(name).or_default().versions.push(version);
        }
        Some(memory)
    }
}

/// `version SINCE CPUS STATIC SOURCE`, and what it has of `above TEXT…`, `below TEXT…` and `pin …` after it.
fn encode(version: &Version, to: &mut Encoder) {
    let Version { since, source, cpus, static_target, overrides: Overrides { above, below }, pins } = version;
    let number = to.source(source);
    let target = if *static_target { "static" } else { "generated" };
    to.record("version", &[&since.to_string(), &cpus.to_string(), target, &number]);
    for (word, files) in [("above", above), ("below", below)] {
        if !files.is_empty() {
            let numbers: Vec<_> = files.iter().map(|file| to.file(file)).collect();
            to.record(word, &numbers.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }
    pins.0.iter().for_each(|pin| pin.encode(to));
}

fn decode(record: &Record<'_>, from: &Decoder<'_>) -> Option<Version> {
    Some(Version {
        since: record.number(0)?,
        cpus: record.number(1)?,
        static_target: match record.field(2)? {
            "static" => true,
            "generated" => false,
            _ => return None,
        },
        source: from.source(record.field(3)?)?,
        overrides: Overrides::default(),
        pins: Pins::default(),
    })
}

fn files(record: &Record<'_>, from: &Decoder<'_>) -> Option<Vec<Arc<SourceFile>>> {
    record.fields.iter().map(|field| from.file(field)).collect()
}
