//! `copse wait`

use std::collections::HashMap;
use std::time::Duration;

use clap::Args;
use tokio::time::Instant;

use crate::basic::scope::Scope;
use crate::basic::time_span;
use crate::change::observe::members::Member;
use crate::change::observe::state::{GroupState, State};
use crate::change::rollout::interrupt::within;
use crate::cli::common::error::Error;
use crate::cli::common::execute::Execute;
use crate::cli::common::exit::Exit;
use crate::cli::common::message::warn;
use crate::cli::common::selection::Selection;
use crate::cli::common::session::{Access, Session, for_each};
use crate::manager::properties::Properties;
use crate::manager::state::ActiveState;
use crate::manager::unit::UnitInfo;
use crate::status::{Row, Verdict, verdict, verdict_of_part};
use crate::unit::name;

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
    let of_group = [selection.target().unit, name::own("ready", &selection.group), name::failed(&selection.group)];
    let mut watch =
        session.jobs.watch(selection.members.iter().map(Member::unit).chain(of_group.iter().map(String::as_str)));
    let mut last = (Verdict::Starting, None);
    let waiting = watch.until(async |infos| {
        last = current(session, selection, infos).await?;
        Ok(is_final(last.0).then_some(()))
    });
    within(deadline, session.interrupt.once(), waiting).await?;
    let (verdict, reason) = last;
    if verdict != Verdict::Active {
        let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        warn(&format!("{} is {}{reason}", selection.label(), verdict.word()), None);
    }
    Ok(if is_final(verdict) { Exit::from(verdict) } else { Exit::Starting })
}

fn is_final(verdict: Verdict) -> bool {
    !matches!(verdict, Verdict::Starting | Verdict::Stopping)
}

/// The verdict of `copse status`, but an automatic restart counts as starting. `infos`: the members, then the group's
/// target, gate and failure mark.
async fn current(
    session: &Session,
    selection: &Selection<'_>,
    infos: &[UnitInfo],
) -> zbus::Result<(Verdict, Option<String>)> {
    let (members, of_group) = infos.split_at(selection.members.len());
    // Only inactive units need more than their states.
    let inactive = members.iter().filter(|info| info.active == ActiveState::Inactive);
    let inactive: Vec<&str> = inactive.map(|info| info.name.as_str()).collect();
    let properties = session.systemd().properties_of(&inactive).await?;
    let mut properties: HashMap<&str, Properties> = inactive.into_iter().zip(properties).collect();
    let row =
        |(member, info): (&Member, &UnitInfo)| Row::new(member.clone(), info.clone(), properties.remove(&*info.name));
    let rows: Vec<Row> = selection.members.iter().zip(members).map(row).collect();
    let (verdict, reason) = match (&selection.part, of_group) {
        (None, [target, gate, mark]) => {
            let (target, gate, failed) = (target.clone(), gate.clone(), mark.is_up());
            verdict(&GroupState { target, gate, waits_for: String::new(), failed }, &rows)
        }
        _ => (verdict_of_part(&rows), None),
    };
    let restarting = verdict == Verdict::Degraded && rows.iter().any(|row| row.state == State::Restarting);
    Ok((if restarting { Verdict::Starting } else { verdict }, reason))
}
