//! From what each unit needs to steps in an order.

use std::collections::{BTreeMap, BTreeSet};

use super::decide::{Changes, Finding, Need, judge};
use super::render::named;
use super::{Action, Pace, Plan, Reason, SkipReason, Skipped, Step};
use crate::change::observe::members::Kind;
use crate::change::observe::members::Subject;
use crate::change::observe::situation::{Observed, Situation};
use crate::change::observe::state::State;
use crate::model::{Group, Process, Refresh};
use crate::unit::name::{ProcessName, template_of};

/// What is to be done about a group.
pub fn plan(situation: &Situation<'_>) -> Plan {
    let mut all: Vec<(&Observed, Finding)> =
        situation.units.iter().map(|unit| (unit, judge(unit, situation))).collect();
    run_what_is_after(&mut all, situation);
    let mut steps = Steps { situation, steps: Vec::new(), leave: BTreeMap::new() };
    steps.whole();
    let order = situation.meaning.map(order).unwrap_or_default();
    // Stable: within a process, as people count.
    all.sort_by_key(|(unit, _)| unit.of.as_ref().and_then(|of| order.get(of)).copied());
    steps.simple(&all, Need::Run, &Action::Run);
    steps.stop(&all);
    steps.start(&all);
    steps.changed(&all);
    steps.simple(&all, Need::Update, &Action::Update);
    steps.left(&all);
    let Steps { steps, leave, .. } = steps;
    let pinned = situation.units.iter().any(|unit| unit.pinned.is_some());
    let notes = situation.notes.iter().cloned().chain(thawed(situation, &steps)).collect();
    Plan {
        group: situation.group.clone(),
        active: situation.active,
        daemon_reload: situation.unread || pinned,
        steps,
        leave: leave
            .into_iter()
            .flat_map(|(why, all)| all.into_iter().map(move |(units, reasons)| Skipped { units, why, reasons }))
            .collect(),
        files: situation.files.clone(),
        applied: situation.applied,
        notes,
    }
}

/// Who was frozen doesn't stay so where something is done to it.
fn thawed(situation: &Situation<'_>, steps: &[Step]) -> Option<String> {
    let touched = steps.iter().filter(|step| step.action != Action::Update).flat_map(|step| &step.units);
    let frozen =
        |subject: &&Subject| situation.units.iter().any(|unit| unit.frozen && unit.member.unit == subject.unit);
    let frozen: Vec<Subject> = touched.filter(frozen).cloned().collect();
    (!frozen.is_empty()).then(|| format!("frozen now, and thawed first: {}", named(&frozen)))
}

/// A setup step that runs again is a changed input of the steps and processes that name it in their `after`.
fn run_what_is_after(all: &mut [(&Observed, Finding)], situation: &Situation<'_>) {
    let Some(group) = situation.meaning else { return };
    let mut again: BTreeSet<&ProcessName> = BTreeSet::new();
    loop {
        let runs = all.iter().filter(|(_, finding)| finding.need == Need::Run).filter_map(|(unit, _)| unit.of.as_ref());
        let runs: BTreeSet<&ProcessName> = runs.collect();
        if runs == again {
            break;
        }
        again = runs;
        for (unit, finding) in all.iter_mut() {
            let Some(step) = unit.of.as_ref().and_then(|of| group.setup.get(of)) else { continue };
            let before: Vec<_> = step.gated_by.iter().filter(|name| again.contains(name)).collect();
            let current = matches!(finding.need, Need::Skip(SkipReason::Current) | Need::Update);
            if unit.member.kind == Kind::Setup && current && !before.is_empty() && unit.unchanged.is_none() {
                let reasons = before.into_iter().map(|name| Reason::Setup(name.to_string())).collect();
                *finding = Finding { need: Need::Run, reasons };
            }
        }
    }
    for (unit, finding) in all.iter_mut().filter(|(unit, _)| unit.member.kind == Kind::Process) {
        let Some(process) = unit.of.as_ref().and_then(|of| group.processes.get(of)) else { continue };
        let before = process.after_steps.iter().filter(|name| again.contains(name)).map(ToString::to_string);
        let before: Vec<String> = before.filter(|name| !unit.steps.contains(name)).collect();
        if !before.is_empty() {
            // As if it had run already.
            let unit = Observed { steps: unit.steps.iter().cloned().chain(before).collect(), ..(*unit).clone() };
            *finding = judge(&unit, situation);
        }
    }
}

