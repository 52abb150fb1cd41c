//! The drop-ins that copse itself writes, for `scale` and `hold`: plain files beside the author's, so that nothing is
//! hidden. Those below `/run` are gone at the next boot, and come after those below `/etc`: what is said of now counts
//! now.

use std::io::{Write as _, stderr};
use std::path::{Path, PathBuf};

use super::transaction;
use super::transaction::Amendment;
use crate::basic::diagnostic::{Diagnostics, one_line};
use crate::basic::scope::Directories;
use crate::basic::terminal::ColorChoice;
use crate::change::rollout::Stop;
use crate::cli::common::exit::Exit;
use crate::cli::common::load::unknown;
use crate::cli::common::output::complain;
use crate::cli::common::output::unwritten;
use crate::cli::common::output::{Format, Report};
use crate::cli::common::selector::Selector;
use crate::cli::common::session::Session;
use crate::generator;
use crate::group_file::discover::Source;
use crate::group_file::document;
use crate::model::{Context, Group};
use crate::unit::name::{GroupName, ProcessName};

/// One process of one group.
pub(crate) struct Target {
    pub(crate) group: GroupName,
    pub(crate) process: ProcessName,
}

impl Target {
    /// What `text` names, `GROUP/PROCESS` or a unit; the process needn't be one that the file still has.
    ///
    /// # Errors
    /// The exit status, once it was said what is wrong.
    pub(crate) fn new(text: &str, work: &Session) -> Result<Self, Exit> {
        let groups = &work.outcome.groups;
        let named = Selector::new(text, groups);
        let Some(found) = groups.iter().find(|group| group.name.as_str() == named.group) else {
            unknown(&named, &work.outcome);
            return Err(Exit::NoSuchGroup);
        };
        let usage = |what: std::fmt::Arguments<'_>| {
            complain(what);
            Err(Exit::Usage)
        };
        let Some(part) = &named.part else {
            return usage(format_args!("name a process of the group: `{}/PROCESS`", found.name));
        };
        let Some(process) = ProcessName::new(part) else {
            let process = part.split(['@', '.']).next().unwrap_or_default();
            return usage(format_args!("this is about whole processes: `{}/{process}`", found.name));
        };
        if found.group.as_ref().is_some_and(|group| group.setup.contains_key(&process)) {
            return usage(format_args!("`{process}` is a setup step, not a process"));
        }
        Ok(Self { group: found.name.clone(), process })
    }

    /// `shop/web`
    pub(crate) fn label(&self) -> String {
        format!("{}/{}", self.group, self.process)
    }

    /// The drop-in of `verb` about this process: the one that stays, and the one until the next boot.
    pub(crate) fn paths(&self, verb: &str, directories: &Directories) -> Result<[PathBuf; 2], Exit> {
        let (Some(lasting), Some(passing)) = (directories.groups.first(), &directories.state) else {
            complain(format_args!("there is no directory for drop-ins: neither HOME nor XDG_RUNTIME_DIR may be unset"));
            return Err(Exit::Failed);
        };
        let path = |directory: &Path, number: u8| {
            transaction::drop_in(directory, &self.group, &format!("{number}-{verb}-{}.toml", self.process))
        };
        Ok([path(lasting, 90), path(passing, 95)])
    }
}

/// The directories of the work's scope. Under `$COPSE_ROOT` nothing may be changed that a running manager then reads:
/// it would read other files.
pub(crate) fn directories(work: &Session) -> Result<Directories, Exit> {
    let directories = Directories::from_environment(work.scope, None);
    match directories.root {
        None => Ok(directories),
        Some(_) => {
            complain(format_args!("COPSE_ROOT is set: nothing that runs is there"));
            Err(Exit::Usage)
        }
    }
}

/// What the group comes to with the amendment.
///
/// # Errors
/// The exit status, once its mistakes were shown.
pub(crate) fn foresee(
    work: &Session,
    directories: &Directories,
    amendment: &Amendment,
) -> Result<(Group, Source), Exit> {
    let context = Context { scope: work.scope, cpus: generator::cpus() };
    let outcome = amendment.foresee(directories, &context);
    let mistakes = outcome.as_ref().map(|outcome| outcome.diagnostics.clone()).unwrap_or_default();
    match outcome.and_then(|outcome| outcome.group.zip(outcome.source)) {
        Some(good) => Ok(good),
        None => {
            let report = Report { format: Format::Auto, color: ColorChoice::Auto };
            let _ = stderr().write_all(report.text(mistakes.iter(), &stderr()).as_bytes());
            complain(format_args!("nothing was changed"));
            Err(Exit::Invalid)
        }
    }
}

/// Puts the files in place and has the manager read them; if it can't, they are taken back.
///
/// # Errors
/// What the manager refuses; inside, the exit status once it was said that a file can't be written.
pub(crate) async fn bring(
    work: &Session,
    directories: &Directories,
    amendment: &Amendment,
) -> Result<Result<(), Exit>, Stop> {
    let placed = match amendment.place(directories) {
        Ok(placed) => placed,
        Err((path, error)) => return Ok(Err(unwritten(&path, &error))),
    };
    work.progress.changed(placed.changed());
    match work.systemd().reload().await {
        Ok(()) => Ok(Ok(())),
        Err(error) => {
            placed.take_back();
            Err(error.into())
        }
    }
}

/// The file that has the last word about a key of a process.
pub(crate) fn last_word(source: &Source, process: &ProcessName, key: &str) -> Option<PathBuf> {
    let says = |file: &&std::sync::Arc<crate::basic::diagnostic::SourceFile>| {
        let table = document::parse(file, &mut Diagnostics::default());
        let process = table.as_ref().and_then(|table| table.table("process")?.table(process.as_str()));
        process.is_some_and(|table| table.get(key).is_some())
    };
    let files = source.drop_ins.iter().rev().chain([&source.file]);
    files.into_iter().find(|file| says(file)).map(|file| file.path.clone())
}

/// Says that another file has the last word.
pub(crate) fn outvoted(source: &Source, target: &Target, key: &str) -> Exit {
    let path = last_word(source, &target.process, key).unwrap_or_default();
    let path = one_line(&path.display().to_string());
    complain(format_args!("nothing was changed: `{key}` of {} is what `{path}` says", target.label()));
    Exit::Failed
}
