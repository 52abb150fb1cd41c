//! `copse reload`

use clap::Args;

use crate::basic::scope::Scope;
use crate::change::observe::members::Kind;
use crate::change::observe::subject::Subject;
use crate::change::plan::Action;
use crate::cli::common::args::Units;
use crate::cli::common::error::Error;
use crate::cli::common::execute::Execute;
use crate::cli::common::exit::Exit;
use crate::cli::common::selection::Selection;
use crate::cli::common::session::{Access, Session, for_each, requested};

/// Reload the configuration of running processes; named setup steps run again.
#[derive(Debug, Args)]
pub(crate) struct Reload {
    #[command(flatten)]
    units: Units,
}

impl Execute for Reload {
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        for_each(scope, Access::ControlByKind, &self.units.names, self.units.output.json, reload)
    }
}

async fn reload(session: &Session, selection: &Selection<'_>) -> Result<Exit, Error> {
    let named = selection.part.is_some();
    let candidates = selection.subjects(|member| member.kind == Kind::Process || member.kind == Kind::Setup && named);
    let up = session.up(candidates).await?;
    let (mut able, mut unable) = (Vec::new(), Vec::new());
    for subject in session.unmasked(&selection.group, up).await? {
        match session.systemd().unit_property(&subject.unit, "CanReload").await? {
            true => able.push(subject),
            false => unable.push(subject),
        }
    }
    let labels =
        |subjects: &[Subject]| subjects.iter().map(|subject| subject.label.as_str()).collect::<Vec<_>>().join(", ");
    if able.is_empty() && unable.is_empty() {
        return Err(selection.nothing_runs());
    }
    if able.is_empty() {
        return Err(Error::failed(format_args!("cannot reload {}: there is no `exec-reload`", labels(&unable))));
    }
    if !unable.is_empty() {
        session.progress.note(&format!("not reloaded, without `exec-reload`: {}", labels(&unable)));
    }
    session.carry_out(&requested(&selection.group, [(Action::Reload, able)]), selection.limit()).await?;
    Ok(Exit::Done)
}
