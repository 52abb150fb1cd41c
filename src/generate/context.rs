//! What every unit of a group needs to know, computed once.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::options::Options;
use super::origin::Origin;
use crate::basic::scope::Scope;
use crate::model::{Directory, DirectoryKind, Group, Pass, PassThrough, Process, Setup};
use crate::unit::directives::Systemd;
use crate::unit::name;
use crate::unit::name::{ProcessName, in_order};
use crate::unit::{Section, Unit, Value};

/// Where to read about the units. Every unit names it in its `Documentation=`.
const DOCUMENTATION: &str = "man:copse.toml(5)";

/// The group, and what follows from it for all of its units.
pub(super) struct Context<'g> {
    pub group: &'g Group,
    pub options: Options,
    /// `G.target`
    pub target: Value,
    /// `system-copse-G.slice`
    pub slice: Value,
    /// `copse-reset@G.service`
    reset: Value,
    origin: Origin,
    /// Whether a package ships the units, and nothing generates them where they run.
    pub compiled: bool,
    /// `copse-directories@G.service`, if there are shared directories.
    pub directories: Option<Value>,
    /// The lines of `After=` for each process that something is `after`.
    awaited: BTreeMap<&'g ProcessName, Vec<Value>>,
    /// Setup steps that (directly or not) wait for a process, and so cannot be waited for before one is started.
    pub late: BTreeSet<&'g ProcessName>,
    known: RefCell<Vec<(Section, &'static str, bool)>>,
}

impl<'g> Context<'g> {
    pub fn new(group: &'g Group, options: Options) -> Self {
        let after = group.processes.values().flat_map(|process| &process.after);
        let after = after.chain(group.setup.values().flat_map(|setup| &setup.after));
        let names: BTreeSet<_> = after.collect();
        let lines = |process| {
            let names = services(group, process);
            Value::names(names.iter().map(String::as_str)).into_iter().map(Value::shared).collect()
        };
        let shared = group.shared.as_ref().is_some_and(|shared| !shared.directories.is_empty());
        let unit = |name: String| Value::plain(&name).shared();
        Self {
            group,
            options,
            target: unit(name::target(&group.name)),
            slice: Value::verbatim(name::slice(group.scope == Scope::User, &group.name)).shared(),
            reset: unit(name::own("reset", &group.name)),
            origin: Origin::generated(group.scope, &group.files),
            compiled: false,
            directories: shared.then(|| unit(name::own("directories", &group.name))),
            awaited: names.into_iter().map(|process| (process, lines(process))).collect(),
            late: late(&group.setup),
            known: RefCell::default(),
        }
    }

    /// For units that are installed without their group file.
    pub fn compiled(group: &'g Group, systemd: Systemd) -> Self {
        let context = Self::new(group, Options { systemd, static_target: false });
        Self { origin: Origin::compiled(group.scope, &group.files, systemd), compiled: true, ..context }
    }

    pub fn user_scope(&self) -> bool {
        self.group.scope == Scope::User
    }

