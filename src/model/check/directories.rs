//! Finds directories that two units have.
//!
//! Each restart of either unit would change their owner or even remove them; and a runtime directory is removed with
//! everything below it.

use std::collections::{BTreeMap, BTreeSet};

use crate::basic::diagnostic::{Diagnostic, Diagnostics, SourceLocation};
use crate::model::parse::directories::is_instance;
use crate::model::parse::value::conflict;
use crate::model::service::{Directory, Service};
use crate::model::text::{DirectoryKind, Piece, Text};
use crate::model::types::{Group, Process, Setup, SharedDirectories, Start};
use crate::unit::name::ProcessName;

/// What has a directory: the group, or a unit of a process or step.
#[derive(Clone, Copy, PartialEq, Eq)]
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

/// A directory of one unit.
struct Owned<'g> {
    owner: Owner<'g>,
    location: Option<&'g SourceLocation>,
    kind: DirectoryKind,
    /// Below the base directory of the kind.
    path: String,
    /// It has the name of the unit.
    of_unit: bool,
}

pub fn check(
    processes: &BTreeMap<ProcessName, Process>,
    setup: &BTreeMap<ProcessName, Setup>,
    shared: Option<&SharedDirectories>,
    diagnostics: &mut Diagnostics,
) {
    let directories = owned(processes, setup, shared);
    let mut first: BTreeMap<(DirectoryKind, &str), &Owned<'_>> = BTreeMap::new();
    let mut reported = BTreeSet::new();
    for directory in &directories {
        let Some(other) = first.get(&(directory.kind, directory.path.as_str())) else {
            first.insert((directory.kind, &directory.path), directory);
            continue;
        };
        if let Some(location) = directory.location.filter(|_| directory.owner != other.owner)
            && reported.insert((directory.owner.member, other.owner.member, directory.kind))
        {
            diagnostics.push(same(directory, other, location));
        }
    }
    for directory in directories.iter().filter(|directory| directory.kind == DirectoryKind::Runtime) {
        let (kind, path) = (directory.kind, &directory.path);
        let above = path.match_indices('/').filter_map(|(end, _)| first.get(&(kind, &path[..end])));
        for above in above.filter(|above| above.owner != directory.owner) {
            if let Some(location) = above.location
                && reported.insert((directory.owner.member, above.owner.member, kind))
            {
                diagnostics.push(below(directory, above, location));
            }
        }
    }
}

fn owned<'g>(
    processes: &'g BTreeMap<ProcessName, Process>,
    setup: &'g BTreeMap<ProcessName, Setup>,
    shared: Option<&'g SharedDirectories>,
) -> Vec<Owned<'g>> {
    let mut owned = Vec::new();
    let mut add = |member, instance, location, names: &mut dyn Iterator<Item = (DirectoryKind, &'g Text)>| {
        let owner = Owner { member, instance };
        owned.extend(names.map(|(kind, name)| {
            let of_unit = name.has(|piece| *piece == Piece::Unit);
            Owned { owner, location, kind, path: path(name, owner), of_unit }
        }));
    };
    add(None, None, None, &mut names_of(shared.map_or(&[], |shared| &shared.directories)));
    for (name, process) in processes {
        let (own, location) = (process.service.directories.as_slice(), Some(&process.location));
        let Some(instances) = &process.instances else {
            add(Some(name), None, location, &mut names_of(own));
            continue;
        };
        // What all instances share counts once: reading the process reports that they share it.
        let common: Vec<_> = names_of(own).filter(|(_, name)| !name.has(is_instance)).collect();
        add(Some(name), None, location, &mut common.iter().copied());
        let mut each = |instance, directories| {
            add(Some(name), Some(instance), location, &mut names_of(directories).filter(|name| !common.contains(name)));
        };
        // Any instance of a manual process can be started.
        if process.start == Start::Manual {
            each("*", own);
        }
        for (instance, service) in instances {
            each(instance.as_str(), service.as_ref().map_or(own, |service| &service.directories));
        }
    }
    for (name, step) in setup {
        add(Some(name), None, Some(&step.location), &mut names_of(&step.service.directories));
    }
    owned
}

fn names_of(directories: &[Directory]) -> impl Iterator<Item = (DirectoryKind, &Text)> {
    directories.iter().flat_map(|directory| directory.names.iter().map(|name| (directory.kind, name)))
}

fn path(name: &Text, owner: Owner<'_>) -> String {
    let pieces = name.pieces().iter().map(|piece| match piece {
        Piece::Literal(text) => text.clone(),
        Piece::Instance => owner.instance.unwrap_or_default().to_owned(),
        // Different in each unit.
        _ => owner.shown(),
    });
    pieces.collect()
}

fn same(directory: &Owned<'_>, other: &Owned<'_>, location: &SourceLocation) -> Diagnostic {
    let (key, path) = (directory.kind.key(), &directory.path);
    let (one, other) = (other.owner.shown(), directory.owner.shown());
    let message = format!(
        "{one} and {other} have the same `{key}` `{path}`: a restart of either would empty it or change its owner"
    );
    conflict(location, message).help(format!("move `{key}` to the group's own keys, so that both share it"))
}

fn below(directory: &Owned<'_>, above: &Owned<'_>, location: &SourceLocation) -> Diagnostic {
    let key = directory.kind.key();
    let (outer, inner) = (&above.path, &directory.path);
    let (owner, other) = (above.owner.shown(), directory.owner.shown());
    let message = format!("the `{key}` `{outer}` of {owner} contains `{inner}` of {other}, and a restart removes both");
    conflict(location, message)
        .help(format!("name them side by side, or move `{key} = \"{outer}\"` to the group's own keys"))
}

/// A runtime directory of a group, to be compared with those of other groups.
#[derive(Debug)]
pub struct RuntimeDirectory {
    /// Below `/run`; `*` stands for any instance.
    pub path: String,
    /// It is kept when its unit stops (`RuntimeDirectoryPreserve=`).
    pub preserved: bool,
    /// The kind and name of its process or step; `None`: the group.
    member: Option<(&'static str, ProcessName)>,
}

impl RuntimeDirectory {
    /// The path of the table that it is set in.
    pub fn table(&self) -> Vec<&str> {
        self.member.iter().flat_map(|(kind, name)| [*kind, name.as_str()]).collect()
    }
}

/// All runtime directories of a group, without those that have the name of their unit.
pub fn runtime_directories(group: &Group) -> Vec<RuntimeDirectory> {
    let owned = owned(&group.processes, &group.setup, group.shared.as_ref());
    let preserves =
        |service: &Service| service.pass.0.iter().any(|(_, directive, _)| directive == "RuntimeDirectoryPreserve");
    let runtime = owned.into_iter().filter(|owned| owned.kind == DirectoryKind::Runtime && !owned.of_unit);
    let directory = |Owned { owner, path, .. }: Owned<'_>| {
        let Some(name) = owner.member else { return RuntimeDirectory { path, preserved: false, member: None } };
        let (kind, service) = match group.processes.get(name) {
            Some(process) => ("process", Some(&process.service)),
            None => ("setup", group.setup.get(name).map(|step| &step.service)),
        };
        RuntimeDirectory { path, preserved: service.is_some_and(preserves), member: Some((kind, name.clone())) }
    };
    runtime.map(directory).collect()
}
