//! `copse reset-failed`: failures are forgotten, and with them how often something was started.

use clap::Args;

use crate::basic::scope::Scope;
use crate::change::observe::members::Subject;
use crate::change::plan::Reason;
use crate::change::rollout::journal::JournalReporter;
use crate::change::rollout::{Event, Reached, Reporter as _, Stop};
use crate::cli::common::exit::Exit;
use crate::cli::common::selection::Selection;
use crate::cli::common::session;
use crate::cli::common::session::Session;
use crate::manager::is_unknown;
use crate::manager::state::{ActiveState, LoadState};
use crate::unit::name;

/// Forget the failures of groups, or of parts of them, and how often they were started.
#[derive(Debug, Args)]
pub(crate) struct ResetFailed {
    /// Groups, processes or instances of them, or units.
    #[arg(value_name = "GROUP[/PROCESS[@INSTANCE]]", required = true)]
    names: Vec<String>,

    /// An object for each name, on a line of its own, instead of what is shown.
    #[arg(long)]
    json: bool,
}

impl ResetFailed {
    pub(crate) fn run(self, scope: Scope) -> Exit {
        session::each(scope, &self.names, self.json, reset)
    }
}

async fn reset(work: &Session, chosen: &Selection<'_>) -> Result<Exit, Stop> {
    let mut meant = chosen.subjects(|_| true);
    if chosen.part.is_none() {
        // The gate; and what told that the file is invalid, which nobody starts again once that is mended or removed.
        let own = ["ready", "invalid"].map(|kind| name::own(kind, &chosen.group));
        meant.extend(own.map(|unit| Subject { label: unit.clone(), unit }));
    }
    let names: Vec<&str> = meant.iter().map(|subject| subject.unit.as_str()).collect();
    work.progress.expect(&meant);
    let record = JournalReporter::new(&chosen.group, &work.progress);
    for (subject, row) in meant.iter().zip(work.systemd().list(&names).await?) {
        // What is up keeps its counter of restarts; a mask or a bad file holds nothing to forget.
        if row.is_up() || row.load != LoadState::Loaded {
            continue;
        }
        let unit = &*subject.unit;
        match work.systemd().ask(|manager| async move { manager.reset_failed_unit_and_wait(unit).await }).await {
            // Nothing is remembered of what isn't loaded.
            Err(error) if is_unknown(&error) => continue,
            other => other.map_err(|error| Stop::of(subject, error))?,
        }
        if row.active == ActiveState::Failed {
            let end = Ok(Reached::Forgotten);
            record.tell(&Event::Ends { action: "reset", subject, reasons: &[Reason::Asked], end });
        }
    }
    Ok(Exit::Done)
}