struct Steps<'s> {
    situation: &'s Situation<'s>,
    steps: Vec<Step>,
    leave: BTreeMap<SkipReason, Vec<Together>>,
}

/// Units that need the same, and why.
type Together = (Vec<Subject>, Vec<Reason>);

type Findings<'a> = [(&'a Observed, Finding)];

impl Steps<'_> {
    fn push(&mut self, action: Action, units: Vec<Subject>, reasons: Vec<Reason>, pace: Pace) {
        self.steps.push(Step { action, units, reasons, pace });
    }

    /// The target, the slice, the gate, and the holder of the shared directories: a reload of it makes those that are
    /// new and takes none away.
    fn whole(&mut self) {
        for whole in &self.situation.whole {
            let changes = Changes::new(&whole.started, whole.loaded.as_deref(), whole.new.as_deref());
            let (action, differences) = match whole.holder && whole.up && !changes.restart.is_empty() {
                true => (Action::Reload, changes.all()),
                // Which units are wanted is said where these are started and stopped.
                false => (Action::Update, changes.update.into_iter().filter(|one| one.name != "Wants").collect()),
            };
            if !differences.is_empty() {
                let reasons = vec![Reason::Definition(differences)];
                self.push(action, vec![whole.subject.clone()], reasons, Pace::default());
            }
        }
    }

    /// All units of that need, those of the same process for the same reasons together.
    fn simple(&mut self, all: &Findings<'_>, need: Need, action: &Action) {
        for (units, reasons) in together(all.iter().filter(|(_, finding)| finding.need == need)) {
            self.push(action.clone(), units, reasons, Pace::default());
        }
    }

    /// What would start others comes first: traffic or a timer must not bring a process back that is about to stop.
    fn stop(&mut self, all: &Findings<'_>) {
        let (services, triggers): (Vec<_>, Vec<_>) = all
            .iter()
            .filter(|(_, finding)| finding.need == Need::Stop)
            .partition(|(unit, _)| unit.member.kind == Kind::Process);
        for (units, reasons) in together(triggers.into_iter()).into_iter().chain(together(services.into_iter())) {
            self.push(Action::Stop, units, reasons, Pace::default());
        }
        if self.situation.meaning.is_none() && self.situation.active {
            let group = &self.situation.group;
            let target = Subject { unit: crate::unit::name::target(group), label: group.to_string() };
            self.push(Action::Stop, vec![target], vec![Reason::Gone], Pace::default());
        }
    }

    /// Sockets before what accepts on them, but none whose service runs already: that one has to let go first.
    fn start(&mut self, all: &Findings<'_>) {
        let wanted = |kinds: &'static [Kind]| {
            all.iter().filter(move |(unit, finding)| {
                finding.need == Need::Start
                    && kinds.contains(&unit.member.kind)
                    && !starts_under_its_service(unit, all)
                    && !waits_for_its_socket(unit, all)
            })
        };
        let mut steps = together(wanted(&[Kind::Socket]));
        steps.extend(together(wanted(&[Kind::Process, Kind::Setup, Kind::Timer])));
        for (units, reasons) in steps {
            self.push(Action::Start, units, reasons, Pace::default());
        }
    }

    /// Process by process, in the order in which they are after each other.
    fn changed(&mut self, all: &Findings<'_>) {
        let Some(group) = self.situation.meaning else { return };
        let mut names: Vec<&ProcessName> = Vec::new();
        all.iter().filter_map(|(unit, _)| unit.of.as_ref()).for_each(|name| {
            if names.last() != Some(&name) {
                names.push(name);
            }
        });
        for name in names {
            let Some(process) = group.processes.get(name) else { continue };
            let own: Vec<_> = all.iter().filter(|(unit, _)| unit.of.as_ref() == Some(name)).collect();
            self.rebind(process, &own, all);
            let waited = own
                .iter()
                .copied()
                .filter(|(unit, finding)| finding.need == Need::Start && waits_for_its_socket(unit, all));
            for (units, reasons) in together(waited) {
                self.push(Action::Start, units, reasons, Pace::default());
            }
            let rebound = |unit: &Observed| {
                self.steps
                    .iter()
                    .any(|step| matches!(step.action, Action::Rebind { .. }) && step.units.contains(&subject(unit)))
            };
            let left: Vec<_> = own.into_iter().filter(|(unit, _)| !rebound(unit)).collect();
            self.refresh(process, &left);
            for (units, reasons) in together(left.iter().copied().filter(|(_, finding)| finding.need == Need::Reload)) {
                let pace = Pace { max_unavailable: usize::MAX, ..pace(process, units.len()) };
                self.push(Action::Reload, units, reasons, pace);
            }
        }
    }

    /// Sockets that have to be made anew, with all services that hold them.
    fn rebind(&mut self, process: &Process, own: &[&(&Observed, Finding)], all: &Findings<'_>) {
        let sockets = own.iter().filter(|(unit, finding)| {
            finding.need == Need::Rebind || finding.need == Need::Start && starts_under_its_service(unit, all)
        });
        let sockets: Vec<_> = sockets.collect();
        if sockets.is_empty() {
            return;
        }
        let names: Vec<Subject> = sockets.iter().map(|(unit, _)| subject(unit)).collect();
        let mut reasons = Vec::new();
        sockets.iter().for_each(|(_, finding)| join(&mut reasons, &finding.reasons));
        if process.change.refresh == Refresh::Keep {
            self.leave(SkipReason::Keep, names, reasons);
            return;
        }
        let holds = |unit: &Observed| {
            unit.member.kind == Kind::Process && sockets.iter().any(|(socket, _)| accepts(unit, socket))
        };
        let services: Vec<_> = own.iter().filter(|(unit, _)| holds(unit) && runs(unit)).collect();
        if services.is_empty() {
            self.push(Action::Restart, names, reasons, Pace::default());
            return;
        }
        for (_, finding) in services.iter().filter(|(_, finding)| finding.need == Need::Restart) {
            join(&mut reasons, &finding.reasons);
        }
        let units: Vec<Subject> = services.iter().map(|(unit, _)| subject(unit)).collect();
        let pace = Pace { max_unavailable: usize::MAX, ..pace(process, units.len()) };
        self.push(Action::Rebind { sockets: names }, units, reasons, pace);
    }

    /// What has to be restarted of a process: all at once, or one after the other, what is down anyway first.
    fn refresh(&mut self, process: &Process, own: &[&(&Observed, Finding)]) {
        let of = own.iter().filter(|(unit, _)| unit.member.kind == Kind::Process).count();
        let rolls = match process.change.refresh {
            Refresh::Roll => true,
            Refresh::Reload => process.instances.is_some(),
            Refresh::Restart | Refresh::Keep => false,
        };
        let all: Vec<_> = own.iter().copied().filter(|(_, finding)| finding.need == Need::Restart).collect();
        if all.is_empty() {
            return;
        }
        // One step, whatever the reasons of each: they are of one process, and only so many of it may be down.
        let mut reasons = Vec::new();
        all.iter().for_each(|(_, finding)| join(&mut reasons, &finding.reasons));
        let down = |up: bool| all.iter().filter(move |(unit, _)| (unit.state == State::Up) == up);
        let units = down(false).chain(down(true)).map(|(unit, _)| subject(unit)).collect();
        let pace = pace(process, of);
        match rolls {
            true => self.push(Action::Roll, units, reasons, pace),
            false => self.push(Action::Restart, units, reasons, Pace { max_unavailable: usize::MAX, ..pace }),
        }
    }

    fn leave(&mut self, why: SkipReason, units: Vec<Subject>, reasons: Vec<Reason>) {
        self.leave.entry(why).or_default().push((units, reasons));
    }

    fn left(&mut self, all: &Findings<'_>) {
        let mut by_why: BTreeMap<SkipReason, Vec<&(&Observed, Finding)>> = BTreeMap::new();
        for entry in all.iter().filter(|(unit, _)| !unit.gone) {
            if let Need::Skip(why) = entry.1.need {
                by_why.entry(why).or_default().push(entry);
            }
        }
        for (why, entries) in by_why {
            let mut rest: Vec<Subject> = Vec::new();
            for (units, reasons) in together(entries.into_iter()) {
                match reasons.is_empty() {
                    true => rest.extend(units),
                    false => self.leave(why, units, reasons),
                }
            }
            if !rest.is_empty() {
                self.leave(why, rest, Vec::new());
            }
        }
    }
}

