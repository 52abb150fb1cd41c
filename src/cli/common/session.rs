//! What commands share that act on units: the groups, the service manager, and the progress that is shown.

use std::collections::BTreeSet;
use std::time::Duration;

use super::error::Error;
use super::exit::Exit;
use super::groups;
use super::last_good::LastGood;
use super::message::{copse, systemctl, warn};
use super::polkit_agent::Agent;
use super::progress::{Details, Progress};
use super::selection::Selection;
use crate::basic::scope::Scope;
use crate::basic::terminal::ColorChoice;
use crate::change::observe::subject::Subject;
use crate::change::plan::{Action, Pace, Plan, Reason, Step};
use crate::change::rollout::journal::JournalReporter;
use crate::change::rollout::{Event, Interrupt, Rollout, Stop, UnitOutcome, journal};
use crate::generator::load::Outcome;
use crate::manager::jobs::Jobs;
use crate::manager::state::{ActiveState, LoadState};
use crate::manager::unit::UnitInfo;
use crate::manager::{Connected, connect};
use crate::unit::name::GroupName;

pub(crate) struct Session {
    pub(crate) scope: Scope,
    pub(crate) outcome: Outcome,
    pub(crate) last_good: LastGood,
    pub(crate) jobs: Jobs,
    pub(crate) progress: Progress,
    pub(crate) interrupt: Interrupt,
    /// Runs until the session ends.
    _agent: Agent,
}

/// What a command does with the units that it selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// It changes nothing.
    Read,
    /// It treats all kinds of units alike.
    Control,
    /// It treats setup steps and processes differently, so it has to know which is which.
    ControlByKind,
}

/// Runs `work` with the service manager; polkit may prompt. With `json`, no progress is shown.
///
/// # Errors
/// The service manager cannot be reached, or what `work` returns.
pub(crate) fn run(
    scope: Scope,
    json: bool,
    work: impl AsyncFnOnce(&Session) -> Result<Exit, Error>,
) -> Result<Exit, Error> {
    block_on(async {
        let _journal = journal::to_journal();
        work(&Session::open(scope, json, Access::Control).await?).await
    })
}

