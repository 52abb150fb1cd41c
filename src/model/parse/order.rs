//! `after`: names resolved, setup steps gate what they have to, no cycle.

use std::collections::{BTreeMap, BTreeSet};

use super::context::{GroupContext, Reader, Role};
use super::member::Member;
use super::units;
use super::value;
use super::value::{conflict, did_you_mean, shown};
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::basic::suggest;
use crate::group_file::document::{KeySpan, Node};
use crate::unit::name::ProcessName;

/// The `after` of a process or setup step. Members are indices into the list of all.
#[derive(Debug, Default)]
pub struct Order<'t> {
    /// Processes of the group.
    pub after: Vec<usize>,
    /// Setup steps that must have succeeded.
    pub gated_by: Vec<usize>,
    /// Those of them that it names itself.
    pub steps: Vec<usize>,
    /// Units outside.
    pub units: Vec<String>,
    named_at: Vec<(usize, KeySpan<'t>)>,
}

/// The members of a group, by name and by index.
struct Names<'m, 'g> {
    members: &'m [Member<'m>],
    indices: BTreeMap<&'m ProcessName, usize>,
    removed: &'g BTreeSet<ProcessName>,
    group: &'g GroupContext<'g>,
}

/// Resolves the `after` of each member. `members`: processes before setup steps, both sorted by name. `removed`: processes
/// with `instances = 0`.
pub fn resolve<'a>(
    members: &'a [Member<'a>],
    removed: &BTreeSet<ProcessName>,
    group: &GroupContext<'_>,
    diagnostics: &mut Diagnostics,
) -> Vec<Order<'a>> {
    let indices = members.iter().enumerate().map(|(index, member)| (member.name, index)).collect();
    let names = Names { members, indices, removed, group };
    let mut orders: Vec<Order<'_>> = Vec::new();
    for member in members {
        let mut order = Order::default();
        let entry = member.table.get("after");
        for node in entry.map_or_else(Vec::new, |entry| value::strings("after", &entry.node, diagnostics)) {
            names.add(&mut order, node, member.name, diagnostics);
        }
        orders.push(order);
    }
    gate(members, &mut orders);
    // By name, so that the same error always reads the same.
    report_cycles(names.indices.into_values(), members, &orders, diagnostics);
    orders
}

impl Names<'_, '_> {
    /// Adds what `node` names to the order of `member`.
    fn add<'t>(&self, order: &mut Order<'t>, node: &'t Node<'t>, member: &ProcessName, diagnostics: &mut Diagnostics) {
        let Some(text) = diagnostics.ok(value::text("after", node)) else { return };
        let Some(name) = ProcessName::new(text) else {
            if !text.contains('.') && self.nearest(text).is_some() {
                diagnostics.push_error(|| self.unknown(node, text));
            } else {
                order.units.extend(diagnostics.ok(self.group.outside("after", node)).map(str::to_owned));
            }
            return;
        };
        if self.removed.contains(&name) {
            return;
        }
        let Some(index) = self.indices.get(&name).copied() else {
            diagnostics.push_error(|| self.unknown(node, text));
            return;
        };
        match self.members[index].role {
            _ if name == *member => diagnostics.push(cycle_error(&node.location, &format!("{name} → {name}"))),
            Role::Manual => {
                let message = format!("`{name}` is started manually, so nothing can be ordered after it");
                let help = "remove it from `after`: a process of the group that starts it would wait for itself";
                diagnostics.push(conflict(node, message).help(help));
            }
            Role::Timed => {
                let message = format!("`{name}` is started by its timer, so nothing can be ordered after it");
                diagnostics.push(conflict(node, message).help("remove it from `after`"));
            }
            role => {
                order.named_at.push((index, node.location));
                let list = if role == Role::Setup { &mut order.gated_by } else { &mut order.after };
                if !list.contains(&index) {
                    list.push(index);
                }
                if role == Role::Setup && !order.steps.contains(&index) {
                    order.steps.push(index);
                }
            }
        }
    }

    fn nearest(&self, text: &str) -> Option<&str> {
        suggest::nearest(text, self.indices.keys().map(|name| name.as_str()))
    }

    fn unknown(&self, node: &Node, text: &str) -> Diagnostic {
        let message = format!("no process or setup step is named `{}`", shown(text));
        let diagnostic = Diagnostic::new(Code::UnknownName, node, message);
        match self.nearest(text) {
            Some(near) => did_you_mean(diagnostic, Some(near)),
            None => {
                let unit = format!("{}{}", shown(text), units::suffix("after", text));
                diagnostic.help(format!("name a unit outside the group with its suffix: `{unit}`"))
            }
        }
    }
}

