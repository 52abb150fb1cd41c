//! `copse import`: converts the files of another process manager to a group file.

mod procfile;
mod supervisord;

use std::fs::File;
use std::io::{ErrorKind, Write as _, stderr};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::common::error::Error;
use super::common::execute::Execute;
use super::common::exit::Exit;
use super::common::output;
use super::common::report;
use super::common::report::Report;
use crate::basic::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::basic::scope::Scope;
use crate::unit::name::GroupName;

/// Convert the files of another process manager to a group file.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub struct Import {
    /// Print what each option becomes, and import nothing.
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

impl Execute for Import {
    /// Writes the group file, and reports on stderr what behaves differently.
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        match self.from {
            Some(From::Supervisord(supervisord)) => supervisord.run(scope),
            Some(From::Procfile(procfile)) => procfile.run(scope),
            None => output::print(&supervisord::explanation()).map(|()| Exit::Done),
        }
    }
}

#[derive(Debug, Args)]
struct Output {
    /// Name of the group [default: the name of the output, or else of the first file, without suffix].
    #[arg(long, value_name = "GROUP", value_parser = super::common::args::group_name)]
    name: Option<GroupName>,

    /// Write the group file here, if there is no file yet [default: `-`, standard output].
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    report: Report,
}

impl Output {
    /// The file to write; `None` for the standard output, also by its names.
    fn file(&self) -> Option<&Path> {
        let stdout = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].map(Path::new);
        self.output.as_deref().filter(|path| !stdout.contains(path))
    }

    /// The group's name, from the options or from a file that is imported.
    fn group(&self, file: Option<&Path>) -> GroupName {
        let stem = |path: &Path| {
            let stem = path.file_stem()?.to_string_lossy();
            let safe = |c: char| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '-' };
            GroupName::new(stem.chars().map(safe).collect::<String>().trim_start_matches(['_', '.', '-']))
        };
        let toml = self.file().filter(|path| path.extension().is_some_and(|suffix| suffix == "toml"));
        let fallback = || GroupName::new("imported").expect("it is a name");
        self.name.clone().or_else(|| toml.and_then(stem)).or_else(|| file.and_then(stem)).unwrap_or_else(fallback)
    }

    /// Reports why nothing can be imported at all.
    fn refuse(&self, diagnostic: &Diagnostic) -> Exit {
        self.report.print([diagnostic]);
        Exit::Failed
    }

    /// Prints the report, and writes the group file if there is one.
    fn finish(
        &self,
        group_file: Option<&str>,
        diagnostics: &Diagnostics,
        summary: &str,
        next: &[String],
    ) -> Result<Exit, Error> {
        let report = self.report.text(diagnostics.iter(), &stderr());
        let gap = if report.is_empty() { "" } else { "\n" };
        let _ = write!(stderr(), "{report}{gap}");
        if self.report.format == report::Format::Auto {
            let _ = writeln!(stderr(), "{summary}: {}", report::Counts::of(diagnostics.iter()));
        }
        let Some(text) = group_file else {
            return Err(Error::failed("nothing left to import"));
        };
        self.write(text)?;
        if self.file().is_some() && self.report.format == report::Format::Auto {
            for (index, command) in next.iter().enumerate() {
                let _ = writeln!(stderr(), "{}{command}", if index == 0 { "\n  next  " } else { "        " });
            }
        }
        if diagnostics.has_errors() {
            return Ok(Exit::Failed);
        }
        Ok(match diagnostics.iter().map(crate::basic::diagnostic::Diagnostic::severity).next() {
            None => Exit::Done,
            Some(Severity::Error | Severity::Warning | Severity::Note) => Exit::WithNotes,
        })
    }

    fn write(&self, text: &str) -> Result<(), Error> {
        match self.file() {
            None => output::print(text),
            Some(path) => create(path, 0o666, text),
        }
    }
}

/// The commands that put a group file in /etc/copse into use, after the commands `before`.
fn next(scope: Scope, group: &GroupName, before: &[&str]) -> Vec<String> {
    let systemctl = super::common::message::systemctl(scope);
    let start = [format!("{systemctl} daemon-reload"), format!("{systemctl} start {group}.target")];
    before.iter().map(|command| (*command).to_owned()).chain(start).collect()
}

/// Creates a file with this mode less the umask.
///
/// # Errors
/// It exists already, or cannot be written.
fn create(path: &Path, mode: u32, text: &str) -> Result<(), Error> {
    let written = File::options().write(true).create_new(true).mode(mode).open(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Error::failed(format_args!("`{}` already exists, not overwriting", path.display())),
        _ => Error::cannot(format_args!("write `{}`", path.display()), error),
    })
}
