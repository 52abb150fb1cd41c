//! What is printed of a group for other programs: pictures, and polkit's rule.

use snapbox::{IntoData as _, assert_data_eq, str};

use crate::Root;

const SHOP: &str = r#"
wanted-by = ["multi-user.target"]
after = ["network-online.target"]
wants = ["network-online.target"]
[setup.migrate]
exec = "/bin/true"
after = ["db"]
[process.db]
exec = "/bin/db"
[process.web]
exec = "/bin/web"
after = ["migrate"]
instances = 4
listen = "tcp:80"
non-blocking = true
user = "shop"
controls = ["job"]
[process.job]
exec = "/bin/job"
on-calendar = "daily"
[process.tool]
exec = "/bin/tool"
start = "manual"
after = ["remote-fs.target"]
"#;

#[test]
fn a_group_drawn_for_graphviz() {
    let ran = Root::new(&[("shop", SHOP)]).run(&["graph", "shop"]);
    assert_data_eq!(
        ran.stdout,
        str![[r#"
// dashed: starts · plain: is waited for until ready · bold: must have succeeded
digraph "shop.target" {
    rankdir=LR;
    node [shape=box];
    "shop.target" [label="shop.target", shape=doubleoctagon];
    "migrate" [label="migrate", shape=box, style=rounded];
    "db" [label="db", shape=box];
    "job" [label="job", shape=box];
    "shop-job.timer" [label="shop-job.timer", shape=ellipse];
    "tool" [label="tool (manual)", shape=box];
    "remote-fs.target" [label="remote-fs.target", shape=box, style=dashed];
    "web" [label="web × 4", shape=box];
    "shop-web.socket" [label="shop-web.socket", shape=cds];
    "network-online.target" [label="network-online.target", shape=box, style=dashed];
    "multi-user.target" [label="multi-user.target", shape=box, style=dashed];
    "shop.target" -> "migrate" [style=dashed];
    "db" -> "migrate";
    "shop.target" -> "db" [style=dashed];
    "shop-job.timer" -> "job" [style=dashed];
    "shop.target" -> "shop-job.timer" [style=dashed];
    "remote-fs.target" -> "tool";
    "shop.target" -> "web" [style=dashed];
    "migrate" -> "web" [style=bold];
    "shop-web.socket" -> "web" [style=dashed];
    "shop.target" -> "shop-web.socket" [style=dashed];
    "shop.target" -> "network-online.target" [style=dashed];
    "network-online.target" -> "shop.target";
    "multi-user.target" -> "shop.target" [style=dashed];
}

"#]]
        .raw()
    );
    assert_eq!((ran.stderr.as_str(), ran.status), ("", 0));
}

#[test]
fn a_group_drawn_for_mermaid() {
    let ran = Root::new(&[("shop", SHOP)]).run(&["graph", "--mermaid", "shop"]);
    assert_data_eq!(
        ran.stdout,
        str![[r#"
%% dotted: starts · plain: is waited for until ready · thick: must have succeeded
flowchart LR
    n0{{"shop.target"}}
    n1("migrate")
    n2["db"]
    n3["job"]
    n4(["shop-job.timer"])
    n5["tool (manual)"]
    n6["remote-fs.target"]:::outside
    n7["web × 4"]
    n8>"shop-web.socket"]
    n9["network-online.target"]:::outside
    n10["multi-user.target"]:::outside
    n0 -.-> n1
    n2 --> n1
    n0 -.-> n2
    n4 -.-> n3
    n0 -.-> n4
    n6 --> n5
    n0 -.-> n7
    n1 ==> n7
    n8 -.-> n7
    n0 -.-> n8
    n0 -.-> n9
    n9 --> n0
    n10 -.-> n0
    classDef outside stroke-dasharray: 5 5

"#]]
        .raw()
    );
    assert_eq!((ran.stderr.as_str(), ran.status), ("", 0));
}

#[test]
fn polkits_rule_for_a_group() {
    let ran = Root::new(&[("shop", SHOP)]).run(&["polkit", "shop"]);
    assert_data_eq!(ran.stdout, str![[r#"
// Made by `copse polkit shop` from "/etc/copse/shop.toml".
// Its place is /etc/polkit-1/rules.d/50-copse-shop.rules, of a package /usr/share/polkit-1/rules.d.
//
// The users of processes with `controls` may do this with these units, and nothing else.
polkit.addRule(function (action, subject) {
    if (action.id !== "org.freedesktop.systemd1.manage-units") {
        return polkit.Result.NOT_HANDLED;
    }
    var verbs = ["start", "stop", "restart", "try-restart", "reload", "reload-or-restart", "reload-or-try-restart", "reset-failed"];
    var grants = [
        {
            user: "shop",
            units: ["shop-job.service", "shop-job.timer"],
            instances: []
        }
    ];
    var unit = String(action.lookup("unit"));
    var isInstance = function (of) {
        return unit.length > of.before.length + of.after.length
            && unit.slice(0, of.before.length) === of.before
            && unit.slice(-of.after.length) === of.after;
    };
    var isGranted = function (grant) {
        return grant.user === subject.user && (grant.units.indexOf(unit) !== -1 || grant.instances.some(isInstance));
    };
    if (verbs.indexOf(action.lookup("verb")) !== -1 && grants.some(isGranted)) {
        return polkit.Result.YES;
    }
    return polkit.Result.NOT_HANDLED;
});

"#]].raw());
    assert_eq!((ran.stderr.as_str(), ran.status), ("", 0));
}

#[test]
fn where_there_is_nothing_to_print() {
    let root = Root::new(&[("shop", "[process.web]\nexec = \"/a\"\n"), ("bad", "x = 1\n")]);
    for (words, status, said) in [
        (&["polkit", "shop"][..], 0, "copse: no process of group `shop` has `controls`, no rule to print\n"),
        (&["--user", "polkit", "shop"], 2, "copse: a user's own service manager does not use polkit, no rule to print"),
        (&["polkit", "shp"], 4, "copse: there is no group `shp`\n  help: did you mean `shop`?\n"),
        (&["graph", "bad"], 5, "error[unknown-key]: unknown group key `x`\n"),
        (&["graph", "nothing"], 4, "copse: there is no group `nothing`\n"),
    ] {
        let ran = root.run(words);
        assert_eq!((ran.status, ran.stdout.as_str()), (status, ""), "{words:?} {ran:?}");
        assert!(ran.stderr.starts_with(said), "{words:?} {ran:?}");
    }
}
