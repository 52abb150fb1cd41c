//! What is written for a run: a group file, a drop-in for it, and the environments of its processes. Pure.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::environment;
use super::environment::Own;
use crate::basic::diagnostic::{Diagnostics, SourceFile};
use crate::basic::scope::Scope;
use crate::group_file::discover::Source;
use crate::import::dotenv::Variable;
use crate::import::group_file::{GroupFile, Table, Value};
use crate::import::procfile;
use crate::import::procfile::{Formation, ProcfileLine};
use crate::model;
use crate::model::{Context, Pass, Service, Text};
use crate::unit::name::GroupName;

/// Sorts after all other drop-ins.
const DROP_IN: &str = "~run.toml";

/// What all processes of a run have in common.
#[derive(Debug, Clone)]
pub(super) struct Surroundings<'a> {
    pub(super) context: Context,
    /// The directory of the file that is run, absolute.
    pub(super) directory: &'a Path,
    /// The directory for the environment files.
    pub(super) environments: PathBuf,
    /// The caller's variables.
    pub(super) caller: &'a [Variable],
    /// The variables of `.env` files.
    pub(super) dot_env: &'a [Variable],
    /// The caller's search path, if this systemd has `ExecSearchPath=`.
    pub(super) search_path: Option<String>,
}

/// The files of a run.
#[derive(Debug)]
pub(super) struct Draft {
    /// The group file and its drop-ins, the run's own last.
    pub(super) source: Source,
    /// Names and texts of the environment files.
    pub(super) environments: Vec<(String, String)>,
}

/// The group file of a Procfile: as `copse import` writes it, but nothing is restarted, as with foreman.
pub(super) fn of_procfile(
    name: &GroupName,
    path: &Path,
    entries: &[ProcfileLine],
    surroundings: &procfile::Settings<'_>,
) -> (Source, Diagnostics) {
    let procfile::Imported { mut file, diagnostics, .. } = procfile::group(entries, surroundings);
    file.group.set("description", format!("{} of {}", file_name(path), surroundings.directory.display()));
    file.defaults.set("restart", "no");
    // foreman's `--timeout`.
    file.defaults.set("timeout-stop-sec", "5s");
    let file = SourceFile { path: path.to_owned(), text: file.to_string() };
    (Source { name: name.clone(), file: Arc::new(file), drop_ins: Vec::new() }, diagnostics)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

impl Draft {
    /// Adds a drop-in to `source`, so that it runs in these surroundings with the processes of the formation.
    ///
    /// # Errors
    /// What is wrong with the group file.
    pub(super) fn new(
        mut source: Source,
        formation: Option<&Formation>,
        surroundings: &Surroundings<'_>,
    ) -> Result<Self, Diagnostics> {
        let mut over = GroupFile::default();
        if !has_working_directory(&source) {
            let directory = Text::literal(surroundings.directory.display().to_string());
            over.defaults.set("working-directory", model::spelled(&directory).unwrap_or_default());
        }
        let original = source.drop_ins.len();
        source.drop_ins.push(drop_in(&over));
        let (group, diagnostics) = model::read(&source, &surroundings.context);
        let Some(group) = group else { return Err(diagnostics) };
        source.drop_ins.truncate(original);

        // Only this command starts it.
        over.group.set("wanted-by", Vec::<String>::new());
        let service = over.defaults.table("service");
        // The user watches the log, so no line may be dropped.
        service.set("LogRateLimitIntervalSec", "0");
        service.set("LogRateLimitBurst", "0");
        if let Some(path) = &surroundings.search_path {
            service.set("ExecSearchPath", path.clone());
        }
        let mut environments = Vec::new();
        for (name, step) in &group.setup {
            let table = over.setup(name.as_str());
            // A temporary group has no earlier run to compare with.
            table.set("inputs", Vec::<String>::new());
            let own = own(surroundings, [&step.service]);
            environments.push(set_environment(table, name.as_str(), &step.service, &own, surroundings));
        }
        for (name, process) in &group.processes {
            let table = over.process(name.as_str());
            let number = formation.map(|formation| i64::from(formation.of(name.as_str())));
            match number {
                Some(number) if number != 1 || process.instances.is_some() => table.set("instances", number),
                _ => {}
            }
            let instances = process.instances.iter().flatten();
            let differing: Vec<_> = instances.filter_map(|(name, own)| Some((name, own.as_ref()?))).collect();
            let services = || std::iter::once(&process.service).chain(differing.iter().map(|(_, service)| *service));
            let own = own(surroundings, services());
            environments.push(set_environment(table, name.as_str(), &process.service, &own, surroundings));
            for (instance, service) in &differing {
                if service.environment_files != process.service.environment_files {
                    let table = table.table("instance").table(instance.as_str());
                    table.set("environment-file", files(&path(surroundings, name.as_str()), service));
                }
            }
        }
        source.drop_ins.push(drop_in(&over));
        Ok(Self { source, environments })
    }

    /// Names and texts of the drop-ins, those of the group file first.
    pub(super) fn drop_ins(&self) -> Vec<(String, String)> {
        self.source.drop_ins.iter().map(|file| (file_name(&file.path), file.text.clone())).collect()
    }
}

fn drop_in(file: &GroupFile) -> Arc<SourceFile> {
    Arc::new(SourceFile { path: PathBuf::from(DROP_IN), text: file.to_string() })
}

/// Whether the group file sets a working directory for all processes.
fn has_working_directory(source: &Source) -> bool {
    let table = model::document(source, &mut Diagnostics::default());
    table.is_some_and(|table| table.table("defaults").is_some_and(|table| table.get("working-directory").is_some()))
}

/// What the group file sets for a process with these services.
fn own<'s>(surroundings: &Surroundings<'_>, services: impl IntoIterator<Item = &'s Service>) -> Own {
    let mut own = Own::default();
    for service in services {
        own.sets.extend(service.environment.keys().cloned());
        own.sets.extend(passed_through(service));
        let has = |name: &str| service.directives.iter().any(|directive| directive.name == name);
        own.other_user |= surroundings.context.scope == Scope::System && has("User");
    }
    own
}

