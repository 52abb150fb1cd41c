//! `copse start`

use clap::Args;

use crate::basic::scope::Scope;
use crate::change::plan::Action;
use crate::cli::common::args::Units;
use crate::cli::common::error::Error;
use crate::cli::common::execute::Execute;
use crate::cli::common::exit::Exit;
use crate::cli::common::selection::Selection;
use crate::cli::common::session::{Access, Session, for_each, requested};

/// Start groups, or parts of groups, and wait until they are ready.
#[derive(Debug, Args)]
pub(crate) struct Start {
    #[command(flatten)]
    units: Units,
}

impl Execute for Start {
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        for_each(scope, Access::Control, &self.units.names, self.units.output.json, async |session, selection| {
            session.warn_if_changed_on_disk(selection).await?;
            match &selection.part {
                None => session.start_group(selection).await,
                Some(_) => start_part(session, selection).await,
            }
        })
    }
}

async fn start_part(session: &Session, selection: &Selection<'_>) -> Result<Exit, Error> {
    let rows = session.list(selection.subjects(|_| true)).await?.into_iter();
    let inactive: Vec<_> = rows.filter(|(_, row)| !row.is_up()).map(|(subject, _)| subject).collect();
    let any_inactive = !inactive.is_empty();
    let startable = session.unmasked(&selection.group, inactive).await?;
    if startable.is_empty() && any_inactive {
        return Ok(Exit::Failed);
    }
    session.carry_out(&requested(&selection.group, [(Action::Start, startable)]), selection.limit()).await?;
    Ok(Exit::Done)
}
