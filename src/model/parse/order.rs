//! Who is after whom: names resolved, setup steps gate what they should, no circle.

use std::collections::{BTreeMap, BTreeSet};

use super::process::Merged;
use super::service::Role;
use super::units;
use super::value;
use super::value::shown;
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::basic::scope::Scope;
use crate::basic::suggest;
use crate::group_file::document::{KeySpan, Node, Table};
use crate::unit::name::ProcessName;

/// What the `after` of a process or setup step comes to. Members are named by their position in the list of all.
#[derive(Debug, Default)]
pub struct Order<'t> {
    /// Processes of the group.
    pub after: Vec<usize>,
    /// Setup steps of the group that must have succeeded.
    pub gated_by: Vec<usize>,
    /// Those of them that it names itself.
    pub steps: Vec<usize>,
    /// Units outside.
    pub units: Vec<String>,
    named_at: Vec<(usize, KeySpan<'t>)>,
}

/// How units outside the group are named: by anything but its own units.
pub struct Outside<'a> {
    /// Which service manager has them.
    pub scope: Scope,
    /// Whether a unit's name is one of the group's.
    pub own: &'a dyn Fn(&str) -> bool,
}

impl Outside<'_> {
    /// The name at `node`. One of the group's own is refused: as a process it is known by its name, with all checks
    /// that go with it; and what waits for the group's target or gate while belonging to the group waits for itself.
    pub fn unit<'n>(&self, key: &str, node: &'n Node, diagnostics: &mut Diagnostics) -> Option<&'n str> {
        let name = units::outside_unit(key, node, self.scope, diagnostics)?;
        if (self.own)(name) {
            let message = format!(
                "`{}` is one of the group's own units; with a suffix, `{key}` names units outside",
                shown(name)
            );
            let help =
                "a process or setup step is named as in its header, in the `after` of another: `after = [\"NAME\"]`";
            diagnostics.push(Diagnostic::new(Code::Conflict, &node.place, message).help(help));
            return None;
        }
        Some(name)
    }
}

/// Where in the list of members each name is.
type Positions<'a> = BTreeMap<&'a ProcessName, usize>;

/// Resolves the `after` of every member, in their order: processes come before setup steps, both sorted by name.
/// `removed`: processes taken out with `instances = 0`.
pub fn resolve<'a>(
    members: &'a [Merged<'a>],
    removed: &BTreeSet<ProcessName>,
    outside: &Outside<'_>,
    diagnostics: &mut Diagnostics,
) -> Vec<Order<'a>> {
    let positions = members.iter().enumerate().map(|(at, member)| (member.name, at)).collect();
    let own = |member| own_order(member, members, &positions, removed, outside, diagnostics);
    let mut orders: Vec<Order<'_>> = members.iter().map(own).collect();
    gate(members, &mut orders);
    // By name, so that the same mistakes always read the same.
    report_cycles(positions.into_values(), members, &orders, diagnostics);
    orders
}

fn own_order<'a>(
    member: &'a Merged<'a>,
    members: &[Merged<'_>],
    positions: &Positions<'_>,
    removed: &BTreeSet<ProcessName>,
    outside: &Outside<'_>,
    diagnostics: &mut Diagnostics,
) -> Order<'a> {
    let mut order = Order::default();
    let Some(entry) = member.table.get("after") else { return order };
    for node in value::one_or_many("after", &entry.node, diagnostics) {
        let Some(text) = value::text("after", node, diagnostics) else { continue };
        let Some(name) = ProcessName::new(text) else {
            let near = || suggest::nearest(text, positions.keys().map(|name| name.as_str()));
            if !text.contains('.') && near().is_some() {
                diagnostics.push_error(|| unknown(node, text, positions));
                continue;
            }
            order.units.extend(outside.unit("after", node, diagnostics).map(str::to_owned));
            continue;
        };
        let position = positions.get(&name).copied();
        match position.map(|at| (at, members[at].role)) {
            _ if removed.contains(&name) => {}
            None => diagnostics.push_error(|| unknown(node, text, positions)),
            Some(_) if name == *member.name => {
                diagnostics.push(Diagnostic::new(
                    Code::Cycle,
                    &node.place,
                    format!("`{name} → {name}`: nothing can be after itself"),
                ));
            }
            Some((_, Role::Manual)) => {
                let message =
                    format!("`{name}` is started by hand or by the group's manager, so nothing can wait for it");
                let help = "whoever starts it from inside the group would wait for itself; leave it out of `after`";
                diagnostics.push(Diagnostic::new(Code::Conflict, &node.place, message).help(help));
            }
            Some((_, Role::Timed)) => {
                let message = format!("`{name}` is started by its timer, so nothing can wait for it");
                diagnostics.push(Diagnostic::new(Code::Conflict, &node.place, message));
            }
            Some((at, role)) => {
                order.named_at.push((at, node.place));
                let list = if role == Role::Setup { &mut order.gated_by } else { &mut order.after };
                if !list.contains(&at) {
                    list.push(at);
                }
                if role == Role::Setup && !order.steps.contains(&at) {
                    order.steps.push(at);
                }
            }
        }
    }
    order
}

