//! `copse wait`: until nothing of a group is on its way any more.

use std::time::Duration;

use clap::Args;
use tokio::time::{Instant, sleep};

use crate::basic::scope::Scope;
use crate::basic::time_span;
use crate::change::observe::members::Member;
use crate::change::observe::state::State;
use crate::change::observe::state::Whole;
use crate::change::rollout::Stop;
use crate::cli::common::exit::Exit;
use crate::cli::common::exit::exit_for;
use crate::cli::common::output::complain;
use crate::cli::common::selection::Selection;
use crate::cli::common::session;
use crate::cli::common::session::Session;
use crate::manager::properties::Properties;
use crate::manager::unit::UnitInfo;
use crate::status;
use crate::status::{Row, Verdict};
use crate::unit::name;

/// Between two looks.
const POLL: Duration = Duration::from_millis(200);

/// Wait until groups, or parts of them, are neither starting nor stopping any more.
///
/// The exit status is that of `copse status`: 0 active, 1 failed, 3 stopped, 8 degraded; 9 where the limit was reached.
#[derive(Debug, Args)]
pub(crate) struct Wait {
    /// Groups, processes or instances of them, or units.
    #[arg(value_name = "GROUP[/PROCESS[@INSTANCE]]", required = true)]
    names: Vec<String>,

    /// How long to wait [default: the group's `timeout-start-sec`].
    #[arg(long, value_name = "SPAN", value_parser = time_span::parse_finite)]
    timeout: Option<Duration>,
}

impl Wait {
    pub(crate) fn run(self, scope: Scope) -> Exit {
        session::look_at_each(scope, &self.names, async |work, chosen| self.wait(work, chosen).await)
    }

    async fn wait(&self, work: &Session, chosen: &Selection<'_>) -> Result<Exit, Stop> {
        let limit = self.timeout.or(chosen.limit());
        let deadline = limit.map(|limit| Instant::now() + limit);
        loop {
            let (verdict, reason) = verdict(work, chosen).await?;
            let moves = matches!(verdict, Verdict::Starting | Verdict::Stopping);
            let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if !moves || late {
                let why = reason.map(|why| format!(": {why}")).unwrap_or_default();
                if verdict != Verdict::Active {
                    complain(format_args!("{} is {}{why}", chosen.label(), verdict.word()));
                }
                return Ok(if moves { Exit::Starting } else { exit_for(verdict) });
            }
            tokio::select! {
                () = sleep(POLL) => {}
                () = work.interrupt.once() => return Err(Stop::Interrupted),
            }
        }
    }
}

/// The word about what was named, as `copse status` has it. What waits for its automatic restart is on its way.
async fn verdict(work: &Session, chosen: &Selection<'_>) -> zbus::Result<(Verdict, Option<String>)> {
    let units: Vec<String> = chosen.members.iter().map(|member| member.unit.clone()).collect();
    let known = work.systemd().properties_of(&units).await?;
    let of_group = [chosen.target(), name::own("ready", &chosen.group), name::failed(&chosen.group)];
    let names: Vec<&str> = units.iter().chain(&of_group).map(String::as_str).collect();
    let mut listed = work.systemd().list(&names).await?;
    let mut last = || listed.pop().unwrap_or_else(|| UnitInfo::absent(&of_group[0]));
    let (mark, gate, target) = (last(), last(), last());
    let row = |((member, listed), properties): ((&Member, UnitInfo), Properties)| {
        Row::new(member.clone(), listed, Some(properties))
    };
    let rows: Vec<Row> = chosen.members.iter().zip(listed).zip(known).map(row).collect();
    let restarting = rows.iter().any(|row| row.state == State::Restarting);
    let (verdict, reason) = match chosen.part {
        Some(_) => status::judge_part(&rows),
        None => {
            let whole = Whole { target, gate, waits_for: String::new(), gave_up: mark.is_up() };
            status::judge(&whole, &rows)
        }
    };
    match verdict {
        Verdict::Degraded if restarting => Ok((Verdict::Starting, reason)),
        _ => Ok((verdict, reason)),
    }
}
