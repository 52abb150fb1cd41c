//! Directories of processes, setup steps and the group: read, and never the same one in two units.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::placeholder;
use super::placeholder::{Names, Position};
use super::value;
use super::value::{invalid, shown};
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, SourceLocation};
use crate::group_file::document::{Node, Table, Value};
use crate::group_file::keys::Kind;
use crate::model::{Group, Piece, Process, Service, Setup, Start, Text};
use crate::unit::name::ProcessName;

/// The group's shared directories.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedDirectories {
    /// Which.
    pub directories: Vec<Directory>,
    /// `[defaults]` `user`.
    pub user: Option<Cow<'static, str>>,
    /// `[defaults]` `group`.
    pub group: Option<Cow<'static, str>>,
}

/// One kind of directory, as `RuntimeDirectory=` and its siblings take it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    /// Which kind.
    pub kind: DirectoryKind,
    /// Relative paths below the kind's base; in a process they may hold `{instance}`.
    pub names: Vec<Text>,
    /// `0755`-like.
    pub mode: Option<Cow<'static, str>>,
}

/// The five kinds of systemd.exec(5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DirectoryKind {
    /// `RuntimeDirectory=`, `%t`
    Runtime,
    /// `StateDirectory=`, `%S`
    State,
    /// `CacheDirectory=`, `%C`
    Cache,
    /// `LogsDirectory=`, `%L`
    Logs,
    /// `ConfigurationDirectory=`, `%E`
    Configuration,
}

impl DirectoryKind {
    /// All five, in systemd's order.
    pub const ALL: [Self; 5] = [Self::Runtime, Self::State, Self::Cache, Self::Logs, Self::Configuration];

    /// The key, which is also the placeholder: `runtime-directory`.
    pub fn key(self) -> &'static str {
        ["runtime-directory", "state-directory", "cache-directory", "logs-directory", "configuration-directory"]
            [self as usize]
    }

    /// The key of its mode: `runtime-directory-mode`.
    pub fn mode_key(self) -> &'static str {
        [
            "runtime-directory-mode",
            "state-directory-mode",
            "cache-directory-mode",
            "logs-directory-mode",
            "configuration-directory-mode",
        ][self as usize]
    }

    /// The directive: `RuntimeDirectory`.
    pub fn directive(self) -> &'static str {
        ["RuntimeDirectory", "StateDirectory", "CacheDirectory", "LogsDirectory", "ConfigurationDirectory"]
            [self as usize]
    }

    /// The kind's base directory in the system manager.
    fn base(self) -> &'static str {
        ["/run/", "/var/lib/", "/var/cache/", "/var/log/", "/etc/"][self as usize]
    }

    /// The specifier of the kind's base directory (systemd.unit(5)).
    pub fn specifier(self) -> &'static str {
        ["%t", "%S", "%C", "%L", "%E"][self as usize]
    }
}

/// The `*-directory` keys of a table: of a process, a setup step, or the group.
pub fn read(table: &Table, names: &Names<'_>, diagnostics: &mut Diagnostics) -> Vec<Directory> {
    let mut directories = Vec::new();
    for kind in DirectoryKind::ALL {
        let mode_key = kind.mode_key();
        let mode_entry = table.get(mode_key);
        let mode = mode_entry.and_then(|entry| value::directive(mode_key, Kind::Mode, &entry.node, diagnostics));
        match (table.get(kind.key()), mode_entry) {
            (Some(entry), _) => {
                let nodes = value::one_or_many(kind.key(), &entry.node, diagnostics);
                let mut names: Vec<Text> =
                    nodes.into_iter().filter_map(|node| directory_name(kind, node, names, diagnostics)).collect();
                // There is one, whatever it is: nothing that names it is a second mistake. And it is nobody else's.
                if names.is_empty() && entry.node.value != Value::Array(Vec::new()) {
                    names.push(Text::from(vec![Piece::Unit]));
                }
                directories.push(Directory { kind, names, mode });
            }
            (None, Some(entry)) => {
                let message = format!("`{mode_key}` without `{}` has no effect", kind.key());
                diagnostics.push(Diagnostic::new(Code::MissingKey, &entry.key, message));
            }
            (None, None) => {}
        }
    }
    directories
}

