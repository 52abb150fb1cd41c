//! `copse check`: says everything that is wrong with the group files, and changes nothing.

mod missing;

use std::io::{stderr, stdout};
use std::path::PathBuf;

use clap::Args;

use crate::basic::diagnostic::Diagnostic;
use crate::basic::scope::Scope;
use crate::cli::common::args::{Input, Loaded};
use crate::cli::common::exit::Exit;
use crate::cli::common::output;
use crate::cli::common::output::complain;
use crate::cli::common::output::{Counts, Format, Report, counted};
use crate::generator::load::Outcome;

/// Say everything that is wrong with group files.
#[derive(Debug, Args)]
pub struct Check {
    /// Groups, or group files (with a `/`, ending in `.toml`, or `-` for the standard input); all groups if none.
    #[arg(value_name = "GROUP|FILE")]
    groups: Vec<PathBuf>,

    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    report: Report,
}

impl Check {
    /// Prints all diagnostics on the standard output and, for people, a closing line on the standard error.
    pub fn run(self, scope: Scope) -> Exit {
        let mut loaded = match self.input.load(scope, &self.groups) {
            Ok(loaded) => loaded,
            Err(exit) => return exit,
        };
        if loaded.is_here() {
            look_for(&mut loaded.outcome, &missing::ThisMachine);
        }
        let all: Vec<&Diagnostic> = loaded.outcome.diagnostics().collect();
        if let Err(error) = output::print(&self.report.text(all.iter().copied(), &stdout())) {
            complain(format_args!("the diagnostics can't be written: {error}"));
            return Exit::Failed;
        }
        if self.report.format == Format::Auto || left_out(&loaded) > 0 {
            use std::io::Write as _;
            let gap = if all.is_empty() { "" } else { "\n" };
            let _ = writeln!(stderr(), "{gap}{}", summary(&loaded));
        }
        if loaded.outcome.has_errors() { Exit::Invalid } else { Exit::Done }
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
    let Outcome { groups, diagnostics } = &loaded.outcome;
    let counts = Counts::of(loaded.outcome.diagnostics());
    let concerned = groups.iter().filter(|group| !group.diagnostics.is_empty()).count();
    let all = groups.len();
    let left_out = left_out(loaded);
    let counts = if left_out > 0 { format!("{counts}, {left_out} more") } else { counts.to_string() };
    match (concerned, all) {
        (0, 0) if diagnostics.is_empty() => crate::cli::common::load::no_groups(&loaded.directories),
        (0, _) => format!("{}: {counts}", counted(all, "group")),
        _ => format!("{counts} in {concerned} of {}", counted(all, "group")),
    }
}