/// As [`run`], for each of the selections, in their order. Stops at the first that does not end with [`Exit::Done`].
/// With `json`, prints an object for each.
///
/// # Errors
/// As [`run`]; and if a name selects nothing, in which case nothing was begun.
pub(crate) fn for_each(
    scope: Scope,
    access: Access,
    names: &[String],
    json: bool,
    work: impl AsyncFn(&Session, &Selection<'_>) -> Result<Exit, Error>,
) -> Result<Exit, Error> {
    block_on(async {
        let _journal = journal::to_journal();
        let session = Session::open(scope, json, access).await?;
        for selection in session.select(access, names).await? {
            let end = work(&session, &selection).await;
            session.progress.report(&selection.group, &selection.label(), Details::None {}).await?;
            match end? {
                Exit::Done => {}
                exit => return Ok(exit),
            }
        }
        Ok(Exit::Done)
    })
}

impl Session {
    async fn open(scope: Scope, json: bool, access: Access) -> Result<Self, Error> {
        let systemd = connect(scope).await?;
        let signals = |error| Error::cannot("listen for signals", error);
        let interrupt = Interrupt::listen().map_err(signals)?;
        let jobs = Jobs::new(&systemd).await?;
        let (_, outcome) = groups::load(scope);
        let agent = if access == Access::Read { Agent::none() } else { Agent::open(scope) };
        let progress = Progress::new(scope, ColorChoice::Auto, json, agent.is_running());
        Ok(Self { scope, outcome, last_good: LastGood::new(scope), jobs, progress, interrupt, _agent: agent })
    }

    async fn select(&self, access: Access, names: &[String]) -> Result<Vec<Selection<'_>>, Error> {
        let mut selections = Vec::new();
        for name in names {
            selections.push(self.selection(name).await?);
        }
        for (index, selection) in selections.iter().enumerate().filter(|_| access != Access::Read) {
            if !selections[..index].iter().any(|other: &Selection<'_>| other.group == selection.group) {
                selection.warn_if_invalid();
            }
        }
        if access == Access::ControlByKind {
            selections.iter().try_for_each(Selection::check_kinds)?;
        }
        Ok(selections)
    }

    /// What a name selects.
    ///
    /// # Errors
    /// As [`Selection::new`].
    pub(crate) async fn selection(&self, name: &str) -> Result<Selection<'_>, Error> {
        Selection::new(self.systemd(), &self.outcome, &self.last_good, name).await
    }

    pub(crate) fn systemd(&self) -> &Connected {
        self.jobs.systemd()
    }

    /// Warns if the group file changed since systemd read it, as systemctl(1) does for units: the old units are used.
    pub(crate) async fn warn_if_changed_on_disk(&self, selection: &Selection<'_>) -> zbus::Result<()> {
        let valid = !selection.is_invalid() && selection.file.is_some();
        if valid && self.systemd().unit_property(&selection.target().unit, "NeedDaemonReload").await? {
            let (group, systemctl, copse) = (&selection.group, systemctl(self.scope), copse(self.scope));
            let help = format!("run `{systemctl} daemon-reload`, or `{copse} apply {group}`");
            warn(&format!("group file of `{group}` changed on disk, using the units that are loaded"), Some(&help));
        }
        Ok(())
    }

    /// The units with their rows, in their order.
    pub(crate) async fn list(&self, subjects: Vec<Subject>) -> zbus::Result<Vec<(Subject, UnitInfo)>> {
        let names: Vec<&str> = subjects.iter().map(|subject| subject.unit.as_str()).collect();
        let rows = self.systemd().list(&names).await?;
        Ok(subjects.into_iter().zip(rows).collect())
    }

    /// The units that are active, activating or deactivating.
    pub(crate) async fn up(&self, subjects: Vec<Subject>) -> zbus::Result<Vec<Subject>> {
        let up =
            |row: &UnitInfo| row.is_up() || matches!(row.active, ActiveState::Activating | ActiveState::Deactivating);
        Ok(self.list(subjects).await?.into_iter().filter(|(_, row)| up(row)).map(|(subject, _)| subject).collect())
    }

    /// The units that are not masked. Shows the others: the service manager refuses to start, reload or freeze these.
    pub(crate) async fn unmasked(&self, group: &GroupName, subjects: Vec<Subject>) -> zbus::Result<Vec<Subject>> {
        let rows = self.list(subjects).await?.into_iter();
        let (masked, rest): (Vec<_>, Vec<_>) = rows.partition(|(_, row)| row.load == LoadState::Masked);
        for (subject, _) in masked {
            self.progress.note(&format!("{group}/{} is masked", subject.label));
        }
        Ok(rest.into_iter().map(|(subject, _)| subject).collect())
    }

    /// Runs `work` with a rollout that reports to the journal and shows its progress. Each unit has `limit` to become
    /// ready.
    pub(crate) async fn rollout<T>(
        &self,
        group: &GroupName,
        limit: Option<Duration>,
        work: impl AsyncFnOnce(&Rollout<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let reporter = JournalReporter::new(group, &self.progress);
        let (jobs, interrupt) = (&self.jobs, self.interrupt.clone());
        work(&Rollout { jobs, reporter: &reporter, interrupt, limit, wanted: BTreeSet::new(), pinning: None }).await
    }

    pub(crate) async fn carry_out(&self, plan: &Plan, limit: Option<Duration>) -> Result<(), Stop> {
        self.progress.expect(plan.steps.iter().flat_map(|step| &step.units));
        self.rollout(&plan.group, limit, async |rollout| rollout.steps(plan).await).await
    }
}

/// A plan of what the caller requests: these actions in this order, each with all its units at once.
pub(crate) fn requested(group: &GroupName, steps: impl IntoIterator<Item = (Action, Vec<Subject>)>) -> Plan {
    let steps = steps.into_iter().filter(|(_, units)| !units.is_empty()).map(|(action, units)| Step {
        action,
        units,
        reasons: vec![Reason::Requested],
        pace: Pace::default(),
    });
    Plan::requested(group.clone(), steps.collect(), Vec::new())
}

/// Reports that an action which is no job of systemd's succeeded.
pub(crate) fn report_done(rollout: &Rollout<'_>, action: &'static str, subject: &Subject, reached: UnitOutcome) {
    rollout.reporter.report(&Event::Ends { action, subject, reasons: &[Reason::Requested], end: Ok(reached) });
}

/// Runs `work` with a connection to the service manager.
///
/// # Errors
/// The service manager cannot be reached, or what `work` returns.
pub(crate) fn with_manager<T>(scope: Scope, work: impl AsyncFnOnce(Connected) -> Result<T, Error>) -> Result<T, Error> {
    block_on(async { work(connect(scope).await?).await })
}

/// Runs a future to its end, on this thread.
///
/// # Errors
/// There can be no event loop, or what the future returns.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    runtime.map_err(|error| Error::cannot("create an event loop", error))?.block_on(future)
}
