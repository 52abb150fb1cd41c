//! `copse edit`: opens a drop-in or a group file in an editor.
//!
//! The editor opens a draft next to the file, under a name that copse and systemd ignore. The draft replaces the file in
//! one step, and only if the group then has no errors. Otherwise it is kept, so that no edit is lost.

mod text;

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use super::files;
use super::transaction::{Transaction, drop_in};
use crate::basic::scope::{Directories, Scope};
use crate::basic::suggest;
use crate::cli::common::error::Error;
use crate::cli::common::execute::Execute;
use crate::cli::common::exit::Exit;
use crate::cli::common::groups;
use crate::cli::common::message::{copse, warn};
use crate::cli::common::report::Report;
use crate::generator::load::GroupOutcome;
use crate::notify::sys::Signals;
use crate::unit::name::GroupName;

/// The drop-in that is edited. Those of `copse scale` and `copse hold` have higher numbers and override it.
const DROP_IN: &str = "50-local.toml";

/// The editors of systemctl(1), if no variable names one.
const EDITORS: &str = "for editor in editor nano vim vi; do \
     command -v $editor >/dev/null && exec $editor \"$1\"; done; \
     echo 'no editor found: set $VISUAL or $EDITOR' >&2; exit 127";

/// Edit a drop-in or a group file, and check it before it is installed.
///
/// Uses $VISUAL or $EDITOR. Running processes are not affected: `copse plan` shows what the change means, and
/// `copse apply` carries it out.
#[derive(Debug, Args)]
pub(crate) struct Edit {
    /// Group.
    #[arg(value_name = "GROUP")]
    group: String,

    /// Edit the group file instead of a drop-in. A packaged file is copied first, a missing one is created.
    #[arg(long)]
    full: bool,

    #[command(flatten)]
    report: Report,
}

struct Draft {
    scope: Scope,
    group: GroupName,
    directories: Directories,
    /// The file that it replaces, without `$COPSE_ROOT`.
    path: PathBuf,
    /// The text of that file; `None` if there is none.
    before: Option<String>,
    /// The draft itself, with `$COPSE_ROOT`.
    draft: PathBuf,
    /// Shown below the text, and discarded.
    appendix: String,
}

impl Execute for Edit {
    /// Runs the editor until the text is valid or unchanged, or the caller declines to edit again.
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        let draft = self.draft(scope)?;
        while !self.edit(&draft)? {}
        Ok(Exit::Done)
    }
}

impl Edit {
    fn draft(&self, scope: Scope) -> Result<Draft, Error> {
        let (directories, outcome) = groups::load(scope);
        let Some(group) = GroupName::new(&self.group) else {
            return Err(Error::usage(format_args!("`{}` is not a valid group name", self.group)));
        };
        let found = outcome.groups.iter().find(|found| found.name == group);
        if found.is_none() && !self.full {
            let nearest = suggest::nearest(&self.group, outcome.groups.iter().map(|group| group.name.as_str()));
            return Err(Error::no_such_group(format_args!("there is no group `{group}`"))
                .did_you_mean(nearest)
                .help(format_args!("run `{} edit --full {group}` to create it", copse(scope))));
        }
        let Some(directory) = directories.groups.first() else {
            return Err(Error::failed("there is no directory for group files").help("set HOME"));
        };
        let path = match self.full {
            true => directory.join(format!("{group}.toml")),
            false => drop_in(directory, &group, DROP_IN),
        };
        let before = match fs::read_to_string(directories.rooted(&path)) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Error::cannot(format_args!("read `{}`", path.display()), error)),
        };
        let appendix = if self.full { String::new() } else { found.map(text::appendix).unwrap_or_default() };
        // The administrator's copy of a packaged file.
        let packaged = found.filter(|_| self.full).and_then(|found| found.source.as_ref());
        let text = before.clone().or_else(|| packaged.map(|source| source.file.text.clone())).unwrap_or_default();
        let draft = unused(&directories.rooted(&path));
        let draft = Draft { scope, group, directories, path, before, draft, appendix };
        draft.write(&text).map_err(|error| {
            files::remove_empty_directory(&draft.draft);
            Error::file("write", &draft.draft, &error)
        })?;
        Ok(draft)
    }

    /// Runs the editor once; `false` if it is to be run again.
    fn edit(&self, draft: &Draft) -> Result<bool, Error> {
        let opened = draft.read();
        open(&draft.draft).map_err(|error| match (draft.read(), &opened) {
            (Ok(now), Ok(opened)) if now == *opened => {
                draft.discard();
                error
            }
            _ => draft.keep(error),
        })?;
        let text = draft.read()?;
        if text.trim().is_empty() || draft.before.as_deref() == Some(text.as_str()) {
            draft.discard();
            let reason = if text.trim().is_empty() { "the text is empty" } else { "no changes" };
            let result = if draft.before.is_some() { "not changed" } else { "not created" };
            warn(&format!("{reason}, `{}` {result}", draft.path.display()), None);
            return Ok(true);
        }
        let transaction = Transaction::new(draft.group.clone()).write(draft.path.clone(), text);
        let preview = transaction.preview(&draft.directories, &groups::context(draft.scope));
        self.report.print(preview.iter().flat_map(|preview| preview.diagnostics.iter()));
        if preview.is_none_or(|preview: GroupOutcome| preview.diagnostics.has_errors()) {
            return match asks_for_another_round() {
                true => Ok(false),
                false => Err(draft.keep(Error::new(Exit::Invalid, "not installed: the group file has errors"))),
            };
        }
        draft.install(&transaction)?;
        Ok(true)
    }
}

