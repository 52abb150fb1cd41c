//! `copse wait`

use std::time::Duration;

use clap::Args;
use tokio::time::{Instant, sleep};

use crate::basic::scope::Scope;
use crate::basic::time_span;
use crate::change::observe::members::Member;
use crate::change::observe::state::{State, Whole};
use crate::change::rollout::Stop;
use crate::cli::common::error::Error;
use crate::cli::common::execute::Execute;
use crate::cli::common::exit::Exit;
use crate::cli::common::message::warn;
use crate::cli::common::selection::Selection;
use crate::cli::common::session::{Access, Session, for_each};
use crate::manager::properties::Properties;
use crate::manager::unit::UnitInfo;
use crate::status;
use crate::status::{Row, Verdict};
use crate::unit::name;

/// How often the units are looked at.
const POLL: Duration = Duration::from_millis(200);

/// Wait until groups, or parts of groups, are neither starting nor stopping.
///
/// The exit status is that of `copse status`: 0 active, 1 failed, 3 stopped, 8 degraded; 9 if the timeout is reached.
#[derive(Debug, Args)]
pub(crate) struct Wait {
    /// Groups, processes, instances of processes, or units.
    #[arg(value_name = "GROUP[/PROCESS[@INSTANCE]]", required = true)]
    names: Vec<String>,

    /// How long to wait [default: the group's `timeout-start-sec`].
    #[arg(long, value_name = "SPAN", value_parser = time_span::parse_finite)]
    timeout: Option<Duration>,
}

impl Execute for Wait {
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        for_each(scope, Access::Read, &self.names, false, async |session, selection| {
            let limit = self.timeout.or(selection.limit());
            wait(session, selection, limit.map(|limit| Instant::now() + limit)).await
        })
    }
}

async fn wait(session: &Session, selection: &Selection<'_>, deadline: Option<Instant>) -> Result<Exit, Error> {
    loop {
        let (verdict, reason) = verdict(session, selection).await?;
        let moves = matches!(verdict, Verdict::Starting | Verdict::Stopping);
        if !moves || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            if verdict != Verdict::Active {
                let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
                warn(&format!("{} is {}{reason}", selection.label(), verdict.word()), None);
            }
            return Ok(if moves { Exit::Starting } else { Exit::from(verdict) });
        }
        tokio::select! {
            () = sleep(POLL) => {}
            () = session.interrupt.once() => return Err(Stop::Interrupted.into()),
        }
    }
}

/// The verdict of `copse status`, but an automatic restart counts as starting.
async fn verdict(session: &Session, selection: &Selection<'_>) -> zbus::Result<(Verdict, Option<String>)> {
    let units: Vec<String> = selection.members.iter().map(|member| member.unit.clone()).collect();
    let properties = session.systemd().properties_of(&units).await?;
    let (group, target) = (&selection.group, selection.target().unit);
    let whole = [target.clone(), name::own("ready", group), name::failed(group)];
    let names: Vec<&str> = units.iter().chain(&whole).map(String::as_str).collect();
    let mut listed = session.systemd().list(&names).await?;
    let mut last = || listed.pop().unwrap_or_else(|| UnitInfo::absent(&target));
    let (mark, gate, target) = (last(), last(), last());
    let row = |((member, listed), properties): ((&Member, UnitInfo), Properties)| {
        Row::new(member.clone(), listed, Some(properties))
    };
    let rows: Vec<Row> = selection.members.iter().zip(listed).zip(properties).map(row).collect();
    let (verdict, reason) = match selection.part {
        Some(_) => status::judge_part(&rows),
        None => status::judge(&Whole { target, gate, waits_for: String::new(), gave_up: mark.is_up() }, &rows),
    };
    let restarting = verdict == Verdict::Degraded && rows.iter().any(|row| row.state == State::Restarting);
    Ok((if restarting { Verdict::Starting } else { verdict }, reason))
}
