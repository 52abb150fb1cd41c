//! `copse cat`: the files a group is made of, and the units that systemd has of it.

use std::fmt::Write as _;
use std::process::Command;

use clap::Args;

use crate::basic::diagnostic::one_line;
use crate::basic::scope::Scope;
use crate::change::observe::members;
use crate::cli::common::error::Error;
use crate::cli::common::execute::Execute;
use crate::cli::common::exit::Exit;
use crate::cli::common::groups::{load, unknown};
use crate::cli::common::output;
use crate::cli::common::selector::Selector;
use crate::generate;
use crate::generator::load::GroupOutcome;
use crate::model::Group;
use crate::unit::name;

/// Show the group file with its drop-ins, and the units made from them with theirs.
#[derive(Debug, Args)]
pub struct Cat {
    /// A group, a process or an instance of it, or a unit.
    #[arg(value_name = "GROUP[/PROCESS[@INSTANCE]]")]
    name: String,
}

impl Execute for Cat {
    /// Prints the group's files, each below a line with its path, and leaves the units to `systemctl cat`: it knows
    /// what was loaded from where, and says when that isn't what is on the disk any more.
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        let (_, outcome) = load(scope);
        let named = Selector::new(&self.name, &outcome.groups);
        let Some(found) = outcome.groups.iter().find(|group| group.name.as_str() == named.group) else {
            return Err(unknown(&named, &outcome));
        };
        let units = match &found.group {
            Some(group) => of_group(group, &named),
            // Its processes aren't known; what stands in for them is the target, and what makes that fail.
            None => vec![name::target(&found.name), name::own("invalid", &found.name)],
        };
        if units.is_empty() {
            return Err(unknown(&named, &outcome));
        }
        output::print(&files(found))?;
        let mut systemctl = Command::new("systemctl");
        systemctl.args((scope == Scope::User).then_some("--user")).args(["--no-pager", "cat", "--"]).args(units);
        match systemctl.status() {
            Ok(status) if status.success() => Ok(Exit::Done),
            // It has said why.
            Ok(_) => Ok(Exit::Failed),
            Err(error) => Err(Error::cannot("run systemctl", error)),
        }
    }
}

/// The group's files as `systemctl cat` shows units.
fn files(found: &GroupOutcome) -> String {
    let Some(source) = &found.source else {
        return format!("# {}\n# can't be read\n\n", one_line(&found.path.display().to_string()));
    };
    let mut text = String::new();
    for file in std::iter::once(&source.file).chain(&source.drop_ins) {
        let newline = if file.text.ends_with('\n') || file.text.is_empty() { "" } else { "\n" };
        let _ = writeln!(text, "# {}\n{}{newline}", one_line(&file.path.display().to_string()), file.text);
    }
    text
}

/// The unit files of what is named; of instances that are alike, their template.
fn of_group(group: &Group, named: &Selector) -> Vec<String> {
    if named.part.is_some() {
        let mut units: Vec<String> = members::members(group)
            .into_iter()
            .filter(|member| named.matches(&member.subject.label))
            .map(|member| if named.is_instance() { member.unit().to_owned() } else { file_of(group, member.unit()) })
            .collect();
        units.dedup();
        return units;
    }
    let mut units = generate::unit_names(group);
    units.retain(|unit| name::template_of(unit).is_none() || has_own_file(group, unit));
    units.push(name::own("ready", &group.name));
    units.extend(group.shared.as_ref().map(|_| name::own("directories", &group.name)));
    units
}

fn file_of(group: &Group, unit: &str) -> String {
    match name::template_of(unit) {
        Some(template) if !has_own_file(group, unit) => template,
        _ => unit.to_owned(),
    }
}

/// Whether an instance has a unit file beside its template's.
fn has_own_file(group: &Group, unit: &str) -> bool {
    group.processes.iter().any(|(process, definition)| {
        let own = definition.instances.iter().flatten().filter(|(_, own)| own.is_some());
        own.map(|(instance, _)| name::instance(&group.name, process, instance)).any(|name| name == unit)
    })
}
