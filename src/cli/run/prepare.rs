//! Reads what is to be run, and reports what is wrong with it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::args::Run;
use super::draft;
use super::draft::{Draft, Surroundings};
use super::environment;
use crate::basic::diagnostic::{Diagnostics, SourceFile};
use crate::basic::scope::Directories;
use crate::basic::suggest;
use crate::cli::common::error::Error;
use crate::cli::common::exit::Exit;
use crate::cli::common::input::read_file;
use crate::cli::common::message::warn;
use crate::cli::common::report::Report;
use crate::cli::common::temporary_group::workspace::Workspace;
use crate::generator;
use crate::group_file::discover;
use crate::group_file::discover::{FoundGroup, Source};
use crate::import::dotenv;
use crate::import::dotenv::Variable;
use crate::import::procfile;
use crate::import::procfile::Formation;
use crate::model;
use crate::model::{Context, DirectoryKind, Group};
use crate::unit::Section;
use crate::unit::directives::Systemd;

/// What is run, read and checked.
pub(super) struct Prepared {
    pub(super) draft: Draft,
    pub(super) group: Group,
    /// The run ends when any process exits, as with foreman.
    pub(super) any_end: bool,
}

/// Reads all files that `run` names.
///
/// # Errors
/// What is wrong with them; their diagnostics are printed.
pub(super) fn prepare(
    run: &Run,
    file: &Path,
    workspace: &Workspace,
    directories: &Directories,
) -> Result<Prepared, Error> {
    run.prepare(file, workspace, directories)
}

impl Run {
    fn prepare(&self, file: &Path, workspace: &Workspace, directories: &Directories) -> Result<Prepared, Error> {
        let is_group = file.extension().is_some_and(|extension| extension == "toml");
        let directory = file.parent().unwrap_or(Path::new("/"));
        let mut dot_env = self.dot_env(directory, is_group)?;
        let (caller, invalid_names) = environment::of_caller(std::env::vars_os());
        if !invalid_names.is_empty() {
            warn(&format!("environment variables not valid for systemd, ignoring: {}", invalid_names.join(", ")), None);
        }
        let systemd = Systemd::detect(directories).unwrap_or(Systemd::NEWEST);
        let search_path = systemd.knows(Section::Service, "ExecSearchPath").then(|| search_path(&caller)).flatten();
        let source = match is_group {
            true => self.group_file(file, workspace)?,
            false => {
                let port = self.first_port(&mut dot_env, &caller)?;
                self.procfile(file, directory, workspace, port, search_path.is_some())?
            }
        };
        let surroundings = Surroundings {
            context: Context { scope: directories.scope, cpus: generator::cpus() },
            directory,
            environments: workspace.path(""),
            caller: &caller,
            dot_env: &dot_env,
            search_path,
        };
        // The group of a Procfile has its formation already.
        let formation = self.formation.as_ref().filter(|_| is_group);
        let drafted = Draft::new(source, formation, &surroundings);
        let draft = drafted.map_err(|diagnostics| invalid(&diagnostics))?;
        let (group, diagnostics) = model::read(&draft.source, &surroundings.context);
        let Some(group) = group else { return Err(invalid(&diagnostics)) };
        show(&diagnostics);
        if let Some(path) = occupied(&group, directories) {
            let message = format!("{} already exists and would be removed after the run", path.display());
            return Err(Error::failed(message).help("stop what uses it, or put `{group}` in the name"));
        }
        Ok(Prepared { draft, group, any_end: !is_group })
    }

    fn group_file(&self, file: &Path, workspace: &Workspace) -> Result<Source, Error> {
        if self.port.is_some() {
            return Err(Error::usage(
                "`--port` applies to Procfiles only; a group file sets the ports of its processes",
            ));
        }
        let mut found = discover::named(&[file]);
        let Some(FoundGroup { source: Some(mut source), .. }) = found.groups.pop_if(|group| group.source.is_some())
        else {
            found.groups.into_iter().for_each(|group| found.diagnostics.extend(group.diagnostics));
            return Err(invalid(&found.diagnostics));
        };
        source.name = workspace.name.clone();
        if let Some(formation) = &self.formation {
            let table = model::document(&source, &mut Diagnostics::default());
            let names: Vec<String> = table
                .as_ref()
                .and_then(|table| table.table("process"))
                .map(|table| table.names().map(str::to_owned).collect())
                .unwrap_or_default();
            check_names(formation, &names, file)?;
        }
        Ok(source)
    }