fn subject(unit: &Observed) -> Subject {
    Subject { unit: unit.member.unit.clone(), label: unit.member.label.clone() }
}

/// Units of the same process and kind that need the same for the same reasons, in their order.
fn together<'a>(all: impl Iterator<Item = &'a (&'a Observed, Finding)>) -> Vec<Together> {
    let mut groups: Vec<(&Observed, Vec<Subject>, &Vec<Reason>)> = Vec::new();
    for (unit, finding) in all {
        let same = |(first, _, reasons): &&mut (&Observed, Vec<Subject>, &Vec<Reason>)| {
            first.of == unit.of && first.member.kind == unit.member.kind && **reasons == finding.reasons
        };
        // Of a process that left, nothing is known but the name of its unit.
        let known = unit.of.is_some() || unit.gone;
        match groups.iter_mut().find(same).filter(|_| known) {
            Some((_, units, _)) => units.push(subject(unit)),
            None => groups.push((unit, vec![subject(unit)], &finding.reasons)),
        }
    }
    groups.into_iter().map(|(_, units, reasons)| (units, reasons.clone())).collect()
}

/// Adds those that aren't there yet.
fn join(reasons: &mut Vec<Reason>, more: &[Reason]) {
    for reason in more {
        if !reasons.contains(reason) {
            reasons.push(reason.clone());
        }
    }
}

