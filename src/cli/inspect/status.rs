//! `copse status`, `copse list`, and `copse` alone.
//!
//! The service manager is asked as little as its interface allows: once for the states of all units, and once for each
//! unit whose details are shown. These requests are sent together, so that there is one wait for all answers.

mod output;
mod read;
mod watch;

use clap::Args;

use self::output::{Output, whole};
use crate::basic::scope::Scope;
use crate::cli::common::error::Error;
use crate::cli::common::execute::Execute;
use crate::cli::common::exit::Exit;
use crate::cli::common::groups::{load, warn_no_groups};
use crate::cli::common::output::print;
use crate::cli::common::session::with_manager;
use crate::status::render;

/// Show the state of groups, processes or instances; without an argument, list all groups.
///
/// The exit status is that of the group in the worst state: 0 active, 1 failed, 3 stopped, 4 no such group, 5 invalid
/// group file, 8 degraded, 9 starting.
#[derive(Debug, Args)]
pub(crate) struct Status {
    /// Groups, processes, instances of processes, or units.
    #[arg(value_name = "GROUP[/PROCESS[@INSTANCE]]")]
    names: Vec<String>,

    /// Show it again whenever something changes.
    #[arg(long, requires = "names")]
    watch: bool,

    #[command(flatten)]
    output: Output,
}

/// List all groups, one per line.
#[derive(Debug, Default, Args)]
pub(crate) struct List {
    #[command(flatten)]
    output: Output,
}

impl Execute for Status {
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        let Self { names, watch, output } = self;
        if names.is_empty() {
            return List { output }.execute(scope);
        }
        with_manager(scope, async |systemd| {
            if watch {
                return watch::watch(&names, output, scope, &systemd).await;
            }
            let (shown, exit) = read::collect(&names, scope, &systemd).await?;
            print(&output.text(scope, &shown, whole))?;
            Ok(exit)
        })
    }
}

impl Execute for List {
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        with_manager(scope, async |systemd| {
            let (directories, outcome) = load(scope);
            let groups = read::all(&systemd, scope, &outcome).await?;
            if groups.is_empty() && !self.output.json.json {
                warn_no_groups(&directories);
            } else {
                print(&self.output.text(scope, &groups, render::list))?;
            }
            Ok(Exit::Done)
        })
    }
}
