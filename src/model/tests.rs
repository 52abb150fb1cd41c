//! Group files that are read; errors have their cases in `tests/errors/`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::*;
use crate::basic::diagnostic::{Diagnostics, SourceFile};
use crate::basic::scope::Scope;
use crate::group_file::discover::Source;
use crate::unit::name::{GroupName, InstanceName, ProcessName};

fn file(path: &str, text: &str) -> Arc<SourceFile> {
    Arc::new(SourceFile { path: PathBuf::from(path), text: text.to_owned() })
}

fn read_text(text: &str, drop_ins: &[&str]) -> (Option<Group>, Diagnostics) {
    let name = GroupName::new("shop").unwrap();
    let drop_ins = drop_ins.iter().enumerate().map(|(n, text)| file(&format!("/etc/copse/shop.toml.d/{n}.toml"), text));
    let source = Source { name, file: file("/etc/copse/shop.toml", text), drop_ins: drop_ins.collect() };
    read(&source, &Context { scope: Scope::System, cpus: 4 })
}

fn good(text: &str, drop_ins: &[&str]) -> Group {
    let (group, diagnostics) = read_text(text, drop_ins);
    let lines: Vec<_> = diagnostics.iter().map(crate::basic::diagnostic::Diagnostic::line).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
    group.unwrap()
}

fn lines(text: &str) -> Vec<String> {
    read_text(text, &[]).1.iter().map(crate::basic::diagnostic::Diagnostic::line).collect()
}

fn name(text: &str) -> ProcessName {
    ProcessName::new(text).unwrap()
}

const SHOP: &str = r#"
description = "Shop"
wanted-by = ["multi-user.target"]
after = ["network-online.target"]
wants = ["network-online.target"]

[defaults]
user = "app"
working-directory = "/srv/app/current"
inputs = ["/srv/app/current/REVISION"]

[process.redis]
exec = "/usr/bin/redis-server --supervised systemd"
ready = "notify"

[setup.migrate]
exec = "bin/migrate"
after = ["redis"]

[process.web]
exec = "bin/web --port {env:PORT}"
port = 8001
instances = 2
after = ["migrate"]
ready = { http = "http://127.0.0.1:{env:PORT}/health" }

[process.worker]
exec = "bin/worker"
instances = 4
after = ["migrate"]
timeout-stop-sec = "60s"
"#;

#[test]
fn the_manuals_long_example_is_read() {
    let group = good(SHOP, &[]);
    let web = &group.processes[&name("web")];
    assert_eq!(web.gated_by, [name("migrate")]);
    assert_eq!(web.service.exec[0], Text::literal("/srv/app/current/bin/web"));
    assert_eq!(web.service.exec[2], Text::from(vec![Piece::Env("PORT".into())]));
    let second = web.instances.as_ref().unwrap()[&InstanceName::new("2").unwrap()].as_ref().unwrap();
    assert_eq!(second.environment["PORT"], Text::literal("8002"));
    assert!(group.processes[&name("redis")].gated_by.is_empty());
    assert_eq!(group.setup[&name("migrate")].after, [name("redis")]);
    let worker = &group.processes[&name("worker")];
    assert_eq!(worker.instances.as_ref().unwrap().values().flatten().count(), 0, "equal instances share the template");
    let directive = |name: &str| worker.service.directives.iter().find(|d| d.name == name).map(|d| &*d.value);
    assert_eq!(directive("TimeoutStopSec"), Some("60s"));
    assert_eq!(directive("Restart"), Some("on-failure"));
    assert_eq!(directive("User"), Some("app"));
    assert_eq!(directive("StartLimitIntervalSec"), Some("10s"));
}

#[test]
fn a_drop_in_merges_key_by_key_and_can_take_a_process_out() {
    let group = good(
        SHOP,
        &[
            "[process.worker]\ninstances = 0\n[process.web]\nenvironment = { A = \"1\", B = \"2\" }",
            "[process.web.environment]\nA = false\n",
        ],
    );
    assert!(!group.processes.contains_key(&name("worker")));
    assert_eq!(group.processes[&name("web")].service.environment.keys().collect::<Vec<_>>(), ["B"]);
    assert_eq!(group.files.len(), 3);
}

#[test]
fn all_errors_are_reported_at_once() {
    let found = lines(
        "foo = 1\n[process.a]\nexec = \"/bin/x\"\nafter = [\"b\"]\nMemoryLow = \"1G\"\n[process.b]\nexec = 'sh -c \"x\"'\nafter = [\"a\"]\nwanted-by = []\n",
    );
    assert_eq!(found.len(), 5, "{found:#?}");
}

