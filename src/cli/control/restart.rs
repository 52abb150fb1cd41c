//! `copse restart`: one instance after the other, each ready and settled before the next.

use std::time::Duration;

use clap::Args;

use super::start;
use crate::basic::scope::Scope;
use crate::basic::time_span;
use crate::change::observe::members::Member;
use crate::change::observe::members::Subject;
use crate::change::observe::state::State;
use crate::change::plan::restart;
use crate::change::plan::{Action, Plan, SkipReason};
use crate::change::rollout::Stop;
use crate::cli::common::exit::Exit;
use crate::cli::common::output::complain;
use crate::cli::common::selection::Selection;
use crate::cli::common::session;
use crate::cli::common::session::Session;
use crate::manager::properties::Properties;
use crate::manager::state::LoadState;
use crate::manager::unit::UnitInfo;
use crate::model::Percentage;

/// How long `--canary` watches without a span.
const CANARY: &str = "30s";

/// Restart groups, or parts of them, instance by instance, in the order of `after`.
///
/// What was stopped stays stopped unless it is named itself.
#[derive(Debug, Args)]
pub(crate) struct Restart {
    /// Groups, processes or instances of them, or units.
    #[arg(value_name = "GROUP[/PROCESS[@INSTANCE]]", required = true)]
    names: Vec<String>,

    /// An object for each name, on a line of its own, instead of what is shown.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    pace: Pace,
}

/// How fast; shared with `apply`.
#[derive(Debug, Args)]
pub(crate) struct Pace {
    /// Of each process one first, watched for SPAN [default: 30s]; then the others.
    #[arg(long, value_name = "SPAN", num_args = 0..=1, default_missing_value = CANARY, value_parser = time_span::parse_finite)]
    canary: Option<Duration>,

    /// How many instances of a process may be down at once, instead of `max-unavailable`.
    #[arg(long, value_name = "N|N%", value_parser = share)]
    max_unavailable: Option<Percentage>,

    /// How long to wait between one batch and the next.
    #[arg(long, value_name = "SPAN", default_value = "0", value_parser = time_span::parse_finite)]
    pause: Duration,
}

impl Pace {
    /// Brings a plan to this pace.
    pub(crate) fn set(&self, plan: &mut Plan) {
        for step in plan.steps.iter_mut().filter(|step| step.action == Action::Roll) {
            let pace = &mut step.pace;
            pace.canary = self.canary;
            pace.pause = self.pause;
            pace.max_unavailable = self.max_unavailable.map_or(pace.max_unavailable, |share| share.of(pace.of));
        }
    }
}

fn share(text: &str) -> Result<Percentage, &'static str> {
    Percentage::parse(text).ok_or("a number of instances, or a percentage from `1%` to `100%`")
}

impl Restart {
    pub(crate) fn run(self, scope: Scope) -> Exit {
        session::each_known(scope, &self.names, self.json, async |work, chosen| {
            work.say_unread(chosen).await?;
            self.restart(work, chosen).await
        })
    }

    async fn restart(&self, work: &Session, chosen: &Selection<'_>) -> Result<Exit, Stop> {
        if chosen.part.is_none() {
            let target = work.systemd().list(&[&chosen.target()]).await?;
            if !target.iter().any(|row| row.is_up()) {
                work.progress.note(&format!("{} isn't active: it is started", chosen.group));
                return start::whole(work, chosen).await;
            }
        }
        let states = states(work, chosen).await?;
        let mut plan = restart::restart(&chosen.group, chosen.part.as_deref(), chosen.meaning(), &states);
        self.pace.set(&mut plan);
        if plan.steps.is_empty() && plan.leave.is_empty() {
            complain(format_args!("there is no process in `{}` to restart", chosen.label()));
            return Ok(Exit::Failed);
        }
        work.carry_out(chosen, &plan).await?;
        say_left(work, chosen, &plan);
        // Of a whole group, what is masked is passed over; who names it is told by the exit status as well.
        let masked = plan.steps.is_empty() && plan.leave.iter().all(|leave| leave.why == SkipReason::Masked);
        Ok(if masked && chosen.part.is_some() { Exit::Failed } else { Exit::Done })
    }
}

/// What each member's state means.
async fn states(work: &Session, chosen: &Selection<'_>) -> zbus::Result<Vec<(Member, State)>> {
    let names: Vec<String> = chosen.members.iter().map(|member| member.unit.clone()).collect();
    let known = work.systemd().properties_of(&names).await?;
    let units: Vec<&str> = names.iter().map(String::as_str).collect();
    let rows = work.systemd().list(&units).await?;
    let of = chosen.members.iter().zip(rows).zip(known);
    let state = |member: &Member, row: &UnitInfo, properties: &Properties| match row.load {
        // Also what runs: the manager would refuse to restart it.
        LoadState::Masked => State::Masked,
        _ => State::of(member, row, Some(properties)),
    };
    Ok(of.map(|((member, row), properties)| (member.clone(), state(member, &row, &properties))).collect())
}

/// Says what wasn't restarted although it may have been expected.
fn say_left(work: &Session, chosen: &Selection<'_>, plan: &Plan) {
    for leave in &plan.leave {
        let names: Vec<String> =
            leave.units.iter().map(|Subject { label, .. }| format!("{}/{label}", chosen.group)).collect();
        let names = names.join(", ");
        let why = match leave.why {
            SkipReason::Stopped => format!("was stopped, and stays so; `copse start {names}` starts it"),
            SkipReason::Masked => "is masked".to_owned(),
            SkipReason::InMotion => "is stopping".to_owned(),
            SkipReason::Done => "ran and ended well".to_owned(),
            SkipReason::Timed => "is left to its timer".to_owned(),
            // Nobody expects that what only others start is started.
            _ => continue,
        };
        work.progress.note(&format!("{names} {why}"));
    }
}
