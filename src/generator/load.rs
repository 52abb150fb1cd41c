//! Loads groups and checks them against each other, for the generator, `copse check` and `copse render`.

use std::collections::{BTreeMap, HashMap};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::installed::Installed;
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, SourceLocation};
use crate::basic::scope::{Directories, Scope};
use crate::generate;
use crate::group_file::discover;
use crate::group_file::discover::{Found, FoundGroup, Source};
use crate::model;
use crate::model::{Context, Group};
use crate::state::history::Overrides;
use crate::unit::name;
use crate::unit::name::GroupName;

/// All groups, and their diagnostics.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// By name.
    pub groups: Vec<GroupOutcome>,
    /// Those without a group: for unreadable directories, and files whose name is no group name.
    pub diagnostics: Diagnostics,
}

/// The result of loading one group file.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupOutcome {
    /// The stem of the file's name.
    pub name: GroupName,
    /// The group file, as its author knows it (without `$COPSE_ROOT`).
    pub path: PathBuf,
    /// Its texts, unless a file is unreadable.
    pub source: Option<Source>,
    /// `None` if `diagnostics` contains an error, or the file is a dangling link.
    pub group: Option<Group>,
    /// See [`crate::generate::Options`].
    pub static_target: bool,
    /// A package has installed a `G.target` without `X-CopseGroup=yes`: it must not be hidden, not even to show an error.
    pub foreign_target: bool,
    /// What overrides the units of `group`.
    pub overrides: Overrides,
    /// In the order of the text.
    pub diagnostics: Diagnostics,
}

impl Outcome {
    /// All diagnostics, those without a group first.
    pub fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        self.diagnostics.iter().chain(self.groups.iter().flat_map(|group| group.diagnostics.iter()))
    }

    /// Whether there is an error; warnings and notes do not count.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.has_errors() || self.groups.iter().any(|group| group.diagnostics.has_errors())
    }
}

/// Loads all groups in these directories, and checks them against each other and against installed units.
pub fn load(directories: &Directories, context: &Context) -> Outcome {
    resolve(discover::find(directories), directories, context)
}

/// As [`load`], for these files. Their directory and permissions are not checked.
pub fn load_files(paths: &[&Path], directories: &Directories, context: &Context) -> Outcome {
    resolve(discover::named(paths), directories, context)
}

/// Reads the files that were found, and checks them.
pub fn resolve(found: Found, directories: &Directories, context: &Context) -> Outcome {
    let mut checks = Checks::new(directories);
    let groups = found.groups.into_iter().map(|group| checks.read(group, context)).collect();
    Outcome { groups, diagnostics: found.diagnostics }
}

/// What a group is checked against: installed units, and the groups before it.
#[derive(Debug)]
pub struct Checks {
    installed: Installed,
    /// The valid groups, and by unit name the index of the group that has it.
    groups: Vec<GroupName>,
    taken: HashMap<String, usize>,
    /// The runtime directories of groups, with the group file and whether the directory stays.
    directories: BTreeMap<String, (Arc<Path>, bool)>,
    /// The links to the sockets of supervisord's interface, and loopback ports, with the group file.
    supervisors: BTreeMap<String, Arc<Path>>,
}

impl Checks {
    /// No group yet.
    pub fn new(directories: &Directories) -> Self {
        Self {
            installed: Installed::read(directories),
            groups: Vec::new(),
            taken: HashMap::new(),
            directories: BTreeMap::new(),
            supervisors: BTreeMap::new(),
        }
    }

    /// Reads a group and checks it. Call it in the order of their names: if two have the same unit, it is the first's.
    pub fn read(&mut self, found: FoundGroup, context: &Context) -> GroupOutcome {
        let mut outcome = read(found, context);
        let target = name::target(&outcome.name);
        outcome.static_target = self.installed.is_static(&target);
        outcome.foreign_target = !outcome.static_target && self.installed.hidden_by(&target).is_some();
        self.names(&mut outcome, &target);
        self.directories(&mut outcome);
        self.supervisor(&mut outcome);
        let wanted_by = outcome.group.as_ref().map_or(&[][..], |group| &group.wanted_by);
        if outcome.static_target && !wanted_by.is_empty() {
            let wanting = self.installed.wanting(&target);
            let left = wanted_by.iter().find(|unit| !wanting.contains(unit));
            let written = || model::location_of(outcome.source.as_ref()?, &[], &["wanted-by"]);
            let diagnostic = left.zip(outcome.group.as_ref()).map(|(unit, group)| {
                wanted_otherwise(written().unwrap_or_else(|| group.location.clone()), &target, unit)
            });
            diagnostic.into_iter().for_each(|diagnostic| outcome.diagnostics.push(diagnostic));
        }
        outcome.diagnostics.sort();
        outcome
    }

