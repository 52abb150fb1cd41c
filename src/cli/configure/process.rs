//! A process that `scale` or `hold` changes, by a drop-in of the group file.
//!
//! The drop-ins are plain files beside the administrator's. Those below `/run` are removed at the next boot, and take
//! precedence over those below `/etc`.

use std::path::PathBuf;
use std::sync::Arc;

use super::transaction::{Transaction, drop_in};
use crate::basic::diagnostic::{Diagnostics, SourceFile};
use crate::basic::scope::Directories;
use crate::cli::common::error::Error;
use crate::cli::common::exit::Exit;
use crate::cli::common::groups::{context, unknown};
use crate::cli::common::report::Report;
use crate::cli::common::selector::Selector;
use crate::cli::common::session::Session;
use crate::group_file::discover::Source;
use crate::group_file::document;
use crate::model::Group;
use crate::unit::name::{GroupName, ProcessName};

/// A process of a group; the group file need not have it any longer.
pub(super) struct Process {
    pub(super) group: GroupName,
    pub(super) name: ProcessName,
    directories: Directories,
}

/// A checked change of a process.
pub(super) struct Change {
    pub(super) process: Process,
    transaction: Transaction,
    /// The group as it is going to be.
    pub(super) group: Group,
    source: Source,
}

impl Process {
    /// The process that `text` selects: `GROUP/PROCESS`, or its unit.
    ///
    /// # Errors
    /// `text` does not select a process as a whole.
    pub(super) fn new(text: &str, session: &Session) -> Result<Self, Error> {
        let groups = &session.outcome.groups;
        let selector = Selector::new(text, groups);
        let Some(file) = groups.iter().find(|group| group.name.as_str() == selector.group) else {
            return Err(unknown(&selector, &session.outcome));
        };
        let group = file.name.clone();
        let Some(part) = &selector.part else {
            return Err(Error::usage(format_args!("`{group}` is a whole group"))
                .help(format_args!("name a process of the group: `{group}/PROCESS`")));
        };
        let Some(name) = ProcessName::new(part) else {
            let process = part.split(['@', '.']).next().unwrap_or_default();
            return Err(Error::usage(format_args!("`{group}/{part}` is not a whole process"))
                .help(format_args!("name the process: `{group}/{process}`")));
        };
        if file.group.as_ref().is_some_and(|group| group.setup.contains_key(&name)) {
            return Err(Error::usage(format_args!("`{name}` is a setup step, not a process")));
        }
        Ok(Self { group, name, directories: directories(session)? })
    }

    /// `shop/web`
    pub(super) fn label(&self) -> String {
        format!("{}/{}", self.group, self.name)
    }

    /// Prepares to write the drop-in of `command`, until the next boot or `permanent`; without a text, to remove it.
    ///
    /// # Errors
    /// There is no directory for it, or the group would be invalid.
    pub(super) fn prepare(
        self,
        session: &Session,
        command: &str,
        text: Option<String>,
        permanent: bool,
    ) -> Result<Change, Error> {
        let (Some(configuration), Some(state)) = (self.directories.groups.first(), &self.directories.state) else {
            return Err(Error::failed("there is no directory for drop-ins").help("set HOME and XDG_RUNTIME_DIR"));
        };
        let path =
            |directory, number| drop_in(directory, &self.group, &format!("{number}-{command}-{}.toml", self.name));
        let (lasting, until_boot): (PathBuf, PathBuf) = (path(configuration, 90), path(state, 95));
        let transaction = Transaction::new(self.group.clone());
        let transaction = match text {
            None => transaction.remove(lasting).remove(until_boot),
            Some(text) if permanent => transaction.write(lasting, text).remove(until_boot),
            Some(text) => transaction.write(until_boot, text),
        };
        let outcome = transaction.preview(&self.directories, &context(session.scope));
        let diagnostics = outcome.as_ref().map(|outcome| outcome.diagnostics.clone()).unwrap_or_default();
        match outcome.and_then(|outcome| outcome.group.zip(outcome.source)) {
            Some((group, source)) => Ok(Change { process: self, transaction, group, source }),
            None => {
                Report::default().print(diagnostics.iter());
                Err(Error::new(Exit::Invalid, "group file would be invalid, nothing changed"))
            }
        }
    }
}

impl Change {
    /// The error if another file sets `key` of the process to something else.
    pub(super) fn overridden(&self, key: &str) -> Error {
        let label = self.process.label();
        let sets = |file: &&Arc<SourceFile>| {
            let table = document::parse(file, &mut Diagnostics::default());
            let process = table.as_ref().and_then(|table| table.table("process")?.table(self.process.name.as_str()));
            process.is_some_and(|table| table.get(key).is_some())
        };
        let mut files = self.source.drop_ins.iter().rev().chain([&self.source.file]);
        let path = files.find(sets).map(|file| file.path.display().to_string()).unwrap_or_default();
        Error::failed(format_args!("not changed: `{path}` sets `{key}` of {label} and overrides this drop-in"))
    }

    /// Writes the drop-in and has the service manager reload. If it refuses, the files are restored.
    ///
    /// # Errors
    /// The drop-in cannot be written, or the service manager refuses.
    pub(super) async fn commit(&self, session: &Session) -> Result<(), Error> {
        let committed = self.transaction.commit(&self.process.directories)?;
        session.progress.changed(committed.changed());
        if let Err(error) = session.systemd().reload().await {
            committed.rollback();
            return Err(error.into());
        }
        Ok(())
    }
}

/// The directories of the scope. Files below `$COPSE_ROOT` are not changed: the service manager does not read them.
pub(super) fn directories(session: &Session) -> Result<Directories, Error> {
    let directories = Directories::from_environment(session.scope, None);
    match directories.root {
        None => Ok(directories),
        Some(_) => Err(Error::usage("COPSE_ROOT is set, but no service manager runs there")),
    }
}