fn directory_name(kind: DirectoryKind, node: &Node, names: &Names<'_>, diagnostics: &mut Diagnostics) -> Option<Text> {
    let key = kind.key();
    let text = placeholder::read(key, node, Position::Path, &Names { directories: &[], ..names.clone() }, diagnostics)?;
    let Value::String(written) = &node.value else { return None };
    let relative = !written.is_empty() && written.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if !relative || written.chars().any(|c| c.is_control() || c.is_whitespace() || "\\\"':".contains(c)) {
        let message = format!(
            "`{key}` takes a path below systemd's base directory, such as `\"name\"`, without `..`, blanks, quotes and `:`"
        );
        let below =
            written.strip_prefix(kind.base()).map(|rest| rest.trim_end_matches('/')).filter(|rest| !rest.is_empty());
        let mut diagnostic = invalid(node, message);
        if let Some(rest) = below {
            diagnostic =
                diagnostic.help(format!("write `\"{}\"`: systemd makes it below `{}`", shown(rest), kind.base()));
        }
        diagnostics.push(diagnostic);
        return None;
    }
    // systemd would give copse's own directories, group files among them, to the process's user.
    if let Some(top) = text.leading().split('/').next().filter(|top| matches!(*top, "copse" | "private")) {
        let owner = if top == "copse" { "copse" } else { "systemd" };
        diagnostics.push(invalid(node, format!("`{key}` can't be `{top}` or below it: that is {owner}'s own")));
        return None;
    }
    if text.has(|piece| *piece == Piece::CredentialsDirectory) {
        diagnostics
            .push(invalid(node, format!("`{key}` takes a path below systemd's base directory, not another one's")));
        return None;
    }
    Some(text)
}

/// Who has a directory: the group's holder, or one unit of a process or step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Owner<'g> {
    /// `None`: the group.
    member: Option<&'g ProcessName>,
    instance: Option<&'g str>,
}

impl Owner<'_> {
    fn shown(self) -> String {
        match (self.member, self.instance) {
            (None, _) => "the group".to_owned(),
            (Some(member), None) => format!("`{member}`"),
            (Some(member), Some(instance)) => format!("`{member}@{instance}`"),
        }
    }
}

/// A directory as one unit has it.
struct Owned<'g> {
    owner: Owner<'g>,
    place: Option<&'g SourceLocation>,
    kind: DirectoryKind,
    path: String,
    /// It is named after the unit.
    of_unit: bool,
}

/// The same directory in two units is re-owned, or even removed, by each restart of either; and a runtime directory is
/// removed with everything below it.
pub fn check(
    processes: &BTreeMap<ProcessName, Process>,
    setup: &BTreeMap<ProcessName, Setup>,
    shared: Option<&SharedDirectories>,
    diagnostics: &mut Diagnostics,
) {
    let all = owned(processes, setup, shared);
    let mut first: BTreeMap<(DirectoryKind, &str), &Owned<'_>> = BTreeMap::new();
    let mut said = BTreeSet::new();
    for one in &all {
        let Some(other) = first.get(&(one.kind, one.path.as_str())) else {
            first.insert((one.kind, &one.path), one);
            continue;
        };
        // What instances share because the process says it once is reported there.
        if let Some(place) = one.place.filter(|_| one.owner != other.owner)
            && said.insert((one.owner.member, other.owner.member, one.kind))
        {
            diagnostics.push(same(one, other, place));
        }
    }
    for one in all.iter().filter(|one| one.kind == DirectoryKind::Runtime) {
        let above = one.path.match_indices('/').filter_map(|(end, _)| first.get(&(one.kind, &one.path[..end])));
        for above in above.filter(|above| above.owner != one.owner) {
            if let Some(place) = above.place
                && said.insert((one.owner.member, above.owner.member, one.kind))
            {
                diagnostics.push(below(one, above, place));
            }
        }
    }
}

fn owned<'g>(
    processes: &'g BTreeMap<ProcessName, Process>,
    setup: &'g BTreeMap<ProcessName, Setup>,
    shared: Option<&'g SharedDirectories>,
) -> Vec<Owned<'g>> {
    let mut all = Vec::new();
    let mut add = |member, instance, place, names: &mut dyn Iterator<Item = (DirectoryKind, &'g Text)>| {
        let owner = Owner { member, instance };
        all.extend(names.map(|(kind, name)| {
            let of_unit = name.has(|piece| *piece == Piece::Unit);
            Owned { owner, place, kind, path: path(name, owner), of_unit }
        }));
    };
    add(None, None, None, &mut names_of(shared.map_or(&[], |shared| &shared.directories)));
    for (name, process) in processes {
        let (own, place) = (process.service.directories.as_slice(), Some(&process.place));
        let Some(instances) = &process.instances else {
            add(Some(name), None, place, &mut names_of(own));
            continue;
        };
        // What all instances have in common counts once here; that they share it, the check of the process reports.
        let common: Vec<_> = names_of(own).filter(|(_, name)| !name.has(is_instance)).collect();
        add(Some(name), None, place, &mut common.iter().copied());
        let mut each = |instance, directories| {
            add(Some(name), Some(instance), place, &mut names_of(directories).filter(|one| !common.contains(one)));
        };
        // Any instance of it may be started: this one stands for all.
        if process.start == Start::Manual {
            each("*", own);
        }
        for (instance, service) in instances {
            each(instance.as_str(), service.as_ref().map_or(own, |service| &service.directories));
        }
    }
    for (name, step) in setup {
        add(Some(name), None, Some(&step.place), &mut names_of(&step.service.directories));
    }
    all
}

