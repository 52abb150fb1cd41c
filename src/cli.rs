//! The command for people: arguments in, an exit status out. One file per verb.
//!
//! A verb is a type that clap fills and a `run` that gives back an [`Exit`]. It prints what it has to say
//! itself; what goes wrong in it is printed there as well, so that nothing is said twice.

mod check;
pub mod exit;
mod explain;
mod input;
mod internal;
mod journal;
mod render;
mod report;

use std::ffi::OsString;
use std::future::Future;

use clap::{Parser, Subcommand};

pub use exit::Exit;

use crate::scope::Scope;

/// Groups of processes as native systemd units.
#[derive(Debug, Parser)]
#[command(name = "copse", version, arg_required_else_help = true, propagate_version = false)]
struct Copse {
    /// Work on the groups of the calling user's service manager.
    #[arg(long, global = true)]
    user: bool,

    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Check(check::Check),
    Render(render::Render),
    Explain(explain::Explain),
    /// What copse's own units run; not for people.
    #[command(hide = true)]
    Internal(internal::Internal),
}

/// Runs the command with `arguments` (the first is the program's name) and says how to exit.
#[must_use]
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let copse = match Copse::try_parse_from(arguments) {
        Ok(copse) => copse,
        Err(error) => {
            // `--help` and `--version` come this way, too. A closed stdout is nobody's concern here.
            let _ = error.print();
            return match error.exit_code() {
                0 => Exit::Done,
                _ => Exit::Usage,
            };
        }
    };
    let scope = if copse.user { Scope::User } else { Scope::System };
    match copse.verb {
        Verb::Check(check) => check.run(scope),
        Verb::Render(render) => render.run(scope),
        Verb::Explain(explain) => explain.run(),
        Verb::Internal(internal) => internal.run(scope),
    }
}

/// Says on the standard error what went wrong with the command itself.
fn complain(what: std::fmt::Arguments<'_>) {
    eprintln!("copse: {}", crate::diagnostic::one_line(&what.to_string()));
}

/// Runs a verb's future to its end, on this thread.
fn block_on<F: Future<Output = Exit>>(future: F) -> Exit {
    match tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build() {
        Ok(runtime) => runtime.block_on(future),
        Err(error) => {
            journal::line(journal::Level::Error, format_args!("no event loop: {error}"));
            Exit::Failed
        }
    }
}
