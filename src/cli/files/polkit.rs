//! `copse polkit`: the rule that lets a process's user control its siblings, for polkit(8).

mod rule;

use std::path::PathBuf;

use clap::Args;

use crate::basic::scope::Scope;
use crate::cli::common::error::Error;
use crate::cli::common::execute::Execute;
use crate::cli::common::exit::Exit;
use crate::cli::common::input::Input;
use crate::cli::common::message::warn;
use crate::cli::common::output;
use crate::cli::common::report::Report;
use crate::model::Group;
use crate::unit::name;

/// Where polkit(8) finds rules.
pub(crate) const RULES: [&str; 4] = [
    "/etc/polkit-1/rules.d",
    "/run/polkit-1/rules.d",
    "/usr/local/share/polkit-1/rules.d",
    "/usr/share/polkit-1/rules.d",
];

/// Whether `controls` of a group need a rule; root needs none.
pub(crate) fn needs_rule(group: &Group) -> bool {
    !rule::grants(group).is_empty()
}

/// Whether the text of a file with rules is about copse-supervisor for a group.
pub(crate) fn permits_supervisor(text: &str, group: &Group) -> bool {
    text.contains(&format!("\"{}\"", name::own("supervisor", &group.name)))
}

/// Whether a file of rules is about what a group's `controls` grant. It may be hand-written, for the units or for the user.
pub(crate) fn is_about(text: &str, group: &Group) -> bool {
    let quoted = |name: &str| text.contains(&format!("\"{name}\"")) || text.contains(&format!("'{name}'"));
    text.contains("org.freedesktop.systemd1.")
        && rule::grants(group).iter().any(|grant| {
            quoted(&grant.user)
                || grant.begin().any(|unit| ["\"", "'"].iter().any(|mark| text.contains(&[mark, unit].concat())))
        })
}

/// Print the polkit rule for the processes of a group that have `controls`, and for copse-supervisor.
///
/// It allows their users to start, stop, restart and reload the units of the processes they control, and to reset failed
/// ones; nothing else. copse-supervisor may also send signals to processes of the group, stop or restart the group, and
/// have systemd read its units again.
#[derive(Debug, Args)]
pub struct Polkit {
    /// A group, or a group file (with a `/`, ending in `.toml`, or `-` for standard input).
    #[arg(value_name = "GROUP|FILE")]
    group: PathBuf,

    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    report: Report,
}

impl Execute for Polkit {
    /// Prints the rule; a warning for a group without `controls`.
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        if scope == Scope::User {
            return Err(Error::usage("a user's own service manager does not use polkit, no rule to print"));
        }
        let loaded = self.input.load(scope, std::slice::from_ref(&self.group))?;
        self.report.print(loaded.outcome.diagnostics());
        let mut text = String::new();
        for group in loaded.outcome.groups.iter().filter_map(|outcome| outcome.group.as_ref()) {
            let grants = rule::grants(group);
            if grants.is_empty() && group.supervisor.is_none() {
                warn(&format!("no process of group `{}` has `controls`, no rule to print", group.name), None);
                continue;
            }
            for number in grants.iter().filter(|grant| grant.user.bytes().all(|byte| byte.is_ascii_digit())) {
                let user = &number.user;
                let text =
                    format!("polkit compares users by name: if user `{user}` has one, write it in the group file");
                warn(&text, None);
            }
            text.push_str(&rule::render(group, &grants));
        }
        output::print(&text)?;
        Ok(if loaded.outcome.has_errors() { Exit::Invalid } else { Exit::Done })
    }
}
