//! `copse internal spared`: the units that needrestart(1) must not restart.

use crate::basic::scope::Scope;
use crate::cli::common::error::Error;
use crate::cli::common::exit::Exit;
use crate::cli::common::groups::load;
use crate::cli::common::output;
use crate::model::{Group, Refresh};
use crate::unit::name;

/// Prints the units of processes with `refresh = "keep"`, one per line; `NAME@` for all instances.
pub(super) fn run(scope: Scope) -> Result<Exit, Error> {
    let (_, outcome) = load(scope);
    let units = outcome.groups.iter().filter_map(|outcome| outcome.group.as_ref()).flat_map(kept);
    output::print(&units.map(|unit| unit + "\n").collect::<String>())?;
    Ok(Exit::Done)
}

fn kept(group: &Group) -> impl Iterator<Item = String> {
    let kept = group.processes.iter().filter(|(_, process)| process.change.refresh == Refresh::Keep);
    kept.map(|(name, process)| match &process.instances {
        None => name::service(&group.name, name),
        Some(_) => name::stem(&group.name, name) + "@",
    })
}
