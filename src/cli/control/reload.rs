//! `copse reload`: the processes read their configuration again, and none restarts.

use clap::Args;

use crate::basic::scope::Scope;
use crate::change::observe::members::Kind;
use crate::change::observe::members::Subject;
use crate::change::plan::Action;
use crate::change::rollout::Stop;
use crate::cli::common::exit::Exit;
use crate::cli::common::output::complain;
use crate::cli::common::selection::Selection;
use crate::cli::common::session;
use crate::cli::common::session::Session;

/// Reload what runs of groups, or of parts of them; a setup step runs again.
#[derive(Debug, Args)]
pub(crate) struct Reload {
    /// Groups, processes or instances of them, or units.
    #[arg(value_name = "GROUP[/PROCESS[@INSTANCE]]", required = true)]
    names: Vec<String>,

    /// An object for each name, on a line of its own, instead of what is shown.
    #[arg(long)]
    json: bool,
}

impl Reload {
    pub(crate) fn run(self, scope: Scope) -> Exit {
        session::each_known(scope, &self.names, self.json, reload)
    }
}

async fn reload(work: &Session, chosen: &Selection<'_>) -> Result<Exit, Stop> {
    // A group's steps are run again by name only.
    let meant =
        chosen.subjects(|member| member.kind == Kind::Process || (member.kind == Kind::Setup && chosen.part.is_some()));
    let (mut able, mut unable) = (Vec::new(), Vec::new());
    for subject in work.unmasked(chosen, work.up(meant).await?).await? {
        match work.systemd().unit_property(&subject.unit, "CanReload").await? {
            true => able.push(subject),
            false => unable.push(subject),
        }
    }
    let names =
        |subjects: &[Subject]| subjects.iter().map(|subject| subject.label.clone()).collect::<Vec<_>>().join(", ");
    if able.is_empty() {
        complain(format_args!(
            "{}",
            match unable.is_empty() {
                true => format!("nothing of `{}` runs", chosen.label()),
                false => format!("{} can't reload: there is no `exec-reload`", names(&unable)),
            }
        ));
        return Ok(if unable.is_empty() { Exit::Stopped } else { Exit::Failed });
    }
    if !unable.is_empty() {
        work.progress.note(&format!("left alone, without `exec-reload`: {}", names(&unable)));
    }
    work.carry_out(chosen, &chosen.plan(Action::Reload, able)).await?;
    Ok(Exit::Done)
}
