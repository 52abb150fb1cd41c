//! Programs become processes of a group file.

mod notes;
mod order;
mod process;
mod restarts;
mod texts;
mod unsupported;

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::config::{Config, Program, place};
use super::configparser::Spot;
use super::options::LOGS;
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::basic::scope::Scope;
use crate::import::group_file::{GroupFile, Table, Value};
use crate::import::validate;
use crate::unit::name::{GroupName, InstanceName, ProcessName};

/// What an import comes to.
#[derive(Debug)]
pub struct Imported {
    /// The group file.
    pub file: GroupFile,
    /// Which process of supervisord's is which here.
    pub members: Vec<Member>,
    /// What isn't as it was.
    pub diagnostics: Diagnostics,
}

/// A process under its old and its new name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// `GROUP:PROCESS`, as supervisorctl has it.
    pub was: String,
    /// The process's name in the group file.
    pub process: String,
    /// Its instance.
    pub instance: Option<String>,
}

/// What is being written.
struct Translation<'c> {
    config: &'c Config,
    scope: Scope,
    diagnostics: Diagnostics,
}

/// A program with what it is called here, and what it becomes.
struct Translated<'c> {
    program: &'c Program,
    name: String,
    instances: Option<Vec<String>>,
    table: Table,
}

/// Keys that say what copse does anyway. They are written where `[defaults]` says otherwise.
const UNSAID: &[(&str, &str)] = &[
    ("restart", "on-failure"),
    ("kill-mode", "control-group"),
    ("kill-signal", "SIGTERM"),
    ("umask", "0022"),
    ("user", "root"),
];

/// The group file of these programs, which passes `copse check` unless no program is left.
pub fn translate(config: &Config, group: &GroupName, scope: Scope) -> Imported {
    let mut translation = Translation { config, scope, diagnostics: config.diagnostics.clone() };
    let mut translated: Vec<Translated<'_>> = Vec::new();
    let names = names(&config.programs);
    for (program, name) in config.programs.iter().zip(names) {
        translated.extend(translation.program(program, name));
    }
    translation.order(&mut translated);
    let logs = translation.report(&mut translated);
    let mut file = GroupFile::default();
    file.group.comment(header(config));
    if logs {
        file.group.comment(format!("Log files aren't written: {LOGS}."));
    }
    let boot = if scope == Scope::System { "multi-user.target" } else { "default.target" };
    file.group.set("wanted-by", vec![boot]);
    let (mut members, mut sections) = (Vec::new(), Vec::new());
    for one in translated {
        members.extend(one.members());
        sections.push((one.name.clone(), one.program.section));
        *file.process(&one.name) = one.table;
    }
    let (refused, error) = match validate::accept(&mut file, group, scope) {
        Ok(refused) => (refused, None),
        Err((refused, error)) => (refused, Some(error)),
    };
    for refused in refused {
        let section = sections.iter().find(|(name, _)| *name == refused.process).map_or(0, |(_, section)| *section);
        let message = format!("`{}` can't be a process: {}", refused.process, refused.why);
        translation.say(Code::NotImported, config.ini.sections[section].spot, message, refused.help.as_deref());
    }
    if let Some(error) = error.filter(|_| !file.processes.is_empty()) {
        let file = config.files.first().map_or_else(PathBuf::new, |file| file.path.clone());
        translation.diagnostics.push(Diagnostic::file(Code::NotImported, file, error));
    }
    translation.leave_word(&mut file, &sections);
    members.retain(|member: &Member| file.processes.iter().any(|(name, _)| *name == member.process));
    file.lift();
    leave_unsaid(&mut file);
    translation.diagnostics.sort();
    Imported { file, members, diagnostics: translation.diagnostics }
}

fn header(config: &Config) -> String {
    let files: Vec<String> = config.files.iter().map(|file| file.path.display().to_string()).collect();
    format!("Imported from supervisord's {}.", files.join(", "))
}

fn leave_unsaid(file: &mut GroupFile) {
    for (key, default) in UNSAID {
        let default = Value::from(*default);
        if file.defaults.get(key) == Some(&default) {
            file.defaults.remove(key);
        }
        if file.defaults.get(key).is_none() {
            let said = |table: &&mut Table| table.get(key) == Some(&default);
            file.processes.iter_mut().map(|(_, table)| table).filter(said).for_each(|table| table.remove(key));
        }
    }
}

