//! Reads a group file as `copse check` would, before it is written, and removes the processes that have errors.

use std::path::PathBuf;
use std::sync::Arc;

use super::group_file::GroupFile;
use crate::basic::diagnostic::{At, Diagnostic, Severity, SourceFile};
use crate::basic::scope::Scope;
use crate::group_file::discover::Source;
use crate::model;
use crate::model::Context;
use crate::unit::name::GroupName;

/// A process that was removed, with its error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub process: String,
    pub reason: String,
    pub help: Option<String>,
}

/// Removes the processes that have errors. The rest passes `copse check`, unless another error is returned.
pub fn accept(file: &mut GroupFile, group: &GroupName, scope: Scope) -> (Vec<Refused>, Option<String>) {
    let mut refused = Vec::new();
    loop {
        let errors = errors(file.to_string(), group, scope);
        let Some(first) = errors.first() else { return (refused, None) };
        let before = refused.len();
        for error in &errors {
            if let Some(process) = process_at(error)
                && file.remove_process(&process)
            {
                refused.push(Refused { process, reason: error.message.clone(), help: error.help.clone() });
            }
        }
        if refused.len() == before {
            return (refused, Some(first.message.clone()));
        }
    }
}

fn errors(text: String, group: &GroupName, scope: Scope) -> Vec<Diagnostic> {
    let file = Arc::new(SourceFile { path: PathBuf::from(format!("{group}.toml")), text });
    let source = Source { name: group.clone(), file, drop_ins: Vec::new() };
    let (_, diagnostics) = model::read(&source, &Context { scope, cpus: 1 });
    diagnostics.iter().filter(|diagnostic| diagnostic.severity() == Severity::Error).cloned().collect()
}

/// The process of the table that an error is in: that of the last header up to its line.
fn process_at(error: &Diagnostic) -> Option<String> {
    let At::Location(location) = &error.at else { return None };
    let (line, _) = location.line_column();
    let lines: Vec<&str> = location.file.text.lines().take(line).collect();
    let header = lines.into_iter().rev().find(|line| line.starts_with('['))?;
    Some(header.strip_prefix("[process.")?.split(['.', ']']).next()?.to_owned())
}
