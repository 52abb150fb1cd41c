//! `copse edit`: a drop-in for a group, or the group file itself, in an editor.
//!
//! What is edited is a file beside the one that it becomes, with a name that copse and systemd don't look at. It takes
//! the place of the other in one step, and only if the group has no mistake then; as long as it doesn't, it stays, so
//! that no text is ever lost.

mod text;

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _, stderr};
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use super::transaction;
use super::transaction::Amendment;
use crate::basic::scope::{Directories, Scope};
use crate::basic::suggest;
use crate::cli::common::exit::Exit;
use crate::cli::common::output::Report;
use crate::cli::common::output::complain;
use crate::cli::common::output::unwritten;
use crate::generator;
use crate::generator::load;
use crate::generator::load::GroupOutcome;
use crate::model::Context;
use crate::notify::sys::Signals;
use crate::unit::name::GroupName;

/// The drop-in that is edited. In front of those that `copse scale` and `copse hold` write, which are about now.
const DROP_IN: &str = "50-local.toml";

/// What is tried where no variable names an editor: what systemctl(1) tries.
const EDITORS: &str = "for editor in editor nano vim vi; do \
     command -v $editor >/dev/null && exec $editor \"$1\"; done; \
     echo 'no editor is found: set $VISUAL or $EDITOR' >&2; exit 127";

/// Edit a drop-in for a group, or the group file, and check it before it is put in place.
///
/// $VISUAL or $EDITOR is the editor. Nothing of what runs is touched: `copse plan` then tells what the change means,
/// and `copse apply` makes it.
#[derive(Debug, Args)]
pub struct Edit {
    /// Which group.
    #[arg(value_name = "GROUP")]
    group: String,

    /// Edit the whole group file instead of a drop-in; a packaged one is copied first. A group that isn't there is made.
    #[arg(long)]
    full: bool,

    #[command(flatten)]
    report: Report,
}

/// What is edited.
struct Subject<'d> {
    group: GroupName,
    directories: &'d Directories,
    context: Context,
    /// The file that it becomes, as its author knows it.
    path: PathBuf,
    /// What is there now.
    before: Option<String>,
    /// The file in the editor, on this machine.
    draft: PathBuf,
    /// Below the text, for reading: everything from the mark on is left out.
    appendix: String,
}

impl Edit {
    /// Runs the editor until the text is good, nothing was changed, or the caller gives up.
    pub fn run(self, scope: Scope) -> Exit {
        let directories = Directories::from_environment(scope, None);
        let context = Context { scope, cpus: generator::cpus() };
        let subject = match self.subject(&directories, context) {
            Ok(subject) => subject,
            Err(exit) => return exit,
        };
        loop {
            if let Some(exit) = self.round(&subject) {
                return exit;
            }
        }
    }

    fn subject<'d>(&self, directories: &'d Directories, context: Context) -> Result<Subject<'d>, Exit> {
        let outcome = load::load(directories, &context);
        let Some(group) = GroupName::new(&self.group) else {
            complain(format_args!("`{}` can't be a group's name", self.group));
            return Err(Exit::Usage);
        };
        let found = outcome.groups.iter().find(|found| found.name == group);
        if found.is_none() && !self.full {
            let near = suggest::nearest(&self.group, outcome.groups.iter().map(|group| group.name.as_str()));
            let hint = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("`{} edit --full {group}` makes one", crate::cli::common::output::copse(context.scope)),
            };
            complain(format_args!("there is no group `{group}`; {hint}"));
            return Err(Exit::NoSuchGroup);
        }
        let Some(directory) = directories.groups.first() else {
            complain(format_args!("there is no directory for group files: HOME isn't set"));
            return Err(Exit::Failed);
        };
        let path = match self.full {
            true => directory.join(format!("{group}.toml")),
            false => transaction::drop_in(directory, &group, DROP_IN),
        };
        let before = match fs::read_to_string(directories.rooted(&path)) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                complain(format_args!("`{}` can't be read: {error}", path.display()));
                return Err(Exit::Failed);
            }
        };
        let draft = draft(&directories.rooted(&path));
        let appendix = if self.full { String::new() } else { found.map(text::appendix).unwrap_or_default() };
        let packaged = found.filter(|_| before.is_none()).and_then(|found| found.source.as_ref());
        // A packaged file is where the administrator's begins.
        let text = before.clone().or_else(|| packaged.filter(|_| self.full).map(|source| source.file.text.clone()));
        let subject = Subject { group, directories, context, path, before, draft, appendix };
        subject.write(text.as_deref().unwrap_or_default()).map_err(|error| {
            transaction::tidy(&subject.draft);
            unwritten(&subject.draft, &error)
        })?;
        Ok(subject)
    }

    /// The editor once, and what came of it; `None` where it is to be opened again.
    fn round(&self, subject: &Subject<'_>) -> Option<Exit> {
        let opened = subject.text();
        if let Err(why) = open(&subject.draft) {
            complain(format_args!("{why}"));
            return Some(subject.give_up(&opened));
        }
        let text = match subject.text() {
            Ok(text) => text,
            Err(error) => {
                complain(format_args!("`{}` can't be read: {error}", subject.draft.display()));
                return Some(Exit::Failed);
            }
        };
        if text.trim().is_empty() || subject.before.as_deref() == Some(text.as_str()) {
            subject.discard();
            let what = if text.trim().is_empty() { "the text is empty" } else { "nothing was changed" };
            let then = if subject.before.is_some() { "stays as it was" } else { "isn't made" };
            eprintln!("copse: {what}: `{}` {then}", subject.path.display());
            return Some(Exit::Done);
        }
        let amendment = Amendment::new(subject.group.clone()).write(subject.path.clone(), text);
        let outcome = amendment.foresee(subject.directories, &subject.context);
        if let Some(outcome) = &outcome {
            let said = self.report.text(outcome.diagnostics.iter(), &stderr());
            let _ = stderr().write_all(said.as_bytes());
        }
        if outcome.is_none_or(|outcome: GroupOutcome| outcome.diagnostics.has_errors()) {
            return match again() {
                true => None,
                false => {
                    subject.keep("it isn't put in place like this");
                    Some(Exit::Invalid)
                }
            };
        }
        Some(subject.put_in_place(&amendment))
    }
}

