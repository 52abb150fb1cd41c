//! The last look at a group file before it is handed out: it is read like any other, and a process that would be wrong
//! there doesn't stay in it.

use std::path::PathBuf;
use std::sync::Arc;

use super::group_file::GroupFile;
use crate::basic::diagnostic::{At, Diagnostic, Severity, SourceFile};
use crate::basic::scope::Scope;
use crate::group_file::discover::Source;
use crate::model;
use crate::model::Context;
use crate::unit::name::GroupName;

/// A process that was taken out, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its name.
    pub process: String,
    /// What would be wrong with it.
    pub why: String,
    /// What to do.
    pub help: Option<String>,
}

/// Takes out of `file` what can't be a process; what is left passes `copse check`.
///
/// # Errors
/// Where nothing is left, or what is wrong is about no process: the first error.
pub fn accept(file: &mut GroupFile, group: &GroupName, scope: Scope) -> Result<Vec<Refused>, (Vec<Refused>, String)> {
    let mut refused = Vec::new();
    loop {
        let text = file.to_string();
        let errors = errors(&text, group, scope);
        let Some(first) = errors.first() else { return Ok(refused) };
        let before = file.processes.len();
        for error in &errors {
            let Some(process) = process_at(error).filter(|name| file.processes.iter().any(|(known, _)| known == name))
            else {
                continue;
            };
            file.remove_process(&process);
            refused.push(Refused { process, why: error.message.clone(), help: error.help.clone() });
        }
        if file.processes.len() == before {
            return Err((refused, first.message.clone()));
        }
    }
}

fn errors(text: &str, group: &GroupName, scope: Scope) -> Vec<Diagnostic> {
    let path = PathBuf::from(format!("{group}.toml"));
    let file = Arc::new(SourceFile { path, text: text.to_owned() });
    let source = Source { name: group.clone(), file, drop_ins: Vec::new() };
    let (_, diagnostics) = model::read(&source, &Context { scope, cpus: 1 });
    diagnostics.iter().filter(|diagnostic| diagnostic.severity() == Severity::Error).cloned().collect()
}

/// The process whose table a diagnostic is about: the last header in front of it says so.
fn process_at(diagnostic: &Diagnostic) -> Option<String> {
    let At::Location(place) = &diagnostic.at else { return None };
    let text = &place.file.text;
    // The header itself may be the place.
    let end = text[place.start as usize..].find('\n').map_or(text.len(), |at| place.start as usize + at);
    let header = text[..end].lines().rev().find(|line| line.starts_with('['))?;
    let name = header.strip_prefix("[process.")?.split(['.', ']']).next()?;
    Some(name.to_owned())
}
