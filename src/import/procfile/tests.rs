use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::basic::diagnostic::{At, Diagnostic, Severity, SourceFile};
use crate::basic::scope::Scope;
use crate::group_file::discover::Source;
use crate::model::{Context, Group};
use crate::unit::name::GroupName;

const ALL: Formation = Formation { named: Vec::new(), others: 1 };

fn settings(formation: &Formation) -> Settings<'_> {
    Settings {
        formation,
        port: PORT,
        variables: &[],
        environment_file: None,
        directory: Path::new("/srv/app"),
        search_path: false,
    }
}

fn procfile(text: &str) -> Arc<SourceFile> {
    Arc::new(SourceFile { path: "/srv/app/Procfile".into(), text: text.to_owned() })
}

/// What is said, with the lines.
fn said(diagnostics: &Diagnostics) -> Vec<(usize, String)> {
    let line = |diagnostic: &Diagnostic| match &diagnostic.at {
        At::Location(place) => place.line_column().0,
        At::Path(_) => 0,
    };
    diagnostics.iter().map(|diagnostic| (line(diagnostic), diagnostic.message.clone())).collect()
}

fn imported(text: &str, settings: &Settings<'_>) -> (String, Vec<(usize, String)>) {
    let (entries, mut diagnostics) = read(&procfile(text));
    let imported = group(&entries, settings);
    diagnostics.extend(imported.diagnostics);
    (imported.file.to_string(), said(&diagnostics))
}

#[test]
fn a_procfile_becomes_a_group_file() {
    let text = "\
# the site
release: bin/rails db:migrate
web: bundle exec puma -p $PORT -C config/puma.rb
worker: RAILS_MAX_THREADS=5 bundle exec sidekiq
css: yarn build:css --watch
";
    let variables = [Variable { name: "RAILS_ENV".to_owned(), value: "production".to_owned() }];
    // A release isn't scaled, and so needn't be named.
    let formation = Formation::new("web=2, worker=1").unwrap();
    let (file, remarks) = imported(text, &Settings { variables: &variables, ..settings(&formation) });
    assert_eq!(
        file,
        r#"# Not in the formation: css: yarn build:css --watch

[defaults]
environment = { RAILS_ENV = "production" }
working-directory = "/srv/app"

# Completes before the processes start.
[setup.release]
exec = "bin/rails db:migrate"

[process.web]
exec = "bundle exec puma -p {env:PORT} -C config/puma.rb"
port = 5100
instances = 2

[process.worker]
shell = "RAILS_MAX_THREADS=5 bundle exec sidekiq"
port = 5200
"#
    );
    assert_eq!(remarks, []);
}

