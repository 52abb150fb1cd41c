//! What is started before what: `priority`, and what plug-ins say about dependencies.

use super::{Translated, Translation};
use crate::basic::diagnostic::Code;
use crate::import::group_file::Table;
use crate::import::supervisord::config::Program;
use crate::import::supervisord::datatypes::{boolean, name};

impl Translation<'_> {
    /// Sets `after`. A process that isn't started with the group can't be waited for, and nobody waits in a circle.
    pub(super) fn order(&mut self, all: &mut [Translated<'_>]) {
        self.started_by_plugin(all);
        let mut edges = vec![Vec::new(); all.len()];
        self.dependencies(all, &mut edges);
        self.priorities(all, &mut edges);
        let names: Vec<String> = all.iter().map(|one| one.name.clone()).collect();
        for (one, mut before) in all.iter_mut().zip(edges) {
            if !before.is_empty() {
                before.sort_unstable();
                one.table.set("after", before.into_iter().map(|at| names[at].clone()).collect::<Vec<_>>());
            }
        }
    }

    /// `dependent_startup`: the plug-in starts what supervisord itself was told not to.
    fn started_by_plugin(&mut self, all: &mut [Translated<'_>]) {
        for one in all {
            let value = self.value(one.program, "dependent_startup");
            if value.as_deref().and_then(boolean) == Some(true) && is_manual(&one.table) {
                one.table.remove("start");
            }
        }
    }

    fn dependencies(&mut self, all: &[Translated<'_>], edges: &mut [Vec<usize>]) {
        for (at, one) in all.iter().enumerate() {
            for option in ["depends_on", "dependent_startup_wait_for"] {
                let Some(value) = self.value(one.program, option) else { continue };
                let spot = self.spot(one.program.section, option);
                for word in value.split([',', ' ', '\t', '\n']).filter(|word| !word.is_empty()) {
                    let (wanted, state) = word.split_once(':').unwrap_or((word, "running"));
                    let found = all.iter().position(|other| name(&other.program.name) == Some(wanted));
                    match found {
                        Some(other) if other != at && !is_manual(&all[other].table) && !reaches(edges, other, at) => {
                            add(edges, at, other);
                        }
                        _ => {
                            let message = format!("`{option}`: nothing can wait for `{word}`");
                            self.say(Code::LeftOut, spot, message, None);
                        }
                    }
                    if state.eq_ignore_ascii_case("exited") {
                        let message =
                            format!("`{option}` waits until `{wanted}` has ended, `after` until it was started");
                        let help = "write `ready = \"oneshot\"` there: it has then started once it ended well";
                        self.say(Code::Otherwise, spot, message, Some(help));
                    }
                }
                let message = format!("`{option}` is a plug-in's: it becomes `after`");
                self.say(Code::Otherwise, spot, message, None);
            }
        }
    }

    /// Those of the next lower priority that are started with the group.
    fn priorities(&mut self, all: &[Translated<'_>], edges: &mut [Vec<usize>]) {
        let auto: Vec<usize> = (0..all.len()).filter(|at| !is_manual(&all[*at].table)).collect();
        let mut ordered = None;
        for &at in &auto {
            let earlier: Vec<usize> = auto.iter().copied().filter(|other| before(all, *other, at)).collect();
            let last = |one: &&usize| !earlier.iter().any(|other| before(all, **one, *other));
            for other in earlier.iter().filter(last) {
                if !reaches(edges, *other, at) {
                    add(edges, at, *other);
                    ordered = ordered.or(Some(at));
                }
            }
        }
        if let Some(at) = ordered {
            let spot = self.spot(all[at].program.section, "priority");
            let message = "supervisord starts in the order of `priority` without waiting; `after` waits until the earlier ones are started";
            self.say(Code::Otherwise, spot, message, Some("take `after` away where the order doesn't matter"));
        }
    }

    /// The value of an option that supervisord doesn't read.
    fn value(&self, program: &Program, option: &str) -> Option<String> {
        let ini = &self.config.ini;
        ini.get(&ini.sections[program.section], option).map(|setting| setting.value.clone())
    }
}

fn is_manual(table: &Table) -> bool {
    table.get("start") == Some(&"manual".into())
}

/// Whether supervisord starts `one` before `other`: by the priorities of their groups, or, within one, by their own.
fn before(all: &[Translated<'_>], one: usize, other: usize) -> bool {
    let (one, other) = (all[one].program, all[other].program);
    let same_group = one.grouped && other.grouped && one.group == other.group;
    one.priority.0 < other.priority.0 || same_group && one.priority.1 < other.priority.1
}

/// Whether `from` is after `to`, directly or not.
fn reaches(edges: &[Vec<usize>], from: usize, to: usize) -> bool {
    let (mut open, mut seen) = (vec![from], vec![false; edges.len()]);
    while let Some(at) = open.pop() {
        if at == to {
            return true;
        }
        if !std::mem::replace(&mut seen[at], true) {
            open.extend(&edges[at]);
        }
    }
    false
}

fn add(edges: &mut [Vec<usize>], at: usize, before: usize) {
    if !edges[at].contains(&before) {
        edges[at].push(before);
    }
}
