//! In which order, and how fast, the processes of a group are restarted.

use std::collections::BTreeMap;

use super::step::Pace;
use crate::model::{Group, Process};
use crate::unit::name::ProcessName;

/// The pace of a process of so many units.
pub fn pace(process: &Process, of: usize) -> Pace {
    Pace {
        max_unavailable: process.change.max_unavailable.of(of),
        of,
        min_ready: process.change.min_ready.value.finite().unwrap_or_default(),
        settled: process.change.settled.clone(),
        ..Pace::default()
    }
}

/// The place of each process and setup step in an order in which all come after those that they are `after`.
pub fn order(group: &Group) -> BTreeMap<ProcessName, usize> {
    let steps = group.setup.iter().map(|(name, step)| (name, [&step.after, &step.gated_by]));
    let processes = group.processes.iter().map(|(name, process)| (name, [&process.after, &process.gated_by]));
    let mut rest: Vec<_> = steps.chain(processes).collect();
    let mut order = BTreeMap::new();
    while !rest.is_empty() {
        let before = order.len();
        rest.retain(|(name, after)| {
            let ready = after.iter().copied().flatten().all(|other| order.contains_key(other));
            if ready {
                order.insert((*name).clone(), order.len());
            }
            !ready
        });
        if order.len() == before {
            // A cycle, which the model refuses.
            break;
        }
    }
    order
}
