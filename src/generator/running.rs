//! Which units run, without asking the service manager: PID 1 waits for the generator and answers nobody meanwhile.
//!
//! A service manager keeps a link `units/invocation:UNIT` in its runtime directory from the start of a unit's
//! first command until the unit is inactive or failed; a oneshot that stays active keeps it too. Seen on 247, 252, 257
//! and 262 in both scopes, in the generator's sandbox and while the reload that runs it has unloaded all units, also
//! for units whose file is gone. Units that run no commands (targets, slices, timers) have none.

use std::collections::HashSet;

use crate::basic::scope::Directories;
use crate::unit::name;

/// The units that run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Running {
    names: HashSet<String>,
}

impl Running {
    /// Lists them. Where the directory can't be read none runs: there is no service manager then.
    pub fn read(directories: &Directories) -> Self {
        let entries = directories.running.iter().flat_map(|path| std::fs::read_dir(directories.rooted(path)));
        let unit = |entry: std::fs::DirEntry| Some(entry.file_name().to_str()?.strip_prefix("invocation:")?.to_owned());
        Self::of(entries.flatten().flatten().filter_map(unit))
    }

    /// These units run, and nothing else.
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