    fn procfile(
        &self,
        file: &Path,
        directory: &Path,
        workspace: &Workspace,
        port: u16,
        found_by_systemd: bool,
    ) -> Result<Source, Error> {
        let (entries, mut diagnostics) = procfile::read(&read(file)?);
        let formation = self.formation.clone().unwrap_or_default();
        check_names(&formation, &entries.iter().map(|entry| entry.name.clone()).collect::<Vec<_>>(), file)?;
        let settings = procfile::Settings {
            formation: &formation,
            port,
            variables: &[],
            environment_file: None,
            directory,
            search_path: !found_by_systemd,
        };
        let (source, more) = draft::of_procfile(&workspace.name, file, &entries, &settings);
        diagnostics.extend(more);
        show(&diagnostics);
        if entries.iter().all(|entry| formation.of(&entry.name) == 0) {
            return Err(Error::new(Exit::Invalid, format_args!("{} has no process to run", file.display())));
        }
        Ok(source)
    }

    /// The variables of `.env` files; the last one of a name counts.
    fn dot_env(&self, directory: &Path, is_group: bool) -> Result<Vec<Variable>, Error> {
        let default = directory.join(".env");
        let files = match self.env.as_slice() {
            [] if !is_group && default.is_file() => vec![default],
            files => files.to_vec(),
        };
        let mut variables = Vec::new();
        for file in files {
            let found = dotenv::read(&read(&file)?);
            show(&found.diagnostics);
            for variable in found.variables {
                dotenv::set(&mut variables, &variable.name, variable.value);
            }
        }
        Ok(variables)
    }

    /// `--port`, or `PORT` of a `.env` file or of the caller. Each process gets its own port from there on.
    fn first_port(&self, dot_env: &mut Vec<Variable>, caller: &[Variable]) -> Result<u16, Error> {
        let said = |variables: &[Variable]| variables.iter().find(|variable| variable.name == "PORT").cloned();
        let found = said(dot_env).or_else(|| said(caller));
        dot_env.retain(|variable| variable.name != "PORT");
        match (self.port, procfile::first_port(found.as_slice())) {
            (Some(port), _) | (None, Ok(port)) => Ok(port),
            (None, Err(text)) => {
                Err(Error::usage(format_args!("`PORT={text}` is not a port")).help("set one with `--port`"))
            }
        }
    }
}

/// The directories of the caller's `PATH` that are valid in `ExecSearchPath=`.
fn search_path(caller: &[Variable]) -> Option<String> {
    let path = &caller.iter().find(|variable| variable.name == "PATH")?.value;
    let is_valid =
        |directory: &&str| directory.starts_with('/') && !directory.contains(|c: char| c.is_control() || c == '\\');
    let directories: Vec<String> =
        path.split(':').filter(is_valid).map(|directory| directory.replace('%', "%%")).collect();
    (!directories.is_empty()).then(|| directories.join(":"))
}

/// A runtime directory of the group that exists already.
fn occupied(group: &Group, directories: &Directories) -> Option<PathBuf> {
    let base = directories.state.as_deref().and_then(Path::parent)?;
    let services = group.processes.values().map(|process| &process.service);
    let own = services.chain(group.setup.values().map(|step| &step.service)).flat_map(|service| &service.directories);
    let directories = own.chain(group.shared.iter().flat_map(|shared| &shared.directories));
    let names =
        directories.filter(|directory| directory.kind == DirectoryKind::Runtime).flat_map(|directory| &directory.names);
    names.filter_map(model::spelled).map(|name| base.join(name)).find(|path| path.exists())
}

fn check_names(formation: &Formation, names: &[String], file: &Path) -> Result<(), Error> {
    let Some(unknown) = formation.unknown(names.iter().map(String::as_str)) else { return Ok(()) };
    let near = suggest::nearest(unknown, names.iter().map(String::as_str));
    Err(Error::usage(format_args!("{} has no process `{unknown}`", file.display())).did_you_mean(near))
}

fn read(file: &Path) -> Result<Arc<SourceFile>, Error> {
    if file.file_name().is_some_and(|name| name == "Procfile") && !file.exists() {
        let directory = file.parent().unwrap_or(file).display();
        return Err(Error::failed(format_args!("there is no Procfile in {directory}"))
            .help("run `copse run FILE` for another one, or a group file (*.toml)"));
    }
    read_file(file).map(Arc::new).map_err(|diagnostic| Error::failed(diagnostic.line()))
}

fn invalid(diagnostics: &Diagnostics) -> Error {
    show(diagnostics);
    Error::new(Exit::Invalid, "the group has errors, not run")
}

fn show(diagnostics: &Diagnostics) {
    Report::default().print(diagnostics.iter());
}
