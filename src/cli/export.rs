//! `copse export`: manifests from a group file.

mod directory;
mod kubernetes;

use std::fmt::Write as _;

use clap::{Args, Subcommand};

use super::common::error::Error;
use super::common::execute::Execute;
use super::common::exit::Exit;
use super::common::output;
use crate::basic::scope::Scope;
use crate::basic::terminal::wrap;
use crate::export::keys;

/// Write manifests for Kubernetes from a group.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub struct Export {
    #[command(subcommand)]
    to: To,
}

#[derive(Debug, Subcommand)]
enum To {
    Kubernetes(Box<kubernetes::Kubernetes>),
}

impl Execute for Export {
    /// Writes the manifests, and reports on the standard error what differs.
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        match self.to {
            To::Kubernetes(kubernetes) if kubernetes.explain => output::print(&explanation()).map(|()| Exit::Done),
            To::Kubernetes(kubernetes) => kubernetes.run(scope),
        }
    }
}

/// The table of keys.
fn explanation() -> String {
    let mut text = String::new();
    for (heading, rows) in [("Keys of the group", keys::GROUP), ("Keys of a process or setup step", keys::MEMBER)] {
        let gap = if text.is_empty() { "" } else { "\n" };
        let _ = writeln!(text, "{gap}{heading}:");
        for row in rows {
            let _ = writeln!(text, "  {}", row.keys().collect::<Vec<_>>().join(", "));
            for line in wrap("      ", &row.sentence(), output::width()) {
                let _ = writeln!(text, "{line}");
            }
        }
    }
    text
}