fn runs(unit: &Observed) -> bool {
    matches!(unit.state, State::Up | State::Starting | State::Restarting)
}

/// Whether a service gets the descriptors of a socket: all instances of the process, or the one of the same name.
fn accepts(service: &Observed, socket: &Observed) -> bool {
    let instance =
        |unit: &str| unit.split_once('@').and_then(|(_, rest)| rest.rsplit_once('.')).map(|(name, _)| name.to_owned());
    let each = template_of(&socket.member.unit).is_some();
    service.of == socket.of && (!each || instance(&service.member.unit) == instance(&socket.member.unit))
}

/// systemd refuses to start a socket while its service is active.
fn starts_under_its_service(unit: &Observed, all: &Findings<'_>) -> bool {
    let service =
        |(other, _): &(&Observed, Finding)| other.member.kind == Kind::Process && runs(other) && accepts(other, unit);
    unit.member.kind == Kind::Socket && unit.of.is_some() && all.iter().any(service)
}

/// A service that is down gets no descriptors of a socket that is about to be made anew, and would end at once.
fn waits_for_its_socket(unit: &Observed, all: &Findings<'_>) -> bool {
    let anew = |(socket, finding): &(&Observed, Finding)| {
        let rebound =
            finding.need == Need::Rebind || finding.need == Need::Start && starts_under_its_service(socket, all);
        socket.member.kind == Kind::Socket && socket.of.is_some() && rebound && accepts(unit, socket)
    };
    unit.member.kind == Kind::Process && all.iter().any(anew)
}

/// At which pace a process of so many units is rolled.
pub fn pace(process: &Process, of: usize) -> Pace {
    Pace {
        max_unavailable: process.change.max_unavailable.of(of),
        of,
        min_ready: process.change.min_ready.value.finite().unwrap_or_default(),
        settled: process.change.settled.clone(),
        ..Pace::default()
    }
}

/// The place of each process and setup step in an order in which all come after what they are `after`.
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
            // A circle, which the model refuses.
            break;
        }
    }
    order
}
