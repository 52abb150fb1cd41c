//! A program on its way from supervisord's section to a table of the group file.

use crate::import::group_file::Table;
use crate::import::supervisord::config::{Process, Program};

/// A process under its old and its new name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// `GROUP:PROCESS`, as supervisorctl has it.
    pub was: String,
    pub process: String,
    pub instance: Option<String>,
}

/// A program with its new name and its table.
pub(super) struct Translated<'c> {
    pub(super) program: &'c Program,
    pub(super) name: String,
    pub(super) instances: Option<Vec<String>>,
    pub(super) table: Table,
}

impl Translated<'_> {
    pub(super) fn members(&self) -> Vec<Member> {
        let processes = self.program.processes.iter().enumerate();
        let member = |(index, process): (usize, &Process)| Member {
            was: format!("{}:{}", self.program.group, process.name.literal().unwrap_or_default()),
            process: self.name.clone(),
            instance: self.instances.as_ref().and_then(|names| names.get(index).cloned()),
        };
        processes.map(member).collect()
    }

    pub(super) fn is_manual(&self) -> bool {
        self.table.get("start") == Some(&"manual".into())
    }
}
