//! `copse check`: says everything that is wrong with the group files, and changes nothing.

mod foreign;
mod missing;

use std::io::{stderr, stdout};
use std::path::PathBuf;

use clap::Args;

use crate::basic::diagnostic::Diagnostic;
use crate::basic::scope::Scope;
use crate::cli::common::args::group_name;
use crate::cli::common::error::Error;
use crate::cli::common::execute::Execute;
use crate::cli::common::exit::Exit;
use crate::cli::common::groups::warn_no_groups;
use crate::cli::common::input::{Input, Loaded};
use crate::cli::common::output;
use crate::cli::common::output::counted;
use crate::cli::common::report::{Counts, Format, Report};
use crate::generator::load::Outcome;
use crate::unit::name::GroupName;

/// Say everything that is wrong with group files.
#[derive(Debug, Args)]
pub struct Check {
    /// Groups, or group files (with a `/`, ending in `.toml`, or `-` for the standard input); all groups if none.
    #[arg(value_name = "GROUP|FILE")]
    groups: Vec<PathBuf>,

    /// Check one FILE of any name as the file of GROUP: with its installed drop-ins and next to all other groups.
    #[arg(long = "as", value_name = "GROUP", value_parser = group_name, conflicts_with = "stdin_name")]
    group: Option<GroupName>,

    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    report: Report,
}

impl Execute for Check {
    /// Prints all diagnostics on the standard output and, for people, a closing line on the standard error.
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        if let Some(error) = self.groups.iter().find_map(|path| foreign::refusal(path)) {
            return Err(error);
        }
        let mut loaded = match &self.group {
            Some(group) => self.input.load_as(scope, group, &self.groups)?,
            None => self.input.load(scope, &self.groups)?,
        };
        if loaded.is_installed {
            look_for(&mut loaded.outcome, &missing::ThisMachine);
        }
        let all: Vec<&Diagnostic> = loaded.outcome.diagnostics().collect();
        output::print(&self.report.text(all.iter().copied(), &stdout()))?;
        let Outcome { groups, diagnostics } = &loaded.outcome;
        if self.report.format == Format::Auto && groups.is_empty() && diagnostics.is_empty() {
            warn_no_groups(&loaded.directories);
        } else if self.report.format == Format::Auto || left_out(&loaded) > 0 {
            use std::io::Write as _;
            let gap = if all.is_empty() { "" } else { "\n" };
            let _ = writeln!(stderr(), "{gap}{}", summary(&loaded));
        }
        Ok(if loaded.outcome.has_errors() { Exit::Invalid } else { Exit::Done })
    }
}

/// Adds what groups name and isn't on the machine.
fn look_for(outcome: &mut Outcome, machine: &dyn missing::Machine) {
    for found in outcome.groups.iter_mut() {
        if let (Some(group), Some(source)) = (&found.group, &found.source) {
            let missing = missing::missing(group, source, machine);
            found.diagnostics.extend(missing);
            found.diagnostics.sort();
        }
    }
}

/// How many diagnostics were only counted.
fn left_out(loaded: &Loaded) -> usize {
    let Outcome { groups, diagnostics } = &loaded.outcome;
    groups.iter().map(|group| group.diagnostics.omitted()).sum::<usize>() + diagnostics.omitted()
}

/// `2 errors, 1 warning in 1 of 3 groups`
fn summary(loaded: &Loaded) -> String {
    let groups = &loaded.outcome.groups;
    let counts = Counts::of(loaded.outcome.diagnostics());
    let concerned = groups.iter().filter(|group| !group.diagnostics.is_empty()).count();
    let all = groups.len();
    let left_out = left_out(loaded);
    let counts = if left_out > 0 { format!("{counts}, {left_out} more") } else { counts.to_string() };
    match (concerned, all) {
        (0, _) => format!("{}: {counts}", counted(all, "group")),
        _ => format!("{counts} in {concerned} of {}", counted(all, "group")),
    }
}
