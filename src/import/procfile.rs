//! Procfiles, as foreman and honcho read them.
//!
//! Rests on lib/foreman/procfile.rb and lib/foreman/engine.rb of foreman 0.90, and on honcho/environ.py of honcho 2.0; a
//! diagnostic reports where they differ.

mod foreman;
mod shell;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use self::shell::uses;
use super::dotenv::Variable;
use super::group_file::{GroupFile, Table, Value};
use super::lines;
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, SourceFile, SourceLocation};
use crate::basic::scope::Scope;
use crate::model;
use crate::model::Text;

/// A line `NAME: COMMAND`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcfileLine {
    pub name: String,
    /// A line for `/bin/sh`.
    pub command: String,
    pub location: SourceLocation,
}

impl ProcfileLine {
    fn note(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Code::Otherwise, &self.location, message)
    }
}

/// The processes of a Procfile, and diagnostics for lines that are neither a process nor a comment.
pub fn read(file: &Arc<SourceFile>) -> (Vec<ProcfileLine>, Diagnostics) {
    let (mut found, mut diagnostics) = (Vec::new(), Diagnostics::default());
    for (location, line) in lines(file) {
        if line.trim().is_empty() || line.trim().starts_with('#') {
            continue;
        }
        let is_name = |name: &str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        };
        let reason = match line.split_once(':').filter(|(name, _)| is_name(name)) {
            None => "not `NAME: COMMAND`, ignoring the line, as foreman does".to_owned(),
            Some((name, command)) if command.trim().is_empty() => format!("`{name}` has no command, ignoring the line"),
            Some((name, command)) if command.contains('\0') || command.len() >= model::LONGEST_ARGUMENT => {
                format!("the command of `{name}` has a NUL or is too long to be executed, ignoring the line")
            }
            Some((name, command)) => {
                found.push(ProcfileLine { name: name.to_owned(), command: trimmed(command).to_owned(), location });
                continue;
            }
        };
        diagnostics.push(Diagnostic::new(Code::LeftOut, location, reason));
    }
    (found, diagnostics)
}

/// The command without blanks at its ends, but with an escaped one, which is part of a word.
fn trimmed(command: &str) -> &str {
    let command = command.trim_start();
    let bare = command.trim_end();
    let escaped = bare.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1;
    let next = command[bare.len()..].chars().next().filter(|_| escaped).map_or(0, char::len_utf8);
    &command[..bare.len() + next]
}

/// The number of instances of each process, as in foreman's `--formation`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Formation {
    named: Vec<(String, u16)>,
    others: u16,
}

impl Default for Formation {
    fn default() -> Self {
        Self { named: Vec::new(), others: 1 }
    }
}

impl Formation {
    /// Reads `web=2,worker=4`. Other processes have no instance, or N with `all=N`.
    ///
    /// # Errors
    /// A message on what is wrong.
    pub fn new(text: &str) -> Result<Self, String> {
        let mut formation = Self { named: Vec::new(), others: 0 };
        for pair in text.split(',').map(str::trim) {
            let number =
                pair.split_once('=').and_then(|(name, number)| Some((name.trim(), number.trim().parse().ok()?)));
            match number {
                Some((_, 1000..)) => return Err(format!("`{pair}` has more than 999 instances")),
                Some(("all", number)) => formation.others = number,
                Some((name, number)) if !name.is_empty() => formation.named.push((name.to_owned(), number)),
                _ => return Err(format!("`{pair}` is not `NAME=NUMBER`")),
            }
        }
        Ok(formation)
    }

    /// The number of instances of a process. `release` runs unless its number is 0: the others rely on it.
    pub fn of(&self, process: &str) -> u16 {
        let last = self.named.iter().rfind(|(name, _)| name == process);
        last.map_or(if process == RELEASE { 1 } else { self.others }, |(_, number)| *number)
    }

    /// A name that is not among `known`.
    pub fn unknown<'f>(&'f self, known: impl Iterator<Item = &'f str> + Clone) -> Option<&'f str> {
        self.named.iter().map(|(name, _)| name.as_str()).find(|name| !known.clone().any(|known| known == *name))
    }
}

/// What the Procfile does not hold.
#[derive(Debug, Clone)]
pub struct Settings<'a> {
    pub formation: &'a Formation,
    /// The first port. The ports of the next process begin a hundred later.
    pub port: u16,
    /// The variables of `.env` files, without `PORT`.
    pub variables: &'a [Variable],
    /// The absolute path of a file for the variables; without one, the group file holds them.
    pub environment_file: Option<&'a Path>,
    /// The absolute path of the directory that the processes run in.
    pub directory: &'a Path,
    /// Whether the environment has a `PATH`, in which a shell searches programs, and systemd does not.
    pub search_path: bool,
}

/// The default of the first port, for foreman and honcho.
pub const PORT: u16 = 5000;

/// The distance between the ports of two processes.
const PORTS: usize = 100;

/// The process that Heroku runs once before each release, for example for migrations.
const RELEASE: &str = "release";

