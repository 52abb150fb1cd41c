//! Procfiles of our own, and what the group that is imported from one executes.
//!
//! A case is a directory `tests/import/procfiles/NAME/` with a `Procfile`, an `env`, and `formation`, of which the last
//! two may be missing. What is expected is `group.toml` and `report` in it; `SNAPSHOTS=overwrite cargo test --test
//! import` writes them anew. tests/booted/importing/foremen.rs asks foreman and honcho about all of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use copse::basic::diagnostic::{Diagnostic, Diagnostics, SourceFile};
use copse::basic::scope::Scope;
use copse::group_file::discover::Source;
use copse::import::dotenv;
use copse::import::dotenv::Variable;
use copse::import::procfile;
use copse::import::procfile::{Formation, ProcfileLine, Settings};
use copse::model;
use copse::model::{Context, Group, Piece, Process, Service, Text};
use copse::unit::name::{GroupName, InstanceName, ProcessName};

/// Where the Procfile would be.
pub const THERE: &str = "/srv/procfile";

/// Files to be imported.
#[derive(Debug, Clone, Default)]
pub struct Input {
    /// The Procfile.
    pub procfile: String,
    /// The `.env` file.
    pub env: String,
    /// `--formation`
    pub formation: Option<String>,
    /// `--port`
    pub port: Option<u16>,
}

/// What comes of them.
pub struct Imported {
    /// The entries of the Procfile.
    pub entries: Vec<ProcfileLine>,
    /// The group file.
    pub text: String,
    /// What was said.
    pub diagnostics: Diagnostics,
    names: Vec<Option<String>>,
    /// How many of which entry.
    pub formation: Formation,
    /// The first port.
    pub port: u16,
}

/// What a process of the group executes.
#[derive(Debug, Clone)]
pub struct Execution {
    /// `ENTRY.NUMBER:PORT`
    pub label: String,
    /// Its arguments.
    pub argv: Vec<String>,
    /// Its variables.
    pub environment: BTreeMap<String, String>,
}

impl Input {
    /// Imports them, as `copse import procfile --env` does.
    pub fn import(&self) -> Imported {
        let file =
            |name: &str, text: &str| Arc::new(SourceFile { path: Path::new(THERE).join(name), text: text.to_owned() });
        let (entries, mut diagnostics) = procfile::read(&file("Procfile", &self.procfile));
        let env = dotenv::read(&file(".env", &self.env));
        diagnostics.extend(env.diagnostics);
        let mut variables: Vec<Variable> = env.variables;
        let port = self.port.unwrap_or_else(|| procfile::first_port(&variables).unwrap());
        variables.retain(|variable| variable.name != "PORT");
        let formation = self.formation.as_deref().map(|text| Formation::new(text).unwrap()).unwrap_or_default();
        let around = Settings {
            formation: &formation,
            port,
            variables: &variables,
            environment_file: None,
            directory: Path::new(THERE),
            search_path: variables.iter().any(|variable| variable.name == "PATH"),
        };
        let procfile::Imported { mut file, names, diagnostics: said } = procfile::group(&entries, &around);
        diagnostics.extend(said);
        procfile::installed(&mut file, &Path::new(THERE).join("Procfile"), Scope::System);
        Imported { entries, text: file.to_string(), diagnostics, names, formation, port }
    }
}

impl Imported {
    /// The group, as the generator would read it.
    pub fn group(&self) -> Result<Group, String> {
        let file = Arc::new(SourceFile { path: PathBuf::from("/etc/copse/shop.toml"), text: self.text.clone() });
        let source = Source { name: GroupName::new("shop").unwrap(), file, drop_ins: Vec::new() };
        let (group, diagnostics) = model::read(&source, &Context { scope: Scope::System, cpus: 2 });
        let said: Vec<String> = diagnostics.iter().map(Diagnostic::line).collect();
        group.ok_or_else(|| format!("{}\n{}", said.join("\n"), self.text))
    }

    /// What each process executes, under the labels that foreman gives it by its own rule.
    pub fn executions(&self) -> Vec<Execution> {
        let Ok(group) = self.group() else { return Vec::new() };
        let mut all = Vec::new();
        for (index, (entry, name)) in self.entries.iter().zip(&self.names).enumerate() {
            let Some(name) = name.as_deref().and_then(ProcessName::new) else { continue };
            let setup = entry.name == "release";
            let count = if setup { 1 } else { self.formation.of(&entry.name) };
            for number in 1..=count {
                let port = usize::from(self.port) + 100 * index + usize::from(number) - 1;
                let label = format!("{}.{number}:{port}", entry.name);
                let service = match setup {
                    true => &group.setup[&name].service,
                    false => service(&group.processes[&name], &number.to_string()),
                };
                all.push(execution(label, service, &number.to_string()));
            }
        }
        all
    }
}

fn service<'g>(process: &'g Process, instance: &str) -> &'g Service {
    let own = process.instances.as_ref().zip(InstanceName::new(instance));
    own.and_then(|(instances, name)| instances[&name].as_ref()).unwrap_or(&process.service)
}

/// What systemd makes of a unit's command and variables.
fn execution(label: String, service: &Service, instance: &str) -> Execution {
    let fill = |text: &Text, environment: &BTreeMap<String, String>| -> String {
        let shown = |piece: &Piece| match piece {
            Piece::Literal(text) => text.clone(),
            Piece::Instance => instance.to_owned(),
            Piece::Env(name) => environment.get(name).cloned().unwrap_or_default(),
            other => format!("<{other:?}>"),
        };
        text.pieces().iter().map(shown).collect()
    };
    let variables = service.environment.iter();
    let environment = variables.map(|(name, value)| (name.clone(), fill(value, &BTreeMap::new()))).collect();
    let argv = service.exec.iter().map(|word| fill(word, &environment)).collect();
    Execution { label, argv, environment }
}

/// All cases, with their directories.
pub fn all() -> Vec<(PathBuf, Input)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import/procfiles");
    let mut paths: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let text = |path: &Path, name: &str| fs::read_to_string(path.join(name)).ok();
    let input = |path: &PathBuf| Input {
        procfile: text(path, "Procfile").unwrap(),
        env: text(path, "env").unwrap_or_default(),
        formation: text(path, "formation").map(|text| text.trim().to_owned()),
        port: None,
    };
    paths.iter().map(|path| (path.clone(), input(path))).collect()
}
