//! What the imports have in common: the name and the file of the group, and the report.

use std::fs::File;
use std::io::{ErrorKind, Write as _, stderr};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::basic::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::basic::scope::Scope;
use crate::cli::common::error::Error;
use crate::cli::common::exit::Exit;
use crate::cli::common::report::Report;
use crate::cli::common::{args, message, output, report};
use crate::unit::name::GroupName;

#[derive(Debug, Args)]
pub(super) struct Output {
    /// Name of the group [default: the name of the output, or else of the first file, without suffix].
    #[arg(long, value_name = "GROUP", value_parser = args::group_name)]
    pub(super) name: Option<GroupName>,

    /// Write the group file here, if there is no file yet [default: `-`, standard output].
    #[arg(long, short, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,

    #[command(flatten)]
    pub(super) report: Report,
}

impl Output {
    /// The file to write; `None` for the standard output, also by its names.
    pub(super) fn file(&self) -> Option<&Path> {
        let stdout = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].map(Path::new);
        self.output.as_deref().filter(|path| !stdout.contains(path))
    }

    /// The group's name, from the options or from a file that is imported.
    pub(super) fn group(&self, file: Option<&Path>) -> GroupName {
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
    pub(super) fn refuse(&self, diagnostic: &Diagnostic) -> Exit {
        self.report.print([diagnostic]);
        Exit::Failed
    }

    /// Prints the report, and writes the group file if there is one.
    pub(super) fn finish(
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
        Ok(match diagnostics.iter().map(Diagnostic::severity).next() {
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
pub(super) fn next(scope: Scope, group: &GroupName, before: &[&str]) -> Vec<String> {
    let systemctl = message::systemctl(scope);
    let start = [format!("{systemctl} daemon-reload"), format!("{systemctl} start {group}.target")];
    before.iter().map(|command| (*command).to_owned()).chain(start).collect()
}

/// Creates a file with this mode less the umask.
///
/// # Errors
/// It exists already, or cannot be written.
pub(super) fn create(path: &Path, mode: u32, text: &str) -> Result<(), Error> {
    let written = File::options().write(true).create_new(true).mode(mode).open(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Error::failed(format_args!("`{}` already exists, not overwriting", path.display())),
        _ => Error::cannot(format_args!("write `{}`", path.display()), error),
    })
}
