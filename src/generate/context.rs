//! What every unit of a group needs to know, computed once.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::Options;
use crate::basic::scope::Scope;
use crate::model::{Directory, DirectoryKind, Group, Pass, PassThrough, Process, Setup};
use crate::unit::directives::Systemd;
use crate::unit::name;
use crate::unit::name::{ProcessName, in_order};
use crate::unit::{Section, Unit, Value};

/// Where to read about the units. Every unit says so in its `Documentation=`.
const DOCUMENTATION: &str = "man:copse.toml(5)";

/// The group, and what follows from it for all of its units.
pub(super) struct Context<'g> {
    pub group: &'g Group,
    pub target: Options,
    /// `G.target`
    pub target_name: String,
    /// `system-copse-G.slice`
    pub slice: String,
    /// `copse-reset@G.service`
    pub reset: String,
    /// The comment on top of every unit, but for its last line.
    header: String,
    /// Whether a package ships the units, and nothing generates them where they run.
    pub compiled: bool,
    /// `SourcePath=`, if it can be said.
    source: Option<Value<'static>>,
    /// `copse-directories@G.service`, if there are shared directories.
    pub holder: Option<String>,
    /// The services of each process, in the order in which people count.
    pub services: BTreeMap<&'g ProcessName, Vec<String>>,
    /// The processes that something is `after`.
    pub awaited: BTreeSet<&'g ProcessName>,
    /// Setup steps that (directly or not) wait for a process, and so can't be waited for before one is started.
    pub late: BTreeSet<&'g ProcessName>,
    known: RefCell<Vec<(Section, &'static str, bool)>>,
}

impl<'g> Context<'g> {
    pub fn new(group: &'g Group, target: Options) -> Self {
        let services = group.processes.iter().map(|(name, process)| (name, services(group, name, process))).collect();
        let awaited = group
            .processes
            .values()
            .flat_map(|process| &process.after)
            .chain(group.setup.values().flat_map(|setup| &setup.after))
            .collect();
        let shared = group.shared.as_ref().is_some_and(|shared| !shared.directories.is_empty());
        Self {
            group,
            target,
            target_name: name::target(&group.name),
            slice: name::slice(group.scope == Scope::User, &group.name),
            reset: name::own("reset", &group.name),
            header: origin(&group.files),
            source: source_path(&group.files),
            compiled: false,
            holder: shared.then(|| name::own("directories", &group.name)),
            services,
            awaited,
            late: late(&group.setup),
            known: RefCell::default(),
        }
    }

    /// For units that are installed without their group file.
    pub fn compiled(group: &'g Group, systemd: Systemd) -> Self {
        let context = Self::new(group, Options { systemd, static_target: false });
        Self { header: compiled_origin(&group.files, systemd), source: None, compiled: true, ..context }
    }

    pub fn user_scope(&self) -> bool {
        self.group.scope == Scope::User
    }

    /// What the group is called in the units' descriptions.
    pub fn title(&self) -> &'g str {
        self.group.description.as_deref().unwrap_or(self.group.name.as_str())
    }

    /// The shared directories of a kind.
    pub fn shared(&self, kind: DirectoryKind) -> Option<&'g Directory> {
        self.group.shared.as_ref()?.directories.iter().find(|directory| directory.kind == kind)
    }

    /// Whether the systemd that reads the units takes this directive there. Asked once per name: the names are few,
    /// the units many.
    pub fn knows(&self, section: Section, directive: &'static str) -> bool {
        let mut known = self.known.borrow_mut();
        let asked = known.iter().find(|(found, name, _)| *found == section && *name == directive);
        if let Some((_, _, answer)) = asked {
            return *answer;
        }
        let answer = self.target.systemd.knows(section, directive);
        known.push((section, directive, answer));
        answer
    }

    /// A unit file with its header, `Description=` and where it comes from. `file` is the name under which
    /// administrators put drop-ins.
    pub fn unit(&self, file: &str, description: &str) -> Unit {
        let mut unit = self.drop_in(file);
        unit.push(Section::Unit, "Description", Value::plain(description));
        self.documentation(&mut unit);
        self.source(&mut unit);
        unit
    }

    /// A file with a header only.
    pub fn drop_in(&self, file: &str) -> Unit {
        let scope = self.group.scope;
        let place = if self.compiled { place_of_drop_ins(scope, file) } else { place_of_changes(scope, file) };
        Unit::new(&[&self.header, &place])
    }

    /// `Documentation=`, the author's first.
    pub fn documentation(&self, unit: &mut Unit) {
        for uri in &self.group.documentation {
            unit.push(Section::Unit, "Documentation", Value::plain(uri));
        }
        unit.push(Section::Unit, "Documentation", Value::fixed(DOCUMENTATION));
    }

    /// `SourcePath=`: `systemctl status` says when the group file is newer than what was loaded.
    pub fn source(&self, unit: &mut Unit) {
        if let Some(path) = &self.source {
            unit.push(Section::Unit, "SourcePath", path.clone());
        }
    }

    /// `After=` and the like on outside units.
    pub fn names(&self, unit: &mut Unit, directive: &'static str, names: &[String]) {
        for line in Value::names(names.iter().map(String::as_str)) {
            unit.push(Section::Unit, directive, line);
        }
    }

    /// Applies a pass-through table: what its author wrote goes last.
    pub fn pass(&self, unit: &mut Unit, pass: &PassThrough, only: impl Fn(Section) -> bool) {
        for (section, directive, what) in pass.0.iter().filter(|(section, _, _)| only(*section)) {
            let known = directive.starts_with("X-") || self.target.systemd.knows(*section, directive);
            // A section that stays empty isn't written, so nothing is left of a directive that isn't known.
            if known {
                apply(unit, *section, directive, what);
            }
        }
    }
}

