//! Pins: units that are to be generated as an older version of their group has them.
//!
//! `copse apply` writes them before it rolls anything, and removes them when a roll-out is complete: a process that
//! wasn't rolled yet and crashes must come back with the definition it had, not with one that nobody saw working. The
//! generator obeys them; systemd takes note at the next daemon-reload. Gone at the next boot, as all of `/run`.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use super::store;
use super::store::{Decoder, Encoder, Kept, Record};
use crate::basic::clock;
use crate::basic::diagnostic::{Code, Diagnostic};
use crate::basic::scope::Directories;
use crate::group_file::discover::Source;
use crate::unit::name::GroupName;

/// Below `/run/copse`; a file for each group.
const FOLDER: &str = "pins";

/// The pins of one group. Of two that hold a unit the first counts. Empty: nothing is pinned.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pins(pub Vec<Pin>);

/// Units that are generated from an older text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The group's files as they were.
    pub source: Source,
    /// What `"cpus"` meant then.
    pub cpus: u32,
    /// Which units.
    pub units: Units,
}

/// What a pin holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Units {
    /// The whole group, as after a roll-back: what the newer text adds isn't there, what it dropped is.
    All,
    /// These (`G-P.service`, `G-P@1.service`, `G-P.socket`), and what they lean on that the newer text doesn't have.
    Only(BTreeSet<String>),
}

impl Pins {
    /// The pin that holds `unit`.
    pub fn of(&self, unit: &str) -> Option<&Pin> {
        self.0.iter().find(|pin| match &pin.units {
            Units::All => true,
            Units::Only(units) => units.contains(unit),
        })
    }

    /// The pin that holds the whole group.
    pub fn all(&self) -> Option<&Pin> {
        self.0.iter().find(|pin| pin.units == Units::All)
    }

    /// About what they take without their texts, in bytes.
    pub(super) fn size(&self) -> usize {
        let units = self.0.iter().flat_map(|pin| match &pin.units {
            Units::All => None,
            Units::Only(units) => Some(units),
        });
        units.flatten().map(String::len).sum()
    }

    /// The groups that have pins. One look at a directory that is hardly ever there.
    pub fn groups(directories: &Directories) -> HashSet<GroupName> {
        let folder = directories.state.as_ref().map(|state| directories.rooted(&state.join(FOLDER)));
        let entries = folder.into_iter().flat_map(std::fs::read_dir).flatten().flatten();
        entries.filter_map(|entry| GroupName::new(entry.file_name().to_str()?)).collect()
    }

    /// When the pins of `group` were written, in microseconds since the epoch; zero: there are none.
    pub fn since(directories: &Directories, group: &GroupName) -> u64 {
        let path = path(directories, group).map(|path| directories.rooted(&path));
        let modified = path.and_then(|path| std::fs::metadata(path).ok()?.modified().ok());
        modified.map_or(0, clock::since_epoch)
    }

    /// Since when the whole of each group is pinned: those that are rolled back, as far as the caller may read it.
    pub fn rolled_back(directories: &Directories) -> HashMap<GroupName, u64> {
        let whole = |group: &GroupName| Self::read(directories, group).is_ok_and(|pins| pins.all().is_some());
        let groups = Self::groups(directories).into_iter().filter(whole);
        groups.map(|group| (group.clone(), Self::since(directories, &group))).collect()
    }

    /// Reads the pins of `group`; none where there is no file.
    ///
    /// # Errors
    /// Where there is a file that can't be read, or isn't to be believed.
    pub fn read(directories: &Directories, group: &GroupName) -> Result<Self, Diagnostic> {
        let Some(path) = path(directories, group) else { return Ok(Self::default()) };
        let pins = store::read(&directories.rooted(&path));
        let of_group = |pins: Pins| match pins.0.iter().all(|pin| pin.source.name == *group) {
            true => Ok(pins),
            false => Err("they are another group's".to_owned()),
        };
        pins.and_then(|pins| of_group(pins.unwrap_or_default()))
            .map_err(|why| Diagnostic::file(Code::LastGood, path, format!("the pinned units are ignored: {why}")))
    }

    /// Makes these the pins of `group`: what the next daemon-reload will obey. No pins, no file.
    ///
    /// # Errors
    /// Where that couldn't be written (or in user scope without `$XDG_RUNTIME_DIR`); what was pinned is, then.
    pub fn write(&self, directories: &Directories, group: &GroupName) -> std::io::Result<()> {
        let path = path(directories, group).ok_or(std::io::ErrorKind::NotFound)?;
        let path = directories.rooted(&path);
        if self.0.is_empty() { store::remove(&path) } else { store::write(&path, self) }
    }
}

/// `/run/copse/pins/G`, without the root.
fn path(directories: &Directories, group: &GroupName) -> Option<PathBuf> {
    Some(directories.state.as_ref()?.join(FOLDER).join(group.as_str()))
}

impl Kept for Pins {
    const FORMAT: &'static str = "pins 1";

    fn encode(&self, to: &mut Encoder) {
        self.0.iter().for_each(|pin| pin.encode(to));
    }

    fn decode(from: &mut Decoder<'_>) -> Option<Self> {
        let mut pins = Vec::new();
        while let Some(record) = from.record() {
            if record.word == "pin" {
                pins.push(Pin::decode(&record, from)?);
            }
        }
        Some(Self(pins))
    }
}

impl Pin {
    /// A record `pin SOURCE CPUS all`, or `pin SOURCE CPUS only UNIT…`.
    pub(crate) fn encode(&self, to: &mut Encoder) {
        let (source, cpus) = (to.source(&self.source), self.cpus.to_string());
        let mut fields = vec![source.as_str(), &cpus];
        match &self.units {
            Units::All => fields.push("all"),
            Units::Only(units) => {
                fields.push("only");
                fields.extend(units.iter().map(String::as_str));
            }
        }
        to.record("pin", &fields);
    }

    pub(crate) fn decode(record: &Record<'_>, from: &Decoder<'_>) -> Option<Self> {
        let units = match record.field(2)? {
            "all" => Units::All,
            "only" => Units::Only(record.fields[3..].iter().map(ToString::to_string).collect()),
            _ => return None,
        };
        Some(Self { source: from.source(record.field(0)?)?, cpus: record.number(1)?, units })
    }
}
