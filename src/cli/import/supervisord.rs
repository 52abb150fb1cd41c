//! `copse import supervisord`

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use glob::MatchOptions;

use super::output::{Output, next};
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, SourceFile};
use crate::basic::scope::Scope;
use crate::cli::common::error::Error;
use crate::cli::common::exit::Exit;
use crate::cli::common::input::read_file;
use crate::cli::common::output::print;
use crate::import::dotenv;
use crate::import::supervisord::config::World;
use crate::import::supervisord::options::KINDS;
use crate::import::supervisord::reader;
use crate::import::supervisord::translate::translate;

/// Import supervisord's programs.
#[derive(Debug, Args)]
pub struct Supervisord {
    /// supervisord.conf, and files that are read as if it included them.
    #[arg(value_name = "FILE", required_unless_present = "explain")]
    files: Vec<PathBuf>,

    /// Print what each option becomes, and import nothing.
    #[arg(long, exclusive = true)]
    explain: bool,

    /// File of variables for `%(ENV_NAME)s`, one `NAME=value` per line.
    #[arg(long, value_name = "FILE")]
    env: Vec<PathBuf>,

    /// Use the variables of this process for `%(ENV_NAME)s` as well.
    #[arg(long)]
    env_from_process: bool,

    #[command(flatten)]
    output: Output,
}

impl Supervisord {
    /// Reads all files, and writes the group file.
    pub fn run(self, scope: Scope) -> Result<Exit, Error> {
        if self.explain {
            return print(&explanation()).map(|()| Exit::Done);
        }
        let mut diagnostics = Diagnostics::default();
        let (files, environment) = match (self.read_files(), self.environment(&mut diagnostics)) {
            (Ok(files), Ok(environment)) => (files, environment),
            (Err(why), _) | (_, Err(why)) => return Ok(self.output.refuse(&why)),
        };
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned();
        let group = self.output.group(self.files.first().map(PathBuf::as_path));
        let config = reader::read(files, &World { environment, host, include: &included });
        let imported = translate(&config, &group, scope);
        let text = (!imported.members.is_empty()).then(|| imported.file.to_string());
        let processes = match imported.members.len() {
            1 => "1 process".to_owned(),
            count => format!("{count} processes"),
        };
        let summary = format!("{processes} of supervisord in group `{group}`");
        diagnostics.extend(imported.diagnostics);
        let next = next(scope, &group, &["systemctl disable --now supervisor"]);
        self.output.finish(text.as_deref(), &diagnostics, &summary, &next)
    }

    fn read_files(&self) -> Result<Vec<SourceFile>, Diagnostic> {
        self.files.iter().map(|path| read_file(path)).collect()
    }

    fn environment(&self, diagnostics: &mut Diagnostics) -> Result<BTreeMap<String, String>, Diagnostic> {
        let mut environment = BTreeMap::new();
        if self.env_from_process {
            // A group file can hold UTF-8 only.
            environment.extend(
                std::env::vars_os()
                    .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
            );
        }
        for path in &self.env {
            let found = dotenv::read(&Arc::new(read_file(path)?));
            environment.extend(found.variables.into_iter().map(|variable| (variable.name, variable.value)));
            // That foreman reads the file differently does not matter here.
            let left_out = found.diagnostics.iter().filter(|diagnostic| diagnostic.code == Code::LeftOut);
            left_out.for_each(|diagnostic| diagnostics.push(diagnostic.clone()));
        }
        Ok(environment)
    }
}

/// The files that a pattern of `[include]` matches, sorted. As for Python's `glob.glob`, `*` matches no hidden file, and
/// `**` no directory separator.
fn included(pattern: &str) -> Vec<Result<SourceFile, Diagnostic>> {
    let options =
        MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };
    let mut pattern = pattern.to_owned();
    while pattern.contains("**") {
        pattern = pattern.replace("**", "*");
    }
    match glob::glob_with(&pattern, options) {
        Ok(paths) => {
            let mut paths: Vec<PathBuf> = paths.flatten().collect();
            paths.sort();
            paths.iter().map(|path| read_file(path)).collect()
        }
        Err(error) => vec![Err(Diagnostic::file(Code::NotImported, pattern, format!("not a valid pattern: {error}")))],
    }
}

/// The table of options.
pub(super) fn explanation() -> String {
    let mut text = String::new();
    for kind in KINDS {
        let gap = if text.is_empty() { "" } else { "\n" };
        let _ = writeln!(text, "{gap}{}", kind.header());
        if let Some(sentence) = kind.sentence() {
            let _ = writeln!(text, "  {sentence}");
        }
        for row in kind.rows {
            let options = row.options().collect::<Vec<_>>().join(", ");
            let gap = if options.len() > 27 { format!("\n{:29}", "") } else { String::new() };
            let _ = writeln!(text, "  {options:<27}{gap} {}", row.sentence());
        }
    }
    text
}
