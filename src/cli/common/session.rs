//! What the verbs that change something have in common: the groups, the manager, what is shown, and how it ends.

use crate::manager::connect;
use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use super::exit::Exit;
use super::last_good::LastGood;
use super::output::{complain, failed};
use super::polkit_agent::Agent;
use super::progress::Progress;
use super::sd_daemon;
use super::selection::Selection;
use crate::basic::scope::Scope;
use crate::basic::terminal::ColorChoice;
use crate::change::observe::members::Subject;
use crate::change::plan::{Action, Pace, Plan, Reason, Step};
use crate::change::rollout::journal;
use crate::change::rollout::journal::JournalReporter;
use crate::change::rollout::{Failure, Interrupt, Reporter, Rollout, Stop};
use crate::generator::load::Outcome;
use crate::manager::jobs::Jobs;
use crate::manager::state::{ActiveState, LoadState};
use crate::manager::unit::UnitInfo;
use crate::manager::{Connected, is_refusal, is_unknown};
use crate::model::Group;

/// All that a verb needs.
pub(crate) struct Session {
    pub(crate) scope: Scope,
    pub(crate) outcome: Outcome,
    pub(crate) past: LastGood,
    pub(crate) jobs: Jobs,
    pub(crate) progress: Progress,
    pub(crate) interrupt: Interrupt,
}

/// Connects, and does `work`, for which polkit may ask.
pub(crate) fn run(scope: Scope, silent: bool, work: impl AsyncFnOnce(&Session) -> Result<Exit, Stop>) -> Exit {
    with(scope, silent, Agent::open, work)
}

fn with(
    scope: Scope,
    silent: bool,
    agent: fn(Scope) -> Agent,
    work: impl AsyncFnOnce(&Session) -> Result<Exit, Stop>,
) -> Exit {
    self::with_manager(scope, async |systemd| {
        let _journal = journal::to_journal();
        let listening = async { Ok::<_, zbus::Error>((Interrupt::listen()?, Jobs::new(&systemd).await?)) };
        let (interrupt, jobs) = match listening.await {
            Ok(both) => both,
            Err(error) => return failed(&error),
        };
        let (_, outcome) = super::load::load(scope);
        let agent = agent(scope);
        let progress = Progress::new(scope, ColorChoice::Auto, silent, agent.is_there());
        let past = LastGood::new(scope);
        let all = Session { scope, outcome, past, jobs, progress, interrupt };
        match work(&all).await {
            Ok(exit) => exit,
            Err(stop) => all.stopped(&stop),
        }
    })
}

