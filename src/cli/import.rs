//! `copse import`: another process manager's files become a group file.

mod procfile;
mod supervisord;

use std::fs::File;
use std::io::{ErrorKind, Write as _, stderr};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::common::exit::Exit;
use super::common::output;
use super::common::output::Report;
use super::common::output::{complain, failed};
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, Severity, SourceFile};
use crate::basic::scope::Scope;
use crate::unit::name::GroupName;

/// Make a group file of another process manager's files.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub struct Import {
    /// Say what becomes of each option, and import nothing.
    #[arg(long)]
    explain: bool,

    #[command(subcommand)]
    from: Option<From>,
}

#[derive(Debug, Subcommand)]
enum From {
    Supervisord(supervisord::Supervisord),
    Procfile(procfile::Procfile),
}

impl Import {
    /// Writes the group file, and says on the standard error what isn't as it was.
    pub fn run(self, scope: Scope) -> Exit {
        match self.from {
            Some(From::Supervisord(supervisord)) => supervisord.run(scope),
            Some(From::Procfile(procfile)) => procfile.run(scope),
            None => print(&supervisord::explanation()),
        }
    }
}

/// Where the group file goes, and how the report looks.
#[derive(Debug, Args)]
struct Output {
    /// The group's name [default: the name of the output, or else of the first file, without its suffix].
    #[arg(long, value_name = "GROUP", value_parser = super::common::args::group_name)]
    name: Option<GroupName>,

    /// Write the group file here, where no file may be yet [default: the standard output].
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    report: Report,
}

impl Output {
    /// The group's name, from the options or from a file that is imported.
    fn group(&self, file: Option<&Path>) -> GroupName {
        let stem = |path: &Path| {
            let stem = path.file_stem()?.to_string_lossy();
            let safe = |c: char| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '-' };
            GroupName::new(stem.chars().map(safe).collect::<String>().trim_start_matches(['_', '.', '-']))
        };
        let toml = self.output.as_deref().filter(|path| path.extension().is_some_and(|suffix| suffix == "toml"));
        let fallback = || GroupName::new("imported").expect("it is a name");
        self.name.clone().or_else(|| toml.and_then(stem)).or_else(|| file.and_then(stem)).unwrap_or_else(fallback)
    }

    /// Says why nothing can be imported at all.
    fn refuse(&self, diagnostic: &Diagnostic) -> Exit {
        let _ = write!(stderr(), "{}", self.report.text([diagnostic], &stderr()));
        Exit::Failed
    }

    /// Prints the report, and writes the group file if there is one.
    fn finish(&self, group_file: Option<&str>, diagnostics: &Diagnostics, summary: &str, next: &[String]) -> Exit {
        let said = self.report.text(diagnostics.iter(), &stderr());
        let gap = if said.is_empty() { "" } else { "\n" };
        let _ = write!(stderr(), "{said}{gap}");
        if self.report.format == output::Format::Auto {
            let _ = writeln!(stderr(), "{summary}: {}", output::Counts::of(diagnostics.iter()));
        }
        let Some(text) = group_file else {
            complain(format_args!("nothing is left to be imported"));
            return Exit::Failed;
        };
        if self.write(text) != Exit::Done {
            return Exit::Failed;
        }
        if self.output.is_some() && self.report.format == output::Format::Auto {
            for (place, command) in next.iter().enumerate() {
                let _ = writeln!(stderr(), "{}{command}", if place == 0 { "\n  next  " } else { "        " });
            }
        }
        if diagnostics.has_errors() {
            return Exit::Failed;
        }
        match diagnostics.iter().map(crate::basic::diagnostic::Diagnostic::severity).next() {
            None => Exit::Done,
            Some(Severity::Error | Severity::Warning | Severity::Note) => Exit::WithNotes,
        }
    }

    fn write(&self, text: &str) -> Exit {
        let Some(path) = &self.output else { return print(text) };
        match create(path, 0o666, text) {
            Ok(()) => Exit::Done,
            Err(exit) => exit,
        }
    }
}

/// The commands with which a group that was written to /etc/copse takes over, after those that `before` names.
fn next(scope: Scope, group: &GroupName, before: &[&str]) -> Vec<String> {
    let systemctl = super::common::output::systemctl(scope);
    let start = [format!("{systemctl} daemon-reload"), format!("{systemctl} start {group}.target")];
    before.iter().map(|command| (*command).to_owned()).chain(start).collect()
}

/// Writes a file that isn't there yet, with this mode less the umask from its first moment on.
///
/// # Errors
/// [`Exit::Failed`] where it is there, or can't be written; once it was said.
fn create(path: &Path, mode: u32, text: &str) -> Result<(), Exit> {
    let written = File::options().write(true).create_new(true).mode(mode).open(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            failed(&format_args!("`{}` is there already, and isn't overwritten", path.display()))
        }
        _ => failed(&format_args!("`{}` can't be written: {error}", path.display())),
    })
}

/// A file of another process manager's, with its absolute path.
pub(super) fn read(path: &Path) -> Result<SourceFile, Diagnostic> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let bytes = std::fs::read(&path)
        .map_err(|error| Diagnostic::file(Code::Unreadable, &path, format!("can't be read: {error}")))?;
    let text =
        String::from_utf8(bytes).map_err(|_| Diagnostic::file(Code::NotUtf8, &path, "the file isn't UTF-8 text"))?;
    Ok(SourceFile { path, text })
}

fn print(text: &str) -> Exit {
    match output::print(text) {
        Ok(()) => Exit::Done,
        Err(error) => {
            complain(format_args!("the text can't be written: {error}"));
            Exit::Failed
        }
    }
}
