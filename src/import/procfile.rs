//! Procfiles, as foreman and honcho read them.
//!
//! Rests on lib/foreman/procfile.rb and lib/foreman/engine.rb of foreman 0.90, and on honcho/environ.py of honcho 2.0,
//! which agree but for what is said below.

mod foreman;
mod shell;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use super::dotenv::Variable;
use super::group_file::{GroupFile, Table, Value};
use super::lines;
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, SourceFile, SourceLocation};
use crate::basic::scope::Scope;
use crate::model;
use crate::model::Text;
use crate::unit::name::ProcessName;

use self::shell::Command;

/// A line `NAME: COMMAND`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name as it stands there.
    pub name: String,
    /// The command, a line for `/bin/sh`.
    pub command: String,
    /// Its line.
    pub place: SourceLocation,
}

impl Entry {
    fn otherwise(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Code::Otherwise, &self.place, message)
    }
}

/// The entries of a Procfile, and what is to be said of lines that are none; of comments and empty lines it is nothing.
pub fn read(file: &Arc<SourceFile>) -> (Vec<Entry>, Diagnostics) {
    let (mut entries, mut diagnostics) = (Vec::new(), Diagnostics::default());
    for (place, line) in lines(file) {
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with('#') {
            continue;
        }
        let is_name = |name: &str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        };
        let why = match line.split_once(':').filter(|(name, _)| is_name(name)) {
            None => "not `NAME: COMMAND`: left out, as foreman does".to_owned(),
            Some((name, command)) if command.trim().is_empty() => format!("`{name}` has no command: left out"),
            Some((name, command)) if command.contains('\0') || command.len() >= model::LONGEST_WORD => {
                format!("`{name}` has a command that no process can be given: left out")
            }
            Some((name, command)) => {
                entries.push(Entry { name: name.to_owned(), command: trimmed(command).to_owned(), place });
                continue;
            }
        };
        diagnostics.push(Diagnostic::new(Code::LeftOut, place, why));
    }
    (entries, diagnostics)
}

/// The command without blanks at its ends, but for one behind a backslash, which is no blank to a shell.
fn trimmed(command: &str) -> &str {
    let command = command.trim_start();
    let bare = command.trim_end();
    let escaped = bare.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1;
    let next = command[bare.len()..].chars().next().filter(|_| escaped).map_or(0, char::len_utf8);
    &command[..bare.len() + next]
}

/// How many instances of each process, as in foreman's `--formation`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Formation {
    /// Those named, with their numbers.
    named: Vec<(String, u16)>,
    /// The number of all others.
    others: u16,
}

impl Default for Formation {
    fn default() -> Self {
        Self { named: Vec::new(), others: 1 }
    }
}

impl Formation {
    /// Reads `web=2,worker=4`. With one, what it doesn't name isn't run, unless `all=N` says otherwise.
    ///
    /// # Errors
    /// What is wrong with it, in a sentence.
    pub fn new(text: &str) -> Result<Self, String> {
        let mut formation = Self { named: Vec::new(), others: 0 };
        for pair in text.split(',').map(str::trim) {
            let number =
                pair.split_once('=').and_then(|(name, number)| Some((name.trim(), number.trim().parse().ok()?)));
            match number {
                Some((_, 1000..)) => return Err(format!("`{pair}` are more than 999 instances")),
                Some(("all", number)) => formation.others = number,
                Some((name, number)) if !name.is_empty() => formation.named.push((name.to_owned(), number)),
                _ => return Err(format!("`{pair}` isn't `NAME=NUMBER`")),
            }
        }
        Ok(formation)
    }

    /// How many of this process. `release` runs unless it is named with 0.
    pub fn of(&self, process: &str) -> u16 {
        let last = self.named.iter().rfind(|(name, _)| name == process);
        // A release isn't scaled: it is what all the others need to have run.
        last.map_or(if process == RELEASE { 1 } else { self.others }, |(_, number)| *number)
    }