/// As [`run`], for each of the groups, or parts of groups, that are named; the first that doesn't end well ends it. With
/// `json` nothing is shown but an object for each, on a line of its own.
pub(crate) fn each(
    scope: Scope,
    names: &[String],
    json: bool,
    work: impl AsyncFn(&Session, &Selection<'_>) -> Result<Exit, Stop>,
) -> Exit {
    run(scope, json, async |all| each_of(all, names, Needs::Whatever, work).await)
}

/// As [`each`], for who does something else to a setup step than to a process: refused where that isn't known.
pub(crate) fn each_known(
    scope: Scope,
    names: &[String],
    json: bool,
    work: impl AsyncFn(&Session, &Selection<'_>) -> Result<Exit, Stop>,
) -> Exit {
    run(scope, json, async |all| each_of(all, names, Needs::Kinds, work).await)
}

/// As [`each`], for who changes nothing.
pub(crate) fn look_at_each(
    scope: Scope,
    names: &[String],
    work: impl AsyncFn(&Session, &Selection<'_>) -> Result<Exit, Stop>,
) -> Exit {
    with(scope, false, |_| Agent::none(), async |all| each_of(all, names, Needs::Nothing, work).await)
}

/// What a verb has to know of the units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    /// It only looks.
    Nothing,
    /// It acts on what there is.
    Whatever,
    /// Which are setup steps.
    Kinds,
}

async fn each_of(
    all: &Session,
    names: &[String],
    needs: Needs,
    work: impl AsyncFn(&Session, &Selection<'_>) -> Result<Exit, Stop>,
) -> Result<Exit, Stop> {
    let mut chosen: Vec<Selection<'_>> = Vec::new();
    // Nothing is begun before it is known that everything is there.
    for name in names {
        match Selection::new(all.systemd(), &all.outcome, &all.past, name).await? {
            Ok(found) => chosen.push(found),
            Err(exit) => return Ok(exit),
        }
    }
    for (place, one) in chosen.iter().enumerate() {
        if needs != Needs::Nothing && !chosen[..place].iter().any(|other| other.group == one.group) {
            one.say_invalid();
        }
    }
    for one in chosen.iter().filter(|_| needs == Needs::Kinds) {
        if let Err(exit) = one.must_be_known() {
            return Ok(exit);
        }
    }
    for one in &chosen {
        let end = work(all, one).await;
        all.progress.report(one.group.as_str(), &one.label(), Value::Null)?;
        let exit = end?;
        if exit != Exit::Done {
            return Ok(exit);
        }
    }
    Ok(Exit::Done)
}

impl Session {
    pub(crate) fn systemd(&self) -> &Connected {
        self.jobs.systemd()
    }

    /// Says that the group's file changed since systemd read it, as systemctl(1) does of a unit's: what is started now is
    /// what it was.
    pub(crate) async fn say_unread(&self, chosen: &Selection<'_>) -> zbus::Result<()> {
        let changed = !chosen.is_invalid() && chosen.outcome.is_some();
        if changed && self.systemd().unit_property(&chosen.target(), "NeedDaemonReload").await? {
            let (systemctl, copse) = (super::output::systemctl(self.scope), super::output::copse(self.scope));
            complain(format_args!(
                "the file of group `{0}` changed since systemd read it: `{systemctl} daemon-reload`, or `{copse} apply {0}`",
                chosen.group
            ));
        }
        Ok(())
    }

    /// Those of the units that are up or on their way.
    pub(crate) async fn up(&self, subjects: Vec<Subject>) -> zbus::Result<Vec<Subject>> {
        let names: Vec<&str> = subjects.iter().map(|subject| subject.unit.as_str()).collect();
        let rows = self.systemd().list(&names).await?;
        let up =
            |row: &UnitInfo| row.is_up() || matches!(row.active, ActiveState::Activating | ActiveState::Deactivating);
        Ok(subjects.into_iter().zip(rows).filter(|(_, row)| up(row)).map(|(subject, _)| subject).collect())
    }

    /// Those of the units that aren't masked; of the others, which the manager does nothing to, it is said that they are.
    pub(crate) async fn unmasked(&self, chosen: &Selection<'_>, subjects: Vec<Subject>) -> zbus::Result<Vec<Subject>> {
        let names: Vec<&str> = subjects.iter().map(|subject| subject.unit.as_str()).collect();
        let rows = self.systemd().list(&names).await?;
        let all = subjects.into_iter().zip(rows);
        let (masked, rest): (Vec<_>, Vec<_>) = all.partition(|(_, row)| row.load == LoadState::Masked);
        for (subject, _) in masked {
            self.progress.note(&format!("{}/{} is masked", chosen.group, subject.label));
        }
        Ok(rest.into_iter().map(|(subject, _)| subject).collect())
    }

    /// A roll-out that tells `tell`, and gives each unit so long to get ready.
    pub(crate) fn rollout<'r>(&'r self, limit: Option<Duration>, tell: &'r dyn Reporter) -> Rollout<'r> {
        let (jobs, interrupt) = (&self.jobs, self.interrupt.clone());
        Rollout { jobs, tell, interrupt, limit, wanted: BTreeSet::new(), hold: None }
    }

    /// Carries out a plan that nothing has to be remembered of.
    pub(crate) async fn carry_out(&self, chosen: &Selection<'_>, plan: &Plan) -> Result<(), Stop> {
        self.progress.expect(plan.steps.iter().flat_map(|step| &step.units));
        let record = JournalReporter::new(&chosen.group, &self.progress);
        self.rollout(chosen.limit(), &record).steps(plan).await
    }

    /// Carries out, one after the other, what somebody asks for of a group; what has no units is left out.
    pub(crate) async fn asked(&self, group: &Group, all: Vec<(Action, Vec<Subject>)>) -> Result<(), Stop> {
        let step = |(action, units)| Step { action, units, reasons: vec![Reason::Asked], pace: Pace::default() };
        let steps = all.into_iter().filter(|(_, units)| !units.is_empty()).map(step).collect();
        let record = JournalReporter::new(&group.name, &self.progress);
        let rollout = self.rollout(group.timeout_start.value.finite(), &record);
        rollout.steps(&Plan::asked(group.name.clone(), steps, Vec::new())).await
    }

    /// Says why it stopped, unless that was shown already.
    pub(crate) fn stopped(&self, stop: &Stop) -> Exit {
        match stop {
            Stop::Failed(Failure { .. }) => Exit::Failed,
            Stop::Refused(subject, error) => not_allowed(self.scope, &format!("`{}`", subject.unit), &said(error)),
            Stop::Manager(error) if is_refusal(error) => not_allowed(self.scope, "this", &said(error)),
            Stop::Manager(error) if is_unknown(error) => {
                let systemctl = super::output::systemctl(self.scope);
                failed(&format_args!(
                    "{}; if its group file is new: `{systemctl} daemon-reload`",
                    said(error).trim_end_matches('.')
                ))
            }
            Stop::Manager(error) => failed(&said(error)),
            Stop::Interrupted => {
                complain(format_args!("interrupted; jobs that were queued go on"));
                Exit::Failed
            }
            Stop::State(what) => failed(what),
        }
    }
}

/// What the manager said, without the name of the error.
pub(crate) fn said(error: &zbus::Error) -> String {
    match error {
        zbus::Error::MethodError(_, Some(text), _) => text.clone(),
        zbus::Error::FDO(error) => zbus::DBusError::description(&**error).unwrap_or("no reason given").to_owned(),
        error => error.to_string(),
    }
}

/// Says that the caller may not change `what`, and `why`.
pub(crate) fn not_allowed(scope: Scope, what: &str, why: &str) -> Exit {
    let help = match scope {
        Scope::System => "; help: run it as root, or have a polkit rule allow it (polkit(8))",
        Scope::User => "",
    };
    complain(format_args!("not allowed to change {what}: {}{help}", why.trim_end_matches('.')));
    Exit::NotAllowed
}

/// Runs what a verb does with the service manager, if that can be reached.
pub(crate) fn with_manager(scope: Scope, verb: impl AsyncFnOnce(Connected) -> Exit) -> Exit {
    block_on(async move {
        match connect(scope).await {
            Ok(systemd) => verb(systemd).await,
            Err(error) => failed(&error),
        }
    })
}

/// Runs a verb's future to its end, on this thread.
pub(crate) fn block_on<F: Future<Output = Exit>>(future: F) -> Exit {
    match tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build() {
        Ok(runtime) => runtime.block_on(future),
        Err(error) => {
            sd_daemon::line(sd_daemon::Level::Error, format_args!("no event loop: {error}"));
            Exit::Failed
        }
    }
}
