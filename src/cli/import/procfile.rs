//! `copse import procfile`

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::output::{Output, create, next};
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, SourceFile};
use crate::basic::scope::Scope;
use crate::basic::suggest;
use crate::cli::common::error::Error;
use crate::cli::common::exit::Exit;
use crate::cli::common::input::read_file;
use crate::import::dotenv;
use crate::import::dotenv::Variable;
use crate::import::procfile;
use crate::import::procfile::{Formation, ProcfileLine, Settings};
use crate::import::validate::accept;
use crate::unit::environment_file;
use crate::unit::name::GroupName;

/// Import a Procfile, as foreman and honcho run it.
#[derive(Debug, Args)]
pub struct Procfile {
    /// Procfile.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// `.env` files with variables for the processes.
    #[arg(short, long, value_name = "FILE,…", value_delimiter = ',')]
    env: Vec<PathBuf>,

    /// Write the variables to this file, readable by its owner only, instead of the group file.
    #[arg(long, value_name = "PATH", requires = "env")]
    env_file_path: Option<PathBuf>,

    /// Number of instances of each process; others are not imported, unless `all=N` is given.
    #[arg(short = 'm', long, value_name = "NAME=N,…", value_parser = Formation::new)]
    formation: Option<Formation>,

    /// First port of the processes [default: `PORT` of the `.env` files, or 5000].
    #[arg(short, long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,

    /// Working directory of the processes [default: the Procfile's directory].
    #[arg(short = 'd', long, value_name = "DIR")]
    directory: Option<PathBuf>,

    #[command(flatten)]
    output: Output,
}

impl Procfile {
    /// Reads all files, and writes the group file.
    pub fn run(self, scope: Scope) -> Result<Exit, Error> {
        let mut diagnostics = Diagnostics::default();
        let (file, variables) = match self.read(&mut diagnostics) {
            Ok(read) => read,
            Err(why) => return Ok(self.output.refuse(&why)),
        };
        let (entries, found) = procfile::read(&file);
        diagnostics.extend(found);
        let (text, group) = self.import(scope, &file, &entries, variables, &mut diagnostics)?;
        diagnostics.sort();
        let summary = format!("{} in group `{group}`", file.path.display());
        self.output.finish(text.as_deref(), &diagnostics, &summary, &next(scope, &group, &[]))
    }

    /// The Procfile, and the variables of the `.env` files.
    fn read(&self, diagnostics: &mut Diagnostics) -> Result<(Arc<SourceFile>, Vec<Variable>), Diagnostic> {
        let file = Arc::new(read_file(&self.file)?);
        let mut variables = Vec::new();
        for path in &self.env {
            let found = dotenv::read(&Arc::new(read_file(path)?));
            diagnostics.extend(found.diagnostics);
            found.variables.into_iter().for_each(|found| dotenv::set(&mut variables, &found.name, found.value));
        }
        let default = file.path.with_file_name(".env");
        if self.env.is_empty() && default.is_file() {
            let message = "not read: group files are readable by all users";
            let help = "add `--env .env`, and for secrets `--env-file-path PATH`";
            diagnostics.push(Diagnostic::file(Code::LeftOut, &default, message).help(help));
        }
        Ok((file, variables))
    }

    fn import(
        &self,
        scope: Scope,
        file: &Arc<SourceFile>,
        entries: &[ProcfileLine],
        mut variables: Vec<Variable>,
        diagnostics: &mut Diagnostics,
    ) -> Result<(Option<String>, GroupName), Error> {
        let formation = self.formation.clone().unwrap_or_default();
        let names = || entries.iter().map(|entry| entry.name.as_str());
        if let Some(unknown) = formation.unknown(names()) {
            let near = suggest::nearest(unknown, names());
            let message = format!("{} has no process `{unknown}`", file.path.display());
            return Err(Error::usage(message).did_you_mean(near));
        }
        let port = match (self.port, procfile::first_port(&variables)) {
            (Some(port), _) | (None, Ok(port)) => port,
            (None, Err(text)) => {
                return Err(Error::usage(format_args!("`PORT={text}` is not a port")).help("set one with `--port`"));
            }
        };
        variables.retain(|variable| variable.name != "PORT");
        let path = self.write_variables(&variables)?;
        let directory = self.directory.as_deref().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.into()));
        let directory = directory.unwrap_or_else(|| file.path.parent().unwrap_or(Path::new("/")).to_owned());
        let settings = Settings {
            formation: &formation,
            port,
            variables: &variables,
            environment_file: path,
            directory: &directory,
            search_path: variables.iter().any(|variable| variable.name == "PATH"),
        };
        let group = self.output.group(Some(&directory));
        let procfile::Imported { file: mut imported, names, diagnostics: found } = procfile::group(entries, &settings);
        diagnostics.extend(found);
        procfile::installed(&mut imported, &file.path, scope);
        if path.is_none() {
            warn_of_secrets(file, &variables, diagnostics);
        }
        let (refused, error) = accept(&mut imported, &group, scope);
        if let Some(error) = error {
            diagnostics.push(Diagnostic::file(Code::NotImported, &file.path, error));
        }
        for refused in refused {
            let is_it = |name: &Option<String>| name.as_deref() == Some(&refused.process);
            let Some(entry) = names.iter().position(is_it).and_then(|at| entries.get(at)) else { continue };
            let message = format!("`{}` cannot be a process: {}", entry.name, refused.reason);
            let mut diagnostic = Diagnostic::new(Code::NotImported, &entry.location, message);
            diagnostic.help = refused.help;
            diagnostics.push(diagnostic);
        }
        Ok(((!imported.processes.is_empty()).then(|| imported.to_string()), group))
    }

    /// Writes the variables to `--env-file-path`. Returns the path.
    fn write_variables(&self, variables: &[Variable]) -> Result<Option<&Path>, Error> {
        let Some(path) = self.env_file_path.as_deref() else { return Ok(None) };
        if !path.is_absolute() {
            return Err(Error::usage(format_args!("`--env-file-path {}` is not an absolute path", path.display())));
        }
        let pairs = variables.iter().map(|variable| (variable.name.as_str(), variable.value.as_str()));
        let text = environment_file::text(pairs);
        create(path, 0o600, &text)?;
        Ok(Some(path))
    }
}

/// Warns about variables whose names look like those of secrets.
fn warn_of_secrets(file: &Arc<SourceFile>, variables: &[Variable], diagnostics: &mut Diagnostics) {
    let words = ["SECRET", "PASS", "TOKEN", "KEY", "CREDENTIAL"];
    let secret = |variable: &&Variable| words.iter().any(|word| variable.name.contains(word));
    let names: Vec<&str> = variables.iter().filter(secret).map(|variable| variable.name.as_str()).collect();
    if !names.is_empty() {
        let message = format!(
            "the group file contains {}, which may be secret; all users can read it and the properties of units",
            names.join(", ")
        );
        let help = "add `--env-file-path PATH`, a file that only root can read";
        diagnostics.push(Diagnostic::file(Code::Otherwise, &file.path, message).help(help));
    }
}
