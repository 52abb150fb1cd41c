//! What `copse apply` leaves for the next one, and for `copse plan`: what was applied last, and what an interrupted apply
//! had begun. A file for each group.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::store;
use super::store::{Kept, SourceRecord, TextTable, Texts};
use crate::basic::atomic_file;
use crate::basic::clock::{Monotonic, Realtime};
use crate::basic::diagnostic::{Code, Diagnostic};
use crate::basic::scope::Directories;
use crate::group_file::discover::Source;
use crate::unit::name::GroupName;

/// The last complete apply of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// When it was complete.
    pub at: Realtime,
    /// The group's files as they were applied: what `--rollback` goes back to.
    pub source: Source,
    /// The value of `"cpus"`.
    pub cpus: u32,
    pub units: BTreeMap<String, Taken>,
}

/// What a unit was started from, apart from its definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// When. For a process, its `ExecMainStartTimestampMonotonic`: this is valid for that run alone. For a unit that is
    /// run by a reload (a setup step, the owner of shared directories), the time of the request: systemd keeps none.
    pub at: Option<Monotonic>,
    /// Taken before it was started.
    pub prints: Prints,
}

/// Fingerprints of the files that a unit is started from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Prints {
    /// Of its `inputs`. Empty: it has none, or they could not be read.
    pub inputs: String,
    /// Of the files that systemd reads for it (environment files, credentials), likewise. `None`: written by a copse that
    /// did not record them.
    pub handed: Option<String>,
}

/// What an apply is about to do. Written before and removed after, so one that is found is from an apply that was
/// interrupted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Intent {
    /// The units that it stops and must start again.
    pub units: BTreeSet<String>,
}

impl Applied {
    /// `None` if nothing was applied since the boot.
    ///
    /// # Errors
    /// There is a file that cannot be read, by users other than root for example, or that is not trusted.
    pub fn read(directories: &Directories, group: &GroupName) -> Result<Option<Self>, Diagnostic> {
        read(directories, group)
    }

    /// Makes this the last apply of `group`.
    ///
    /// # Errors
    /// The file could not be written, or there is no place for it (user scope without `$XDG_RUNTIME_DIR`).
    pub fn write(&self, directories: &Directories, group: &GroupName) -> std::io::Result<()> {
        store::write(&path::<Self>(directories, group)?, self)
    }
}

impl Intent {
    /// Empty if no apply was interrupted.
    ///
    /// # Errors
    /// As [`Applied::read`].
    pub fn read(directories: &Directories, group: &GroupName) -> Result<Self, Diagnostic> {
        read(directories, group).map(Option::unwrap_or_default)
    }

    /// Writes it; an empty one is removed.
    ///
    /// # Errors
    /// As [`Applied::write`].
    pub fn write(&self, directories: &Directories, group: &GroupName) -> std::io::Result<()> {
        let path = path::<Self>(directories, group)?;
        if self.units.is_empty() { atomic_file::remove(&path) } else { store::write(&path, self) }
    }
}

fn path<T: Kept>(directories: &Directories, group: &GroupName) -> std::io::Result<PathBuf> {
    let path = store::path(directories, T::KIND, group).ok_or(std::io::ErrorKind::NotFound)?;
    Ok(directories.rooted(&path))
}

fn read<T: Kept>(directories: &Directories, group: &GroupName) -> Result<Option<T>, Diagnostic> {
    let Ok(path) = path::<T>(directories, group) else { return Ok(None) };
    store::read(&path).map_err(|why| Diagnostic::file(Code::LastGood, path, why))
}

#[derive(Serialize, Deserialize)]
pub struct AppliedRecord {
    at: Realtime,
    source: SourceRecord,
    cpus: u32,
    units: BTreeMap<String, Taken>,
}

impl Kept for Applied {
    const KIND: &'static str = "applied";
    type Record = AppliedRecord;

    fn to_record<'v>(&'v self, texts: &mut TextTable<'v>) -> AppliedRecord {
        let source = texts.source(&self.source);
        AppliedRecord { at: self.at, source, cpus: self.cpus, units: self.units.clone() }
    }

    fn from_record(record: AppliedRecord, texts: &Texts) -> Option<Self> {
        let AppliedRecord { at, source, cpus, units } = record;
        Some(Self { at, source: texts.source(source)?, cpus, units })
    }
}

impl Kept for Intent {
    const KIND: &'static str = "intent";
    type Record = BTreeSet<String>;

    fn to_record(&self, _: &mut TextTable<'_>) -> BTreeSet<String> {
        self.units.clone()
    }

    fn from_record(units: BTreeSet<String>, _: &Texts) -> Option<Self> {
        Some(Self { units })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::basic::diagnostic::SourceFile;
    use crate::basic::scope::Scope;

    #[test]
    fn what_is_written_is_read_back() {
        let root = tempfile::tempdir().unwrap();
        let directories = Directories::new(Scope::System, Some(root.path().into()), |_| None);
        let group = GroupName::new("g").unwrap();
        assert_eq!(Applied::read(&directories, &group), Ok(None));
        assert_eq!(Intent::read(&directories, &group), Ok(Intent::default()));
        let file = |path: &str| Arc::new(SourceFile { path: path.into(), text: "a\n".into() });
        let source = Source { name: group.clone(), file: file("/etc/copse/g.toml"), drop_ins: vec![file("/d.toml")] };
        let taken = |at: u64, inputs: &str, handed: Option<&str>| {
            let prints = Prints { inputs: inputs.to_owned(), handed: handed.map(ToOwned::to_owned) };
            Taken { at: Monotonic::from_micros(at), prints }
        };
        // The second is as it was written before anything was noted of what a process is handed.
        let units = [("g.service", taken(7, "", Some("cd"))), ("g-w@1.service", taken(8, "ab", None))];
        let units = units.map(|(unit, taken)| (unit.to_owned(), taken)).into();
        let applied = Applied { at: Realtime::from_micros(1).unwrap(), source, cpus: 4, units };
        applied.write(&directories, &group).unwrap();
        assert_eq!(Applied::read(&directories, &group), Ok(Some(applied)));
        let intent = Intent { units: ["g.service".to_owned()].into() };
        intent.write(&directories, &group).unwrap();
        assert_eq!(Intent::read(&directories, &group).as_ref(), Ok(&intent));
        Intent::default().write(&directories, &group).unwrap();
        assert!(!root.path().join("run/copse/intent/g").exists());
    }
}
