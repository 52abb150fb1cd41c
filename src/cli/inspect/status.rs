//! `copse status`, `copse list`, and `copse` alone: what runs.
//!
//! The service manager is asked as few questions as its interface allows: one for the states of all units, and one
//! for each unit whose details are shown; those are asked together, so that there is one wait for all answers.

mod read;
mod watch;

pub(crate) use self::read::running;

use crate::cli::common::exit::{exit_for, worse};
use crate::cli::common::load::{load, no_groups, unknown};
use clap::Args;

use self::read::Group;
use crate::basic::scope::Scope;
use crate::basic::terminal::ColorChoice;
use crate::basic::terminal::TerminalStyle;
use crate::change::observe::Notes;
use crate::cli::common::exit::Exit;
use crate::cli::common::output;
use crate::cli::common::output::{complain, failed};
use crate::cli::common::selector::Selector;
use crate::generator;
use crate::manager::Connected;
use crate::model::Context;
use crate::status::{Status as Shown, json, render};
use crate::unit::name::GroupName;

/// Show what runs of groups; without one, a line for each of all groups.
///
/// The exit status says how the group is: 0 active, 1 failed, 3 stopped, 4 no such group, 5 its file is invalid,
/// 8 degraded, 9 starting; of several groups, the worst.
#[derive(Debug, Args)]
pub struct Status {
    /// Groups, processes or instances of them, or units.
    #[arg(value_name = "GROUP[/PROCESS[@INSTANCE]]")]
    names: Vec<String>,

    /// Show it again whenever something changes, until it is interrupted.
    #[arg(long, requires = "names")]
    watch: bool,

    #[command(flatten)]
    output: Output,
}

/// Show all groups, a line each.
#[derive(Debug, Default, Args)]
pub struct List {
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
struct Output {
    /// An object for each group, on a line of its own.
    #[arg(long)]
    json: bool,

    /// When to use colours.
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,
}

impl Default for Output {
    fn default() -> Self {
        Self { json: false, color: ColorChoice::Auto }
    }
}

impl Status {
    /// Prints each, and says by the exit status how the worst of them is.
    pub fn run(self, scope: Scope) -> Exit {
        if self.names.is_empty() {
            return List { output: self.output }.run(scope);
        }
        crate::cli::common::session::with_manager(scope, async |systemd| {
            if self.watch {
                return watch::watch(&self.names, &self.output, scope, &systemd).await;
            }
            match look(&self.names, scope, &systemd).await {
                Ok((shown, exit)) => self.output.print(scope, &shown, exit, whole),
                Err(error) => failed(&error),
            }
        })
    }
}

/// Everything about what is named, and how to exit for the worst of it.
async fn look(names: &[String], scope: Scope, systemd: &Connected) -> zbus::Result<(Vec<Shown>, Exit)> {
    let (directories, outcome) = load(scope);
    let notes = Notes::read(&directories, Context { scope, cpus: generator::cpus() });
    let (mut shown, mut exit) = (Vec::new(), Exit::Done);
    for name in names {
        let named = Selector::new(name, &outcome.groups);
        let found = match GroupName::new(&named.group) {
            Some(name) => Group::new(scope, &name, &outcome).whole(systemd, &directories, &notes, &named).await?,
            None => None,
        };
        match found {
            Some(status) => {
                exit = worse(exit, exit_of(&status));
                shown.push(status);
            }
            None => {
                unknown(&named, &outcome);
                exit = worse(exit, Exit::NoSuchGroup);
            }
        }
    }
    Ok((shown, exit))
}

fn whole(all: &[Shown], look: TerminalStyle) -> String {
    all.iter().map(|status| render::render(status, look)).collect::<Vec<_>>().join("\n")
}

impl List {
    /// Prints the groups that have a file, and those that run without.
    pub fn run(self, scope: Scope) -> Exit {
        crate::cli::common::session::with_manager(scope, async |systemd| {
            let (directories, outcome) = load(scope);
            match read::all(&systemd, scope, &outcome).await {
                Ok(all) if all.is_empty() && !self.output.json => {
                    complain(format_args!("{}", no_groups(&directories)));
                    Exit::Done
                }
                Ok(all) => self.output.print(scope, &all, Exit::Done, render::list),
                Err(error) => failed(&error),
            }
        })
    }
}

impl Output {
    fn text(&self, scope: Scope, all: &[Shown], render: impl FnOnce(&[Shown], TerminalStyle) -> String) -> String {
        match self.json {
            true => all.iter().map(|status| json::render(status) + "\n").collect(),
            false => render(all, output::look(self.color, scope)),
        }
    }

    fn print(
        &self,
        scope: Scope,
        all: &[Shown],
        exit: Exit,
        render: impl FnOnce(&[Shown], TerminalStyle) -> String,
    ) -> Exit {
        let text = self.text(scope, all, render);
        match output::print(&text) {
            Ok(()) => exit,
            Err(error) => {
                complain(format_args!("the status can't be written: {error}"));
                Exit::Failed
            }
        }
    }
}

/// The exit status that a group's state stands for.
fn exit_of(status: &Shown) -> Exit {
    if status.errors > 0 { Exit::Invalid } else { exit_for(status.verdict) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_several_counts() {
        for (all, expected) in [
            (&[Exit::Done, Exit::Done][..], Exit::Done),
            (&[Exit::Done, Exit::Starting, Exit::Stopped], Exit::Stopped),
            (&[Exit::Degraded, Exit::Failed, Exit::Done], Exit::Failed),
            (&[Exit::NoSuchGroup, Exit::Degraded], Exit::NoSuchGroup),
        ] {
            assert_eq!(all.iter().copied().fold(Exit::Done, worse), expected, "{all:?}");
        }
    }
}
