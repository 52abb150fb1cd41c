//! `copse internal spared`: the units that nobody but their group's own people restarts. needrestart(1) asks.

use crate::basic::scope::Scope;
use crate::cli::common::exit::Exit;
use crate::cli::common::load::load;
use crate::cli::common::output;
use crate::model::{Group, Refresh};
use crate::unit::name;

/// Prints their names, one a line; one that ends in `@` stands for all instances. Broken groups have none.
pub(super) fn run(scope: Scope) -> Exit {
    let (_, outcome) = load(scope);
    let units = outcome.groups.iter().filter_map(|outcome| outcome.group.as_ref()).flat_map(spared);
    match output::print(&units.map(|unit| unit + "\n").collect::<String>()) {
        Ok(()) => Exit::Done,
        Err(_) => Exit::Failed,
    }
}

fn spared(group: &Group) -> impl Iterator<Item = String> {
    let kept = group.processes.iter().filter(|(_, process)| process.change.refresh == Refresh::Keep);
    kept.map(|(name, process)| match &process.instances {
        None => name::service(&group.name, name),
        Some(_) => name::stem(&group.name, name) + "@",
    })
}
