//! Who is after whom: names resolved, setup steps gate what they should, no circle.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::document::{Node, Spot, Table};
use crate::model::process::Merged;
use crate::model::service::Role;
use crate::model::value::{self, shown};
use crate::scope::Scope;
use crate::suggest;
use crate::unit::name::ProcessName;

/// What the `after` of a process or setup step comes to.
#[derive(Debug, Default)]
pub struct Order<'t> {
    /// Processes of the group.
    pub after: Vec<ProcessName>,
    /// Setup steps of the group that must have succeeded.
    pub gated_by: Vec<ProcessName>,
    /// Units outside.
    pub units: Vec<String>,
    named_at: Vec<(&'t str, Spot<'t>)>,
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
        let name = value::outside_unit(key, node, self.scope, diagnostics)?;
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

/// Resolves the `after` of every member. `removed`: processes taken out with `instances = 0`.
pub fn resolve<'a>(
    members: &'a [Merged<'a>],
    removed: &BTreeSet<ProcessName>,
    outside: &Outside<'_>,
    diagnostics: &mut Diagnostics,
) -> BTreeMap<&'a ProcessName, Order<'a>> {
    let roles: BTreeMap<&ProcessName, Role> = members.iter().map(|member| (member.name, member.role)).collect();
    let own = |member: &'a Merged<'a>| (member.name, own_order(member, &roles, removed, outside, diagnostics));
    let mut orders: BTreeMap<&ProcessName, Order<'_>> = members.iter().map(own).collect();
    gate(members, &roles, &mut orders);
    report_cycles(&orders, diagnostics);
    orders
}

fn own_order<'a>(
    member: &'a Merged<'a>,
    roles: &BTreeMap<&ProcessName, Role>,
    removed: &BTreeSet<ProcessName>,
    outside: &Outside<'_>,
    diagnostics: &mut Diagnostics,
) -> Order<'a> {
    let mut order = Order::default();
    let Some(entry) = member.table.get("after") else { return order };
    for node in value::one_or_many("after", &entry.node, diagnostics) {
        let Some(text) = value::text("after", node, diagnostics) else { continue };
        let Some(name) = ProcessName::new(text) else {
            let near = || suggest::nearest(text, roles.keys().map(|name| name.as_str()));
            if !text.contains('.') && near().is_some() {
                diagnostics.push_error(|| unknown(node, text, roles));
                continue;
            }
            order.units.extend(outside.unit("after", node, diagnostics).map(str::to_owned));
            continue;
        };
        match roles.get(&name) {
            _ if removed.contains(&name) => {}
            None => diagnostics.push_error(|| unknown(node, text, roles)),
            Some(_) if name == *member.name => {
                diagnostics.push(Diagnostic::new(
                    Code::Cycle,
                    &node.place,
                    format!("`{name} → {name}`: nothing can be after itself"),
                ));
            }
            Some(Role::Manual) => {
                let message =
                    format!("`{name}` is started by hand or by the group's manager, so nothing can wait for it");
                let help = "whoever starts it from inside the group would wait for itself; leave it out of `after`";
                diagnostics.push(Diagnostic::new(Code::Conflict, &node.place, message).help(help));
            }
            Some(Role::Timed) => {
                let message = format!("`{name}` is started by its timer, so nothing can wait for it");
                diagnostics.push(Diagnostic::new(Code::Conflict, &node.place, message));
            }
            Some(role) => {
                order.named_at.push((text, node.place));
                let list = if *role == Role::Setup { &mut order.gated_by } else { &mut order.after };
                if !list.contains(&name) {
                    list.push(name);
                }
            }
        }
    }
    order
}

fn unknown(node: &Node, text: &str, roles: &BTreeMap<&ProcessName, Role>) -> Diagnostic {
    let diagnostic =
        Diagnostic::new(Code::UnknownName, &node.place, format!("no process or setup step is named `{}`", shown(text)));
    match suggest::nearest(text, roles.keys().map(|name| name.as_str())) {
        Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
        None => {
            diagnostic.help(format!("a unit outside the group is named with its suffix: `{}.service`", shown(text)))
        }
    }
}

