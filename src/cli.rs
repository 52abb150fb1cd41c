//! The command: parses arguments and runs one of the commands of copse(1).
//!
//! A command is a type that clap fills and that implements [`Execute`]. What keeps it from its work is an
//! [`Error`](common::error::Error), which is printed here and nowhere else.

mod common;
mod configure;
mod control;
mod export;
mod files;
mod import;
mod inspect;
mod internal;
mod remote;
mod run;
mod verb_hints;

use std::ffi::OsString;

use clap::{ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser};

pub use self::common::exit::Exit;

use self::common::error::Error;
use self::common::execute::Execute;
use crate::basic::scope::Scope;

const AFTER_HELP: &str = "A group is a file, /etc/copse/GROUP.toml: see copse.toml(5). copse(7) is an overview, copse(1) describes each \
                          command.";

/// Groups of processes as native systemd units.
#[derive(Debug, Parser)]
#[command(name = "copse", version, propagate_version = false, after_help = AFTER_HELP)]
struct Copse {
    /// Work on the groups of the calling user's service manager.
    #[arg(long, global = true)]
    user: bool,

    /// Run copse on a remote host over ssh(1).
    #[arg(short = 'H', long, global = true, value_name = "[USER@]HOST[:PORT]")]
    host: Option<String>,

    /// Do not prompt for a password (polkit authentication).
    #[arg(long, global = true)]
    no_ask_password: bool,
}

/// A command: its name, its arguments, and what it does with them.
struct Command {
    name: &'static str,
    arguments: fn(clap::Command) -> clap::Command,
    execute: fn(&ArgMatches, Scope) -> Result<Exit, Error>,
}

const fn command<C: Args + Execute>(name: &'static str) -> Command {
    let execute = |matches: &ArgMatches, scope| C::from_arg_matches(matches).map_err(Error::usage)?.execute(scope);
    Command { name, arguments: C::augment_args, execute }
}

/// In the order of copse(1).
const COMMANDS: [Command; 34] = [
    command::<inspect::status::List>("list"),
    command::<inspect::status::Status>("status"),
    command::<inspect::logs::Logs>("logs"),
    command::<inspect::wait::Wait>("wait"),
    command::<inspect::plan::Plan>("plan"),
    command::<control::apply::Apply>("apply"),
    command::<control::start::Start>("start"),
    command::<control::stop::Stop>("stop"),
    command::<control::restart::Restart>("restart"),
    command::<control::reload::Reload>("reload"),
    command::<control::kill::Kill>("kill"),
    command::<control::reset_failed::ResetFailed>("reset-failed"),
    command::<control::setup::Setup>("setup"),
    command::<control::freeze::Freeze>("freeze"),
    command::<control::freeze::Thaw>("thaw"),
    command::<configure::edit::Edit>("edit"),
    command::<configure::enable::Enable>("enable"),
    command::<configure::enable::Disable>("disable"),
    command::<configure::scale::Scale>("scale"),
    command::<configure::hold::Hold>("hold"),
    command::<configure::hold::Release>("release"),
    command::<files::check::Check>("check"),
    command::<files::explain::Explain>("explain"),
    command::<files::cat::Cat>("cat"),
    command::<files::graph::Graph>("graph"),
    command::<files::render::Render>("render"),
    command::<files::compile::Compile>("compile"),
    command::<files::polkit::Polkit>("polkit"),
    command::<files::schema::Schema>("schema"),
    command::<import::Import>("import"),
    command::<export::Export>("export"),
    command::<run::Run>("run"),
    command::<files::completions::Completions>("completions"),
    command::<internal::Internal>("internal"),
];

/// The arguments of all commands.
fn arguments() -> clap::Command {
    // Only copse's own units run it.
    let hidden = |name| name == "internal";
    let commands =
        COMMANDS.iter().map(|command| (command.arguments)(clap::Command::new(command.name)).hide(hidden(command.name)));
    Copse::command().subcommands(commands)
}

/// Runs the command with `args` (the first is the program's name). Returns how to exit.
pub fn run(args: impl IntoIterator<Item = OsString>) -> Exit {
    let args: Vec<OsString> = args.into_iter().collect();
    if files::completions::answer(arguments, &args) {
        return Exit::Done;
    }
    if let Some(hint) = verb_hints::hint(&args) {
        return hint.report(Scope::System);
    }
    let parsed = arguments().try_get_matches_from(&args).and_then(|all| Ok((Copse::from_arg_matches(&all)?, all)));
    let (copse, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            // `--help` and `--version` are errors of clap, too. A closed stdout is not an error here.
            let _ = error.print();
            return if error.exit_code() == 0 { Exit::Done } else { Exit::Usage };
        }
    };
    if copse.no_ask_password {
        common::polkit_agent::disable();
    }
    let scope = if copse.user { Scope::User } else { Scope::System };
    let executed = match (&copse.host, matches.subcommand()) {
        (Some(host), _) => remote::run(host, args.get(1..).unwrap_or_default()),
        (None, Some((name, matches))) => {
            let named = COMMANDS.iter().filter(|command| command.name == name);
            named.map(|command| (command.execute)(matches, scope)).next().unwrap_or(Ok(Exit::Usage))
        }
        (None, None) => inspect::status::List::default().execute(scope),
    };
    executed.unwrap_or_else(|error| error.report(scope))
}