impl Draft {
    fn write(&self, text: &str) -> io::Result<()> {
        if let Some(directory) = self.draft.parent() {
            files::make_directory(directory)?;
        }
        let mut file = fs::File::create_new(&self.draft)?;
        file.write_all(text::with_appendix(text, &self.appendix).as_bytes())
    }

    /// The text without the appendix.
    fn read(&self) -> Result<String, Error> {
        match fs::read_to_string(&self.draft) {
            Ok(text) => Ok(text::without_appendix(&text).to_owned()),
            Err(error) => Err(Error::cannot(format_args!("read `{}`", self.draft.display()), error)),
        }
    }

    fn install(&self, transaction: &Transaction) -> Result<(), Error> {
        let path = self.path.display();
        // Another edit must not be lost, either.
        if fs::read_to_string(self.directories.rooted(&self.path)).ok() != self.before {
            return Err(self.keep(Error::failed(format_args!("`{path}` changed on disk while you edited it"))));
        }
        let _committed = transaction.commit(&self.directories).map_err(|error| self.keep(error))?;
        self.discard();
        let help = format!("run `{} plan {}` to see what that means", copse(self.scope), self.group);
        warn(&format!("wrote `{path}`"), Some(&help));
        Ok(())
    }

    fn discard(&self) {
        let _ = fs::remove_file(&self.draft);
        files::remove_empty_directory(&self.draft);
    }

    fn keep(&self, error: Error) -> Error {
        error.help(format_args!("find your edits in `{}`", self.draft.display()))
    }
}

/// A name next to `path` that is not used. It keeps the suffix, by which editors recognize TOML.
fn unused(path: &Path) -> PathBuf {
    let name = path.file_name().map(OsString::from).unwrap_or_default();
    let name = name.to_string_lossy();
    let mut names = (1..).map(|number: u64| path.with_file_name(format!(".edit-{number}-{name}")));
    names.find(|path| fs::symlink_metadata(path).is_err()).unwrap_or_default()
}

/// Runs the editor. As for other programs, the variable is a shell command.
fn open(draft: &Path) -> Result<(), Error> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let script = match variable("VISUAL").or_else(|| variable("EDITOR")) {
        Some(mut editor) => {
            editor.push(" \"$1\"");
            editor
        }
        None => EDITORS.into(),
    };
    // Ctrl-C is the editor's. A child starts with no signal blocked.
    let interrupts = Signals::of(&[libc::SIGINT, libc::SIGQUIT]);
    let before = interrupts.block_only();
    let ended = Command::new("/bin/sh").arg("-c").arg(script).arg("sh").arg(draft).status();
    interrupts.discard();
    let _ = before.block_only();
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Error::failed(format_args!("the editor failed ({status})"))),
        Err(error) => Err(Error::cannot("run a shell for the editor", error)),
    }
}

/// Asks whether to edit again. Without a terminal, the answer is no.
fn asks_for_another_round() -> bool {
    if !io::stdin().is_terminal() {
        return false;
    }
    eprint!("edit it again? [Y/n] ");
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    matches!(read, Ok(length) if length > 0) && !answer.trim().to_lowercase().starts_with('n')
}
