//! `after`, from `priority` and from the dependencies that plug-ins add.

use super::notes::Notes;
use super::translated::Translated;
use crate::import::supervisord::datatypes::{boolean, name};

/// Sets `after`. A process that is not started with the group cannot be waited for, and there may be no cycle.
pub(super) fn order(processes: &mut [Translated<'_>], notes: &mut Notes<'_>) {
    for process in &mut *processes {
        // The plug-in starts what supervisord itself does not.
        let started = notes.ini.get(process.program.section, "dependent_startup");
        if started.and_then(|setting| boolean(&setting.value)) == Some(true) && process.is_manual() {
            process.table.remove("start");
        }
    }
    let mut edges = Edges(vec![Vec::new(); processes.len()]);
    dependencies(processes, &mut edges, notes);
    priorities(processes, &mut edges, notes);
    let names: Vec<String> = processes.iter().map(|process| process.name.clone()).collect();
    for (process, mut earlier) in processes.iter_mut().zip(edges.0) {
        if !earlier.is_empty() {
            earlier.sort_unstable();
            process.table.set("after", earlier.into_iter().map(|index| names[index].clone()).collect::<Vec<_>>());
        }
    }
}

fn dependencies(processes: &[Translated<'_>], edges: &mut Edges, notes: &mut Notes<'_>) {
    for (index, process) in processes.iter().enumerate() {
        for option in ["depends_on", "dependent_startup_wait_for"] {
            let section = process.program.section;
            let Some(setting) = notes.ini.get(section, option) else { continue };
            for word in setting.value.split([',', ' ', '\t', '\n']).filter(|word| !word.is_empty()) {
                let (program, state) = word.split_once(':').unwrap_or((word, "running"));
                let earlier = processes.iter().position(|other| name(&other.program.name) == Some(program));
                let added = earlier.is_some_and(|earlier| !processes[earlier].is_manual() && edges.add(index, earlier));
                notes.dependency(section, option, word, added, state.eq_ignore_ascii_case("exited").then_some(program));
            }
        }
    }
}

/// Each process waits for those with the next lower priority that are started with the group.
fn priorities(processes: &[Translated<'_>], edges: &mut Edges, notes: &mut Notes<'_>) {
    let automatic: Vec<usize> = (0..processes.len()).filter(|index| !processes[*index].is_manual()).collect();
    let mut ordered = None;
    for &index in &automatic {
        let earlier: Vec<usize> =
            automatic.iter().copied().filter(|other| before(&processes[*other], &processes[index])).collect();
        for &other in &earlier {
            let last = !earlier.iter().any(|third| before(&processes[other], &processes[*third]));
            if last && edges.add(index, other) {
                ordered = ordered.or(Some(processes[index].program.section));
            }
        }
    }
    if let Some(section) = ordered {
        notes.priority(section);
    }
}

/// Whether supervisord starts `one` before `other`: by the priorities of their groups or, within a group, by their own.
fn before(one: &Translated<'_>, other: &Translated<'_>) -> bool {
    let (one, other) = (one.program, other.program);
    let same_group = one.grouped && other.grouped && one.group == other.group;
    one.priority.0 < other.priority.0 || same_group && one.priority.1 < other.priority.1
}

/// For each process, those that it waits for.
struct Edges(Vec<Vec<usize>>);

impl Edges {
    /// Makes `later` wait for `earlier`; false if that would be a cycle.
    fn add(&mut self, later: usize, earlier: usize) -> bool {
        let (mut open, mut seen) = (vec![earlier], vec![false; self.0.len()]);
        while let Some(index) = open.pop() {
            if index == later {
                return false;
            }
            if !std::mem::replace(&mut seen[index], true) {
                open.extend(&self.0[index]);
            }
        }
        if !self.0[later].contains(&earlier) {
            self.0[later].push(earlier);
        }
        true
    }
}