/// A setup step that waits for no process of the group gates every process.
fn gate(members: &[Merged<'_>], roles: &BTreeMap<&ProcessName, Role>, orders: &mut BTreeMap<&ProcessName, Order<'_>>) {
    let setup = |name: &ProcessName| roles.get(name) == Some(&Role::Setup);
    let steps: Vec<&ProcessName> = members.iter().map(|member| member.name).filter(|name| setup(name)).collect();
    // A step after a step that waits for a process waits for that process as well.
    let mut waiting: BTreeSet<&ProcessName> =
        steps.iter().copied().filter(|step| !orders[*step].after.is_empty()).collect();
    loop {
        let more: Vec<_> = steps
            .iter()
            .copied()
            .filter(|step| !waiting.contains(step) && orders[*step].gated_by.iter().any(|gate| waiting.contains(gate)))
            .collect();
        if more.is_empty() {
            break;
        }
        waiting.extend(more);
    }
    let first: Vec<ProcessName> =
        steps.iter().filter(|step| !waiting.contains(*step)).map(|step| (*step).clone()).collect();
    for (_, order) in orders.iter_mut().filter(|(name, _)| !setup(name)) {
        let more: Vec<_> = first.iter().filter(|step| !order.gated_by.contains(step)).cloned().collect();
        order.gated_by.extend(more);
        order.gated_by.sort();
    }
}

/// Each circle once, at the name that closes it.
fn report_cycles(orders: &BTreeMap<&ProcessName, Order<'_>>, diagnostics: &mut Diagnostics) {
    let mut done = BTreeSet::new();
    let mut path = Vec::new();
    for name in orders.keys() {
        visit(name, orders, &mut path, &mut done, diagnostics);
    }
}

/// Depth first, without recursion: a group file may chain a thousand processes.
fn visit<'a>(
    start: &'a ProcessName,
    orders: &'a BTreeMap<&'a ProcessName, Order<'a>>,
    path: &mut Vec<(&'a ProcessName, std::vec::IntoIter<&'a ProcessName>)>,
    done: &mut BTreeSet<&'a ProcessName>,
    diagnostics: &mut Diagnostics,
) {
    let next = |name: &ProcessName| -> std::vec::IntoIter<&'a ProcessName> {
        let order = orders.get(name);
        order.map_or_else(Vec::new, |order| order.after.iter().chain(&order.gated_by).collect()).into_iter()
    };
    if done.contains(start) {
        return;
    }
    path.push((start, next(start)));
    while let Some((name, following)) = path.last_mut() {
        let name = *name;
        match following.next() {
            None => {
                done.insert(name);
                path.pop();
            }
            Some(other) if done.contains(other) => {}
            Some(other) => match path.iter().position(|(found, _)| *found == other) {
                None => path.push((other, next(other))),
                Some(begin) => {
                    let circle: Vec<&ProcessName> = path[begin..].iter().map(|(name, _)| *name).collect();
                    if let Some(diagnostic) = cycle(&circle, orders) {
                        diagnostics.push(diagnostic);
                    }
                }
            },
        }
    }
}

fn cycle(circle: &[&ProcessName], orders: &BTreeMap<&ProcessName, Order<'_>>) -> Option<Diagnostic> {
    // Begin with the name that sorts first, so that the same circle always reads the same.
    let first = (0..circle.len()).min_by_key(|at| circle[*at])?;
    let names: Vec<&ProcessName> = (0..=circle.len()).map(|step| circle[(first + step) % circle.len()]).collect();
    let text = names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(" → ");
    let mut places = names.windows(2).filter_map(|pair| {
        let named_at = &orders.get(pair[0])?.named_at;
        // Where it stands last, if it is named twice.
        let (_, place) = named_at.iter().rfind(|(name, _)| *name == pair[1].as_str())?;
        Some((place, pair))
    });
    let (place, _) = places.next()?;
    let mut diagnostic = Diagnostic::new(Code::Cycle, place, format!("each waits for the next: `{text}`"));
    for (place, pair) in places {
        diagnostic = diagnostic.related(place, format!("`{}` is after `{}`", pair[0], pair[1]));
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
