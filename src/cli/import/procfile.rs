//! `copse import procfile`

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::{Error, Exit, Output, create, next};
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, SourceFile};
use crate::basic::scope::Scope;
use crate::basic::suggest;
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
    /// The Procfile.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// `.env` files, whose variables the processes get.
    #[arg(short, long, value_name = "FILE,…", value_delimiter = ',')]
    env: Vec<PathBuf>,

    /// Write the variables to this file, which only its owner can read, and not into the group file.
    #[arg(long, value_name = "PATH", requires = "env")]
    env_file_path: Option<PathBuf>,

    /// How many of which process; those that aren't named aren't imported, unless `all=N` is.
    #[arg(short = 'm', long, value_name = "NAME=N,…", value_parser = Formation::new)]
    formation: Option<Formation>,

    /// The first port of the processes [default: `PORT` of the `.env` files, or 5000].
    #[arg(short, long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,

    /// Where the processes run [default: the Procfile's directory].
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
        let (entries, said) = procfile::read(&file);
        diagnostics.extend(said);
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
        let beside = file.path.with_file_name(".env");
        if self.env.is_empty() && beside.is_file() {
            let message = "wasn't read: a group file can be read by everybody";
            let help = "add `--env .env`, and for secrets `--env-file-path PATH`";
            diagnostics.push(Diagnostic::file(Code::LeftOut, &beside, message).help(help));
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
                return Err(Error::usage(format_args!("`PORT={text}` isn't a port")).help("say one with `--port`"));
            }
        };
        variables.retain(|variable| variable.name != "PORT");
        let path = self.written(&variables)?;
        let beside = file.path.parent().unwrap_or(Path::new("/")).to_owned();
        let directory = self.directory.as_deref().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.into()));
        let directory = directory.unwrap_or(beside);
        let around = Settings {
            formation: &formation,
            port,
            variables: &variables,
            environment_file: path,
            directory: &directory,
            search_path: variables.iter().any(|variable| variable.name == "PATH"),
        };
        let group = self.output.group(Some(&directory));
        let procfile::Imported { file: mut imported, names, diagnostics: said } = procfile::group(entries, &around);
        diagnostics.extend(said);
        procfile::installed(&mut imported, &file.path, scope);
        if path.is_none() {
            secrets(file, &variables, diagnostics);
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

    /// Writes the variables to the file that is to have them.
    fn written(&self, variables: &[Variable]) -> Result<Option<&Path>, Error> {
        let Some(path) = self.env_file_path.as_deref() else { return Ok(None) };
        if !path.is_absolute() {
            return Err(Error::usage(format_args!("`--env-file-path {}` isn't an absolute path", path.display())));
        }
        let pairs = variables.iter().map(|variable| (variable.name.as_str(), variable.value.as_str()));
        let text = environment_file::text(pairs);
        create(path, 0o600, &text)?;
        Ok(Some(path))
    }
}

/// Variables whose names say that others shouldn't see them.
fn secrets(file: &Arc<SourceFile>, variables: &[Variable], diagnostics: &mut Diagnostics) {
    let words = ["SECRET", "PASS", "TOKEN", "KEY", "CREDENTIAL"];
    let secret = |variable: &&Variable| words.iter().any(|word| variable.name.contains(word));
    let names: Vec<&str> = variables.iter().filter(secret).map(|variable| variable.name.as_str()).collect();
    if !names.is_empty() {
        let message = format!(
            "the group file holds {}, which sounds secret; everybody can read a group file, and ask systemd",
            names.join(", ")
        );
        let help = "add `--env-file-path PATH`: only root can read that file";
        diagnostics.push(Diagnostic::file(Code::Otherwise, &file.path, message).help(help));
    }
}