    /// What the group is called in the units' descriptions.
    pub fn title(&self) -> &'g str {
        title(self.group)
    }

    /// Whether something is `after` the process.
    pub fn is_awaited(&self, process: &ProcessName) -> bool {
        self.awaited.contains_key(process)
    }

    /// The shared directories of a kind.
    pub fn shared(&self, kind: DirectoryKind) -> Option<&'g Directory> {
        self.group.shared.as_ref()?.directories.iter().find(|directory| directory.kind == kind)
    }

    /// Whether the systemd that reads the units accepts this directive there. Looked up once per name: there are few
    /// names and many units.
    pub fn knows(&self, section: Section, directive: &'static str) -> bool {
        let mut known = self.known.borrow_mut();
        let found = known.iter().find(|(found, name, _)| *found == section && *name == directive);
        if let Some((_, _, answer)) = found {
            return *answer;
        }
        let answer = self.options.systemd.knows(section, directive);
        known.push((section, directive, answer));
        answer
    }

    /// An empty unit or drop-in that says where it comes from.
    pub fn drop_in(&self) -> Unit {
        self.origin.unit()
    }

    /// A unit with its description and documentation, and the group file that `systemctl status` compares with.
    pub fn unit(&self, description: Value) -> Unit {
        let mut unit = self.drop_in();
        unit.push(Section::Unit, "Description", description);
        self.documentation(&mut unit);
        self.source_path(&mut unit);
        unit
    }

    /// `Documentation=`, the author's first.
    pub fn documentation(&self, unit: &mut Unit) {
        for uri in &self.group.documentation {
            unit.push(Section::Unit, "Documentation", Value::plain(uri));
        }
        unit.push(Section::Unit, "Documentation", Value::fixed(DOCUMENTATION));
    }

    /// `SourcePath=`
    pub fn source_path(&self, unit: &mut Unit) {
        self.origin.source_path(unit);
    }

    /// `After=` and the like on units outside of the group.
    pub fn names(&self, unit: &mut Unit, directive: &'static str, names: &[String]) {
        for line in Value::names(names.iter().map(String::as_str)) {
            unit.push(Section::Unit, directive, line);
        }
    }

    /// Ordered after the reset of failed units. In each unit, because one line for all would be too long.
    pub fn after_reset(&self, unit: &mut Unit) {
        unit.push_why(Section::Unit, "waits until failed units are reset", "After", self.reset.clone());
    }

    /// The target pulls in the reset.
    pub fn want_reset(&self, unit: &mut Unit) {
        let why = "resets failed units first, so that the start limit does not refuse this start";
        unit.push_why(Section::Unit, why, "Wants", self.reset.clone());
    }

    /// Ordered after all services of these processes.
    pub fn after_processes(&self, unit: &mut Unit, processes: &[ProcessName]) {
        for line in processes.iter().filter_map(|process| self.awaited.get(process)).flatten() {
            unit.push(Section::Unit, "After", line.clone());
        }
    }

    /// Applies a pass-through table. What its author wrote goes last.
    pub fn pass(&self, unit: &mut Unit, pass: &PassThrough, only: impl Fn(Section) -> bool) {
        for (section, directive, values) in pass.0.iter().filter(|(section, _, _)| only(*section)) {
            // A section that stays empty is not written, so nothing is left of an unknown directive.
            if directive.starts_with("X-") || self.options.systemd.knows(*section, directive) {
                apply(unit, *section, directive, values);
            }
        }
    }
}

/// Adds the lines of a pass-through value, which may replace copse's own.
fn apply(unit: &mut Unit, section: Section, directive: &str, values: &Pass) {
    const WHY: &str = "from here on, pass-through from the group file";
    let (lines, reset) = match values {
        Pass::Replace(line) => (std::slice::from_ref(line), false),
        Pass::Add(lines) => (lines.as_slice(), false),
        Pass::Reset(lines) => (lines.as_slice(), true),
    };
    if !matches!(values, Pass::Add(_)) {
        unit.remove(section, directive);
    }
    if !unit.has_comment(section, WHY) {
        unit.comment(section, WHY);
    }
    let empty = reset.then(|| Value::fixed(""));
    for value in empty.into_iter().chain(lines.iter().map(Value::verbatim)) {
        unit.push(section, directive.to_owned(), value);
    }
}

/// What a group is called in the units' descriptions.
pub(super) fn title(group: &Group) -> &str {
    group.description.as_deref().unwrap_or(group.name.as_str())
}

/// The services of a process, instances as people count them.
pub(super) fn services(group: &Group, process: &ProcessName) -> Vec<String> {
    match group.processes.get(process).map(|process| &process.instances) {
        None => Vec::new(),
        Some(None) => vec![name::service(&group.name, process)],
        Some(Some(instances)) => {
            let instances = in_order(instances.keys()).into_iter();
            instances.map(|instance| name::instance(&group.name, process, instance)).collect()
        }
    }
}

/// The first instance as people count.
pub(super) fn first_instance(process: &Process) -> Option<&str> {
    let instances = process.instances.as_ref()?;
    in_order(instances.keys()).first().map(|instance| instance.as_str())
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
