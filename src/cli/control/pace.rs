//! How fast `apply` and `restart` go.

use std::time::Duration;

use clap::Args;

use crate::basic::time_span;
use crate::change::plan::{Action, Plan};
use crate::model::Percentage;

/// How long `--canary` watches by default.
const CANARY: &str = "30s";

#[derive(Debug, Args)]
pub(crate) struct Pace {
    /// Update one instance of each process first and watch it for SPAN [default: 30s].
    #[arg(long, value_name = "SPAN", num_args = 0..=1, default_missing_value = CANARY, value_parser = time_span::parse_finite)]
    canary: Option<Duration>,

    /// How many instances of a process may be down at once [default: `max-unavailable`].
    #[arg(long, value_name = "N|N%", value_parser = percentage)]
    max_unavailable: Option<Percentage>,

    /// How long to wait between batches.
    #[arg(long, value_name = "SPAN", default_value = "0", value_parser = time_span::parse_finite)]
    pause: Duration,
}

impl Pace {
    pub(crate) fn set(&self, plan: &mut Plan) {
        for step in plan.steps.iter_mut().filter(|step| step.action == Action::Roll) {
            let pace = &mut step.pace;
            pace.canary = self.canary;
            pace.pause = self.pause;
            pace.max_unavailable = self.max_unavailable.map_or(pace.max_unavailable, |share| share.of(pace.of));
        }
    }
}

fn percentage(text: &str) -> Result<Percentage, &'static str> {
    Percentage::parse(text).ok_or("expected a number of instances, or a percentage from `1%` to `100%`")
}
