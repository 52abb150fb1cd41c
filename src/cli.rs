//! The command for people: arguments in, an exit status out. One file per verb.
//!
//! A verb is a type that clap fills and a `run` that gives back an [`Exit`]. It prints what it has to say
//! itself; what goes wrong in it is printed there as well, so that nothing is said twice.

mod common;
mod configure;
mod control;
mod files;
mod import;
mod inspect;
mod internal;
mod remote;
mod run;
mod verb_hints;

use self::common::output::complain;
use std::ffi::OsString;

use clap::{CommandFactory as _, Parser, Subcommand};

pub use self::common::exit::Exit;

use crate::basic::scope::Scope;

const AFTER_HELP: &str = "A group is a file, /etc/copse/GROUP.toml: copse.toml(5). copse(7) is the picture of it all, copse(1) says more of \
                          each verb.";

/// Groups of processes as native systemd units.
#[derive(Debug, Parser)]
#[command(name = "copse", version, propagate_version = false, after_help = AFTER_HELP)]
struct Copse {
    /// Work on the groups of the calling user's service manager.
    #[arg(long, global = true)]
    user: bool,

    /// Do it on that host, with its own copse, by ssh(1).
    #[arg(short = 'H', long, global = true, value_name = "[USER@]HOST[:PORT]")]
    host: Option<String>,

    /// Don't ask on the terminal for the password of somebody who may do it.
    #[arg(long, global = true)]
    no_ask_password: bool,

    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    // In the order of copse(1).
    List(inspect::status::List),
    Status(inspect::status::Status),
    Logs(inspect::logs::Logs),
    Wait(inspect::wait::Wait),
    Plan(inspect::plan::Plan),
    Apply(control::apply::Apply),
    Start(control::start::Start),
    Stop(control::stop::Stop),
    Restart(control::restart::Restart),
    Reload(control::reload::Reload),
    Kill(control::kill::Kill),
    ResetFailed(control::reset_failed::ResetFailed),
    Setup(control::setup::Setup),
    Freeze(control::freeze::Freeze),
    Thaw(control::freeze::Thaw),
    Edit(configure::edit::Edit),
    Enable(configure::enable::Enable),
    Disable(configure::enable::Disable),
    Scale(configure::scale::Scale),
    Hold(configure::hold::Hold),
    Release(configure::hold::Release),
    Check(files::check::Check),
    Explain(files::explain::Explain),
    Cat(files::cat::Cat),
    Graph(files::graph::Graph),
    Render(files::render::Render),
    Compile(files::compile::Compile),
    Polkit(files::polkit::Polkit),
    Schema(files::schema::Schema),
    Import(import::Import),
    Run(run::Run),
    Completions(files::completions::Completions),
    /// What copse's own units run; not for people.
    #[command(hide = true)]
    Internal(internal::Internal),
}

/// Runs the command with `arguments` (the first is the program's name) and says how to exit.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if files::completions::answer(Copse::command, &arguments) {
        return Exit::Done;
    }
    if let Some(hint) = verb_hints::hint(&arguments) {
        complain(format_args!("{hint}"));
        return Exit::Usage;
    }
    let copse = match Copse::try_parse_from(&arguments) {
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
    if let Some(host) = &copse.host {
        return remote::run(host, arguments.get(1..).unwrap_or_default());
    }
    if copse.no_ask_password {
        common::polkit_agent::never();
    }
    let scope = if copse.user { Scope::User } else { Scope::System };
    // All groups, a line each: what somebody wants to know who says nothing more.
    match copse.verb.unwrap_or_else(|| Verb::List(inspect::status::List::default())) {
        Verb::Check(check) => check.run(scope),
        Verb::Render(render) => render.run(scope),
        Verb::Compile(compile) => compile.run(scope),
        Verb::Plan(plan) => plan.run(scope),
        Verb::Explain(explain) => explain.run(),
        Verb::Schema(schema) => schema.run(),
        Verb::Status(status) => status.run(scope),
        Verb::List(list) => list.run(scope),
        Verb::Logs(logs) => logs.run(scope),
        Verb::Cat(cat) => cat.run(scope),
        Verb::Edit(edit) => edit.run(scope),
        Verb::Graph(graph) => graph.run(scope),
        Verb::Polkit(polkit) => polkit.run(scope),
        Verb::Completions(completions) => completions.run(),
        Verb::Apply(apply) => apply.run(scope),
        Verb::Start(start) => start.run(scope),
        Verb::Stop(stop) => stop.run(scope),
        Verb::Restart(restart) => restart.run(scope),
        Verb::Reload(reload) => reload.run(scope),
        Verb::Kill(kill) => kill.run(scope),
        Verb::ResetFailed(reset) => reset.run(scope),
        Verb::Wait(wait) => wait.run(scope),
        Verb::Enable(enable) => enable.run(scope),
        Verb::Disable(disable) => disable.run(scope),
        Verb::Scale(scale) => scale.run(scope),
        Verb::Hold(hold) => hold.run(scope),
        Verb::Release(release) => release.run(scope),
        Verb::Freeze(freeze) => freeze.run(scope),
        Verb::Thaw(thaw) => thaw.run(scope),
        Verb::Setup(setup) => setup.run(scope),
        Verb::Run(run) => run.run(scope),
        Verb::Import(import) => import.run(scope),
        Verb::Internal(internal) => internal.run(scope),
    }
}
