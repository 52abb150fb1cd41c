//! What one unit needs, seen by itself.

use super::directive_effect::{Effect, of_difference};
use super::step::{Reason, SkipReason};
use crate::change::observe::members::{Kind, Start};
use crate::change::observe::situation::{Added, Observed, Running, Situation};
use crate::change::observe::state::State;
use crate::model::Refresh;
use crate::unit::effective::{Definition, Difference};

/// What a unit needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// To be run again, as a setup step.
    Run,
    Stop,
    Start,
    /// A daemon-reload.
    Update,
    Reload,
    /// A restart, as its process says.
    Restart,
    /// To be restarted while its services are down.
    Rebind,
    Skip(SkipReason),
}

/// What a unit needs, and why.
#[derive(Debug, Clone)]
pub struct Decision<'s> {
    pub unit: &'s Observed,
    pub need: Need,
    pub reasons: Vec<Reason>,
}

/// The directives that differ, by what they need.
#[derive(Debug, Default)]
pub struct Changes {
    pub update: Vec<Difference>,
    pub restart: Vec<Difference>,
    pub rebind: Vec<Difference>,
}

impl Changes {
    /// For what a daemon-reload brings about, `new` is compared with what is loaded, for the rest with what the unit runs.
    pub fn new(running: &Running, loaded: Option<&Definition>, new: Option<&Definition>) -> Self {
        let mut changes = Self::default();
        let Some(new) = new else { return changes };
        let loaded = loaded.map(|loaded| loaded.difference(new)).unwrap_or_default();
        changes.update = loaded.into_iter().filter(|one| of_difference(one) == Effect::DaemonReload).collect();
        if let Running::With(old) = running {
            for difference in old.difference(new) {
                match of_difference(&difference) {
                    Effect::DaemonReload => {}
                    Effect::Restart => changes.restart.push(difference),
                    Effect::Rebind => changes.rebind.push(difference),
                }
            }
        }
        changes
    }

    /// All of them; those that need the most come first.
    pub fn all(&self) -> Vec<Difference> {
        [self.rebind.as_slice(), &self.restart, &self.update].concat()
    }
}

fn definition(directives: Vec<Difference>) -> Option<Reason> {
    (!directives.is_empty()).then_some(Reason::Definition { directives })
}

/// What `unit` needs.
pub fn decide<'s>(unit: &'s Observed, situation: &Situation<'_>) -> Decision<'s> {
    let (need, reasons) = need(unit, situation);
    Decision { unit, need, reasons }
}

type Needs = (Need, Vec<Reason>);

fn skip(why: SkipReason) -> Needs {
    (Need::Skip(why), Vec::new())
}

fn need(unit: &Observed, situation: &Situation<'_>) -> Needs {
    if unit.orphaned {
        // A setup step has no process any more, and refuses to be stopped by hand.
        let runs = is_up(unit) || matches!(unit.state, State::Starting | State::Restarting);
        return match runs && unit.member.kind != Kind::Setup {
            true => (Need::Stop, vec![Reason::Orphaned]),
            false => skip(SkipReason::UpToDate),
        };
    }
    if unit.state == State::Masked || unit.new.as_ref().is_some_and(|new| new.masked) {
        return skip(SkipReason::Masked);
    }
    match &unit.state {
        // A unit that a killed apply asked to stop has to be started again.
        State::Stopping if !situation.interrupted.contains(unit.member.unit()) => skip(SkipReason::Busy),
        State::Up | State::Starting | State::Restarting => up(unit, situation),
        State::Done if is_up(unit) => up(unit, situation),
        _ => {
            let (need, mut reasons) = down(unit, situation);
            if let (Need::Skip(_), Some(loaded), Some(new)) = (need, &unit.loaded, &unit.new) {
                reasons.extend(definition(loaded.difference(new)));
            }
            (need, reasons)
        }
    }
}

/// Why a unit that runs does not run what the files say, so that it has to be restarted, reloaded or run again. Empty if it
/// is up to date, or does not run.
pub fn outdated(unit: &Observed, situation: &Situation<'_>) -> Vec<Reason> {
    use SkipReason::{Keep, Scheduled};
    let runs = is_up(unit) || matches!(unit.state, State::Starting | State::Restarting);
    match need(unit, situation) {
        (Need::Run | Need::Reload | Need::Restart | Need::Rebind | Need::Skip(Keep | Scheduled), reasons) if runs => {
            reasons
        }
        _ => Vec::new(),
    }
}

/// Also a oneshot service that exited and stays active.
fn is_up(unit: &Observed) -> bool {
    unit.info.is_up() || unit.state == State::Up
}

