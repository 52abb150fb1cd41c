//! The units that run, without a call to the service manager: PID 1 waits for the generator and answers no calls.
//!
//! A service manager keeps a link `units/invocation:UNIT` in its runtime directory from the start of a unit's first command
//! until the unit is inactive or failed; a oneshot that stays active keeps it, too. Seen on 247, 252, 257 and 262 in both
//! scopes, in the generator's sandbox, while a daemon-reload has unloaded all units, and for units without a file. Units
//! without commands (targets, slices, timers) have no link.

use std::collections::HashSet;

use crate::basic::scope::Directories;
use crate::unit::name;

/// The units that run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Running {
    names: HashSet<String>,
}

impl Running {
    /// Lists them. If the directory is unreadable there is no service manager, and no unit runs.
    pub fn read(directories: &Directories) -> Self {
        let entries = directories.running.iter().flat_map(|path| std::fs::read_dir(directories.rooted(path)));
        let unit = |entry: std::fs::DirEntry| Some(entry.file_name().to_str()?.strip_prefix("invocation:")?.to_owned());
        Self::of(entries.flatten().flatten().filter_map(unit))
    }

    /// Only these units run.
    pub(crate) fn of<S: Into<String>>(units: impl IntoIterator<Item = S>) -> Self {
        let mut names: HashSet<String> = units.into_iter().map(Into::into).collect();
        let templates: Vec<_> = names.iter().filter_map(|unit| name::template_of(unit)).collect();
        names.extend(templates);
        Self { names }
    }

    /// Whether `unit` runs; a template, whether any of its instances does.
    pub fn has(&self, unit: &str) -> bool {
        self.names.contains(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basic::scope::Scope;

    #[test]
    fn links_are_units_and_instances_their_templates() {
        let root = tempfile::tempdir().unwrap();
        let units = root.path().join("run/systemd/units");
        std::fs::create_dir_all(&units).unwrap();
        for name in ["invocation:a-b.service", "invocation:a-w@7.service", "log-level-max:x.service"] {
            std::os::unix::fs::symlink("0123", units.join(name)).unwrap();
        }
        let directories = Directories::new(Scope::System, Some(root.path().into()), |_| None);
        let running = Running::read(&directories);
        for (unit, runs) in [
            ("a-b.service", true),
            ("a-w@7.service", true),
            ("a-w@.service", true),
            ("a-w@8.service", false),
            ("x.service", false),
            ("a-w.service", false),
        ] {
            assert_eq!(running.has(unit), runs, "{unit}");
        }
        assert_eq!(Running::read(&Directories::new(Scope::User, None, |_| None)), Running::default());
    }
}
