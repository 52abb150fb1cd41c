//! The order of the init containers of a pod.

use std::collections::BTreeSet;

use super::findings::Findings;
use super::options::{Options, SIDECARS};
use super::units::Unit;
use crate::model::Group;
use crate::unit::name::ProcessName;

/// Setup steps and native sidecars, in the order in which they start.
pub struct Order<'a> {
    pub init: Vec<&'a ProcessName>,
    /// Processes that others of the pod are `after`.
    pub sidecars: BTreeSet<&'a ProcessName>,
}

/// The steps and processes that one of them waits for by itself.
fn direct<'g>(group: &'g Group, name: &ProcessName) -> impl Iterator<Item = &'g ProcessName> {
    let process = group.processes.get(name).map(|process| (&process.after, &process.gated_by));
    let step = group.setup.get(name).map(|step| (&step.after, &step.gated_by));
    process.or(step).into_iter().flat_map(|(after, steps)| after.iter().chain(steps))
}

/// All that it waits for.
fn waits_for<'g>(group: &'g Group, name: &ProcessName) -> BTreeSet<&'g ProcessName> {
    let mut waits = BTreeSet::new();
    let mut next: Vec<_> = direct(group, name).collect();
    while let Some(name) = next.pop() {
        if waits.insert(name) {
            next.extend(direct(group, name));
        }
    }
    waits
}

impl<'a> Order<'a> {
    /// Of the units of a pod.
    pub fn new(group: &'a Group, units: &[&Unit<'a>]) -> Self {
        let members: BTreeSet<&ProcessName> = units.iter().map(|unit| unit.member.name).collect();
        let awaited = members.iter().flat_map(|name| direct(group, name));
        let sidecars: BTreeSet<&'a ProcessName> =
            awaited.filter(|name| members.contains(name) && group.processes.contains_key(*name)).collect();
        let steps = units.iter().filter(|unit| unit.process.is_none()).map(|unit| unit.member.name);
        let mut left: Vec<&'a ProcessName> = steps.chain(sidecars.iter().copied()).collect();
        let mut init = Vec::new();
        while let Some(index) = left.iter().position(|name| !direct(group, name).any(|other| left.contains(&other))) {
            init.push(left.remove(index));
        }
        Self { init, sidecars }
    }

    /// Notes on sidecars, and on containers that wait for more than they need.
    pub fn review(&self, group: &Group, units: &[&Unit<'_>], options: &Options, found: &mut Findings<'_>) {
        for unit in units {
            let name = unit.member.name;
            if direct(group, name).any(|other| self.sidecars.contains(other)) {
                if options.kubernetes < SIDECARS {
                    let why = format!("no container waits for another one before Kubernetes 1.{SIDECARS}");
                    found.refuse(&unit.member, "after", &why, &format!("add `--kubernetes 1.{SIDECARS}`"));
                } else {
                    let what = "makes a native sidecar of the process, which `podman kube play` does not take";
                    found.note(&unit.member, "after", what);
                }
            }
        }
        for (index, first) in self.init.iter().enumerate() {
            let waits = |unit: &&&Unit<'_>| {
                let place = self.init.iter().position(|name| *name == unit.member.name);
                place.is_none_or(|place| place > index) && !waits_for(group, unit.member.name).contains(first)
            };
            let others: BTreeSet<String> =
                units.iter().filter(waits).map(|unit| format!("`{}`", unit.member.name)).collect();
            if others.is_empty() {
                continue;
            }
            let unit = units.iter().find(|unit| unit.member.name == *first);
            let Some(unit) = unit else { continue };
            let others = others.into_iter().collect::<Vec<_>>().join(", ");
            let what = format!("becomes an init container, for which every container waits: {others} too");
            found.note_at(unit.member.header.clone(), first.as_str(), &what, None);
        }
    }
}