/// The lines that a pass-through value makes of copse's own.
fn apply(unit: &mut Unit, section: Section, directive: &str, what: &Pass) {
    let (lines, reset) = match what {
        Pass::Replace(line) => (std::slice::from_ref(line), false),
        Pass::Add(lines) => (lines.as_slice(), false),
        Pass::Reset(lines) => (lines.as_slice(), true),
    };
    if !matches!(what, Pass::Add(_)) {
        unit.remove(section, directive);
    }
    let why = "from here on as the group file says, in systemd's own grammar";
    if !unit.has_comment(section, why) {
        unit.comment(section, why);
    }
    let empty = reset.then(|| Value::fixed(""));
    for value in empty.into_iter().chain(lines.iter().map(|line| Value::verbatim(line))) {
        unit.push(section, directive, value);
    }
}

/// The first line of a generated file, by which copse knows its own.
pub(super) fn origin(files: &[PathBuf]) -> String {
    let list: Vec<_> =
        files.iter().map(|file| crate::basic::diagnostic::one_line(&file.display().to_string())).collect();
    format!("Generated by copse from {}; changes here are lost.", list.join(", "))
}

/// The same of a compiled file: the files' names only, so that it doesn't matter where a package is built.
fn compiled_origin(files: &[PathBuf], systemd: Systemd) -> String {
    let names: Vec<PathBuf> = files.iter().filter_map(|file| file.file_name()).map(PathBuf::from).collect();
    origin(&names).replacen(" from ", &format!(" for systemd {} and later from ", systemd.version), 1)
}

/// The second: where changes belong.
pub(super) fn place_of_changes(scope: Scope, file: &str) -> String {
    ["Change the group file, or add a drop-in in ", scope.drop_ins(), "/", file, ".d/."].concat()
}

/// The same of a compiled file.
fn place_of_drop_ins(scope: Scope, file: &str) -> String {
    ["Add a drop-in in ", scope.drop_ins(), "/", file, ".d/."].concat()
}

/// systemd takes nothing but an absolute path; `copse render FILE` may have been given another one.
pub(super) fn source_path(files: &[PathBuf]) -> Option<Value<'static>> {
    let file = files.first().filter(|file| file.is_absolute())?;
    Some(Value::plain(&file.to_string_lossy()).into_owned())
}

fn services(group: &Group, process: &ProcessName, definition: &Process) -> Vec<String> {
    match &definition.instances {
        None => vec![name::service(&group.name, process)],
        Some(instances) => in_order(instances.keys())
            .into_iter()
            .map(|instance| name::instance(&group.name, process, instance))
            .collect(),
    }
}

/// The setup steps that wait for a process, directly or through another step.
fn late(setup: &BTreeMap<ProcessName, Setup>) -> BTreeSet<&ProcessName> {
    let mut late: BTreeSet<_> = setup.iter().filter(|(_, step)| !step.after.is_empty()).map(|(name, _)| name).collect();
    // Each round takes in those that wait for one found before; there are as many rounds as the longest chain.
    loop {
        let more: Vec<_> = setup
            .iter()
            .filter(|(name, step)| !late.contains(name) && step.gated_by.iter().any(|gate| late.contains(gate)))
            .map(|(name, _)| name)
            .collect();
        if more.is_empty() {
            return late;
        }
        late.extend(more);
    }
}
