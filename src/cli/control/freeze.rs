//! `copse freeze` and `copse thaw`: systemd's freezer for services.

use clap::Args;

use crate::basic::scope::Scope;
use crate::change::observe::members::Kind;
use crate::change::observe::subject::Subject;
use crate::change::rollout::{Event, UnitOutcome};
use crate::cli::common::args::Units;
use crate::cli::common::error::Error;
use crate::cli::common::execute::Execute;
use crate::cli::common::exit::Exit;
use crate::cli::common::selection::Selection;
use crate::cli::common::session::{Access, Session, for_each, report_done};
use crate::manager::state::SubState;

/// Suspend running processes: they get no CPU time until they are thawed.
///
/// The processes are not notified and do not respond, so an external health check may consider them dead.
#[derive(Debug, Args)]
pub(crate) struct Freeze {
    #[command(flatten)]
    units: Units,
}

/// Resume frozen processes.
#[derive(Debug, Args)]
pub(crate) struct Thaw {
    #[command(flatten)]
    units: Units,
}

impl Execute for Freeze {
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        let Units { names, output } = self.units;
        for_each(scope, Access::ControlByKind, &names, output.json, async |session, selection| {
            change(session, selection, true).await
        })
    }
}

impl Execute for Thaw {
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        let Units { names, output } = self.units;
        for_each(scope, Access::Control, &names, output.json, async |session, selection| {
            change(session, selection, false).await
        })
    }
}

async fn change(session: &Session, selection: &Selection<'_>, freeze: bool) -> Result<Exit, Error> {
    let services = selection.subjects(|member| member.kind == Kind::Process && member.unit().ends_with(".service"));
    let running = session.unmasked(&selection.group, running(session, services).await?).await?;
    if running.is_empty() {
        return Err(selection.nothing_runs());
    }
    let change = session.rollout(&selection.group, None, async |rollout| {
        for subject in &running {
            let changed = if freeze { rollout.freeze(subject).await? } else { rollout.thaw(subject).await? };
            match (changed, freeze) {
                (true, true) => report_done(rollout, "freeze", subject, UnitOutcome::Frozen),
                (true, false) => report_done(rollout, "thaw", subject, UnitOutcome::Thawed),
                (false, true) => {
                    rollout.reporter.report(&Event::Notes(&format!("{} is already frozen", subject.label)))
                }
                (false, false) => rollout.reporter.report(&Event::Notes(&format!("{} is not frozen", subject.label))),
            }
        }
        Ok(Exit::Done)
    });
    Ok(change.await?)
}

/// Those with processes: a unit that has exited may be active, but there is nothing to freeze.
async fn running(session: &Session, services: Vec<Subject>) -> zbus::Result<Vec<Subject>> {
    let up = session.list(session.up(services).await?).await?.into_iter();
    Ok(up.filter(|(_, row)| row.sub != SubState::Exited).map(|(subject, _)| subject).collect())
}