#[test]
fn a_cycle_is_printed_as_a_path() {
    let found = lines(
        "[process.b]\nexec = \"/x\"\nafter = [\"a\"]\n[process.a]\nexec = \"/x\"\nafter = [\"c\"]\n[process.c]\nexec = \"/x\"\nafter = [\"b\"]\n",
    );
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains("`a → c → b → a`"), "{found:#?}");
}

#[test]
fn a_default_that_does_not_fit_does_not_apply() {
    let group = good(
        r#"
[defaults]
restart = "always"
refresh = "roll"
health = { tcp = "127.0.0.1:80" }
watchdog-sec = 5
runtime-directory-mode = "0750"
restart-steps = 3
kill-mode = "mixed"

[process.web]
exec = "/bin/web"
instances = 2
runtime-directory = "web-{instance}"

[process.job]
exec = "/bin/job"
ready = "oneshot"

[process.named]
exec = "/bin/named"
ready = { dbus = "org.example.Name" }
restart-max-delay-sec = "1min"

[process.own]
exec = "/bin/own"
watchdog-sec = 7
"#,
        &[],
    );
    let has = |process: &str, directive: &str| {
        let found = group.processes[&name(process)].service.directives.iter().find(|found| found.name == directive);
        found.map(|found| found.value.clone())
    };
    let of = |process: &str| (has(process, "WatchdogSec"), has(process, "RestartSteps"), has(process, "Restart"));
    let always = Some("always".into());
    assert_eq!(of("web"), (None, None, always.clone()), "health comes before a default of the same rank");
    assert_eq!(of("job"), (None, None, Some("on-failure".into())));
    assert_eq!(of("named"), (None, Some("3".into()), always.clone()));
    assert_eq!(of("own"), (Some("7".into()), None, always));
    let watched = |process: &str| group.processes[&name(process)].service.health.is_some();
    assert_eq!(["web", "job", "named", "own"].map(watched), [true, false, false, false]);
    let refresh = |process: &str| group.processes[&name(process)].change.refresh;
    assert_eq!((refresh("web"), refresh("job")), (Refresh::Roll, Refresh::Restart));
    assert!(group.processes.keys().all(|process| has(process.as_str(), "KillMode") == Some("mixed".into())));
}

#[test]
fn a_process_that_was_taken_out_may_still_be_named() {
    let text = r#"
[process.manager]
exec = "/bin/manager"
user = "app"
controls = ["web", "gc"]
after = ["gc"]
[process.web]
exec = "/bin/web"
port = 80
[process.gc]
exec = "/bin/gc"
"#;
    let group = good(text, &["process.gc.instances = 0", "process.web.environment.PORT = false"]);
    assert_eq!(group.processes[&name("manager")].controls, [name("web")]);
    assert_eq!(group.processes[&name("web")].service.environment["PORT"], Text::literal("80"));
}

#[test]
fn a_shell_gets_its_own_variables() {
    let group = good("[process.a]\nshell = \"echo {env:A...}b {env:C}d\"", &[]);
    assert_eq!(group.processes[&name("a")].service.exec[2], Text::literal("echo ${A}b ${C}d"));
}

#[test]
fn a_drop_in_may_say_the_command_the_other_way() {
    let group = good("[process.a]\nexec = \"/bin/a\"", &["process.a.shell = \"b\""]);
    assert_eq!(group.processes[&name("a")].service.exec[2], Text::literal("b"));
    let group = good("[process.a]\nshell = \"b\"", &["process.a.exec = \"/bin/a\""]);
    assert_eq!(group.processes[&name("a")].service.exec, [Text::literal("/bin/a")]);
}

#[test]
fn an_instance_may_be_described_that_is_not_there_here() {
    let text = "[process.a]\nexec = \"/bin/a\"\ninstances = \"cpus\"\ninstance.9.nice = 1\n\n[process.b]\nexec = \"/bin/b\"\ninstances = 3\ninstance.3.nice = 1";
    let group = good(text, &["process.b.instances = 2"]);
    let count = |process: &str| group.processes[&name(process)].instances.as_ref().map(BTreeMap::len);
    assert_eq!((count("a"), count("b")), (Some(4), Some(2)));
    assert!(lines("[process.a]\nexec = \"/bin/a\"\ninstances = 2\ninstance.3.nice = 1")[0].contains("no instance `3`"));
}

#[test]
fn percentages_of_instances() {
    for (text, of, expected) in [
        ("1", 4, Some(1)),
        ("3", 4, Some(3)),
        ("50%", 4, Some(2)),
        ("10%", 4, Some(1)),
        ("100%", 4, Some(4)),
        ("0", 4, None),
        ("0%", 4, None),
        ("101%", 4, None),
        ("x", 4, None),
    ] {
        assert_eq!(Percentage::parse(text).map(|share| share.of(of)), expected, "{text}");
    }
}
