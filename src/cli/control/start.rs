//! `copse start`: what `systemctl start` does, and what becomes of each unit.

use clap::Args;

use crate::basic::scope::Scope;
use crate::change::observe::members;
use crate::change::observe::members::Subject;
use crate::change::plan::Action;
use crate::change::rollout::Stop;
use crate::change::rollout::journal::JournalReporter;
use crate::cli::common::exit::Exit;
use crate::cli::common::selection::Selection;
use crate::cli::common::session;
use crate::cli::common::session::Session;

/// Start groups, or parts of them, and wait until they are ready.
#[derive(Debug, Args)]
pub(crate) struct Start {
    /// Groups, processes or instances of them, or units.
    #[arg(value_name = "GROUP[/PROCESS[@INSTANCE]]", required = true)]
    names: Vec<String>,

    /// An object for each name, on a line of its own, instead of what is shown.
    #[arg(long)]
    json: bool,
}

impl Start {
    pub(crate) fn run(self, scope: Scope) -> Exit {
        session::each(scope, &self.names, self.json, async |work, chosen| {
            work.say_unread(chosen).await?;
            match &chosen.part {
                None => whole(work, chosen).await,
                Some(_) => part(work, chosen).await,
            }
        })
    }
}

/// By the target: the units are started in their order, and those that failed before get another chance.
pub(crate) async fn whole(work: &Session, chosen: &Selection<'_>) -> Result<Exit, Stop> {
    let target = Subject { unit: chosen.target(), label: chosen.group.to_string() };
    let members = chosen.subjects(|member| member.defined && member.start == members::Start::Auto);
    work.progress.expect(&members);
    let record = JournalReporter::new(&chosen.group, &work.progress);
    let started = work.rollout(chosen.limit(), &record).start_group(&target, &members).await;
    let failures = match started {
        Err(_) if chosen.is_invalid() => return Ok(Exit::Invalid),
        started => started?,
    };
    let (grave, others): (Vec<_>, Vec<_>) =
        failures.iter().partition(|failure| chosen.is_essential(&failure.subject.unit));
    if !others.is_empty() {
        let names: Vec<&str> = others.iter().map(|failure| failure.subject.label.as_str()).collect();
        work.progress.note(&format!("not essential for {}: {}", chosen.group, names.join(", ")));
    }
    Ok(match grave.is_empty() {
        true => Exit::Done,
        false if chosen.is_invalid() => Exit::Invalid,
        false => Exit::Failed,
    })
}

async fn part(work: &Session, chosen: &Selection<'_>) -> Result<Exit, Stop> {
    let meant = chosen.subjects(|_| true);
    let names: Vec<&str> = meant.iter().map(|subject| subject.unit.as_str()).collect();
    let rows = work.systemd().list(&names).await?;
    let down: Vec<Subject> =
        meant.into_iter().zip(rows).filter(|(_, row)| !row.is_up()).map(|(subject, _)| subject).collect();
    let all = down.len();
    let down = work.unmasked(chosen, down).await?;
    if down.is_empty() && all > 0 {
        return Ok(Exit::Failed);
    }
    work.carry_out(chosen, &chosen.plan(Action::Start, down)).await?;
    Ok(Exit::Done)
}
