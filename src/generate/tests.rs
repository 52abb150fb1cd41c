//! Units of plain model values: one test per kind of unit and per rule. Whole trees are the golden cases' matter.

mod hostile;
mod kinds;
mod rules;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::basic::diagnostic::{SourceFile, SourceLocation};
use crate::model::supervisor::SupervisorName;
use crate::model::*;
use crate::unit::name::{GroupName, InstanceName, ProcessName};
use crate::unit::{Entry, Section, parse, strict};

fn place() -> SourceLocation {
    let file = Arc::new(SourceFile { path: "/etc/copse/shop.toml".into(), text: String::new() });
    SourceLocation::new(&file, 0..0)
}

fn text(text: &str) -> Text {
    Text::literal(text)
}

fn argv(words: &str) -> Argv {
    words.split(' ').map(text).collect()
}

fn span(text: &str) -> TimeSpan {
    TimeSpan { text: text.to_owned().into(), value: crate::basic::time_span::parse(text).unwrap() }
}

fn name(text: &str) -> ProcessName {
    ProcessName::new(text).unwrap()
}

fn directive(section: Section, name: &'static str, value: &str) -> Directive {
    Directive { section, name, value: value.to_owned().into() }
}

/// A service with the promised defaults.
fn service(exec: &str) -> Service {
    Service {
        description: None,
        exec: argv(exec),
        exec_start_pre: vec![],
        exec_start_post: vec![],
        exec_reload: vec![],
        exec_stop: vec![],
        exec_stop_post: vec![],
        environment: BTreeMap::new(),
        environment_files: vec![],
        working_directory: None,
        directives: vec![
            directive(Section::Service, "Restart", "on-failure"),
            directive(Section::Service, "RestartSec", "1s"),
            directive(Section::Unit, "StartLimitBurst", "5"),
            directive(Section::Service, "TimeoutStartSec", "90s"),
        ],
        directories: vec![],
        ready: Ready::Exec,
        health: None,
        restart: Restart::OnFailure,
        timeout_start: span("90s"),
        essential: true,
        inputs: vec![],
        hardening: Hardening::None,
        credentials: BTreeMap::new(),
        pass: PassThrough::default(),
    }
}

fn process(exec: &str) -> Process {
    Process {
        location: place(),
        hold: false,
        start: Start::Auto,
        service: service(exec),
        instances: None,
        after: vec![],
        gated_by: vec![],
        after_steps: vec![],
        after_units: vec![],
        sockets: vec![],
        controls: vec![],
        supervisor_name: SupervisorName::default_of("p", false),
        own_view: false,
        change: Change {
            refresh: Refresh::Restart,
            max_unavailable: Percentage::Count(1),
            min_ready: span("0"),
            settled: vec![],
        },
    }
}

fn instances(names: &[&str]) -> Option<BTreeMap<InstanceName, Option<Service>>> {
    Some(names.iter().map(|name| (InstanceName::new(name).unwrap(), None)).collect())
}

fn step(exec: &str) -> Setup {
    let mut service = service(exec);
    service.ready = Ready::Oneshot;
    service.restart = Restart::No;
    service.directives = vec![directive(Section::Service, "Restart", "no")];
    Setup { location: place(), service, after: vec![], gated_by: vec![], after_units: vec![] }
}

/// The group `shop` with these processes.
fn group(processes: Vec<(&str, Process)>) -> Group {
    Group {
        name: GroupName::new("shop").unwrap(),
        scope: Scope::System,
        files: vec!["/etc/copse/shop.toml".into()],
        location: place(),
        description: None,
        documentation: vec![],
        wanted_by: vec![],
        after: vec![],
        requires: vec![],
        wants: vec![],
        before: vec![],
        conflicts: vec![],
        failure_policy: FailurePolicy::Continue,
        timeout_start: span("10min"),
        shared: None,
        supervisor: None,
        processes: processes.into_iter().map(|(text, process)| (name(text), process)).collect(),
        setup: BTreeMap::new(),
        target: PassThrough::default(),
        slice: PassThrough::default(),
    }
}

fn on(version: u32) -> Options {
    Options { systemd: Systemd { version }, static_target: false }
}

fn newest() -> Options {
    on(Systemd::NEWEST.version)
}

/// What is at a path: the file's text, or a link's.
fn at(tree: &UnitTree, path: &str) -> String {
    match tree.entries.get(path) {
        Some(Entry::File(unit)) => unit.to_string(),
        Some(Entry::Link(target)) => target.to_str().unwrap().to_owned(),
        None => panic!("no {path} in {:#?}", tree.entries.keys()),
    }
}

/// All values of a directive in the file at a path, as systemd reads the file.
fn values(tree: &UnitTree, path: &str, directive: &str) -> Vec<String> {
    let all = strict::directives(&at(tree, path)).unwrap();
    all.into_iter().filter(|(_, name, _)| name == directive).map(|(_, _, value)| value).collect()
}

/// The one value of a directive.
fn value(tree: &UnitTree, path: &str, directive: &str) -> String {
    let mut all = values(tree, path, directive);
    assert_eq!(all.len(), 1, "{directive}= in {path}: {all:?}");
    all.remove(0)
}

/// The names that a dependency lists, over all of its lines.
fn names(tree: &UnitTree, path: &str, directive: &str) -> Vec<String> {
    values(tree, path, directive)
        .iter()
        .flat_map(|line| line.split(' ').map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

fn has(tree: &UnitTree, path: &str) -> bool {
    tree.entries.contains_key(path)
}