/// The first port of these variables, or [`PORT`].
///
/// # Errors
/// The value of `PORT`, if it is not a port.
pub fn first_port(variables: &[Variable]) -> Result<u16, &str> {
    match variables.iter().find(|variable| variable.name == "PORT") {
        None => Ok(PORT),
        Some(found) => found.value.trim().parse().ok().filter(|port| *port > 0).ok_or(&found.value),
    }
}

/// Makes a [`group`] permanent: it is started at boot, and its processes are always restarted, as by `foreman export`.
pub fn installed(file: &mut GroupFile, procfile: &Path, scope: Scope) {
    file.group.comment(format!("Imported from {}.", procfile.display()));
    file.group.set("wanted-by", vec![if scope == Scope::System { "multi-user.target" } else { "default.target" }]);
    file.defaults.set("restart", "always");
    if scope == Scope::System {
        file.defaults.comment("The processes run as root; set `user` to change that.");
    }
}

/// The result of an import.
#[derive(Debug)]
pub struct Imported {
    pub file: GroupFile,
    /// The name in the group file for each line, if the formation has it.
    pub names: Vec<Option<String>>,
    /// What behaves differently.
    pub diagnostics: Diagnostics,
}

/// The group of these processes.
pub fn group(lines: &[ProcfileLine], settings: &Settings<'_>) -> Imported {
    let (mut file, mut diagnostics) = (GroupFile::default(), Diagnostics::default());
    set_defaults(&mut file.defaults, settings);
    let names =
        lines.iter().enumerate().map(|(index, line)| member(&mut file, line, index, settings, &mut diagnostics));
    Imported { names: names.collect(), file, diagnostics }
}

/// Adds the process or setup step of a line, and returns its name.
fn member(
    file: &mut GroupFile,
    line: &ProcfileLine,
    index: usize,
    settings: &Settings<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<String> {
    let number = settings.formation.of(&line.name);
    if number == 0 {
        file.group.comment(format!("Not in the formation: {}: {}", line.name, line.command));
        return None;
    }
    let setup = line.name == RELEASE;
    let name = name(&line.name, file);
    if name != line.name {
        diagnostics.push(line.note(format!("`{}` is imported as `{name}`", line.name)));
    }
    if let Some(difference) = foreman::difference(&line.command, settings.variables) {
        diagnostics.push(line.note(difference));
    }
    let table = if setup { file.setup(&name) } else { file.process(&name) };
    set_command(table, &line.command, settings);
    if setup {
        table.comment("Completes before the processes start.");
    }
    let port = usize::from(settings.port) + index * PORTS;
    if port + usize::from(number) - 1 > usize::from(u16::MAX) {
        diagnostics.push(line.note(format!("`{}` has no port: {port} is too high", line.name)));
    } else if !setup {
        table.set("port", i64::try_from(port).unwrap_or_default());
    } else if uses(&line.command, "PORT") {
        // A setup step accepts no `port`.
        table.table("environment").set("PORT", i64::try_from(port).unwrap_or_default());
    }
    if number > 1 && setup {
        diagnostics.push(line.note("`release` runs once, not several times in parallel"));
    } else if number > 1 {
        table.set("instances", i64::from(number));
    }
    // The names of the process for foreman and honcho, which hardly any command uses.
    for variable in ["PS", "HONCHO_PROCESS_NAME"].into_iter().filter(|variable| uses(&line.command, variable)) {
        let number = if number > 1 && !setup { "{instance}" } else { "1" };
        table.table("environment").set(variable, format!("{}.{number}", line.name));
    }
    Some(name)
}

fn set_defaults(table: &mut Table, settings: &Settings<'_>) {
    let spelled = |text: String| model::spelled(&Text::literal(text)).unwrap_or_default();
    table.set("working-directory", spelled(settings.directory.display().to_string()));
    match settings.environment_file {
        Some(path) => table.set("environment-file", spelled(path.display().to_string())),
        None => settings.variables.iter().for_each(|variable| {
            table.table("environment").set(&variable.name, spelled(variable.value.clone()));
        }),
    }
}

/// A free name that a process may have.
fn name(written: &str, file: &GroupFile) -> String {
    let lower = written.to_ascii_lowercase();
    let stem = Some(lower.trim_start_matches(['_', '-'])).filter(|stem| !stem.is_empty()).unwrap_or("process");
    let taken = |name: &str| file.setup.iter().chain(&file.processes).any(|(other, _)| other == name);
    let mut numbered = (2..).map(|number: usize| format!("{stem}-{number}"));
    std::iter::once(stem.to_owned()).chain(&mut numbered).find(|name| !taken(name)).unwrap_or_default()
}

fn set_command(table: &mut Table, command: &str, settings: &Settings<'_>) {
    let by_path = |words: &Vec<Text>| words.first().is_some_and(|program| program.leading().contains('/'));
    let words = shell::words(command).filter(|words| !settings.search_path || by_path(words));
    match words.and_then(|words| Value::command(&words)) {
        Some(words) => table.set("exec", words),
        None => table.set("shell", model::spelled(&Text::literal(command)).unwrap_or_default()),
    }
}
