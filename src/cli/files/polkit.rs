//! `copse polkit`: the rule that lets a process's user control its siblings, for polkit(8).

mod rule;

use std::io::stderr;
use std::path::PathBuf;

use clap::Args;

use crate::basic::scope::Scope;
use crate::cli::common::args::Input;
use crate::cli::common::exit::Exit;
use crate::cli::common::output;
use crate::cli::common::output::Report;
use crate::cli::common::output::complain;
use crate::model::Group;

/// Where polkit(8) finds rules.
pub(crate) const RULES: [&str; 4] = [
    "/etc/polkit-1/rules.d",
    "/run/polkit-1/rules.d",
    "/usr/local/share/polkit-1/rules.d",
    "/usr/share/polkit-1/rules.d",
];

/// Whether `controls` of a group come to something only by a rule: root needs none.
pub(crate) fn needs_rule(group: &Group) -> bool {
    !rule::grants(group).is_empty()
}

/// Whether the text of a file with rules is about what a group's `controls` grant. Somebody may have written it by hand,
/// for the units or for the user.
pub(crate) fn is_about(text: &str, group: &Group) -> bool {
    let quoted = |name: &str| text.contains(&format!("\"{name}\"")) || text.contains(&format!("'{name}'"));
    text.contains("org.freedesktop.systemd1.")
        && rule::grants(group).iter().any(|grant| {
            quoted(&grant.user)
                || grant.begin().any(|unit| ["\"", "'"].iter().any(|mark| text.contains(&[mark, unit].concat())))
        })
}

/// Print the polkit rule for the processes of a group that have `controls`.
///
/// Their users may then start, stop, restart and reload the units of the processes they control, and reset those that
/// failed; nothing else.
#[derive(Debug, Args)]
pub struct Polkit {
    /// A group, or a group file (with a `/`, ending in `.toml`, or `-` for the standard input).
    #[arg(value_name = "GROUP|FILE")]
    group: PathBuf,

    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    report: Report,
}

impl Polkit {
    /// Prints the rule on the standard output; nothing where no process has `controls`, which is said.
    pub fn run(self, scope: Scope) -> Exit {
        if scope == Scope::User {
            complain(format_args!("a user's own service manager asks polkit nothing: there is no rule to print"));
            return Exit::Usage;
        }
        let loaded = match self.input.load(scope, std::slice::from_ref(&self.group)) {
            Ok(loaded) => loaded,
            Err(exit) => return exit,
        };
        let said = self.report.text(loaded.outcome.diagnostics(), &stderr());
        let _ = std::io::Write::write_all(&mut stderr(), said.as_bytes());
        let mut text = String::new();
        for group in loaded.outcome.groups.iter().filter_map(|outcome| outcome.group.as_ref()) {
            let grants = rule::grants(group);
            if grants.is_empty() {
                complain(format_args!(
                    "no process of group `{}` has `controls`: there is no rule to print",
                    group.name
                ));
                continue;
            }
            for number in grants.iter().filter(|grant| grant.user.bytes().all(|byte| byte.is_ascii_digit())) {
                complain(format_args!(
                    "polkit knows users by name: if user `{}` has one, write that in the group file",
                    number.user
                ));
            }
            text.push_str(&rule::render(group, &grants));
        }
        if let Err(error) = output::print(&text) {
            complain(format_args!("the rule can't be written: {error}"));
            return Exit::Failed;
        }
        if loaded.outcome.has_errors() { Exit::Invalid } else { Exit::Done }
    }
}