/// A name for each program: its own in lower case, with its group's in front or a number behind it where several would
/// have the same.
fn names(programs: &[Program]) -> Vec<String> {
    let mut taken: Vec<String> = Vec::new();
    for program in programs {
        let several = programs.iter().filter(|other| other.name == program.name).count() > 1;
        let wanted = if several { format!("{}-{}", program.group, program.name) } else { program.name.clone() };
        let wanted = process_name(&wanted);
        let numbered = (2..).map(|number| format!("{wanted}-{number}"));
        let free = std::iter::once(wanted.clone()).chain(numbered).find(|name| !taken.contains(name));
        taken.extend(free);
    }
    taken
}

/// The nearest name that a process can have.
fn process_name(name: &str) -> String {
    let lower = name.to_lowercase();
    let safe: String =
        lower.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '-' }).collect();
    let safe = safe.trim_start_matches(['-', '_']);
    // A unit's name has room for 255 bytes, with the group's and copse's own parts in it.
    let short: String = safe.chars().take(100).collect();
    match ProcessName::new(&short) {
        Some(name) => name.as_str().to_owned(),
        None => "program".to_owned(),
    }
}

impl Translated<'_> {
    fn members(&self) -> Vec<Member> {
        let member = |(at, process): (usize, &super::config::Process)| Member {
            was: format!("{}:{}", self.program.group, process.name.literal().unwrap_or_default()),
            process: self.name.clone(),
            instance: self.instances.as_ref().and_then(|names| names.get(at).cloned()),
        };
        self.program.processes.iter().enumerate().map(member).collect()
    }
}

impl Translation<'_> {
    fn say(&mut self, code: Code, spot: Spot, message: impl Into<String>, help: Option<&str>) {
        let mut diagnostic = Diagnostic::new(code, place(&self.config.files, spot), message);
        diagnostic.help = help.map(str::to_owned);
        self.diagnostics.push(diagnostic);
    }

    /// Where an option stands, or else its section.
    fn spot(&self, section: usize, option: &str) -> Spot {
        let section = &self.config.ini.sections[section];
        self.config.ini.get(section, option).map_or(section.spot, |setting| setting.spot)
    }

    fn program<'c>(&mut self, program: &'c Program, name: String) -> Option<Translated<'c>> {
        if program.processes.is_empty() {
            let message = format!("`{}` has no process: `numprocs` is 0", program.name);
            self.say(Code::LeftOut, self.spot(program.section, "numprocs"), message, None);
            return None;
        }
        let mut table = Table::default();
        if name != program.name {
            let section = &self.config.ini.sections[program.section];
            let message = format!("`[{}]` is called `{name}` here", section.name);
            table.comment(message.clone());
            self.say(Code::Otherwise, section.spot, message, None);
        }
        let instances = instances(program);
        if let Some(names) = &instances {
            set_instances(&mut table, names);
        }
        self.process(program, instances.as_deref(), &mut table)?;
        Some(Translated { program, name, instances, table })
    }
}

/// The names of the instances: the numbers, shown as the command or a variable shows them, so that `{instance}` says the
/// same; plain numbers, which can be scaled, where nothing shows them. `None` where there is one process.
fn instances(program: &Program) -> Option<Vec<String>> {
    if program.processes.len() < 2 {
        return None;
    }
    let numbers = program.first..;
    let format = program.pattern.as_ref().and_then(|pattern| {
        let named = texts::number_format(&pattern.name);
        let values = pattern.environment.iter().map(|(_, value)| value);
        let texts = || pattern.argv.iter().chain(values.clone()).chain(&pattern.directory);
        let shown = || texts().filter_map(texts::number_format);
        shown().find(|format| Some(*format) == named).or_else(|| shown().next())
    });
    // Where each process has to be looked at by itself, nobody knows what is shown.
    let unknown = program.pattern.is_none();
    let name = |number: i64| format.map_or_else(|| number.to_string(), |format| format.number(number));
    let names: Vec<String> = numbers.clone().take(program.processes.len()).map(name).collect();
    let distinct: BTreeSet<&String> = names.iter().collect();
    if !unknown && distinct.len() == names.len() && names.iter().all(|name| InstanceName::new(name).is_some()) {
        return Some(names);
    }
    Some((0..program.processes.len()).map(|number| number.to_string()).collect())
}

fn set_instances(table: &mut Table, names: &[String]) {
    let first = names.first().and_then(|name| name.parse::<i64>().ok());
    let counted = |first: i64| (first..).zip(names).all(|(number, name)| number.to_string() == *name);
    match (first.filter(|first| counted(*first)), i64::try_from(names.len())) {
        (Some(first), Ok(count)) => {
            table.set("instances", count);
            if first != 1 {
                table.set("first-instance", first);
            }
        }
        _ => table.set("instances", names.to_vec()),
    }
}