/// A setup step that waits for no process of the group gates every process.
fn gate(members: &[Member<'_>], orders: &mut [Order<'_>]) {
    let is_step = |index: usize| members[index].role == Role::Setup;
    let steps = (0..members.len()).filter(|index| is_step(*index));
    // A step after a step that waits for a process waits for that process too.
    let mut waiting: Vec<bool> = orders.iter().map(|order| !order.after.is_empty()).collect();
    loop {
        let gated = |step: &usize| !waiting[*step] && orders[*step].gated_by.iter().any(|gate| waiting[*gate]);
        let more: Vec<usize> = steps.clone().filter(gated).collect();
        if more.is_empty() {
            break;
        }
        more.into_iter().for_each(|step| waiting[step] = true);
    }
    let first: Vec<usize> = steps.filter(|step| !waiting[*step]).collect();
    for (_, order) in orders.iter_mut().enumerate().filter(|(index, _)| !is_step(*index)) {
        let more: Vec<_> = first.iter().filter(|step| !order.gated_by.contains(step)).copied().collect();
        order.gated_by.extend(more);
        order.gated_by.sort_unstable();
    }
}

/// Reports each cycle once, at the name that closes it. Depth first and without recursion: a group file may chain a
/// thousand processes.
fn report_cycles(
    starts: impl Iterator<Item = usize>,
    members: &[Member<'_>],
    orders: &[Order<'_>],
    diagnostics: &mut Diagnostics,
) {
    let following = |index: usize| orders[index].after.iter().chain(&orders[index].gated_by).copied();
    let mut done = vec![false; members.len()];
    let mut path = Vec::new();
    for start in starts {
        if done[start] {
            continue;
        }
        path.push((start, following(start)));
        while let Some((index, rest)) = path.last_mut() {
            let index = *index;
            match rest.next() {
                None => {
                    done[index] = true;
                    path.pop();
                }
                Some(other) if done[other] => {}
                Some(other) => match path.iter().position(|(found, _)| *found == other) {
                    None => path.push((other, following(other))),
                    Some(begin) => {
                        let cycle: Vec<usize> = path[begin..].iter().map(|(index, _)| *index).collect();
                        report_cycle(&cycle, members, orders).into_iter().for_each(|one| diagnostics.push(one));
                    }
                },
            }
        }
    }
}

fn report_cycle(cycle: &[usize], members: &[Member<'_>], orders: &[Order<'_>]) -> Option<Diagnostic> {
    let name = |index: usize| members[index].name.as_str();
    // From the name that sorts first, so that the same cycle always reads the same.
    let first = (0..cycle.len()).min_by_key(|step| name(cycle[*step]))?;
    let round: Vec<usize> = (0..=cycle.len()).map(|step| cycle[(first + step) % cycle.len()]).collect();
    let text = round.iter().map(|index| name(*index)).collect::<Vec<_>>().join(" → ");
    // The last of several locations.
    let location = |pair: &[usize]| {
        orders[pair[0]].named_at.iter().rfind(|(index, _)| *index == pair[1]).map(|(_, location)| *location)
    };
    let mut locations = round.windows(2).filter_map(|pair| Some((location(pair)?, pair)));
    let (location, _) = locations.next()?;
    Some(locations.fold(cycle_error(&location, &text), |diagnostic, (location, pair)| {
        diagnostic.related(&location, format!("`{}` is after `{}`", name(pair[0]), name(pair[1])))
    }))
}

fn cycle_error(location: &KeySpan<'_>, text: &str) -> Diagnostic {
    Diagnostic::new(Code::Cycle, location, format!("dependency cycle in `after`: `{text}`"))
        .help("remove one of these names from an `after`")
}

impl Reader<'_, '_> {
    /// The names of `controls`, without those in `removed`.
    pub fn controls(
        &mut self,
        processes: &BTreeSet<&ProcessName>,
        removed: &BTreeSet<ProcessName>,
    ) -> Vec<ProcessName> {
        let names = self.each("controls", |key, node| {
            let text = value::text(key, node)?;
            ProcessName::new(text).filter(|name| processes.contains(name) || removed.contains(name)).ok_or_else(|| {
                let message = format!("no process is named `{}`", shown(text));
                let near = suggest::nearest(text, processes.iter().map(|name| name.as_str()));
                did_you_mean(Diagnostic::new(Code::UnknownName, node, message), near)
            })
        });
        names.into_iter().filter(|name| !removed.contains(name)).collect()
    }
}