fn unknown(node: &Node, text: &str, positions: &Positions<'_>) -> Diagnostic {
    let diagnostic =
        Diagnostic::new(Code::UnknownName, &node.place, format!("no process or setup step is named `{}`", shown(text)));
    match suggest::nearest(text, positions.keys().map(|name| name.as_str())) {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
        None => {
            let suffix = units::suffix("after", text);
            diagnostic.help(format!("a unit outside the group is named with its suffix: `{}{suffix}`", shown(text)))
        }
    }
}

/// A setup step that waits for no process of the group gates every process.
fn gate(members: &[Merged<'_>], orders: &mut [Order<'_>]) {
    let is_step = |at: usize| members[at].role == Role::Setup;
    let steps = (0..members.len()).filter(|at| is_step(*at));
    // A step after a step that waits for a process waits for that process as well.
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
    for (_, order) in orders.iter_mut().enumerate().filter(|(at, _)| !is_step(*at)) {
        let more: Vec<_> = first.iter().filter(|step| !order.gated_by.contains(step)).copied().collect();
        order.gated_by.extend(more);
        order.gated_by.sort_unstable();
    }
}

/// Each circle once, at the name that closes it. Depth first, without recursion: a group file may chain a thousand
/// processes.
fn report_cycles(
    starts: impl Iterator<Item = usize>,
    members: &[Merged<'_>],
    orders: &[Order<'_>],
    diagnostics: &mut Diagnostics,
) {
    let following = |at: usize| orders[at].after.iter().chain(&orders[at].gated_by).copied();
    let mut done = vec![false; members.len()];
    let mut path = Vec::new();
    for start in starts {
        if done[start] {
            continue;
        }
        path.push((start, following(start)));
        while let Some((at, rest)) = path.last_mut() {
            let at = *at;
            match rest.next() {
                None => {
                    done[at] = true;
                    path.pop();
                }
                Some(other) if done[other] => {}
                Some(other) => match path.iter().position(|(found, _)| *found == other) {
                    None => path.push((other, following(other))),
                    Some(begin) => {
                        let circle: Vec<usize> = path[begin..].iter().map(|(at, _)| *at).collect();
                        cycle(&circle, members, orders).into_iter().for_each(|one| diagnostics.push(one));
                    }
                },
            }
        }
    }
}

fn cycle(circle: &[usize], members: &[Merged<'_>], orders: &[Order<'_>]) -> Option<Diagnostic> {
    let name = |at: usize| members[at].name.as_str();
    // Begin with the name that sorts first, so that the same circle always reads the same.
    let first = (0..circle.len()).min_by_key(|step| name(circle[*step]))?;
    let round: Vec<usize> = (0..=circle.len()).map(|step| circle[(first + step) % circle.len()]).collect();
    let text = round.iter().map(|at| name(*at)).collect::<Vec<_>>().join(" → ");
    // Where it stands last, if it is named twice.
    let place =
        |pair: &[usize]| orders[pair[0]].named_at.iter().rfind(|(at, _)| *at == pair[1]).map(|(_, place)| *place);
    let mut places = round.windows(2).filter_map(|pair| Some((place(pair)?, pair)));
    let (place, _) = places.next()?;
    let mut diagnostic = Diagnostic::new(Code::Cycle, &place, format!("each waits for the next: `{text}`"));
    for (place, pair) in places {
        diagnostic = diagnostic.related(&place, format!("`{}` is after `{}`", name(pair[0]), name(pair[1])));
    }
    Some(diagnostic.help("take one of them out of an `after`"))
}

/// The names of `controls`.
/// Those in `removed` (taken out with `instances = 0`) are left out without a word, as in `after`.
pub fn controls(
    table: &Table,
    processes: &BTreeSet<&ProcessName>,
    removed: &BTreeSet<ProcessName>,
    diagnostics: &mut Diagnostics,
) -> Vec<ProcessName> {
    let Some(entry) = table.get("controls") else { return Vec::new() };
    let mut names = Vec::new();
    for node in value::one_or_many("controls", &entry.node, diagnostics) {
        let Some(text) = value::text("controls", node, diagnostics) else { continue };
        match ProcessName::new(text).filter(|name| processes.contains(name) || removed.contains(name)) {
            Some(name) if removed.contains(&name) => {}
            Some(name) => names.push(name),
            None => {
                let mut diagnostic =
                    Diagnostic::new(Code::UnknownName, &node.place, format!("no process is named `{}`", shown(text)));
                if let Some(near) = suggest::nearest(text, processes.iter().map(|name| name.as_str())) {
                    diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
                }
                diagnostics.push(diagnostic);
            }
        }
    }
    names
}