impl Subject<'_> {
    fn write(&self, text: &str) -> io::Result<()> {
        if let Some(directory) = self.draft.parent() {
            transaction::make_directory(directory)?;
        }
        let mut file = fs::File::create_new(&self.draft)?;
        file.write_all(text::with_appendix(text, &self.appendix).as_bytes())
    }

    /// What the editor left, without the appendix.
    fn text(&self) -> io::Result<String> {
        fs::read_to_string(&self.draft).map(|text| text::without_appendix(&text).to_owned())
    }

    /// Somebody else may have changed the file meanwhile, whose text must not be lost either.
    fn put_in_place(&self, amendment: &Amendment) -> Exit {
        let now = fs::read_to_string(self.directories.rooted(&self.path)).ok();
        if now != self.before {
            complain(format_args!("`{}` was changed by somebody else meanwhile", self.path.display()));
            self.keep("it isn't put in place");
            return Exit::Failed;
        }
        match amendment.place(self.directories) {
            Ok(_placed) => {
                self.discard();
                let (path, copse) = (self.path.display(), crate::cli::common::output::copse(self.context.scope));
                eprintln!("copse: wrote `{path}`; `{copse} plan {}` tells what it means", self.group);
                Exit::Done
            }
            Err((path, error)) => {
                let exit = unwritten(&path, &error);
                self.keep("it isn't put in place");
                exit
            }
        }
    }

    /// The editor failed: what was typed until then stays.
    fn give_up(&self, opened: &io::Result<String>) -> Exit {
        match (self.text(), opened) {
            (Ok(now), Ok(before)) if now == *before => self.discard(),
            _ => self.keep("nothing was put in place"),
        }
        Exit::Failed
    }

    fn discard(&self) {
        let _ = fs::remove_file(&self.draft);
        transaction::tidy(&self.draft);
    }

    fn keep(&self, why: &str) {
        complain(format_args!("{why}; your text is kept in `{}`", self.draft.display()));
    }
}

/// A name beside `path` that nobody has, with its ending, by which editors know TOML.
fn draft(path: &Path) -> PathBuf {
    let name = path.file_name().map(OsString::from).unwrap_or_default();
    let name = name.to_string_lossy().into_owned();
    let mut number = 0;
    loop {
        number += 1;
        let draft = path.with_file_name(format!(".edit-{number}-{name}"));
        if fs::symlink_metadata(&draft).is_err() {
            return draft;
        }
    }
}

/// Runs the editor on a file, as other programs run it: the variable is a command of the shell's.
fn open(draft: &Path) -> Result<(), String> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let script = match variable("VISUAL").or_else(|| variable("EDITOR")) {
        Some(mut editor) => {
            editor.push(" \"$1\"");
            editor
        }
        None => EDITORS.into(),
    };
    // Ctrl-C is the editor's affair. The child is born with no signal blocked.
    let interrupts = Signals::of(&[libc::SIGINT, libc::SIGQUIT]);
    let before = interrupts.block_only();
    let ended = Command::new("/bin/sh").arg("-c").arg(script).arg("sh").arg(draft).status();
    interrupts.discard();
    let _ = before.block_only();
    match ended {
        Ok(status) if status.success() => Ok(()),
        // 128 and the signal's number where one ended it: the shell says so.
        Ok(status) => Err(format!("the editor failed ({status})")),
        Err(error) => Err(format!("no shell to run the editor with: {error}")),
    }
}

/// Asks whether to edit again; where nobody can answer, not.
fn again() -> bool {
    if !io::stdin().is_terminal() {
        return false;
    }
    eprint!("edit it again? [Y/n] ");
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    matches!(read, Ok(length) if length > 0) && !answer.trim().to_lowercase().starts_with('n')
}
