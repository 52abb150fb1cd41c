//! What one unit needs, seen by itself.

use super::directive_effect;
use super::directive_effect::Effect;
use super::{Reason, SkipReason};
use crate::change::observe::members::{Kind, Start};
use crate::change::observe::situation::{Arrived, Observed, Situation, Started};
use crate::change::observe::state::State;
use crate::model::Refresh;
use crate::unit::effective::{Definition, Difference};

/// What a unit needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// To be run again, as a setup step.
    Run,
    /// To be stopped.
    Stop,
    /// To be started.
    Start,
    /// That systemd reads its definition.
    Update,
    /// To be reloaded.
    Reload,
    /// To be restarted in the way of its process.
    Restart,
    /// To be made anew while its services don't run.
    Rebind,
    /// To be left alone.
    Skip(SkipReason),
}

/// What a unit needs, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What.
    pub need: Need,
    /// SkipReason.
    pub reasons: Vec<Reason>,
}

impl Finding {
    fn leave(why: SkipReason) -> Self {
        Self { need: Need::Skip(why), reasons: Vec::new() }
    }

    fn new(need: Need, reason: Reason) -> Self {
        Self { need, reasons: vec![reason] }
    }
}

/// The directives that differ, by what they need.
#[derive(Debug, Default)]
pub struct Changes {
    pub update: Vec<Difference>,
    pub restart: Vec<Difference>,
    pub rebind: Vec<Difference>,
}

impl Changes {
    /// What a daemon-reload brings about is held against what is loaded, the rest against what the unit runs with.
    pub fn new(started: &Started, loaded: Option<&Definition>, new: Option<&Definition>) -> Self {
        let mut changes = Self::default();
        let Some(new) = new else { return changes };
        if let Some(loaded) = loaded {
            let all = loaded.difference(new).into_iter();
            changes.update = all.filter(|one| directive_effect::of_difference(one) == Effect::DaemonReload).collect();
        }
        if let Started::From(old) = started {
            for difference in old.difference(new) {
                match directive_effect::of_difference(&difference) {
                    Effect::DaemonReload => {}
                    Effect::Restart => changes.restart.push(difference),
                    Effect::Rebind => changes.rebind.push(difference),
                }
            }
        }
        changes
    }

    /// All of what changed of who must be dealt with: what makes that needed comes first, what only has to be read after it.
    pub fn all(&self) -> Vec<Difference> {
        [self.rebind.as_slice(), &self.restart, &self.update].concat()
    }
}

/// What `unit` needs.
pub fn judge(unit: &Observed, situation: &Situation<'_>) -> Finding {
    if unit.gone {
        // A setup step does nothing any more, and can't be stopped by hand.
        let runs = is_up(unit) || matches!(unit.state, State::Starting | State::Restarting);
        return match runs && unit.member.kind != Kind::Setup {
            true => Finding::new(Need::Stop, Reason::Gone),
            false => Finding::leave(SkipReason::Current),
        };
    }
    let masked = unit.new.as_ref().is_some_and(|new| new.masked) || unit.state == State::Masked;
    if masked {
        return Finding::leave(SkipReason::Masked);
    }
    match &unit.state {
        // What an apply that was killed had just asked to stop must come back as well.
        State::Stopping if !situation.interrupted.contains(&unit.member.unit) => Finding::leave(SkipReason::InMotion),
        State::Up | State::Starting | State::Restarting => up(unit, situation),
        State::Done if is_up(unit) => up(unit, situation),
        _ => {
            let mut finding = down(unit, situation);
            if let (Need::Skip(_), Some(loaded), Some(new)) = (finding.need, &unit.loaded, &unit.new) {
                let changed = loaded.difference(new);
                finding.reasons.extend((!changed.is_empty()).then_some(Reason::Definition(changed)));
            }
            finding
        }
    }
}

/// SkipReason a unit that runs isn't what the files say, so that it would have to be restarted, reloaded or run again; empty
/// where it is, and where it doesn't run.
pub fn outdated(unit: &Observed, situation: &Situation<'_>) -> Vec<Reason> {
    let runs = is_up(unit) || matches!(unit.state, State::Starting | State::Restarting);
    let Finding { need, reasons } = judge(unit, situation);
    match need {
        Need::Run | Need::Reload | Need::Restart | Need::Rebind | Need::Skip(SkipReason::Keep | SkipReason::Timed)
            if runs =>
        {
            reasons
        }
        _ => Vec::new(),
    }
}

/// Also a oneshot that ended and stays active.
fn is_up(unit: &Observed) -> bool {
    unit.listed.is_up() || unit.state == State::Up
}

fn up(unit: &Observed, situation: &Situation<'_>) -> Finding {
    if unit.member.start == Start::Held && unit.state != State::Starting {
        return Finding::new(Need::Stop, Reason::Held);
    }
    let changes = Changes::new(&unit.started, unit.loaded.as_deref(), unit.new.as_deref());
    let finding = match unit.member.kind {
        Kind::Setup => step(unit, &changes),
        Kind::Timer => None,
        Kind::Socket if changes.rebind.is_empty() => None,
        Kind::Socket => Some(Finding::new(Need::Rebind, Reason::Definition(changes.all()))),
        Kind::Process => process(unit, &changes, situation),
    };
    finding.unwrap_or_else(|| unchanged(unit, changes))
}

