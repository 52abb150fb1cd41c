//! `copse freeze` and `copse thaw`: systemd's freezer, for all services of a group or some.

use clap::Args;

use crate::basic::scope::Scope;
use crate::change::observe::members::Kind;
use crate::change::observe::members::Subject;
use crate::change::plan::Reason;
use crate::change::rollout::journal::JournalReporter;
use crate::change::rollout::{Event, Reached, Reporter as _, Stop};
use crate::cli::common::exit::Exit;
use crate::cli::common::output::complain;
use crate::cli::common::selection::Selection;
use crate::cli::common::session;
use crate::cli::common::session::Session;
use crate::manager::state::SubState;

/// Suspend what runs of groups, or of parts of them: its processes get no CPU time until they are thawed.
///
/// Nobody tells them, and they answer nobody: who watches over them from outside may take them for dead.
#[derive(Debug, Args)]
pub(crate) struct Freeze {
    /// Groups, processes or instances of them, or units.
    #[arg(value_name = "GROUP[/PROCESS[@INSTANCE]]", required = true)]
    names: Vec<String>,

    /// An object for each name, on a line of its own, instead of what is shown.
    #[arg(long)]
    json: bool,
}

/// Let run on what was frozen.
#[derive(Debug, Args)]
pub(crate) struct Thaw {
    /// Groups, processes or instances of them, or units.
    #[arg(value_name = "GROUP[/PROCESS[@INSTANCE]]", required = true)]
    names: Vec<String>,

    /// An object for each name, on a line of its own, instead of what is shown.
    #[arg(long)]
    json: bool,
}

impl Freeze {
    pub(crate) fn run(self, scope: Scope) -> Exit {
        session::each_known(scope, &self.names, self.json, async |work, chosen| change(work, chosen, true).await)
    }
}

impl Thaw {
    pub(crate) fn run(self, scope: Scope) -> Exit {
        session::each(scope, &self.names, self.json, async |work, chosen| change(work, chosen, false).await)
    }
}

async fn change(work: &Session, chosen: &Selection<'_>, freeze: bool) -> Result<Exit, Stop> {
    let services = chosen.subjects(|member| member.kind == Kind::Process && member.unit.ends_with(".service"));
    let up = work.unmasked(chosen, running(work, services).await?).await?;
    if up.is_empty() {
        complain(format_args!("nothing of `{}` runs", chosen.label()));
        return Ok(Exit::Stopped);
    }
    let (action, reached) = if freeze { ("freeze", Reached::Frozen) } else { ("thaw", Reached::Thawed) };
    let record = JournalReporter::new(&chosen.group, &work.progress);
    let rollout = work.rollout(None, &record);
    let reasons = &[Reason::Asked];
    for subject in &up {
        let changed = if freeze { rollout.freeze(subject).await? } else { rollout.thaw(subject).await? };
        match changed {
            true => record.tell(&Event::Ends { action, subject, reasons, end: Ok(reached) }),
            false => record.tell(&Event::Notes(&format!(
                "{} {} already",
                subject.label,
                if freeze { "is frozen" } else { "runs" }
            ))),
        }
    }
    Ok(Exit::Done)
}

/// Those that have processes: what ended and counts as active has none to freeze.
async fn running(work: &Session, services: Vec<Subject>) -> zbus::Result<Vec<Subject>> {
    let up = work.up(services).await?;
    let names: Vec<&str> = up.iter().map(|subject| subject.unit.as_str()).collect();
    let rows = work.systemd().list(&names).await?;
    Ok(up.into_iter().zip(rows).filter(|(_, row)| row.sub != SubState::Exited).map(|(subject, _)| subject).collect())
}