    /// A name in it that is none of `known`.
    pub fn unknown<'f>(&'f self, known: impl Iterator<Item = &'f str> + Clone) -> Option<&'f str> {
        self.named.iter().map(|(name, _)| name.as_str()).find(|name| !known.clone().any(|known| known == *name))
    }
}

/// What a Procfile doesn't say itself.
#[derive(Debug, Clone)]
pub struct Surroundings<'a> {
    /// How many of each.
    pub formation: &'a Formation,
    /// The first port; each process's own begins a hundred later than the one's before.
    pub port: u16,
    /// The variables of `.env` files. `PORT` isn't one of them: it is the first port.
    pub variables: &'a [Variable],
    /// The absolute path of a file that has the variables; without, the group file gets them.
    pub environment_file: Option<&'a Path>,
    /// Where the processes run: the Procfile's directory, absolute.
    pub directory: &'a Path,
    /// The environment has a `PATH` of its own. systemd looks for a program in another; a shell looks there.
    pub search_path: bool,
}

/// The first port when nobody names one: foreman's and honcho's.
pub const PORT: u16 = 5000;

/// The distance of two processes' ports.
const PORTS: usize = 100;

/// The name of the entry that is no process: what Heroku runs once before each release, migrations for instance.
const RELEASE: &str = "release";

/// The first port that these variables say, or else [`PORT`].
///
/// # Errors
/// What `PORT` says that is no port.
pub fn first_port(variables: &[Variable]) -> Result<u16, &str> {
    match variables.iter().find(|variable| variable.name == "PORT") {
        None => Ok(PORT),
        Some(found) => found.value.trim().parse().ok().filter(|port| *port > 0).ok_or(&found.value),
    }
}

/// Makes of a [`group`] one that stays: started at boot, its processes started again however they end, as
/// `foreman export` has it.
pub fn installed(file: &mut GroupFile, procfile: &Path, scope: Scope) {
    file.group.comment(format!("Imported from {}.", procfile.display()));
    let target = match scope {
        Scope::System => "multi-user.target",
        Scope::User => "default.target",
    };
    file.group.set("wanted-by", vec![target]);
    file.defaults.set("restart", "always");
    if scope == Scope::System {
        file.defaults.comment("They run as root; `user = \"…\"` names somebody else.");
    }
}

/// What the entries of a Procfile become.
#[derive(Debug)]
pub struct Imported {
    /// The group file.
    pub file: GroupFile,
    /// The name that each entry has there, by its place among the entries; `None` for one that isn't in the formation.
    pub names: Vec<Option<String>>,
    /// What isn't as it was.
    pub diagnostics: Diagnostics,
}

/// The group that these entries are.
pub fn group(entries: &[Entry], around: &Surroundings<'_>) -> Imported {
    let mut file = GroupFile::default();
    let (mut names, mut diagnostics) = (Vec::new(), Diagnostics::default());
    defaults(&mut file.defaults, around);
    for (index, entry) in entries.iter().enumerate() {
        let number = around.formation.of(&entry.name);
        if number == 0 {
            file.group.comment(format!("Not in the formation, and so not here: {}: {}", entry.name, entry.command));
            names.push(None);
            continue;
        }
        let setup = entry.name == RELEASE;
        let name = name(&entry.name, &file);
        if name.as_str() != entry.name {
            diagnostics.push(entry.otherwise(format!("`{}` is called `{name}` here", entry.name)));
        }
        let table = if setup { file.setup(name.as_str()) } else { file.process(name.as_str()) };
        command(table, &entry.command, around);
        if let Some(why) = foreman::differs(&entry.command, around.variables) {
            diagnostics.push(entry.otherwise(why));
        }
        if setup {
            table.comment("Runs to its end before the processes start.");
        }
        port(table, entry, index, setup, around, &mut diagnostics);
        if number > 1 && setup {
            diagnostics.push(entry.otherwise("`release` runs once, not several times at once"));
        } else if number > 1 {
            table.set("instances", i64::from(number));
        }
        own_name(table, entry, !setup && number > 1);
        names.push(Some(name.to_string()));
    }
    Imported { file, names, diagnostics }
}

