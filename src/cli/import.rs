//! `copse import`: converts the files of another process manager to a group file.

mod output;
mod procfile;
mod supervisord;

use clap::{Args, Subcommand};

use super::common::error::Error;
use super::common::execute::Execute;
use super::common::exit::Exit;
use super::common::output::print;
use crate::basic::scope::Scope;

/// Convert the files of another process manager to a group file.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub struct Import {
    /// Print what each option becomes, and import nothing.
    #[arg(long)]
    explain: bool,

    #[command(subcommand)]
    from: Option<From>,
}

#[derive(Debug, Subcommand)]
enum From {
    Supervisord(supervisord::Supervisord),
    Procfile(procfile::Procfile),
}

impl Execute for Import {
    /// Writes the group file, and reports on stderr what behaves differently.
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        match self.from {
            Some(From::Supervisord(supervisord)) => supervisord.run(scope),
            Some(From::Procfile(procfile)) => procfile.run(scope),
            None => print(&supervisord::explanation()).map(|()| Exit::Done),
        }
    }
}
