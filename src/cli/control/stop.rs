//! `copse stop`: waits until the last process has exited, unlike `systemctl stop` of a target.

use std::collections::BTreeSet;

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
use crate::manager::unit::UnitInfo;

/// Stop groups, or parts of groups, and wait until the last process has exited.
#[derive(Debug, Args)]
pub(crate) struct Stop {
    #[command(flatten)]
    units: Units,
}

impl Execute for Stop {
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        for_each(scope, Access::Control, &self.units.names, self.units.output.json, async |session, selection| {
            match &selection.part {
                None => session.stop_group(selection).await,
                Some(_) => stop_part(session, selection).await,
            }
        })
    }
}

async fn stop_part(session: &Session, selection: &Selection<'_>) -> Result<Exit, Error> {
    let up = session.up(selection.subjects(|_| true)).await?;
    if up.is_empty() {
        session.progress.note(&format!("{} is already stopped", selection.label()));
    }
    session.carry_out(&requested(&selection.group, [(Action::Stop, up)]), selection.limit()).await?;
    for socket in open_sockets(session, selection).await? {
        let socket = Subject::new(selection.group.as_str(), &socket).label;
        session.progress.note(&format!("{socket} is still listening: a connection starts {} again", selection.label()));
    }
    Ok(Exit::Done)
}

/// Sockets that may start again what was stopped. As long as another unit accepts connections on a socket, systemd
/// starts nothing for it.
async fn open_sockets(session: &Session, selection: &Selection<'_>) -> zbus::Result<BTreeSet<String>> {
    let systemd = session.systemd();
    let mut open = BTreeSet::new();
    for member in selection.members.iter().filter(|member| member.kind == Kind::Process) {
        let triggers: Vec<String> = systemd.unit_property(member.unit(), "TriggeredBy").await?;
        for socket in triggers.into_iter().filter(|unit| unit.ends_with(".socket")) {
            let starts: Vec<String> = systemd.unit_property(&socket, "Triggers").await?;
            let names: Vec<&str> = starts.iter().chain([&socket]).map(String::as_str).collect();
            let up: Vec<_> =
                systemd.list(&names).await?.into_iter().filter(UnitInfo::is_up).map(|row| row.name).collect();
            if up == [socket.as_str()] {
                open.insert(socket);
            }
        }
    }
    Ok(open)
}