/// What all processes have in common.
fn defaults(table: &mut Table, around: &Surroundings<'_>) {
    let directory = Text::literal(around.directory.display().to_string());
    table.set("working-directory", model::spelled(&directory).unwrap_or_default());
    match around.environment_file {
        Some(path) => {
            let path = Text::literal(path.display().to_string());
            table.set("environment-file", model::spelled(&path).unwrap_or_default());
        }
        None => around.variables.iter().for_each(|variable| {
            let value = model::spelled(&Text::literal(variable.value.as_str()));
            table.table("environment").set(&variable.name, value.unwrap_or_default());
        }),
    }
}

/// A name that a process can have here and no other has yet.
fn name(written: &str, file: &GroupFile) -> ProcessName {
    let lower = written.to_ascii_lowercase();
    let begins = lower.trim_start_matches(['_', '-']);
    let stem = if begins.is_empty() { "process" } else { begins };
    let taken = |name: &str| file.setup.iter().chain(&file.processes).any(|(other, _)| other == name);
    let mut numbered = (2..).map(|number: usize| format!("{stem}-{number}"));
    let free = std::iter::once(stem.to_owned()).chain(&mut numbered).find(|name| !taken(name)).unwrap_or_default();
    ProcessName::new(&free).expect("letters, digits, `_` and `-`, of which the last two don't come first")
}

fn command(table: &mut Table, written: &str, around: &Surroundings<'_>) {
    let by_name = |words: &[Text]| !words.first().is_some_and(|program| program.leading().contains('/'));
    let words = match shell::read(written) {
        Command::Words(words) if around.search_path && by_name(&words) => None,
        Command::Words(words) => Value::command(&words),
        Command::Script => None,
    };
    match words {
        Some(words) => table.set("exec", words),
        None => table.set("shell", model::spelled(&Text::literal(written)).unwrap_or_default()),
    }
}

fn port(
    table: &mut Table,
    entry: &Entry,
    index: usize,
    setup: bool,
    around: &Surroundings<'_>,
    diagnostics: &mut Diagnostics,
) {
    let port = usize::from(around.port) + index * PORTS;
    let last = port + usize::from(around.formation.of(&entry.name)) - 1;
    let Ok(port) = i64::try_from(port) else { return };
    match last {
        0 | 65_536.. => diagnostics.push(entry.otherwise(format!("`{}` has no port: {port} is none", entry.name))),
        // A step takes no `port`, and hardly needs one.
        _ if setup && !names(&entry.command, "PORT") => {}
        _ if setup => table.table("environment").set("PORT", port),
        _ => table.set("port", port),
    }
}

/// `$PS`, foreman's name for a process, and honcho's: hardly anything asks for them.
fn own_name(table: &mut Table, entry: &Entry, instances: bool) {
    let number = if instances { "{instance}" } else { "1" };
    for variable in ["PS", "HONCHO_PROCESS_NAME"].into_iter().filter(|variable| names(&entry.command, variable)) {
        table.table("environment").set(variable, format!("{}.{number}", entry.name));
    }
}

/// Whether the name of a variable goes on with this character: to a shell there are no other letters than ASCII's.
fn goes_on(c: char) -> bool {
    c == '_' || c.is_ascii_alphanumeric()
}

/// Whether the command names this variable.
fn names(command: &str, variable: &str) -> bool {
    command.split('$').skip(1).any(|behind| {
        let name = behind.strip_prefix('{').unwrap_or(behind);
        name.strip_prefix(variable).is_some_and(|rest| !rest.starts_with(goes_on))
    })
}