    /// The valid group that has `unit`, if it is not `group`.
    pub fn other(&self, unit: &str, group: &GroupName) -> Option<&GroupName> {
        self.taken.get(unit).map(|at| &self.groups[*at]).filter(|other| *other != group)
    }

    /// Whether `target` is installed and completed; see [`crate::generate::Options`].
    pub fn is_static(&self, target: &str) -> bool {
        self.installed.is_static(target)
    }

    /// Whether an administrator masked `target`.
    pub fn is_masked(&self, target: &str) -> bool {
        self.installed.is_masked(target)
    }

    /// What overrides these units, which [`generate::unit_names`] lists.
    pub fn overrides(&mut self, names: &[String]) -> Overrides {
        self.installed.overrides(names)
    }

    fn names(&mut self, outcome: &mut GroupOutcome, target: &str) {
        let Some(group) = &outcome.group else { return };
        let names = match guarded(&outcome.path, || generate::unit_names(group)) {
            Ok(names) => names,
            Err(diagnostic) => {
                outcome.diagnostics.push(diagnostic);
                outcome.group = None;
                return;
            }
        };
        for unit in &names {
            if let Some(other) = self.taken.get(unit).map(|at| &self.groups[*at]) {
                let message = format!("`{unit}` is already a unit of group `{other}`");
                let help = "rename the process, or one of the groups";
                outcome.diagnostics.push(Diagnostic::new(Code::UnitName, place(group, unit), message).help(help));
            } else if !(outcome.static_target && unit == target)
                && let Some(hidden) = self.installed.hidden_by(unit)
            {
                let message = format!("`{unit}` would hide the installed unit `{}`", hidden.display());
                let help =
                    format!("rename the process, or add your own `{unit}` to /etc/systemd, which overrides both");
                outcome.diagnostics.push(Diagnostic::new(Code::Clash, place(group, unit), message).help(help));
            }
        }
        if outcome.diagnostics.has_errors() {
            outcome.group = None;
        } else {
            outcome.overrides = self.installed.overrides(&names);
            self.taken.extend(names.into_iter().map(|unit| (unit, self.groups.len())));
            self.groups.push(outcome.name.clone());
        }
    }

    /// The link of a group replaces what is at its path, also the link of another group; and of two groups with the same
    /// port only one could listen.
    fn supervisor(&mut self, outcome: &mut GroupOutcome) {
        let Some(supervisor) = outcome.group.as_ref().and_then(|group| group.supervisor.as_ref()) else { return };
        let file: Arc<Path> = outcome.path.as_path().into();
        let port = supervisor.listen.map(|address| address.to_string());
        for address in supervisor.link_path().into_iter().chain(port) {
            match self.supervisors.get(&address) {
                Some(other) => {
                    let message = format!("`{address}` of `[supervisor]` is also that of `{}`", other.display());
                    let diagnostic = Diagnostic::new(Code::Conflict, supervisor.location.clone(), message);
                    outcome.diagnostics.push(diagnostic.help("choose another one"));
                }
                None => drop(self.supervisors.insert(address, Arc::clone(&file))),
            }
        }
        if outcome.diagnostics.has_errors() {
            outcome.group = None;
        }
    }

