//! `copse completions`: scripts with which shells complete commands, options and the names of groups and processes.
//!
//! The script runs copse at each key press, so it needs no update: copse finds [`VARIABLE`] in its environment and prints
//! candidates instead of running a command (clap_complete's `env`).

use std::ffi::{OsStr, OsString};

use clap::{Args, ValueEnum};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{EnvCompleter as _, Fish, Shells, Zsh};

use crate::basic::diagnostic::Code;
use crate::basic::scope::Scope;
use crate::basic::signal;
use crate::change::observe::members;
use crate::cli::common::error::Error;
use crate::cli::common::execute::Execute;
use crate::cli::common::exit::Exit;
use crate::cli::common::groups::load;
use crate::cli::common::output;

/// Set if a shell requests candidates; its value is the shell.
const VARIABLE: &str = "COPSE_COMPLETE";

/// Print a script that makes a shell complete this command, with the names of groups and processes.
#[derive(Debug, Args)]
pub struct Completions {
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shell {
    /// `source <(copse completions bash)`
    Bash,
    /// `copse completions fish | source`
    Fish,
    /// `source <(copse completions zsh)`
    Zsh,
}

impl Execute for Completions {
    fn execute(self, _scope: Scope) -> Result<Exit, Error> {
        let mut script = Vec::new();
        let written = match self.shell {
            Shell::Bash => {
                script.extend(BASH.as_bytes());
                Ok(())
            }
            Shell::Fish => Fish.write_registration(VARIABLE, "copse", "copse", "copse", &mut script),
            Shell::Zsh => Zsh
                .write_registration(VARIABLE, "copse", "copse", "copse", &mut script)
                .map(|()| script = also_autoloaded(&script)),
        };
        written.map_err(|error| Error::cannot("write the script", error))?;
        output::print(&String::from_utf8_lossy(&script))?;
        Ok(Exit::Done)
    }
}

/// Instead of clap_complete's own: bash ends words at `@` and `:`, so the name of an instance would be three words. This
/// script splits at blanks only, and removes from the candidates what bash has before the last of its own words.
const BASH: &str = r#"_copse() {
    local line=${COMP_LINE:0:COMP_POINT} word before IFS=$' \t\n'
    local -a words
    read -ra words <<<"$line"
    [[ $line == *[[:blank:]] ]] && words+=("")
    word=${words[${#words[@]} - 1]}
    IFS=$'\n'
    COMPREPLY=($(COPSE_COMPLETE=bash _CLAP_IFS=$'\n' _CLAP_COMPLETE_INDEX=$((${#words[@]} - 1)) \
        "${words[0]}" -- "${words[@]}" 2>/dev/null))
    before=${word%"$2"}
    COMPREPLY=("${COMPREPLY[@]#"$before"}")
}
complete -o bashdefault -F _copse copse
"#;

/// clap_complete's script registers its function. If it is installed as `_copse`, zsh runs the file as the completing function
/// at the first Tab, which would offer nothing.
fn also_autoloaded(script: &[u8]) -> Vec<u8> {
    const REGISTER: &str = "compdef _clap_dynamic_completer_copse copse";
    let either = format!(
        "if [[ $funcstack[1] == _copse ]]; then\n    _clap_dynamic_completer_copse \"$@\"\nelse\n    {REGISTER}\nfi"
    );
    String::from_utf8_lossy(script).replace(REGISTER, &either).into_bytes()
}

/// Prints candidates if a shell requests them. Returns whether one did.
pub(crate) fn answer(command: impl Fn() -> clap::Command, arguments: &[OsString]) -> bool {
    let shells = Shells(&[&clap_complete::env::Bash, &Fish, &Zsh]);
    let request = clap_complete::CompleteEnv::with_factory(|| with_names(command())).var(VARIABLE).shells(shells);
    // An error message would appear on the user's command line.
    request.try_complete(arguments.iter().cloned(), None).unwrap_or(true)
}

/// The name of an argument's value shows what is completed: `GROUP…` for groups and their parts, `CODE` for a diagnostic's
/// code, `SIGNAL` for a signal.
fn with_names(command: clap::Command) -> clap::Command {
    command.mut_subcommands(|verb| {
        verb.mut_args(|argument| {
            let name = argument.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
            match name {
                Some(name) if name.starts_with("GROUP/") || name.starts_with("GROUP[/") => {
                    argument.add(ArgValueCompleter::new(members))
                }
                Some(name) if name == "GROUP" || name.starts_with("GROUP|") => {
                    argument.add(ArgValueCompleter::new(groups))
                }
                Some(name) if name == "CODE" => argument.add(ArgValueCompleter::new(codes)),
                Some(name) if name == "SIGNAL" => argument.add(ArgValueCompleter::new(signals)),
                _ => argument,
            }
        })
    })
}

/// The shell hands over the whole line, of which only the word is passed on to here.
fn scope() -> Scope {
    if std::env::args_os().any(|word| word == "--user") { Scope::User } else { Scope::System }
}

fn groups(current: &OsStr) -> Vec<CompletionCandidate> {
    let (_, outcome) = load(scope());
    let groups = outcome.groups.iter().map(|group| {
        let about = group.group.as_ref().and_then(|group| group.description.clone());
        CompletionCandidate::new(group.name.as_str()).help(about.map(Into::into))
    });
    begin_with(current, groups)
}

fn codes(current: &OsStr) -> Vec<CompletionCandidate> {
    begin_with(current, Code::ALL.iter().map(|code| CompletionCandidate::new(code.text())))
}

fn signals(current: &OsStr) -> Vec<CompletionCandidate> {
    begin_with(current, signal::short_names().map(CompletionCandidate::new))
}

/// Groups and their processes, by their units where those are typed; instances once an `@` was typed, as there may be
/// hundreds.
fn members(current: &OsStr) -> Vec<CompletionCandidate> {
    let (_, outcome) = load(scope());
    let typed = current.to_string_lossy();
    let mut names = Vec::new();
    for outcome in &outcome.groups {
        names.push(outcome.name.to_string());
        let Some(group) = outcome.group.as_ref().filter(|_| typed.starts_with(outcome.name.as_str())) else {
            continue;
        };
        for member in members::members(group).into_iter().filter(|member| !member.subject.label.contains('.')) {
            let label = match member.subject.label.split_once('@') {
                Some((process, _)) if !typed.contains('@') => process,
                _ => &member.subject.label,
            };
            let between = if typed.starts_with(&format!("{}-", group.name)) { '-' } else { '/' };
            names.push(format!("{}{between}{label}", group.name));
        }
    }
    names.dedup();
    begin_with(current, names.into_iter().map(CompletionCandidate::new))
}

fn begin_with(current: &OsStr, all: impl Iterator<Item = CompletionCandidate>) -> Vec<CompletionCandidate> {
    let typed = current.as_encoded_bytes();
    all.filter(|candidate| candidate.get_value().as_encoded_bytes().starts_with(typed)).collect()
}
