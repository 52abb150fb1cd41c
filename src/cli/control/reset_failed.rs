//! `copse reset-failed`

use clap::Args;

use crate::basic::scope::Scope;
use crate::change::observe::subject::Subject;
use crate::change::rollout::{Stop, UnitOutcome};
use crate::cli::common::args::Units;
use crate::cli::common::error::Error;
use crate::cli::common::execute::Execute;
use crate::cli::common::exit::Exit;
use crate::cli::common::selection::Selection;
use crate::cli::common::session::{Access, Session, for_each, report_done};
use crate::manager::is_unknown;
use crate::manager::state::{ActiveState, LoadState};
use crate::unit::name;

/// Reset the failed state and the start counters of groups, or parts of groups.
#[derive(Debug, Args)]
pub(crate) struct ResetFailed {
    #[command(flatten)]
    units: Units,
}

impl Execute for ResetFailed {
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        for_each(scope, Access::Control, &self.units.names, self.units.output.json, reset)
    }
}

async fn reset(session: &Session, selection: &Selection<'_>) -> Result<Exit, Error> {
    let mut subjects = selection.subjects(|_| true);
    if selection.part.is_none() {
        // The gate; and the unit that reported an invalid group file, which nothing starts once that is repaired.
        let own = ["ready", "invalid"].map(|kind| name::own(kind, &selection.group));
        subjects.extend(own.map(|unit| Subject::of_group(unit.clone(), &unit)));
    }
    session.progress.expect(&subjects);
    let rows = session.list(subjects).await?;
    let reset = session.rollout(&selection.group, None, async |rollout| {
        // Running units keep their restart counter; masked and broken units have nothing to reset.
        for (subject, row) in rows.iter().filter(|(_, row)| !row.is_up() && row.load == LoadState::Loaded) {
            let unit = &*subject.unit;
            match session.systemd().ask(|manager| async move { manager.reset_failed_unit_and_wait(unit).await }).await {
                // It was unloaded meanwhile.
                Err(error) if is_unknown(&error) => continue,
                other => other.map_err(|error| Stop::of(subject, error))?,
            }
            if row.active == ActiveState::Failed {
                report_done(rollout, "reset", subject, UnitOutcome::FailureReset);
            }
        }
        Ok(Exit::Done)
    });
    Ok(reset.await?)
}
