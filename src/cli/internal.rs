//! What copse's own units run (`units/` holds them), and package scripts. Not an interface for anything else.

mod gate;
mod gave_up;
mod invalid;
mod needrestart;
mod package_removal;
mod reset;
mod run_keeper;

use clap::{Args, Subcommand};

use super::common::error::Error;
use super::common::execute::Execute;
use super::common::exit::Exit;
use super::common::journal::priority::{Priority, log};
use super::common::session::with_manager;
use crate::basic::scope::Scope;

/// What the units of copse run.
#[derive(Debug, Args)]
pub(super) struct Internal {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Wait until the units on standard input are ready (copse-ready@.service).
    Ready { group: String },
    /// Reset the failed states and start counters of a group (copse-reset@.service).
    Reset { group: String },
    /// Stop the group of a unit that failed permanently (copse-gave-up@.service).
    GaveUp {
        /// The name of the unit without its suffix.
        unit: String,
    },
    /// Clean up a temporary group when the process that runs it has exited (copse-run@.service).
    Keep { group: String },
    /// Keep the units of running groups until the next boot, because the package is removed.
    Leave {
        /// Remove these units, because the package is installed again.
        #[arg(long)]
        back: bool,
    },
    /// Print the units that are restarted only by hand (`refresh = "keep"`).
    Spared,
    /// Print the diagnostics on standard input, and fail (copse-invalid@.service).
    Invalid { group: String },
}

impl Execute for Internal {
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        let done = match self.task {
            Task::Leave { back } => return package_removal::run(scope, back),
            Task::Spared => return needrestart::run(scope),
            Task::Ready { group } => gate::run(scope, &group),
            Task::Reset { group } => with_manager(scope, async |systemd| reset::run(&systemd, scope, &group).await),
            Task::GaveUp { unit } => with_manager(scope, async |systemd| gave_up::run(&systemd, scope, &unit).await),
            Task::Keep { group } => run_keeper::run(scope, &group),
            Task::Invalid { group } => invalid::run(&group),
        };
        // The others run as units: the journal has their name, and is searched by priority.
        done.or_else(|error| {
            let (exit, message, help) = error.parts(scope);
            message.into_iter().chain(help).for_each(|line| log(Priority::Error, line));
            Ok(exit)
        })
    }
}
