//! What `copse apply` leaves for the next one, and for `copse plan`: what was last applied, and what an apply that was
//! interrupted had begun. Gone at the next boot, as all of `/run`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::store;
use super::store::{Decoder, Encoder, Kept};
use crate::basic::diagnostic::{Code, Diagnostic};
use crate::basic::scope::Directories;
use crate::group_file::discover::Source;
use crate::unit::name::GroupName;

/// The last apply of a group that was complete: `/run/copse/applied/G`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// When it was complete, in microseconds since the epoch.
    pub at: u64,
    /// The group's files as they were applied: what `--rollback` goes back to.
    pub source: Source,
    /// What `"cpus"` meant.
    pub cpus: u32,
    /// What is known of units besides what systemd tells.
    pub units: BTreeMap<String, Taken>,
}

/// What a unit was started from, as far as it isn't in its definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// When, by CLOCK_MONOTONIC in µs. Of a process its `ExecMainStartTimestampMonotonic`: what is said here counts for
    /// this run of it alone. Of what is run by a reload (a setup step, the holder of shared directories) when that was
    /// asked for: systemd keeps no time of it.
    pub at: u64,
    /// Of the files that it was started from, taken before that.
    pub prints: Prints,
}

/// Fingerprints of the files that a unit is started from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prints {
    /// Of its `inputs`. Empty: it has none, or they couldn't be read.
    pub inputs: String,
    /// Of what it is handed, in the same way. `None`: a copse noted this that didn't know of these.
    pub handed: Option<String>,
}

/// What an apply is about to do: `/run/copse/intent/G`. Written before, removed after; one that is found otherwise is of
/// an apply that was interrupted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Intent {
    /// The units that it stops and must start again.
    pub units: BTreeSet<String>,
}

impl Applied {
    /// Reads it; `None` where nothing was applied since the boot.
    ///
    /// # Errors
    /// Where there is a file that can't be read (by others than root, for one), or isn't to be believed.
    pub fn read(directories: &Directories, group: &GroupName) -> Result<Option<Self>, Diagnostic> {
        read(directories, "applied", group)
    }

    /// Makes this the last apply of `group`.
    ///
    /// # Errors
    /// Where it couldn't be written (or in user scope without `$XDG_RUNTIME_DIR`).
    pub fn write(&self, directories: &Directories, group: &GroupName) -> std::io::Result<()> {
        store::write(&path(directories, "applied", group)?, self)
    }
}

impl Intent {
    /// Reads it; empty where no apply was interrupted.
    ///
    /// # Errors
    /// As [`Applied::read`].
    pub fn read(directories: &Directories, group: &GroupName) -> Result<Self, Diagnostic> {
        read(directories, "intent", group).map(Option::unwrap_or_default)
    }

    /// Writes it; an empty one is removed.
    ///
    /// # Errors
    /// As [`Applied::write`].
    pub fn write(&self, directories: &Directories, group: &GroupName) -> std::io::Result<()> {
        let path = path(directories, "intent", group)?;
        if self.units.is_empty() { store::remove(&path) } else { store::write(&path, self) }
    }
}

fn path(directories: &Directories, kind: &str, group: &GroupName) -> std::io::Result<PathBuf> {
    let state = directories.state.as_ref().ok_or(std::io::ErrorKind::NotFound)?;
    Ok(directories.rooted(&state.join(kind).join(group.as_str())))
}

fn read<T: Kept>(directories: &Directories, kind: &str, group: &GroupName) -> Result<Option<T>, Diagnostic> {
    let Ok(path) = path(directories, kind, group) else { return Ok(None) };
    store::read(&path).map_err(|why| Diagnostic::file(Code::LastGood, path, why))
}

impl Kept for Applied {
    const FORMAT: &'static str = "applied 1";

    fn encode(&self, to: &mut Encoder) {
        let source = to.source(&self.source);
        to.record("apply", &[&self.at.to_string(), &source, &self.cpus.to_string()]);
        for (unit, taken) in &self.units {
            let Prints { inputs, handed } = &taken.prints;
            let at = taken.at.to_string();
            let fields = [Some(unit), Some(&at), Some(inputs), handed.as_ref()];
            to.record("unit", &fields.into_iter().flatten().map(String::as_str).collect::<Vec<_>>());
        }
    }

    fn decode(from: &mut Decoder<'_>) -> Option<Self> {
        let (mut head, mut units) = (None, BTreeMap::new());
        while let Some(record) = from.record() {
            match record.word {
                "apply" => head = Some((record.number(0)?, from.source(record.field(1)?)?, record.number(2)?)),
                "unit" => {
                    let (inputs, handed) = (record.field(2)?.to_owned(), record.field(3).map(ToOwned::to_owned));
                    let taken = Taken { at: record.number(1)?, prints: Prints { inputs, handed } };
                    units.insert(record.field(0)?.to_owned(), taken);
                }
                _ => {}
            }
        }
        let (at, source, cpus) = head?;
        Some(Self { at, source, cpus, units })
    }
}

impl Kept for Intent {
    const FORMAT: &'static str = "intent 1";

    fn encode(&self, to: &mut Encoder) {
        self.units.iter().for_each(|unit| to.record("unit", &[unit]));
    }

    fn decode(from: &mut Decoder<'_>) -> Option<Self> {
        let mut units = BTreeSet::new();
        while let Some(record) = from.record() {
            if record.word == "unit" {
                units.insert(record.field(0)?.to_owned());
            }
        }
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
        let taken = |at, inputs: &str, handed: Option<&str>| {
            let prints = Prints { inputs: inputs.to_owned(), handed: handed.map(ToOwned::to_owned) };
            Taken { at, prints }
        };
        // The second is as it was written before anything was noted of what a process is handed.
        let units = [("g.service", taken(7, "", Some("cd"))), ("g-w@1.service", taken(8, "ab", None))];
        let units = units.map(|(unit, taken)| (unit.to_owned(), taken)).into();
        let applied = Applied { at: 1, source, cpus: 4, units };
        applied.write(&directories, &group).unwrap();
        assert_eq!(Applied::read(&directories, &group), Ok(Some(applied)));
        let intent = Intent { units: ["g.service".to_owned()].into() };
        intent.write(&directories, &group).unwrap();
        assert_eq!(Intent::read(&directories, &group).as_ref(), Ok(&intent));
        Intent::default().write(&directories, &group).unwrap();
        assert!(!root.path().join("run/copse/intent/g").exists());
    }
}