    /// systemd removes a runtime directory and all below it when its service stops, or its group if it is shared. Another
    /// group must not have files in it.
    fn directories(&mut self, outcome: &mut GroupOutcome) {
        let (Some(group), Some(source)) = (&outcome.group, &outcome.source) else { return };
        let own = model::runtime_directories(group);
        for directory in &own {
            let path = directory.path.as_str();
            let above = path.match_indices('/').map(|(end, _)| &path[..end]).chain([path]);
            let below =
                || self.directories.range(format!("{path}/")..).next().filter(|(other, _)| is_below(other, path));
            let met = above.filter_map(|above| self.directories.get_key_value(above)).next().or_else(below);
            let Some((other, (file, _))) = met.filter(|(_, (_, stays))| !(*stays && directory.preserved)) else {
                continue;
            };
            let place = model::location_of(source, &directory.table(), &["runtime-directory"]);
            let place = place.or_else(|| model::location_of(source, &["defaults"], &["runtime-directory"]));
            let place = place.unwrap_or_else(|| group.location.clone());
            outcome.diagnostics.push(same_directory(place, group.scope, path, other, file));
        }
        let file: Arc<Path> = outcome.path.as_path().into();
        for directory in own {
            self.directories.entry(directory.path).or_insert_with(|| (Arc::clone(&file), directory.preserved));
        }
    }
}

fn is_below(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
}

fn same_directory(place: SourceLocation, scope: Scope, path: &str, other: &str, file: &Path) -> Diagnostic {
    let base = match scope {
        Scope::System => "/run",
        Scope::User => "$XDG_RUNTIME_DIR",
    };
    let (file, fate) = (file.display(), "systemd removes a runtime directory when its unit stops");
    let message = match path {
        _ if path == other => format!("the runtime directory `{base}/{path}` is also that of `{file}`: {fate}"),
        _ if is_below(path, other) => {
            format!("the runtime directory `{base}/{path}` is below `{base}/{other}` of `{file}`: {fate}")
        }
        _ => format!("the runtime directory `{base}/{path}` is above `{base}/{other}` of `{file}`: {fate}"),
    };
    Diagnostic::new(Code::SameDirectory, place, message).help("rename one of the two, for example to `\"{group}\"`")
}

fn wanted_otherwise(place: SourceLocation, target: &str, unit: &str) -> Diagnostic {
    let message =
        format!("`wanted-by` has no effect: the installed `{target}` does not name `{unit}` in its `[Install]`");
    let help = format!("add `WantedBy={unit}` to it and run `systemctl enable {target}`");
    Diagnostic::new(Code::StaticTarget, place, message).help(help)
}

fn read(found: FoundGroup, context: &Context) -> GroupOutcome {
    let FoundGroup { name, path, source, mut diagnostics } = found;
    let mut group = None;
    if let Some(source) = &source {
        match guarded(&path, || model::read(source, context)) {
            Ok((read, wrong)) => {
                diagnostics.extend(wrong);
                group = read.filter(|_| !diagnostics.has_errors());
            }
            Err(diagnostic) => diagnostics.push(diagnostic),
        }
    }
    let overrides = Overrides::default();
    GroupOutcome { name, path, source, group, static_target: false, foreign_target: false, overrides, diagnostics }
}

/// Where the process or setup step of `unit` is defined.
fn place<'g>(group: &'g Group, unit: &str) -> &'g SourceLocation {
    let processes = group.processes.iter().map(|(name, process)| (name, &process.location));
    let setup = group.setup.iter().map(|(name, setup)| (name, &setup.location));
    let of = |process| unit.strip_prefix(name::stem(&group.name, process).as_str());
    processes
        .chain(setup)
        .find(|(process, _)| of(process).is_some_and(|rest| rest.starts_with(['@', '.'])))
        .map_or(&group.location, |(_, place)| place)
}

/// Runs `work` for the group file at `path`. A panic, which is a bug in copse, becomes a diagnostic, so that it does not
/// affect other groups.
///
/// # Errors
/// The panic.
pub fn guarded<T>(path: &Path, work: impl FnOnce() -> T) -> Result<T, Diagnostic> {
    std::panic::catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let panic = payload.downcast_ref::<&str>().map(ToString::to_string);
        let panic = panic.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
        Diagnostic::file(Code::Internal, path, format!("internal error: {panic}"))
            .help("report this error with the group file")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_diagnostic() {
        let path = Path::new("/etc/copse/a.toml");
        assert_eq!(guarded(path, || 1), Ok(1));
        for diagnostic in [
            guarded(path, || -> u8 { panic!("the {}", "reason") }).unwrap_err(),
            guarded(path, || -> u8 { panic!("the reason") }).unwrap_err(),
        ] {
            assert_eq!(diagnostic.code, Code::Internal);
            assert_eq!(diagnostic.message, "internal error: the reason");
        }
    }
}
