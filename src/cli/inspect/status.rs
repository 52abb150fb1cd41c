//! `copse status`, `copse list`, and `copse` alone.
//!
//! The service manager is asked as little as its interface allows: once for the states of all units, and once for each
//! unit whose details are shown. These requests are sent together, so that there is one wait for all answers.

mod read;
mod watch;

use clap::Args;

use self::read::Group;
use crate::basic::scope::Scope;
use crate::basic::terminal::TerminalStyle;
use crate::change::observe::Observer;
use crate::cli::common::args::{Color, Json};
use crate::cli::common::error::Error;
use crate::cli::common::execute::Execute;
use crate::cli::common::exit::Exit;
use crate::cli::common::groups::{context, load, unknown, warn_no_groups};
use crate::cli::common::output;
use crate::cli::common::selector::Selector;
use crate::cli::common::session::with_manager;
use crate::manager::Connected;
use crate::status::{Status as Shown, json, render};
use crate::unit::name::GroupName;

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

#[derive(Debug, Default, Clone, Copy, Args)]
struct Output {
    #[command(flatten)]
    json: Json,

    #[command(flatten)]
    color: Color,
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
            let (shown, exit) = collect(&names, scope, &systemd).await?;
            output::print(&output.text(scope, &shown, whole))?;
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
                output::print(&self.output.text(scope, &groups, render::list))?;
            }
            Ok(Exit::Done)
        })
    }
}

/// The status of all that `names` select, and the exit status.
async fn collect(names: &[String], scope: Scope, systemd: &Connected) -> Result<(Vec<Shown>, Exit), Error> {
    let (directories, outcome) = load(scope);
    let observer = Observer::read(&directories, context(scope));
    let (mut shown, mut exit) = (Vec::new(), Exit::Done);
    for name in names {
        let selector = Selector::new(name, &outcome.groups);
        let status = match GroupName::new(&selector.group) {
            Some(name) => {
                Group::new(scope, &name, &outcome).status(systemd, &directories, &observer, &selector).await?
            }
            None => None,
        };
        exit = exit.worse(match &status {
            Some(status) if status.errors > 0 => Exit::Invalid,
            Some(status) => Exit::from(status.verdict),
            None => unknown(&selector, &outcome).report(scope),
        });
        shown.extend(status);
    }
    Ok((shown, exit))
}

fn whole(shown: &[Shown], style: TerminalStyle) -> String {
    shown.iter().map(|status| render::render(status, style)).collect::<Vec<_>>().join("\n")
}

impl Output {
    fn text(self, scope: Scope, shown: &[Shown], render: impl FnOnce(&[Shown], TerminalStyle) -> String) -> String {
        match self.json.json {
            true => shown.iter().map(|status| json::render(status) + "\n").collect(),
            false => render(shown, output::style(self.color.color, scope)),
        }
    }
}