/// The names in a passed-through `Environment=`.
fn passed_through(service: &Service) -> BTreeSet<String> {
    let lines =
        service.pass.0.iter().filter(|(_, name, _)| name == "Environment").flat_map(|(_, _, pass)| match pass {
            Pass::Replace(line) => std::slice::from_ref(line),
            Pass::Add(lines) | Pass::Reset(lines) => lines,
        });
    let words = lines.flat_map(|line| line.split([' ', '\t', '"', '\'']));
    words.filter_map(|word| word.split_once('=')).map(|(name, _)| name.to_owned()).collect()
}

/// Sets the environment file of a process or step in its table. Returns the file's name and text.
fn set_environment(
    table: &mut Table,
    name: &str,
    service: &Service,
    own: &Own,
    surroundings: &Surroundings<'_>,
) -> (String, String) {
    table.set("environment-file", files(&path(surroundings, name), service));
    (file_of(name), environment::file(surroundings.caller, surroundings.dot_env, own))
}

fn file_of(name: &str) -> String {
    format!("{name}.env")
}

fn path(surroundings: &Surroundings<'_>, name: &str) -> PathBuf {
    surroundings.environments.join(file_of(name))
}

/// The value of `environment-file`: the run's own file, then those of the group file, which override it.
fn files(own: &Path, service: &Service) -> Value {
    let of_file = service.environment_files.iter().map(|(optional, path)| {
        let path = model::spelled(path).unwrap_or_default();
        if *optional { format!("-{path}") } else { path }
    });
    let own = model::spelled(&Text::literal(own.display().to_string()));
    own.into_iter().chain(of_file).collect::<Vec<_>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::procfile::PORT;
    use crate::model::Group;
    use crate::unit::name::{InstanceName, ProcessName};

    fn variable(name: &str, value: &str) -> Variable {
        Variable { name: name.to_owned(), value: value.to_owned() }
    }

    fn name() -> GroupName {
        GroupName::new("run-shop-1").unwrap()
    }

    fn source(text: &str) -> Source {
        let file = SourceFile { path: PathBuf::from("/home/u/shop.toml"), text: text.to_owned() };
        Source { name: name(), file: Arc::new(file), drop_ins: Vec::new() }
    }

    /// The group as it will be run, and the environments.
    fn drafted(source: Source, formation: Option<&str>) -> (Group, Vec<(String, String)>) {
        let caller = [variable("HOME", "/home/u"), variable("PORT", "9"), variable("LANG", "C")];
        let surroundings = Surroundings {
            context: Context { scope: Scope::System, cpus: 2 },
            directory: Path::new("/home/u/shop"),
            environments: PathBuf::from("/run/copse/run/run-shop-1"),
            caller: &caller,
            dot_env: &[variable("A", "of .env")],
            search_path: Some("/opt/bin:/usr/bin".to_owned()),
        };
        let formation = formation.map(|text| Formation::new(text).unwrap());
        let draft = Draft::new(source, formation.as_ref(), &surroundings).unwrap();
        let (group, diagnostics) = model::read(&draft.source, &surroundings.context);
        (group.unwrap_or_else(|| panic!("{diagnostics:?}")), draft.environments)
    }

    fn process<'g>(group: &'g Group, name: &str) -> &'g model::Process {
        &group.processes[&ProcessName::new(name).unwrap()]
    }

    fn shown(files: &[(bool, Text)]) -> Vec<String> {
        files.iter().map(|(_, path)| model::spelled(path).unwrap()).collect()
    }

    #[test]
    fn a_procfile_is_run_as_foreman_does() {
        let text = "web: bin/web $PORT\nrelease: bin/migrate\n".to_owned();
        let (entries, _) = procfile::read(&Arc::new(SourceFile { path: "/srv/app/Procfile".into(), text }));
        let directory = Path::new("/home/u/shop");
        let surroundings = procfile::Settings {
            formation: &Formation::default(),
            port: PORT,
            variables: &[],
            environment_file: None,
            directory,
            search_path: true,
        };
        let (source, _) = of_procfile(&name(), Path::new("/home/u/shop/Procfile"), &entries, &surroundings);
        let (group, environments) = drafted(source, None);
        assert_eq!(group.description.as_deref(), Some("Procfile of /home/u/shop"));
        let web = process(&group, "web");
        assert_eq!(web.service.restart, model::Restart::No);
        assert_eq!(shown(&web.service.environment_files), ["/run/copse/run/run-shop-1/web.env"]);
        assert_eq!(
            environments,
            [
                ("release.env".to_owned(), "HOME=\"/home/u\"\nPORT=\"9\"\nLANG=\"C\"\nA=\"of .env\"\n".to_owned()),
                ("web.env".to_owned(), "HOME=\"/home/u\"\nLANG=\"C\"\nA=\"of .env\"\n".to_owned()),
            ]
        );
    }

    #[test]
    fn a_group_file_s_own_settings_stay_above_the_caller_s() {
        let text = r#"
wanted-by = ["multi-user.target"]

[defaults]
environment-file = ["/etc/shop/env", "-/etc/shop/more"]
environment = { LANG = "de" }

[process.web]
exec = "bin/web"
user = "app"
instances = 2
[process.web.instance.2]
environment-file = "/etc/shop/two"

[process.worker]
exec = "worker"
[process.worker.service]
Environment = ["'PORT=1' X=2"]
"#;
        let (group, environments) = drafted(source(text), None);
        assert!(group.wanted_by.is_empty());
        let own = "/run/copse/run/run-shop-1/web.env";
        let web = process(&group, "web");
        assert_eq!(shown(&web.service.environment_files), [own, "/etc/shop/env", "/etc/shop/more"]);
        let second = web.instances.as_ref().unwrap()[&InstanceName::new("2").unwrap()].as_ref().unwrap();
        assert_eq!(shown(&second.environment_files), [own, "/etc/shop/two"]);
        assert_eq!(model::spelled(&web.service.exec[0]).unwrap(), "/home/u/shop/bin/web");
        assert_eq!(
            environments,
            [
                ("web.env".to_owned(), "PORT=\"9\"\nA=\"of .env\"\n".to_owned()),
                ("worker.env".to_owned(), "HOME=\"/home/u\"\nA=\"of .env\"\n".to_owned()),
            ]
        );
    }

    #[test]
    fn a_formation_says_how_many() {
        let text =
            "[process.a]\nexec = \"/a\"\n[process.b]\nexec = \"/b\"\ninstances = 4\n[process.c]\nexec = \"/c\"\n";
        let (group, _) = drafted(source(text), Some("a=1,b=2"));
        assert_eq!(group.processes.len(), 2);
        assert_eq!(process(&group, "a").instances, None);
        assert_eq!(process(&group, "b").instances.as_ref().unwrap().len(), 2);
    }

    #[test]
    fn the_file_s_own_working_directory_stays() {
        let text = "[defaults]\nworking-directory = \"/srv\"\n[process.a]\nexec = \"bin/a\"\n";
        let (group, _) = drafted(source(text), None);
        assert_eq!(model::spelled(&process(&group, "a").service.exec[0]).unwrap(), "/srv/bin/a");
    }

    #[test]
    fn a_broken_file_is_refused_where_it_is_broken() {
        let surroundings = Surroundings {
            context: Context { scope: Scope::User, cpus: 2 },
            directory: Path::new("/home/u"),
            environments: PathBuf::from("/x"),
            caller: &[],
            dot_env: &[],
            search_path: None,
        };
        let diagnostics = Draft::new(source("[process.a]\nexce = \"/a\"\n"), None, &surroundings).unwrap_err();
        let lines: Vec<String> = diagnostics.iter().map(crate::basic::diagnostic::Diagnostic::line).collect();
        assert!(lines.iter().any(|line| line.starts_with("/home/u/shop.toml:2:1: error")), "{lines:?}");
    }
}
