//! Programs become processes of a group file.

mod instances;
mod notes;
mod order;
mod process;
mod restarts;
mod texts;
mod translated;
mod unsupported;

use std::path::PathBuf;

use self::instances::{instances, set_instances};
use self::notes::Notes;
pub use self::translated::Member;
use self::translated::Translated;
use super::config::{Config, Program};
use super::options::LOGS;
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::basic::scope::Scope;
use crate::import::group_file::{GroupFile, Table, Value};
use crate::import::validate;
use crate::unit::name::{GroupName, ProcessName};

/// The result of an import.
#[derive(Debug)]
pub struct Imported {
    pub file: GroupFile,
    /// supervisord's processes under their new names.
    pub members: Vec<Member>,
    /// What is not imported, or behaves differently.
    pub diagnostics: Diagnostics,
}

/// Keys with copse's own defaults. They are written only if `[defaults]` has another value.
const DEFAULTS: &[(&str, &str)] = &[
    ("restart", "on-failure"),
    ("kill-mode", "control-group"),
    ("kill-signal", "SIGTERM"),
    ("umask", "0022"),
    ("user", "root"),
];

/// The group file of the programs. It passes `copse check`, unless no program is left.
pub fn translate(config: &Config, group: &GroupName, scope: Scope) -> Imported {
    let mut notes = Notes { ini: &config.ini, diagnostics: config.diagnostics.clone() };
    let programs = config.programs.iter().zip(names(&config.programs));
    let mut translated: Vec<Translated<'_>> =
        programs.filter_map(|(program, name)| translate_program(program, name, config, scope, &mut notes)).collect();
    order::order(&mut translated, &mut notes);
    notes.killed_children(&translated);
    notes.supervisor_variables(&translated);
    let mut file = GroupFile::default();
    let files: Vec<String> = config.files.iter().map(|path| path.display().to_string()).collect();
    file.group.comment(format!("Imported from supervisord's {}.", files.join(", ")));
    if unsupported::report(&mut translated, &mut notes) {
        file.group.comment(format!("Log files are not written: {LOGS}."));
    }
    file.group.set("wanted-by", vec![if scope == Scope::System { "multi-user.target" } else { "default.target" }]);
    let mut members: Vec<Member> = translated.iter().flat_map(Translated::members).collect();
    let mut sections = Vec::new();
    for Translated { program, name, table, .. } in translated {
        sections.push((name.clone(), program.section));
        *file.process(&name) = table;
    }
    let (refused, error) = validate::accept(&mut file, group, scope);
    for refused in refused {
        let section = sections.iter().find(|(name, _)| *name == refused.process).map_or(0, |(_, section)| *section);
        let message = format!("`{}` cannot be a process: {}", refused.process, refused.reason);
        notes.report(Code::NotImported, section, "", message, refused.help.as_deref());
    }
    if let Some(error) = error.filter(|_| !file.processes.is_empty()) {
        let path = config.files.first().map_or_else(PathBuf::new, PathBuf::clone);
        notes.diagnostics.push(Diagnostic::file(Code::NotImported, path, error));
    }
    notes.comment_missing_programs(&mut file, &sections);
    members.retain(|member: &Member| file.processes.iter().any(|(name, _)| *name == member.process));
    file.move_to_defaults();
    omit_defaults(&mut file);
    notes.diagnostics.sort();
    Imported { file, members, diagnostics: notes.diagnostics }
}

fn omit_defaults(file: &mut GroupFile) {
    for (key, default) in DEFAULTS {
        let default = Value::from(*default);
        if file.defaults.get(key) == Some(&default) {
            file.defaults.remove(key);
        }
        if file.defaults.get(key).is_none() {
            let tables = file.processes.iter_mut().map(|(_, table)| table);
            tables.filter(|table| table.get(key) == Some(&default)).for_each(|table| table.remove(key));
        }
    }
}

/// A name for each program: its own in lower case, with that of its group or a number if others have the same.
fn names(programs: &[Program]) -> Vec<String> {
    let mut taken: Vec<String> = Vec::new();
    for program in programs {
        let several = programs.iter().filter(|other| other.name == program.name).count() > 1;
        let name = if several { format!("{}-{}", program.group, program.name) } else { program.name.clone() };
        let name = process_name(&name);
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name));
        taken.extend(free);
    }
    taken
}

/// The nearest name that a process may have.
fn process_name(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '-' };
    let name: String = name.to_lowercase().chars().map(safe).collect();
    // The name of a unit holds 255 bytes, the names of the group and the instance among them.
    let name: String = name.trim_start_matches(['-', '_']).chars().take(100).collect();
    if ProcessName::new(&name).is_some() { name } else { "program".to_owned() }
}

fn translate_program<'c>(
    program: &'c Program,
    name: String,
    config: &Config,
    scope: Scope,
    notes: &mut Notes<'_>,
) -> Option<Translated<'c>> {
    if program.processes.is_empty() {
        let message = format!("`{}` has no process: `numprocs` is 0", program.name);
        notes.report(Code::LeftOut, program.section, "numprocs", message, None);
        return None;
    }
    let mut table = Table::default();
    if name != program.name {
        let message = format!("`[{}]` is imported as `{name}`", config.ini.sections[program.section].name);
        table.comment(message.clone());
        notes.report(Code::Otherwise, program.section, "", message, None);
    }
    let instances = instances(program);
    if let Some(names) = &instances {
        set_instances(&mut table, names);
    }
    process::Translation { program, config, scope, notes }.fill(instances.as_deref(), &mut table)?;
    Some(Translated { program, name, instances, table })
}
