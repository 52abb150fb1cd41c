//! What has to hold for every text that is imported: it doesn't panic, what comes of it passes `copse check`, and nothing
//! in the text becomes a key, a directive or a second command. Used by the tests and by the fuzz target.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use copse::basic::diagnostic::{Diagnostic, SourceFile};
use copse::basic::scope::Scope;
use copse::group_file::discover::Source;
use copse::import::dotenv;
use copse::import::group_file::GroupFile;
use copse::import::procfile;
use copse::import::procfile::{Formation, Settings};
use copse::import::supervisord::config::World;
use copse::import::supervisord::reader;
use copse::import::supervisord::translate::translate;
use copse::import::validate;
use copse::model;
use copse::model::{Context, Group, Service};
use copse::unit::name::GroupName;

/// Directives that the import writes in pass-through tables.
const PASSED: &[&str] = &[
    "Backlog",
    "ExecSearchPath",
    "RestartForceExitStatus",
    "SocketGroup",
    "SocketMode",
    "SocketUser",
    "StandardError",
    "StandardInput",
    "StandardOutput",
];

/// Imports a text as supervisord's; gives the group file, if there is one.
pub fn hold_supervisord(text: &str) -> Option<String> {
    let file = |path: &str, text: &str| SourceFile { path: path.into(), text: text.to_owned() };
    let include =
        |pattern: &str| vec![Ok(file(&format!("/included/{}", pattern.len()), "[program:more]\ncommand=x\n"))];
    let environment = BTreeMap::from([("A".to_owned(), "two words".to_owned())]);
    let world = World { environment, host: "copse-test".to_owned(), include: &include };
    let config = reader::read(vec![file("/srv/supervisord.conf", text)], &world);
    let imported = translate(&config, &name(), Scope::System);
    said(imported.diagnostics.iter());
    (!imported.members.is_empty()).then(|| checked(&imported.file))
}

/// Imports a text as a Procfile, with another as its `.env` file; gives the group file, if there is one.
pub fn hold_procfile(procfile: &str, env: &str) -> Option<String> {
    let file = |path: &str, text: &str| Arc::new(SourceFile { path: path.into(), text: text.to_owned() });
    let (entries, diagnostics) = procfile::read(&file("/srv/Procfile", procfile));
    said(diagnostics.iter());
    let env = dotenv::read(&file("/srv/.env", env));
    said(env.diagnostics.iter());
    let around = Settings {
        formation: &Formation::default(),
        port: 5000,
        variables: &env.variables,
        environment_file: None,
        directory: Path::new("/srv"),
        search_path: false,
    };
    let mut imported = procfile::group(&entries, &around);
    said(imported.diagnostics.iter());
    procfile::installed(&mut imported.file, Path::new("/srv/Procfile"), Scope::System);
    let accepted = validate::accept(&mut imported.file, &name(), Scope::System);
    (accepted.1.is_none() && !imported.file.processes.is_empty()).then(|| checked(&imported.file))
}

fn name() -> GroupName {
    GroupName::new("imported").expect("it is a name")
}

fn said<'d>(diagnostics: impl Iterator<Item = &'d Diagnostic>) {
    diagnostics.for_each(|diagnostic| assert!(!diagnostic.line().contains('\n')));
}

fn checked(file: &GroupFile) -> String {
    let text = file.to_string();
    let source = Source {
        name: name(),
        file: Arc::new(SourceFile { path: "/etc/copse/imported.toml".into(), text: text.clone() }),
        drop_ins: Vec::new(),
    };
    let (group, diagnostics) = model::read(&source, &Context { scope: Scope::System, cpus: 2 });
    let lines: Vec<String> = diagnostics.iter().map(Diagnostic::line).collect();
    let group = group.unwrap_or_else(|| panic!("it doesn't pass `copse check`: {}\n{text}", lines.join("\n")));
    holds_nothing_else(&group, file, &text);
    text
}

fn holds_nothing_else(group: &Group, file: &GroupFile, text: &str) {
    let mut names: Vec<&str> = file.processes.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    assert!(group.processes.keys().map(|name| name.as_str()).eq(names), "{text}");
    assert_eq!(group.setup.len(), file.setup.len(), "{text}");
    let processes = group.processes.values();
    let own =
        processes.clone().flat_map(|process| process.instances.iter().flatten().filter_map(|(_, own)| own.as_ref()));
    let services = processes.map(|process| &process.service).chain(own);
    services.chain(group.setup.values().map(|step| &step.service)).for_each(|service| has_one_command(service, text));
}

fn has_one_command(service: &Service, text: &str) {
    let others = [
        &service.exec_start_pre,
        &service.exec_start_post,
        &service.exec_reload,
        &service.exec_stop,
        &service.exec_stop_post,
    ];
    assert!(others.iter().all(|commands| commands.is_empty()), "{text}");
    let passed = service.pass.0.iter().all(|(_, name, _)| PASSED.contains(&name.as_str()));
    assert!(passed && service.credentials.is_empty() && service.environment_files.is_empty(), "{text}");
}
