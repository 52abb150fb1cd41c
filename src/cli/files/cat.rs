//! `copse cat`: the files of a group, and its units as systemd has them.

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

/// Show the group file with its drop-ins, and the units generated from them with theirs.
#[derive(Debug, Args)]
pub struct Cat {
    /// A group, a process or an instance of it, or a unit.
    #[arg(value_name = "GROUP[/PROCESS[@INSTANCE]]")]
    name: String,
}

impl Execute for Cat {
    /// Prints the group's files, each below a line with its path. `systemctl cat` prints the units, as it reports where they
    /// were loaded from, and whether they changed on disk since.
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        let (_, outcome) = load(scope);
        let selector = Selector::new(&self.name, &outcome.groups);
        let Some(found) = outcome.groups.iter().find(|group| group.name.as_str() == selector.group) else {
            return Err(unknown(&selector, &outcome));
        };
        let units = match &found.group {
            Some(group) => of_group(group, &selector),
            // Its processes are not known. Its target exists, and the unit that makes its start fail.
            None => vec![name::target(&found.name), name::own("invalid", &found.name)],
        };
        if units.is_empty() {
            return Err(unknown(&selector, &outcome));
        }
        output::print(&files(found))?;
        let mut systemctl = Command::new("systemctl");
        systemctl.args((scope == Scope::User).then_some("--user")).args(["--no-pager", "cat", "--"]).args(units);
        match systemctl.status() {
            Ok(status) if status.success() => Ok(Exit::Done),
            // systemctl has printed why.
            Ok(_) => Ok(Exit::Failed),
            Err(error) => Err(Error::cannot("run systemctl", error)),
        }
    }
}

/// The group's files as `systemctl cat` shows units.
fn files(found: &GroupOutcome) -> String {
    let Some(source) = &found.source else {
        return format!("# {}\n# cannot be read\n\n", one_line(&found.path.display().to_string()));
    };
    let mut text = String::new();
    for file in std::iter::once(&source.file).chain(&source.drop_ins) {
        let newline = if file.text.ends_with('\n') || file.text.is_empty() { "" } else { "\n" };
        let _ = writeln!(text, "# {}\n{}{newline}", one_line(&file.path.display().to_string()), file.text);
    }
    text
}

/// The unit files of the selected members; instances without a file of their own have their template's.
fn of_group(group: &Group, selector: &Selector) -> Vec<String> {
    if selector.part.is_some() {
        let mut units: Vec<String> = members::members(group)
            .into_iter()
            .filter(|member| selector.matches(&member.subject.label))
            .map(|member| if selector.is_instance() { member.unit().to_owned() } else { file_of(group, member.unit()) })
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

/// Whether an instance has a unit file of its own.
fn has_own_file(group: &Group, unit: &str) -> bool {
    group.processes.iter().any(|(process, definition)| {
        let own = definition.instances.iter().flatten().filter(|(_, own)| own.is_some());
        own.map(|(instance, _)| name::instance(&group.name, process, instance)).any(|name| name == unit)
    })
}
