//! Pins: units that are generated from an older version of their group file.
//!
//! `copse apply` writes them before it changes anything, and removes them when a rollout is complete: a process that the
//! rollout has not reached and that crashes must come back with the definition it had, not with an untested one. The
//! generator follows them, and systemd reads the result at the next daemon-reload. A file for each group.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::store;
use super::store::{Kept, SourceRecord, TextTable, Texts};
use crate::basic::atomic_file;
use crate::basic::clock::Realtime;
use crate::basic::diagnostic::{Code, Diagnostic};
use crate::basic::scope::Directories;
use crate::group_file::discover::Source;
use crate::unit::name::GroupName;

const FOLDER: &str = "pins";

/// The pins of one group. The first pin that names a unit counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pins(pub Vec<Pin>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The group's files as they were.
    pub source: Source,
    /// The value of `"cpus"` then.
    pub cpus: u32,
    pub units: Units,
}

/// The units that a pin names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Units {
    /// The whole group, as after a rollback: what the current group file adds is not there, what it dropped is.
    All,
    /// These (`G-P.service`, `G-P@1.service`, `G-P.socket`), and the units that they need and that the current group
    /// file does not have.
    Only(BTreeSet<String>),
}

impl Pins {
    /// The pin that names `unit`.
    pub fn of(&self, unit: &str) -> Option<&Pin> {
        self.0.iter().find(|pin| pin.holds(unit))
    }

    /// The pin of the whole group.
    pub fn all(&self) -> Option<&Pin> {
        self.0.iter().find(|pin| pin.units == Units::All)
    }

    /// The groups that have pins. One look at a directory that hardly ever exists.
    pub fn groups(directories: &Directories) -> HashSet<GroupName> {
        let folder = directories.state.as_ref().map(|state| directories.rooted(&state.join(FOLDER)));
        let entries = folder.into_iter().flat_map(std::fs::read_dir).flatten().flatten();
        entries.filter_map(|entry| GroupName::new(entry.file_name().to_str()?)).collect()
    }

    /// When the pins of `group` were written. `None` if there are none.
    pub fn since(directories: &Directories, group: &GroupName) -> Option<Realtime> {
        let path = directories.rooted(&path(directories, group)?);
        Some(std::fs::metadata(path).ok()?.modified().ok()?.into())
    }

    /// The groups that are rolled back, as far as the caller may read their pins, and since when.
    pub fn rolled_back(directories: &Directories) -> HashMap<GroupName, Realtime> {
        let whole = |group: &GroupName| Self::read(directories, group).is_ok_and(|pins| pins.all().is_some());
        let groups = Self::groups(directories).into_iter().filter(whole);
        groups.filter_map(|group| Self::since(directories, &group).map(|since| (group, since))).collect()
    }

    /// Reads the pins of `group`; none if there is no file.
    ///
    /// # Errors
    /// The file cannot be read or is not trusted.
    pub fn read(directories: &Directories, group: &GroupName) -> Result<Self, Diagnostic> {
        let Some(path) = path(directories, group) else { return Ok(Self::default()) };
        let pins = store::read(&directories.rooted(&path)).map(Option::unwrap_or_default);
        let of_group = |pins: Self| match pins.0.iter().all(|pin| pin.source.name == *group) {
            true => Ok(pins),
            false => Err("they are for another group".to_owned()),
        };
        pins.and_then(of_group).map_err(|why| {
            let message = format!("cannot read the pins, using the current group file: {why}");
            Diagnostic::file(Code::LastGood, path, message)
        })
    }

    /// Makes these the pins of `group` from the next daemon-reload on. Without pins, the file is removed.
    ///
    /// # Errors
    /// The file could not be written, or there is no place for it (user scope without `$XDG_RUNTIME_DIR`); the pins are
    /// unchanged.
    pub fn write(&self, directories: &Directories, group: &GroupName) -> std::io::Result<()> {
        let path = path(directories, group).ok_or(std::io::ErrorKind::NotFound)?;
        let path = directories.rooted(&path);
        if self.0.is_empty() { atomic_file::remove(&path) } else { store::write(&path, self) }
    }
}

impl Pin {
    pub fn holds(&self, unit: &str) -> bool {
        match &self.units {
            Units::All => true,
            Units::Only(units) => units.contains(unit),
        }
    }
}

fn path(directories: &Directories, group: &GroupName) -> Option<PathBuf> {
    store::path(directories, FOLDER, group)
}

#[derive(Serialize, Deserialize)]
pub struct PinRecord {
    source: SourceRecord,
    cpus: u32,
    units: Units,
}

impl Kept for Pins {
    const KIND: &'static str = "pins";
    type Record = Vec<PinRecord>;

    fn to_record<'v>(&'v self, texts: &mut TextTable<'v>) -> Vec<PinRecord> {
        let record =
            |pin: &'v Pin| PinRecord { source: texts.source(&pin.source), cpus: pin.cpus, units: pin.units.clone() };
        self.0.iter().map(record).collect()
    }

    fn from_record(record: Vec<PinRecord>, texts: &Texts) -> Option<Self> {
        let pin = |PinRecord { source, cpus, units }| Some(Pin { source: texts.source(source)?, cpus, units });
        record.into_iter().map(pin).collect::<Option<_>>().map(Self)
    }
}
