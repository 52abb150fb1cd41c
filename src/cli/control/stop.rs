//! `copse stop`: returns when the last process is gone, which `systemctl stop` of a target doesn't.

use std::collections::BTreeSet;

use clap::Args;

use crate::basic::scope::Scope;
use crate::change::observe::members::Subject;
use crate::change::observe::members::{Kind, Start};
use crate::change::plan::Action;
use crate::change::rollout::Stop as Stopped;
use crate::change::rollout::journal::JournalReporter;
use crate::cli::common::exit::Exit;
use crate::cli::common::selection::Selection;
use crate::cli::common::session;
use crate::cli::common::session::Session;
use crate::manager::unit::UnitInfo;

/// Stop groups, or parts of them, and wait until the last process is gone.
#[derive(Debug, Args)]
pub(crate) struct Stop {
    /// Groups, processes or instances of them, or units.
    #[arg(value_name = "GROUP[/PROCESS[@INSTANCE]]", required = true)]
    names: Vec<String>,

    /// An object for each name, on a line of its own, instead of what is shown.
    #[arg(long)]
    json: bool,
}

impl Stop {
    pub(crate) fn run(self, scope: Scope) -> Exit {
        session::each(scope, &self.names, self.json, async |work, chosen| match &chosen.part {
            None => whole(work, chosen).await,
            Some(_) => part(work, chosen).await,
        })
    }
}

/// By the target, until the last process is gone.
pub(crate) async fn whole(work: &Session, chosen: &Selection<'_>) -> Result<Exit, Stopped> {
    let target = Subject { unit: chosen.target(), label: chosen.group.to_string() };
    // Of a timed process only the timer goes with the group; a job that its timer started runs to its end.
    let timed =
        |member: &crate::change::observe::members::Member| member.kind == Kind::Process && member.start == Start::Timed;
    let members = chosen.subjects(|member| !timed(member));
    work.progress.expect(&members);
    let record = JournalReporter::new(&chosen.group, &work.progress);
    work.rollout(chosen.limit(), &record).stop_group(&target, &members).await?;
    for member in chosen.members.iter().filter(|member| timed(member)) {
        if work.systemd().list(&[&member.unit]).await?.iter().any(|row| !row.is_down()) {
            let (label, group, copse) = (&member.label, &chosen.group, crate::cli::common::output::copse(work.scope));
            work.progress.note(&format!("{label} runs to its end; `{copse} stop {group}/{label}` stops it"));
        }
    }
    Ok(Exit::Done)
}

async fn part(work: &Session, chosen: &Selection<'_>) -> Result<Exit, Stopped> {
    let up = work.up(chosen.subjects(|_| true)).await?;
    if up.is_empty() {
        work.progress.note(&format!("{} is stopped already", chosen.label()));
    }
    work.carry_out(chosen, &chosen.plan(Action::Stop, up)).await?;
    for socket in open_sockets(work, chosen).await? {
        let socket = crate::change::observe::members::label(chosen.group.as_str(), &socket);
        work.progress.note(&format!("{socket} stays open: a connection may start {} again", chosen.label()));
    }
    Ok(Exit::Done)
}

/// Sockets that are still open and may start what was stopped: those on which nobody else accepts. As long as somebody
/// does, systemd starts nobody.
async fn open_sockets(work: &Session, chosen: &Selection<'_>) -> zbus::Result<Vec<String>> {
    let mut open = BTreeSet::new();
    for member in chosen.members.iter().filter(|member| member.kind == Kind::Process) {
        let by: Vec<String> = work.systemd().unit_property(&member.unit, "TriggeredBy").await?;
        for socket in by.iter().filter(|unit| unit.ends_with(".socket")) {
            let starts: Vec<String> = work.systemd().unit_property(socket, "Triggers").await?;
            let names: Vec<&str> = starts.iter().chain([socket]).map(String::as_str).collect();
            let up: Vec<String> =
                work.systemd().list(&names).await?.into_iter().filter(UnitInfo::is_up).map(|row| row.name).collect();
            if up == [socket.as_str()] {
                open.insert(socket.clone());
            }
        }
    }
    Ok(open.into_iter().collect())
}
