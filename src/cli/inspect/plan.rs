//! `copse plan`: what `copse apply` would do.

use std::collections::HashMap;
use std::path::PathBuf;

use clap::Args;

use crate::basic::scope::{Directories, Scope};
use crate::change;
use crate::change::observe::Observer;
use crate::change::plan;
use crate::change::plan::{json, render};
use crate::cli::common::args::{Color, Json, group_name};
use crate::cli::common::error::Error;
use crate::cli::common::execute::Execute;
use crate::cli::common::exit::Exit;
use crate::cli::common::groups;
use crate::cli::common::input;
use crate::cli::common::output;
use crate::cli::common::report::{Format, Report};
use crate::cli::common::selector::Selector;
use crate::cli::common::session::with_manager;
use crate::generator::load::{GroupOutcome, Outcome};
use crate::unit::name::GroupName;

/// Show what `copse apply` would do, unit by unit, and why.
///
/// Compares the group files with the definition that each process was started with, even if `systemctl daemon-reload` ran
/// since, and checks whether its `inputs` or its program changed. Groups with an invalid file are skipped; the exit
/// status is then 5.
#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// Groups [default: all], or with --as a file, or `-` for standard input.
    #[arg(value_name = "GROUP|FILE")]
    groups: Vec<String>,

    /// Plan one FILE of any name as if it were installed as the file of GROUP.
    #[arg(long = "as", value_name = "GROUP", value_parser = group_name)]
    group: Option<GroupName>,

    /// Show the changed directives of each unit, before and after.
    #[arg(long, conflicts_with = "json")]
    diff: bool,

    #[command(flatten)]
    output: Json,

    /// Exit with status 7 if there is anything to do.
    #[arg(long)]
    exit_code: bool,

    #[command(flatten)]
    color: Color,
}

impl Execute for Plan {
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        with_manager(scope, async |systemd| {
            let (directories, outcome) = self.load(scope)?;
            let groups = match &self.group {
                Some(group) => vec![group.clone()],
                None => groups::select(&self.groups, &systemd, scope, &outcome).await?,
            };
            let observer = Observer::read(&directories, groups::context(scope));
            let files: HashMap<&GroupName, &GroupOutcome> =
                outcome.groups.iter().map(|file| (&file.name, file)).collect();
            let groups: Vec<_> = groups.iter().map(|group| (group, files.get(group).copied())).collect();
            let is_invalid = |file: &Option<&GroupOutcome>| file.is_some_and(|file| file.group.is_none());
            let plannable: Vec<_> = groups.iter().copied().filter(|(_, file)| !is_invalid(file)).collect();
            let mut plans = change::plans(&systemd, &observer, &plannable).await?.into_iter();
            let (mut texts, mut exit) = (Vec::new(), Exit::Done);
            for &(group, file) in &groups {
                if let Some(invalid) = file.filter(|file| file.group.is_none()) {
                    let errors =
                        groups::report_invalid(invalid, &Report { format: Format::Auto, color: self.color.color });
                    texts.extend(self.output.json.then(|| json::invalid(group.as_str(), errors) + "\n"));
                    exit = exit.worse(Exit::Invalid);
                    continue;
                }
                let end = match plans.next().flatten() {
                    Some(plan) => {
                        texts.push(self.text(&plan, scope));
                        if self.exit_code && !plan.is_empty() { Exit::Pending } else { Exit::Done }
                    }
                    None => {
                        let selector = Selector { group: group.to_string(), part: None };
                        groups::unknown(&selector, &outcome).report(scope)
                    }
                };
                exit = exit.worse(end);
            }
            if groups.is_empty() && !self.output.json {
                groups::warn_no_groups(&directories);
            }
            output::print(&texts.join(if self.output.json { "" } else { "\n" }))?;
            Ok(exit)
        })
    }
}

impl Plan {
    /// The installed groups, or the candidate of `--as` in their place.
    fn load(&self, scope: Scope) -> Result<(Directories, Outcome), Error> {
        let Some(group) = &self.group else { return Ok(groups::load(scope)) };
        let directories = Directories::from_environment(scope, None);
        let args: Vec<PathBuf> = self.groups.iter().map(PathBuf::from).collect();
        let candidate =
            input::candidate(group, input::only_file(&args)?).map_err(|found| Error::failed(found.line()))?;
        let context = groups::context(scope);
        let mut outcome = input::resolve_candidate(&candidate, &directories, &context);
        // Diagnostics are about the file that was named. The units of a valid one name the file that it becomes.
        if let Some(directory) = directories.groups.first().filter(|_| outcome.group.is_some()) {
            outcome = input::resolve_candidate(&candidate.installed_in(directory), &directories, &context);
        }
        Ok((directories, Outcome { groups: vec![outcome], ..Outcome::default() }))
    }

    fn text(&self, plan: &plan::Plan, scope: Scope) -> String {
        match self.output.json {
            true => json::render(plan) + "\n",
            false => render::render(plan, self.diff, output::style(self.color.color, scope)),
        }
    }
}