fn up(unit: &Observed, situation: &Situation<'_>) -> Needs {
    if unit.member.start == Start::Held && unit.state != State::Starting {
        return (Need::Stop, vec![Reason::Held]);
    }
    let changes = Changes::new(&unit.running, unit.loaded.as_deref(), unit.new.as_deref());
    let needs = match unit.member.kind {
        Kind::Setup => setup(unit, &changes),
        Kind::Socket if !changes.rebind.is_empty() => {
            Some((Need::Rebind, vec![Reason::Definition { directives: changes.all() }]))
        }
        Kind::Process => process(unit, &changes, situation),
        Kind::Socket | Kind::Timer => None,
    };
    needs.unwrap_or_else(|| untouched(unit, changes))
}

/// What a unit needs that runs on.
fn untouched(unit: &Observed, changes: Changes) -> Needs {
    match (unit.pinned, definition(changes.update)) {
        (None, None) if unit.state == State::Restarting => skip(SkipReason::Busy),
        (None, None) if unit.running == Running::Unknown => skip(SkipReason::Unknown),
        (None, None) => skip(SkipReason::UpToDate),
        (pinned, update) => {
            (Need::Update, pinned.map(|since| Reason::NotReached { since }).into_iter().chain(update).collect())
        }
    }
}

fn setup(unit: &Observed, changes: &Changes) -> Option<Needs> {
    if unit.state == State::Starting {
        return Some(skip(SkipReason::Busy));
    }
    let mut reasons = Vec::new();
    // The stamp is more exact: it also covers runs after the unit's start, and whether they succeeded.
    if unit.stamp_matches != Some(true) {
        reasons.extend((!changes.restart.is_empty()).then(|| Reason::Definition { directives: changes.all() }));
        reasons.extend(unit.changed_inputs.iter().cloned().map(|path| Reason::Input { path }));
        if reasons.is_empty() && unit.stamp_matches == Some(false) {
            reasons.push(Reason::Inputs);
        }
    }
    (!reasons.is_empty()).then_some((Need::Run, reasons))
}

fn process(unit: &Observed, changes: &Changes, situation: &Situation<'_>) -> Option<Needs> {
    let mut reasons = Vec::new();
    reasons.extend((!changes.restart.is_empty()).then(|| Reason::Definition { directives: changes.all() }));
    reasons.extend(unit.changed_program.clone().map(|path| Reason::Program { path }));
    // The service manager reads these only at a start.
    reasons.extend(unit.changed_start_files.iter().cloned().map(|path| Reason::Input { path }));
    let must_restart = !reasons.is_empty();
    reasons.extend(unit.changed_inputs.iter().cloned().map(|path| Reason::Input { path }));
    reasons.extend(unit.rerun_steps.iter().cloned().map(|step| Reason::Setup { step }));
    if reasons.is_empty() {
        return None;
    }
    if changes.restart.is_empty() {
        reasons.extend(definition(changes.update.clone()));
    }
    if must_restart && let Some(since) = unit.pinned {
        reasons.insert(0, Reason::NotReached { since });
    }
    let refresh =
        unit.member.process.as_ref().and_then(|name| Some(situation.group?.processes.get(name)?.change.refresh));
    let need = match refresh {
        _ if unit.member.start == Start::Timed => Need::Skip(SkipReason::Scheduled),
        Some(Refresh::Keep) => Need::Skip(SkipReason::Keep),
        Some(Refresh::Reload) if !must_restart && unit.state == State::Up => Need::Reload,
        _ => Need::Restart,
    };
    Some((need, reasons))
}

fn down(unit: &Observed, situation: &Situation<'_>) -> Needs {
    let start = |reason| match (situation.active, unit.member.kind) {
        (false, _) => skip(SkipReason::GroupInactive),
        (true, Kind::Setup) => (Need::Run, vec![reason]),
        (true, _) => (Need::Start, vec![reason]),
    };
    match (unit.member.start, &unit.state) {
        (Start::Manual, _) => skip(SkipReason::Manual),
        (Start::Timed, _) => skip(SkipReason::Scheduled),
        (Start::Held, _) => skip(SkipReason::Held),
        (Start::Auto, State::Failed(cause)) if !unit.asked_to_stop => {
            let how = cause.as_ref().map(ToString::to_string).unwrap_or_default();
            let (need, mut reasons) = start(Reason::Failed { how });
            if situation.active {
                reasons.extend(unit.pinned.map(|since| Reason::NotReached { since }));
                let changes = Changes::new(&unit.running, unit.loaded.as_deref(), unit.new.as_deref());
                reasons.extend(definition(changes.all()));
            }
            (need, reasons)
        }
        (Start::Auto, _) if situation.interrupted.contains(unit.member.unit()) => start(Reason::Interrupted),
        (Start::Auto, State::Skipped | State::Refused) => skip(SkipReason::ConditionUnmet),
        (Start::Auto, State::Done) => skip(SkipReason::Exited),
        (Start::Auto, _) => match unit.added {
            Some(Added::New) => start(Reason::New),
            Some(Added::Wanted) => start(Reason::Wanted),
            None if !situation.active => skip(SkipReason::GroupInactive),
            None => skip(SkipReason::Stopped),
        },
    }
}
