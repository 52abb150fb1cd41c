//! `copse plan`: what `copse apply` would do, and nothing done.

use std::io::stderr;

use clap::Args;

use super::status::running;
use crate::basic::diagnostic::{Diagnostic, Severity};
use crate::basic::scope::Scope;
use crate::basic::terminal::ColorChoice;
use crate::change;
use crate::change::observe::Notes;
use crate::change::plan;
use crate::change::plan::{json, render};
use crate::cli::common::exit::Exit;
use crate::cli::common::exit::worse;
use crate::cli::common::load::{load, no_groups, unknown};
use crate::cli::common::output;
use crate::cli::common::output::{Format, Report};
use crate::cli::common::output::{complain, failed};
use crate::cli::common::selector::Selector;
use crate::generator;
use crate::generator::load::{GroupOutcome, Outcome};
use crate::manager::Connected;
use crate::model::Context;
use crate::unit::name::GroupName;

/// Show what `copse apply` would do, unit by unit, and why; nothing is changed.
///
/// A process that was started from an older definition is known, whoever ran `systemctl daemon-reload` meanwhile, and so
/// is one whose `inputs` or whose program changed. A group whose file is invalid is left out; the exit status is 5 then.
#[derive(Debug, Args)]
pub struct Plan {
    /// Groups; all if none.
    #[arg(value_name = "GROUP")]
    groups: Vec<String>,

    /// The changed directives of each unit, with their lines before and now.
    #[arg(long)]
    diff: bool,

    /// An object for each group, on a line of its own.
    #[arg(long, conflicts_with = "diff")]
    json: bool,

    /// Exit with 7 where there is something to do.
    #[arg(long)]
    exit_code: bool,

    /// When to use colours.
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,
}

impl Plan {
    /// Prints the plan of each group.
    pub fn run(self, scope: Scope) -> Exit {
        crate::cli::common::session::with_manager(scope, async |systemd| {
            let (directories, outcome) = load(scope);
            let groups = match groups(&self.groups, &systemd, scope, &outcome).await {
                Ok(groups) => groups,
                Err(exit) => return exit,
            };
            let notes = Notes::read(&directories, Context { scope, cpus: generator::cpus() });
            let (mut texts, mut exit) = (Vec::new(), Exit::Done);
            for group in &groups {
                let own = outcome.groups.iter().find(|own| own.name == *group);
                if let Some(broken) = own.filter(|own| own.group.is_none()) {
                    texts.extend(invalid(broken, self.color, self.json));
                    exit = worse(exit, Exit::Invalid);
                    continue;
                }
                match change::plan(&systemd, &notes, group, own).await {
                    Ok(Some(plan)) => {
                        if self.exit_code && !plan.is_empty() {
                            exit = worse(exit, Exit::Pending);
                        }
                        texts.push(self.text(&plan, scope));
                    }
                    Ok(None) => {
                        unknown(&Selector { group: group.to_string(), part: None }, &outcome);
                        exit = worse(exit, Exit::NoSuchGroup);
                    }
                    Err(error) => return failed(&error),
                }
            }
            if groups.is_empty() && !self.json {
                complain(format_args!("{}", no_groups(&directories)));
            }
            match output::print(&texts.join(if self.json { "" } else { "\n" })) {
                Ok(()) => exit,
                Err(error) => failed(&format_args!("the plan can't be written: {error}")),
            }
        })
    }

    fn text(&self, plan: &plan::Plan, scope: Scope) -> String {
        if self.json {
            return json::render(plan) + "\n";
        }
        render::render(plan, self.diff, output::look(self.color, scope))
    }
}

/// What was asked for: these, or all that have a file or run without.
pub(crate) async fn groups(
    names: &[String],
    systemd: &Connected,
    scope: Scope,
    outcome: &Outcome,
) -> Result<Vec<GroupName>, Exit> {
    if !names.is_empty() {
        return names.iter().map(|text| named(text, outcome)).collect();
    }
    let mut all: Vec<GroupName> = outcome.groups.iter().map(|group| group.name.clone()).collect();
    all.extend(running(systemd, scope).await.map_err(|error| failed(&error))?);
    all.sort();
    all.dedup();
    Ok(all)
}

/// Tells what is wrong with a group's file; with `json`, the object that says so.
pub(crate) fn invalid(group: &GroupOutcome, color: ColorChoice, json: bool) -> Option<String> {
    let report = Report { format: Format::Auto, color };
    let errors: Vec<&Diagnostic> =
        group.diagnostics.iter().filter(|found| found.severity() == Severity::Error).collect();
    let text = report.text(errors.iter().copied(), &stderr());
    let _ = std::io::Write::write_all(&mut stderr(), text.as_bytes());
    json.then(|| json::invalid(group.name.as_str(), errors.len()) + "\n")
}

/// A group, by its own name or by that of its target.
fn named(text: &str, outcome: &Outcome) -> Result<GroupName, Exit> {
    let named = Selector::new(text, &outcome.groups);
    match (&named.part, GroupName::new(&named.group)) {
        (None, Some(group)) => Ok(group),
        (None, None) => {
            unknown(&named, outcome);
            Err(Exit::NoSuchGroup)
        }
        (Some(_), _) => {
            complain(format_args!("a plan is made for a whole group: `{}`", named.group));
            Err(Exit::Usage)
        }
    }
}