#[test]
fn a_shell_s_own_braces_are_no_placeholders() {
    let (file, _) = imported("a: echo ${process} ${group:-x} {instance}\n", &settings(&ALL));
    assert!(file.contains(r#"shell = "echo ${{process}} ${group:-x} {{instance}}""#), "{file}");
    let read = meant(&file).unwrap();
    let words = &read.processes.values().next().unwrap().service.exec;
    assert_eq!(words[2], Text::literal("echo ${process} ${group:-x} {instance}"));
}

#[test]
fn a_path_of_its_own_is_the_shell_s_to_search() {
    let (file, _) = imported("a: puma\nb: bin/x\n", &Settings { search_path: true, ..settings(&ALL) });
    assert!(file.contains("shell = \"puma\"") && file.contains("exec = \"bin/x\""), "{file}");
}

#[test]
fn the_variables_may_be_in_a_file() {
    let variables = [Variable { name: "SECRET".to_owned(), value: "x".to_owned() }];
    let path = Some(Path::new("/etc/shop/env"));
    let (file, _) = imported("a: b\n", &Settings { variables: &variables, environment_file: path, ..settings(&ALL) });
    assert!(file.contains("environment-file = \"/etc/shop/env\"") && !file.contains("SECRET"), "{file}");
}

#[test]
fn what_the_tools_call_a_process_is_there_for_who_asks() {
    let formation = Formation::new("all=1,a=2").unwrap();
    let (file, _) = imported("a: log $PS\nB: log ${HONCHO_PROCESS_NAME}\nc: log $PSI\n", &settings(&formation));
    assert!(file.contains(r#"environment = { PS = "a.{instance}" }"#), "{file}");
    assert!(file.contains(r#"environment = { HONCHO_PROCESS_NAME = "B.1" }"#), "{file}");
    assert!(!file.contains("c.1"), "{file}");
}

#[test]
fn lines_that_are_no_entry_are_remarked() {
    let (entries, diagnostics) =
        read(&procfile("\n# c\r\n  # d\nticker ./ticker\nweb :x\n a: b\nb:\nc:  \nd: e \r\nè: f\ng:h"));
    let remarks = said(&diagnostics);
    let remarks: Vec<_> = remarks.iter().map(|(line, text)| (*line, text.as_str())).collect();
    let no_entry = "not `NAME: COMMAND`, ignoring the line, as foreman does";
    assert_eq!(
        remarks,
        [
            (4, no_entry),
            (5, no_entry),
            (6, no_entry),
            (7, "`b` has no command, ignoring the line"),
            (8, "`c` has no command, ignoring the line"),
            (10, no_entry),
        ]
    );
    let entries: Vec<_> =
        entries.iter().map(|entry| (&*entry.name, &*entry.command, entry.location.line_column().0)).collect();
    assert_eq!(entries, [("d", "e", 9), ("g", "h", 11)]);
}

#[test]
fn a_blank_behind_a_backslash_belongs_to_the_command() {
    for (line, command) in [("a: b \\  ", "b \\ "), ("a: b \\\\  ", "b \\\\"), ("a:  b  ", "b"), ("a: b \\", "b \\")] {
        assert_eq!(read(&procfile(line)).0[0].command, command, "{line}");
    }
}

#[test]
fn names_are_made_to_fit() {
    let (file, remarks) = imported("Web: a\nweb: b\n_x: c\n__: d\nweb: e\n", &settings(&ALL));
    for name in ["web", "web-2", "x", "process", "web-3"] {
        assert!(file.contains(&format!("[process.{name}]")), "{name}: {file}");
    }
    assert_eq!(
        remarks,
        [
            (1, "`Web` is imported as `web`".to_owned()),
            (2, "`web` is imported as `web-2`".to_owned()),
            (3, "`_x` is imported as `x`".to_owned()),
            (4, "`__` is imported as `process`".to_owned()),
            (5, "`web` is imported as `web-3`".to_owned()),
        ]
    );
}

#[test]
fn formations_as_foreman_reads_them() {
    for (text, web, other) in [("web=2", 2, 0), ("web=2,all=3", 2, 3), ("all=0, web = 2", 2, 0), ("web=1,web=4", 4, 0)]
    {
        let formation = Formation::new(text).unwrap();
        assert_eq!((formation.of("web"), formation.of("other")), (web, other), "{text}");
    }
    assert_eq!(Formation::default().of("web"), 1);
    for (text, why) in [
        ("web", "`web` is not `NAME=NUMBER`"),
        ("", "`` is not `NAME=NUMBER`"),
        ("web=x", "`web=x` is not `NAME=NUMBER`"),
        ("=1", "`=1` is not `NAME=NUMBER`"),
        ("web=-1", "`web=-1` is not `NAME=NUMBER`"),
        ("web=1000", "`web=1000` has more than 999 instances"),
    ] {
        assert_eq!(Formation::new(text), Err(why.to_owned()));
    }
    assert_eq!(Formation::new("web=1,wob=2").unwrap().unknown(["web"].into_iter()), Some("wob"));
}

#[test]
fn there_are_only_so_many_ports() {
    let (file, remarks) = imported("a: b\nc: d\n", &Settings { port: 65_500, ..settings(&ALL) });
    assert!(file.contains("port = 65500") && !file.contains("65600"), "{file}");
    assert_eq!(remarks, [(2, "`c` has no port: 65600 is too high".to_owned())]);
}

#[test]
fn release_runs_once_and_knows_its_port_if_it_asks() {
    let formation = Formation::new("release=2").unwrap();
    let none = Formation::new("release=0").unwrap();
    assert!(!imported("a: b\nrelease: x\n", &settings(&none)).0.contains("[setup.release]"));
    let (file, remarks) = imported("a: b\nrelease: x $PORT\n", &settings(&formation));
    assert!(file.contains("[setup.release]\nexec = \"x {env:PORT}\"\nenvironment = { PORT = 5100 }"), "{file}");
    assert_eq!(remarks, [(2, "`release` runs once, not several times in parallel".to_owned())]);
}

/// What the group file means, or what is wrong with it.
fn meant(text: &str) -> Result<Group, String> {
    let file = SourceFile { path: PathBuf::from("/etc/copse/shop.toml"), text: text.to_owned() };
    let source = Source { name: GroupName::new("shop").unwrap(), file: Arc::new(file), drop_ins: Vec::new() };
    let (group, diagnostics) = model::read(&source, &Context { scope: Scope::System, cpus: 2 });
    let errors: Vec<_> =
        diagnostics.iter().filter(|found| found.severity() == Severity::Error).map(Diagnostic::line).collect();
    group.ok_or_else(|| format!("{}\n{text}", errors.join("\n")))
}

fn any_procfile() -> impl Strategy<Value = String> {
    let piece = "([ -~]|\\{(instance|env:PORT|proces)\\}|\\$PORT|\\$\\{PORT\\}|[\t\r\u{b}\0ä\u{fffe}\u{2028}]){0,30}";
    let line = ("[A-Za-z0-9_-]{0,3}:? {0,2}", piece).prop_map(|(name, command)| name + &command);
    prop::collection::vec(line, 0..6).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn whatever_a_procfile_holds_the_group_file_is_valid_and_runs_just_that(
        text in any_procfile(),
        environment in "([A-Za-z_.]{1,3} ?= ?['\"]?([ -~]|[\u{1}\\\\ä\u{fffe}]){0,9}['\"]?( #x)?\n){0,4}",
        in_file in any::<bool>(),
        number in 0..4_u16,
        port in 1..u16::MAX,
    ) {
        let (entries, _) = read(&procfile(&text));
        let formation = Formation { named: Vec::new(), others: number };
        let variables = crate::import::dotenv::read(&procfile(&environment)).variables;
        let file = group(&entries, &Settings {
            formation: &formation,
            port,
            variables: &variables,
            environment_file: in_file.then_some(Path::new("/etc/x")),
            directory: Path::new("/srv/my app"),
            search_path: false,
        }).file;
        if file.processes.is_empty() {
            return Ok(());
        }
        let group = meant(&file.to_string()).map_err(TestCaseError::fail)?;
        let scripts = |words: &[Text]| words.first() == Some(&Text::literal("/bin/sh")) && words.len() == 3;
        for (entry, (_, process)) in entries.iter().filter(|entry| entry.name != "release").zip(&file.processes) {
            if let Some(Value::String(_)) = process.get("shell") {
                let found = group.processes.values().any(|process| {
                    scripts(&process.service.exec) && process.service.exec[2] == Text::literal(entry.command.as_str())
                });
                prop_assert!(found, "{:?}\n{}", entry, file);
            }
        }
    }
}
