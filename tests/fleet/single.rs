//! The modules on one host, and what looks at all hosts.

use serde_json::{Value, json};

use crate::Situation;
use crate::machines::scope::Scope as _;
use crate::network::{Fleet, NODES};
use crate::rolled::succeeded;

pub const SITUATIONS: &[Situation] = &[
    ("each_state_of_a_group_is_reached_once_and_predicted", "fleet", each_state),
    ("drop_ins_differ_from_host_to_host", "fleet", drop_ins),
    ("a_new_group_that_fails_leaves_nothing", "fleet", a_new_group_that_fails),
    ("one_command_shows_all_hosts_and_one_log_has_all_lines", "fleet", all_hosts),
];

const GROUP: &str = "[process.a]\nexec = \"/bin/sleep infinity\"\n[process.b]\nexec = \"/bin/sleep infinity\"\n";

/// What a module returned on n2.
#[track_caller]
fn on_n2(f: &Fleet, module: &str, arguments: &Value, check: bool) -> (i32, Value) {
    let output = f.module("n2", module, arguments, check);
    let at = output.stdout.find("=> {").unwrap_or_else(|| panic!("{output:?}")) + 3;
    let value = serde_json::Deserializer::from_str(&output.stdout[at..]).into_iter::<Value>().next();
    (output.status, value.expect("an object").unwrap_or_else(|error| panic!("{error}: {output:?}")))
}

fn each_state(f: &Fleet) {
    let n2 = f.node("n2");
    let task = |state: &str, more: Value| {
        let mut arguments = json!({"name": "mod", "state": state});
        arguments.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
        arguments
    };
    let file = json!({"content": GROUP});
    let changed = GROUP.replace("process.b]", "process.b]\nnice = 2");
    for (state, more, verdict, twice) in [
        ("applied", file.clone(), "stopped", false),
        ("started", file.clone(), "active", false),
        ("applied", json!({"content": changed}), "active", false),
        ("started", json!({"enabled": true}), "active", false),
        ("started", json!({"enabled": false}), "active", false),
        ("restarted", json!({}), "active", true),
        ("stopped", json!({}), "stopped", false),
        ("absent", json!({}), "absent", false),
    ] {
        for expected in [true, twice] {
            let (status, planned) = on_n2(f, "group", &task(state, more.clone()), true);
            assert_eq!((status, &planned["changed"]), (0, &expected.into()), "check mode, {state}: {planned}");
            let (status, done) = on_n2(f, "group", &task(state, more.clone()), false);
            assert_eq!(status, 0, "{state}: {done}");
            assert_eq!((&done["changed"], &done["verdict"]), (&expected.into(), &verdict.into()), "{state}: {done}");
        }
    }
    assert!(!n2.exists("/etc/copse/mod.toml") && !n2.exists("/etc/systemd/system/mod.target"));
    let (status, info) = on_n2(f, "group_info", &json!({"name": "mod"}), false);
    assert_eq!((status, &info["groups"]), (0, &json!([])), "{info}");
    // A mistake in the task itself.
    for (arguments, said) in [
        (json!({"name": "../x"}), "`../x` is not a group name"),
        (json!({"name": "mod", "drop_ins": {"x": "a"}}), "`x` is not the name of a drop-in"),
        (json!({"name": "mod"}), "has no file on this host; set `content` or `src`"),
        (json!({"name": "mod", "state": "absent", "content": "x"}), "`content` has no effect with `state: absent`"),
        (json!({"name": "mod", "state": "rolled_back"}), "there is no group `mod` on this host"),
    ] {
        let (status, failed) = on_n2(f, "group", &arguments, false);
        assert_ne!(status, 0);
        assert!(failed["msg"].as_str().is_some_and(|text| text.contains(said)), "{failed}");
    }
}

fn drop_ins(f: &Fleet) {
    let n2 = f.node("n2");
    let task = |drop_in: Value| json!({"name": "mod", "content": GROUP, "state": "started", "drop_ins": {"50-host.toml": drop_in}});
    let nice = "[process.a]\nnice = 7\n";
    assert_eq!(on_n2(f, "group", &task(nice.into()), false).0, 0);
    assert_eq!(n2.property("mod-a.service", "Nice"), "7");
    // One that makes the file wrong is not installed.
    let (status, failed) = on_n2(f, "group", &task("[process.c]\nnice = 7\n".into()), false);
    assert_ne!(status, 0, "{failed}");
    assert_eq!(n2.read("/etc/copse/mod.toml.d/50-host.toml"), nice);
    let (status, done) = on_n2(f, "group", &task(Value::Null), false);
    assert_eq!((status, &done["changed"]), (0, &true.into()), "{done}");
    assert!(!n2.exists("/etc/copse/mod.toml.d"));
    assert_eq!(n2.property("mod-a.service", "Nice"), "0");
}

fn a_new_group_that_fails(f: &Fleet) {
    let n2 = f.node("n2");
    let bad = "[process.a]\nexec = \"/bin/false\"\nready = \"notify\"\nrestart = \"no\"\n";
    let task = json!({"name": "mod", "content": bad, "state": "started", "on_failure": "rollback"});
    let (status, failed) = on_n2(f, "group", &task, false);
    assert_ne!(status, 0);
    assert!(failed["msg"].as_str().is_some_and(|text| text.contains("the new group was stopped")), "{failed}");
    assert!(!n2.exists("/etc/copse/mod.toml"));
    assert_eq!(n2.copse(&["status", "mod"]).status, 4);
}

fn all_hosts(f: &Fleet) {
    succeeded(&f.release("1"));
    let n1 = &f.controller;
    let shown = n1.run(&["clush", "-w", "n[2-4]", "-b", "-S", "copse", "list"]);
    succeeded(&shown);
    assert!(shown.stdout.contains("n[2-4] (3)") && shown.stdout.contains("shop"), "{shown:?}");
    let two = n1.copse(&["-H", "n2,n3", "list"]);
    assert_eq!(two.status, 2);
    assert!(two.stderr.contains("clush -w n2,n3"), "{two:?}");
    // systemd's own transport of journals.
    n1.ok(&[
        "systemd-run",
        "--unit=receiver.service",
        "--collect",
        "/lib/systemd/systemd-journal-remote",
        "--listen-http=19532",
        "--output=/var/log/journal/remote",
        "--split-mode=host",
    ]);
    n1.sh("mkdir -p /var/log/journal/remote");
    for name in NODES {
        f.node(name).run(&[
            "/lib/systemd/systemd-journal-upload",
            "--url=http://10.7.0.1:19532",
            "--save-state=/run/upload",
            "--follow=no",
        ]);
    }
    let log = || n1.copse(&["logs", "-D", "/var/log/journal/remote", "shop"]).stdout;
    n1.wait_until("all hosts' lines are here", || {
        let log = log();
        NODES
            .iter()
            .all(|name| log.lines().any(|line| line.contains(&format!(" {name} web@1")) && line.ends_with("serves r1")))
    });
    n1.run(&["systemctl", "stop", "receiver.service"]);
}
