//! From what each unit needs to steps in an order.

use std::collections::{BTreeMap, BTreeSet};

use super::decide::{Changes, Decision, Need, decide};
use super::pace::{order, pace};
use super::step::{Action, Pace, Plan, Reason, SkipReason, Skipped, Step};
use crate::change::observe::members::Kind;
use crate::change::observe::situation::{Observed, Situation};
use crate::change::observe::state::State;
use crate::change::observe::subject::{Subject, enumerate};
use crate::model::{Process, Refresh};
use crate::unit::name;
use crate::unit::name::{ProcessName, template_of};

/// What is to be done with a group.
pub fn plan(situation: &Situation<'_>) -> Plan {
    let mut decisions: Vec<Decision<'_>> = situation.units.iter().map(|unit| decide(unit, situation)).collect();
    run_what_is_after(&mut decisions, situation);
    let order = situation.group.map(order).unwrap_or_default();
    // Stable: the instances of a process stay in their order.
    decisions.sort_by_key(|decision| decision.unit.member.process.as_ref().and_then(|name| order.get(name)).copied());
    let mut steps = Steps { situation, steps: Vec::new(), skipped: BTreeMap::new() };
    steps.group_units();
    steps.simple(&decisions, Need::Run, &Action::Run);
    steps.stop(&decisions);
    steps.start(&decisions);
    steps.changed(&decisions);
    steps.simple(&decisions, Need::Update, &Action::Update);
    steps.skipped(&decisions);
    let Steps { steps, skipped, .. } = steps;
    let skipped = skipped
        .into_iter()
        .flat_map(|(why, all)| all.into_iter().map(move |(units, reasons)| Skipped { units, why, reasons }));
    Plan {
        group: situation.name.clone(),
        active: situation.active,
        daemon_reload: situation.needs_reload || situation.units.iter().any(|unit| unit.pinned.is_some()),
        skipped: skipped.collect(),
        files: situation.files.clone(),
        applied: situation.applied,
        notes: situation.notes.iter().cloned().chain(thawed(situation, &steps)).collect(),
        steps,
    }
}

/// Frozen units are thawed before they are touched.
fn thawed(situation: &Situation<'_>, steps: &[Step]) -> Option<String> {
    let frozen: BTreeSet<&str> =
        situation.units.iter().filter(|unit| unit.frozen).map(|unit| unit.member.unit()).collect();
    let touched = steps.iter().filter(|step| step.action != Action::Update).flat_map(|step| &step.units);
    let thawed: Vec<Subject> = touched.filter(|subject| frozen.contains(&*subject.unit)).cloned().collect();
    (!thawed.is_empty()).then(|| format!("frozen, thawed first: {}", enumerate(&thawed)))
}

/// A setup step that runs again counts as a changed input of the steps and processes that are `after` it.
fn run_what_is_after(decisions: &mut [Decision<'_>], situation: &Situation<'_>) {
    let Some(group) = situation.group else { return };
    let mut again: BTreeSet<&ProcessName> = BTreeSet::new();
    loop {
        let runs = decisions.iter().filter(|decision| decision.need == Need::Run);
        let runs: BTreeSet<_> = runs.filter_map(|decision| decision.unit.member.process.as_ref()).collect();
        if runs == again {
            break;
        }
        again = runs;
        for decision in decisions.iter_mut() {
            let unit = decision.unit;
            let Some(step) = unit.member.process.as_ref().and_then(|name| group.setup.get(name)) else { continue };
            let before: Vec<_> = step.gated_by.iter().filter(|name| again.contains(name)).collect();
            let untouched = matches!(decision.need, Need::Skip(SkipReason::UpToDate) | Need::Update);
            if untouched && unit.stamp_matches.is_none() && !before.is_empty() {
                decision.need = Need::Run;
                decision.reasons = before.into_iter().map(|name| Reason::Setup { step: name.to_string() }).collect();
            }
        }
    }
    for decision in decisions.iter_mut().filter(|decision| decision.unit.member.kind == Kind::Process) {
        let unit = decision.unit;
        let Some(process) = unit.member.process.as_ref().and_then(|name| group.processes.get(name)) else { continue };
        let before = process.after_steps.iter().filter(|name| again.contains(name)).map(ToString::to_string);
        let before: Vec<String> = before.filter(|name| !unit.rerun_steps.contains(name)).collect();
        if !before.is_empty() {
            // As if it had run already.
            let rerun_steps = unit.rerun_steps.iter().cloned().chain(before).collect();
            let Decision { need, reasons, .. } = decide(&Observed { rerun_steps, ..unit.clone() }, situation);
            (decision.need, decision.reasons) = (need, reasons);
        }
    }
}

struct Steps<'s> {
    situation: &'s Situation<'s>,
    steps: Vec<Step>,
    skipped: BTreeMap<SkipReason, Vec<Together>>,
}