/// What a running unit needs that mustn't be touched itself.
fn unchanged(unit: &Observed, changes: Changes) -> Finding {
    match (changes.update, unit.pinned) {
        (update, Some(since)) => {
            let mut reasons = vec![Reason::LeftBehind(since)];
            reasons.extend((!update.is_empty()).then_some(Reason::Definition(update)));
            Finding { need: Need::Update, reasons }
        }
        (update, None) if !update.is_empty() => Finding::new(Need::Update, Reason::Definition(update)),
        _ if unit.state == State::Restarting => Finding::leave(SkipReason::InMotion),
        _ if unit.started == Started::Unknown => Finding::leave(SkipReason::Unknown),
        _ => Finding::leave(SkipReason::Current),
    }
}

fn step(unit: &Observed, changes: &Changes) -> Option<Finding> {
    if unit.state == State::Starting {
        return Some(Finding::leave(SkipReason::InMotion));
    }
    let mut reasons = Vec::new();
    // The stamp knows better: it also knows what ran since the unit was started, and how it ended.
    if unit.unchanged != Some(true) {
        reasons.extend((!changes.restart.is_empty()).then(|| Reason::Definition(changes.all())));
        reasons.extend(unit.inputs.iter().cloned().map(Reason::Input));
        if reasons.is_empty() && unit.unchanged == Some(false) {
            reasons.push(Reason::Inputs);
        }
    }
    (!reasons.is_empty()).then_some(Finding { need: Need::Run, reasons })
}

fn process(unit: &Observed, changes: &Changes, situation: &Situation<'_>) -> Option<Finding> {
    let mut reasons = Vec::new();
    reasons.extend((!changes.restart.is_empty()).then(|| Reason::Definition(changes.all())));
    reasons.extend(unit.program.clone().map(Reason::Program));
    // No reload hands them over anew.
    reasons.extend(unit.handed.iter().cloned().map(Reason::Input));
    let must_restart = !reasons.is_empty();
    reasons.extend(unit.inputs.iter().cloned().map(Reason::Input));
    reasons.extend(unit.steps.iter().cloned().map(Reason::Setup));
    if reasons.is_empty() {
        return None;
    }
    if changes.restart.is_empty() && !changes.update.is_empty() {
        reasons.push(Reason::Definition(changes.update.clone()));
    }
    if must_restart && let Some(since) = unit.pinned {
        reasons.insert(0, Reason::LeftBehind(since));
    }
    let refresh = unit.of.as_ref().and_then(|of| Some(situation.meaning?.processes.get(of)?.change.refresh));
    let need = match refresh {
        _ if unit.member.start == Start::Timed => Need::Skip(SkipReason::Timed),
        Some(Refresh::Keep) => Need::Skip(SkipReason::Keep),
        Some(Refresh::Reload) if !must_restart && unit.state == State::Up => Need::Reload,
        _ => Need::Restart,
    };
    Some(Finding { need, reasons })
}

fn down(unit: &Observed, situation: &Situation<'_>) -> Finding {
    let start = |reason| match situation.active {
        _ if unit.member.kind == Kind::Setup && situation.active => Finding::new(Need::Run, reason),
        true => Finding::new(Need::Start, reason),
        false => Finding::leave(SkipReason::GroupInactive),
    };
    match (unit.member.start, &unit.state) {
        (Start::Manual, _) => Finding::leave(SkipReason::Manual),
        (Start::Timed, _) => Finding::leave(SkipReason::Timed),
        (Start::Held, _) => Finding::leave(SkipReason::Held),
        (Start::Auto, State::Failed(cause)) if !unit.asked_to_stop => {
            let mut finding = start(Reason::Failed(cause.as_ref().map(ToString::to_string).unwrap_or_default()));
            if finding.need != Need::Skip(SkipReason::GroupInactive) {
                finding.reasons.extend(unit.pinned.map(Reason::LeftBehind));
                let changes = Changes::new(&unit.started, unit.loaded.as_deref(), unit.new.as_deref());
                let all = changes.all();
                finding.reasons.extend((!all.is_empty()).then_some(Reason::Definition(all)));
            }
            finding
        }
        (Start::Auto, _) if situation.interrupted.contains(&unit.member.unit) => start(Reason::Interrupted),
        (Start::Auto, State::Skipped | State::Refused) => Finding::leave(SkipReason::Skipped),
        (Start::Auto, State::Done) => Finding::leave(SkipReason::Done),
        (Start::Auto, _) => match unit.arrived {
            Some(Arrived::New) => start(Reason::New),
            Some(Arrived::Wanted) => start(Reason::Wanted),
            None if !situation.active => Finding::leave(SkipReason::GroupInactive),
            None => Finding::leave(SkipReason::Stopped),
        },
    }
}