fn names_of(directories: &[Directory]) -> impl Iterator<Item = (DirectoryKind, &Text)> {
    directories.iter().flat_map(|directory| directory.names.iter().map(|name| (directory.kind, name)))
}

/// Whether the placeholder is `{instance}`, or one that holds it.
pub fn is_instance(piece: &Piece) -> bool {
    matches!(piece, Piece::Instance | Piece::Unit)
}

/// The path below the kind's base. `{unit}` is written as what is different in each unit all the same.
fn path(name: &Text, owner: Owner<'_>) -> String {
    let mut path = String::new();
    for piece in name.pieces() {
        match piece {
            Piece::Literal(text) => path.push_str(text),
            Piece::Instance => path.push_str(owner.instance.unwrap_or_default()),
            _ => path.push_str(&owner.shown()),
        }
    }
    path
}

fn same(one: &Owned<'_>, other: &Owned<'_>, place: &SourceLocation) -> Diagnostic {
    let key = one.kind.key();
    let message = format!(
        "{} and {} have the same `{key}`, `{}`: each restart of one would empty or re-own the other's",
        other.owner.shown(),
        one.owner.shown(),
        one.path
    );
    Diagnostic::new(Code::Conflict, place, message)
        .help(format!("move `{key}` up to the group's own keys: it's then made once, and shared by all"))
}

fn below(one: &Owned<'_>, above: &Owned<'_>, place: &SourceLocation) -> Diagnostic {
    let key = one.kind.key();
    let message = format!(
        "the `{key}` `{}` of {} holds `{}` of {}: each restart of the one would remove the other",
        above.path,
        above.owner.shown(),
        one.path,
        one.owner.shown()
    );
    Diagnostic::new(Code::Conflict, place, message)
        .help(format!("name them side by side, or move `{key} = \"{}\"` up to the group's own keys", above.path))
}

/// What the placeholders of directories stand for in a process: the first of each kind, its own or else a `shared` one.
pub fn first(own: &[Directory], shared: &[(DirectoryKind, Text)]) -> Vec<(DirectoryKind, Text)> {
    let mut first: Vec<_> =
        own.iter().filter_map(|directory| Some((directory.kind, directory.names.first()?.clone()))).collect();
    first.extend(shared.iter().filter(|(kind, _)| !own.iter().any(|own| own.kind == *kind)).cloned());
    first
}

/// A runtime directory of a group, for comparison with those of others.
#[derive(Debug)]
pub struct RuntimeDirectory {
    /// Below `/run`; `*` where any instance may have it.
    pub path: String,
    /// It stays when what it belongs to stops (`RuntimeDirectoryPreserve=`).
    pub stays: bool,
    /// The kind and name of the process or step that has it; `None`: the group.
    member: Option<(&'static str, ProcessName)>,
}

impl RuntimeDirectory {
    /// The path of the table that says so.
    pub fn table(&self) -> Vec<&str> {
        self.member.iter().flat_map(|(kind, name)| [*kind, name.as_str()]).collect()
    }
}

/// All runtime directories of a group, but for those that are named after their unit: no other group's are.
pub fn runtime_directories(group: &Group) -> Vec<RuntimeDirectory> {
    let all = owned(&group.processes, &group.setup, group.shared.as_ref());
    let all = all.into_iter().filter(|one| one.kind == DirectoryKind::Runtime && !one.of_unit);
    let stays =
        |service: &Service| service.pass.0.iter().any(|(_, directive, _)| directive == "RuntimeDirectoryPreserve");
    let of = |name: &ProcessName| match (group.processes.get(name), group.setup.get(name)) {
        (Some(process), _) => ("process", stays(&process.service)),
        (None, step) => ("setup", step.is_some_and(|step| stays(&step.service))),
    };
    all.map(|one| RuntimeDirectory {
        path: one.path,
        stays: one.owner.member.is_some_and(|name| of(name).1),
        member: one.owner.member.map(|name| (of(name).0, name.clone())),
    })
    .collect()
}