/// Units that need the same for the same reasons.
type Together = (Vec<Subject>, Vec<Reason>);

impl Steps<'_> {
    fn push(&mut self, action: Action, units: Vec<Subject>, reasons: Vec<Reason>, pace: Pace) {
        self.steps.push(Step { action, units, reasons, pace });
    }

    /// The target, the slice, the gate, and the owner of the shared directories: a reload of the owner makes new
    /// directories and removes none.
    fn group_units(&mut self) {
        for unit in &self.situation.group_units {
            let changes = Changes::new(&unit.running, unit.loaded.as_deref(), unit.new.as_deref());
            let (action, differences) = match unit.owns_directories && unit.up && !changes.restart.is_empty() {
                true => (Action::Reload, changes.all()),
                // The units that the target wants show as started or stopped.
                false => (Action::Update, changes.update.into_iter().filter(|one| one.name != "Wants").collect()),
            };
            if !differences.is_empty() {
                let reasons = vec![Reason::Definition { directives: differences }];
                self.push(action, vec![unit.subject.clone()], reasons, Pace::default());
            }
        }
    }

    /// All units of that need; those of the same process for the same reasons in one step.
    fn simple(&mut self, decisions: &[Decision<'_>], need: Need, action: &Action) {
        for (units, reasons) in together(decisions.iter().filter(|decision| decision.need == need)) {
            self.push(action.clone(), units, reasons, Pace::default());
        }
    }

    /// Sockets and timers come first: they must not start a process again that is about to stop.
    fn stop(&mut self, decisions: &[Decision<'_>]) {
        let (services, triggers): (Vec<_>, Vec<_>) = decisions
            .iter()
            .filter(|decision| decision.need == Need::Stop)
            .partition(|decision| decision.unit.member.kind == Kind::Process);
        for (units, reasons) in together(triggers).into_iter().chain(together(services)) {
            self.push(Action::Stop, units, reasons, Pace::default());
        }
        if self.situation.group.is_none() && self.situation.active {
            let name = &self.situation.name;
            let target = Subject::of_group(name::target(name), name.as_str());
            self.push(Action::Stop, vec![target], vec![Reason::Orphaned], Pace::default());
        }
    }

    /// Sockets before the services that accept on them, but no socket whose service runs already: the service must close
    /// its socket first.
    fn start(&mut self, decisions: &[Decision<'_>]) {
        let startable = |is_socket: bool| {
            decisions.iter().filter(move |decision| {
                let unit = decision.unit;
                decision.need == Need::Start
                    && (unit.member.kind == Kind::Socket) == is_socket
                    && !starts_under_its_service(unit, decisions)
                    && !waits_for_its_socket(unit, decisions)
            })
        };
        let mut steps = together(startable(true));
        steps.extend(together(startable(false)));
        for (units, reasons) in steps {
            self.push(Action::Start, units, reasons, Pace::default());
        }
    }

    /// Process by process, in their order.
    fn changed(&mut self, decisions: &[Decision<'_>]) {
        let Some(group) = self.situation.group else { return };
        for own in decisions.chunk_by(|one, next| one.unit.member.process == next.unit.member.process) {
            let name = own.first().and_then(|decision| decision.unit.member.process.as_ref());
            let Some(process) = name.and_then(|name| group.processes.get(name)) else {
                self.rebind_supervisor(own);
                continue;
            };
            let rebound = self.rebind(process, own, decisions);
            let waits = own
                .iter()
                .filter(|decision| decision.need == Need::Start && waits_for_its_socket(decision.unit, decisions));
            for (units, reasons) in together(waits) {
                self.push(Action::Start, units, reasons, Pace::default());
            }
            let left: Vec<_> = own.iter().filter(|decision| !rebound.contains(decision.unit.member.unit())).collect();
            self.restart(process, &left);
            for (units, reasons) in together(left.into_iter().filter(|decision| decision.need == Need::Reload)) {
                let pace = Pace { max_unavailable: usize::MAX, ..pace(process, units.len()) };
                self.push(Action::Reload, units, reasons, pace);
            }
        }
    }

    /// Sockets that have to be restarted, with all services that accept on them. Returns these services.
    fn rebind<'d>(&mut self, process: &Process, own: &[Decision<'d>], decisions: &[Decision<'_>]) -> BTreeSet<&'d str> {
        let sockets: Vec<&Decision<'_>> = own.iter().filter(|decision| is_rebound(decision, decisions)).collect();
        if sockets.is_empty() {
            return BTreeSet::new();
        }
        let names = sockets.iter().map(|decision| decision.unit.member.subject.clone()).collect();
        let mut reasons = Vec::new();
        sockets.iter().for_each(|decision| join(&mut reasons, &decision.reasons));
        if process.change.refresh == Refresh::Keep {
            self.skip(SkipReason::Keep, names, reasons);
            return BTreeSet::new();
        }
        let accepts = |unit: &Observed| {
            unit.member.kind == Kind::Process && sockets.iter().any(|socket| accepts(unit, socket.unit))
        };
        let services: Vec<&Decision<'d>> =
            own.iter().filter(|decision| accepts(decision.unit) && runs(decision.unit)).collect();
        if services.is_empty() {
            self.push(Action::Restart, names, reasons, Pace::default());
            return BTreeSet::new();
        }
        for decision in services.iter().filter(|decision| decision.need == Need::Restart) {
            join(&mut reasons, &decision.reasons);
        }
        let units = services.iter().map(|decision| decision.unit.member.subject.clone()).collect();
        let pace = Pace { max_unavailable: usize::MAX, ..pace(process, services.len()) };
        self.push(Action::Rebind { sockets: names }, units, reasons, pace);
        services.into_iter().map(|decision| decision.unit.member.unit()).collect()
    }

    /// The socket of copse-supervisor, which no process accepts on.
    fn rebind_supervisor(&mut self, decisions: &[Decision<'_>]) {
        let group = &self.situation.name;
        let socket = name::supervisor_socket(group);
        let changed = decisions.iter().find(|one| one.need == Need::Rebind && one.unit.member.unit() == socket);
        if let Some(decision) = changed {
            let service = Subject::of_group(name::own("supervisor", group), "copse-supervisor");
            let sockets = vec![decision.unit.member.subject.clone()];
            self.push(Action::Rebind { sockets }, vec![service], decision.reasons.clone(), Pace::default());
        }
    }

    /// The units of a process that have to be restarted: all at once, or one after the other, those that are down first.
    fn restart(&mut self, process: &Process, own: &[&Decision<'_>]) {
        let of = own.iter().filter(|decision| decision.unit.member.kind == Kind::Process).count();
        let rolls = match process.change.refresh {
            Refresh::Roll => true,
            Refresh::Reload => process.instances.is_some(),
            Refresh::Restart | Refresh::Keep => false,
        };
        let all: Vec<&Decision<'_>> = own.iter().copied().filter(|decision| decision.need == Need::Restart).collect();
        if all.is_empty() {
            return;
        }
        // One step, even if their reasons differ: `max-unavailable` is about the process.
        let mut reasons = Vec::new();
        all.iter().for_each(|decision| join(&mut reasons, &decision.reasons));
        let (up, down): (Vec<&Decision<'_>>, Vec<&Decision<'_>>) =
            all.into_iter().partition(|decision| decision.unit.state == State::Up);
        let units = down.into_iter().chain(up).map(|decision| decision.unit.member.subject.clone()).collect();
        let pace = pace(process, of);
        match rolls {
            true => self.push(Action::Roll, units, reasons, pace),
            false => self.push(Action::Restart, units, reasons, Pace { max_unavailable: usize::MAX, ..pace }),
        }
    }

    fn skip(&mut self, why: SkipReason, units: Vec<Subject>, reasons: Vec<Reason>) {
        self.skipped.entry(why).or_default().push((units, reasons));
    }

    /// Those that would have reasons to be touched by themselves, the others together.
    fn skipped(&mut self, decisions: &[Decision<'_>]) {
        let mut by_why: BTreeMap<SkipReason, Vec<&Decision<'_>>> = BTreeMap::new();
        for decision in decisions.iter().filter(|decision| !decision.unit.orphaned) {
            if let Need::Skip(why) = decision.need {
                by_why.entry(why).or_default().push(decision);
            }
        }
        for (why, decisions) in by_why {
            let (with, without): (Vec<_>, Vec<_>) =
                together(decisions).into_iter().partition(|(_, reasons)| !reasons.is_empty());
            with.into_iter().for_each(|(units, reasons)| self.skip(why, units, reasons));
            let rest: Vec<Subject> = without.into_iter().flat_map(|(units, _)| units).collect();
            if !rest.is_empty() {
                self.skip(why, rest, Vec::new());
            }
        }
    }
}

/// Units of the same process and kind that need the same for the same reasons, in their order.
fn together<'a>(decisions: impl IntoIterator<Item = &'a Decision<'a>>) -> Vec<Together> {
    let mut groups: Vec<(&Decision<'_>, Vec<Subject>)> = Vec::new();
    for decision in decisions {
        let member = &decision.unit.member;
        let same = |(first, _): &&mut (&Decision<'_>, Vec<Subject>)| {
            let other = &first.unit.member;
            (&other.process, other.kind, &first.reasons) == (&member.process, member.kind, &decision.reasons)
        };
        // Units that an administrator added have nothing in common.
        let known = member.process.is_some() || decision.unit.orphaned;
        match groups.iter_mut().rev().find(same).filter(|_| known) {
            Some((_, units)) => units.push(member.subject.clone()),
            None => groups.push((decision, vec![member.subject.clone()])),
        }
    }
    groups.into_iter().map(|(first, units)| (units, first.reasons.clone())).collect()
}

/// Adds those that are not there yet.
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
    let (service, socket) = (&service.member, &socket.member);
    let each = template_of(socket.unit()).is_some();
    service.process == socket.process && (!each || service.subject.instance() == socket.subject.instance())
}

/// Whether a socket has to be restarted while its services are down.
fn is_rebound(socket: &Decision<'_>, decisions: &[Decision<'_>]) -> bool {
    socket.need == Need::Rebind || socket.need == Need::Start && starts_under_its_service(socket.unit, decisions)
}

/// systemd refuses to start a socket while its service is active.
fn starts_under_its_service(unit: &Observed, decisions: &[Decision<'_>]) -> bool {
    let service = |other: &Observed| other.member.kind == Kind::Process && runs(other) && accepts(other, unit);
    let member = &unit.member;
    member.kind == Kind::Socket && member.process.is_some() && decisions.iter().any(|decision| service(decision.unit))
}

/// A service that is started before its socket is restarted gets no descriptors, and would exit at once.
fn waits_for_its_socket(unit: &Observed, decisions: &[Decision<'_>]) -> bool {
    let is_socket = |socket: &Observed| socket.member.kind == Kind::Socket && socket.member.process.is_some();
    unit.member.kind == Kind::Process
        && decisions
            .iter()
            .any(|decision| is_socket(decision.unit) && accepts(unit, decision.unit) && is_rebound(decision, decisions))
}
