//! What copse's own units run (`units/` holds them): hidden, and no interface for anybody else.

mod gate;
mod gave_up;
mod invalid;
mod needrestart;
mod package_removal;
mod reset;
mod run_keeper;

use clap::{Args, Subcommand};

use super::common::exit::Exit;
use super::common::session::block_on;
use crate::basic::scope::Scope;

/// `copse internal …`
#[derive(Debug, Args)]
pub(super) struct Internal {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Wait until the units named on standard input are ready (copse-ready@.service).
    Ready {
        /// The group.
        group: String,
    },
    /// Clear the failed states and start counters of a group (copse-reset@.service).
    Reset {
        /// The group.
        group: String,
    },
    /// Stop the group of a unit, if systemd gave that unit up (copse-gave-up@.service).
    GaveUp {
        /// The unit's name without its suffix.
        unit: String,
    },
    /// Clear up after a throw-away group when the process that runs it is gone (copse-run@.service).
    Keep {
        /// The group.
        group: String,
    },
    /// Leave the units of what runs until the next boot, for the package is removed.
    Leave {
        /// Remove them: the package is installed again.
        #[arg(long)]
        back: bool,
    },
    /// Print the units that are only restarted by hand (`refresh = "keep"`).
    Spared,
    /// Print the diagnostics on standard input, and fail (copse-invalid@.service).
    Invalid {
        /// The group.
        group: String,
    },
}

impl Internal {
    pub(super) fn run(self, scope: Scope) -> Exit {
        match self.task {
            Task::Ready { group } => gate::run(scope, &group),
            Task::Reset { group } => block_on(reset::run(scope, &group)),
            Task::GaveUp { unit } => block_on(gave_up::run(scope, &unit)),
            Task::Keep { group } => run_keeper::run(scope, &group),
            Task::Leave { back } => package_removal::run(scope, back),
            Task::Spared => needrestart::run(scope),
            Task::Invalid { group } => invalid::run(&group),
        }
    }
}
