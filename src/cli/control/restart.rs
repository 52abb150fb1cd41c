//! `copse restart`: one instance after the other, each ready and settled before the next.

use clap::Args;

use super::pace::Pace;
use crate::basic::scope::Scope;
use crate::change::observe::members::Member;
use crate::change::observe::state::State;
use crate::change::plan::restart;
use crate::change::plan::{Plan, SkipReason};
use crate::cli::common::args::Units;
use crate::cli::common::error::Error;
use crate::cli::common::execute::Execute;
use crate::cli::common::exit::Exit;
use crate::cli::common::selection::Selection;
use crate::cli::common::session::{Access, Session, for_each};
use crate::manager::state::LoadState;
use crate::manager::unit::UnitInfo;

/// Restart groups, or parts of groups, instance by instance, in the order of `after`.
///
/// Processes that are stopped stay stopped, unless they are named. If a whole group is stopped, it is started.
#[derive(Debug, Args)]
pub(crate) struct Restart {
    #[command(flatten)]
    units: Units,

    #[command(flatten)]
    pace: Pace,
}

impl Execute for Restart {
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        let Units { names, output } = &self.units;
        for_each(scope, Access::ControlByKind, names, output.json, async |session, selection| {
            session.warn_if_changed_on_disk(selection).await?;
            self.restart(session, selection).await
        })
    }
}

impl Restart {
    async fn restart(&self, session: &Session, selection: &Selection<'_>) -> Result<Exit, Error> {
        if selection.part.is_none() {
            let target = session.systemd().list(&[&selection.target().unit]).await?;
            if !target.iter().any(UnitInfo::is_up) {
                session.progress.note(&format!("{} is not active, starting it", selection.group));
                return session.start_group(selection).await;
            }
        }
        let states = states(session, selection).await?;
        let mut plan = restart::restart(&selection.group, selection.part.as_deref(), selection.definition(), &states);
        self.pace.set(&mut plan);
        if plan.steps.is_empty() && plan.skipped.is_empty() {
            return Err(Error::failed(format_args!("`{}` has no process to restart", selection.label())));
        }
        session.carry_out(&plan, selection.limit()).await?;
        show_skipped(session, selection, &plan);
        // Masked units of a whole group are skipped. If they are named, the exit status shows it.
        let masked = plan.steps.is_empty() && plan.skipped.iter().all(|skipped| skipped.why == SkipReason::Masked);
        Ok(if masked && selection.part.is_some() { Exit::Failed } else { Exit::Done })
    }
}

async fn states(session: &Session, selection: &Selection<'_>) -> zbus::Result<Vec<(Member, State)>> {
    let units: Vec<String> = selection.members.iter().map(|member| member.unit().to_owned()).collect();
    let properties = session.systemd().properties_of(&units).await?;
    let rows = session.list(selection.subjects(|_| true)).await?;
    let states = selection.members.iter().zip(rows).zip(properties).map(|((member, (_, row)), properties)| {
        // A masked unit may run, but the service manager refuses to restart it.
        let masked = row.load == LoadState::Masked;
        (member.clone(), if masked { State::Masked } else { State::of(member, &row, Some(&properties)) })
    });
    Ok(states.collect())
}

/// Shows the units that the caller may have expected to restart.
fn show_skipped(session: &Session, selection: &Selection<'_>, plan: &Plan) {
    for skipped in &plan.skipped {
        let labels: Vec<String> =
            skipped.units.iter().map(|subject| format!("{}/{}", selection.group, subject.label)).collect();
        let names = labels.join(" ");
        let why = match skipped.why {
            SkipReason::Stopped => format!("is inactive, not restarted; `copse start {names}` starts it"),
            SkipReason::Masked => "is masked".to_owned(),
            SkipReason::Busy => "is stopping".to_owned(),
            SkipReason::Exited => "has exited, not restarted".to_owned(),
            SkipReason::Scheduled => "is not restarted, its timer starts it".to_owned(),
            _ => continue,
        };
        session.progress.note(&format!("{} {why}", labels.join(", ")));
    }
}
