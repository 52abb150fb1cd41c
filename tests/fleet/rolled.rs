//! A release over three hosts: how it goes out, stops, goes back, and goes on.

use crate::Situation;
use crate::machines::scope::{Output, Scope as _};
use crate::network::{Fleet, LONG, Load, NODES, command};

pub const SITUATIONS: &[Situation] = &[
    ("a_release_goes_out_host_by_host_and_no_request_is_lost", "fleet", a_release_goes_out),
    ("a_bad_release_stops_at_the_first_host_which_goes_back", "fleet", a_bad_release_stops),
    ("a_host_that_cannot_goes_back_and_an_older_release_brings_all_back", "fleet", a_host_that_cannot),
    ("a_link_that_is_cut_during_an_apply_changes_nothing", "fleet", a_link_that_is_cut),
    ("a_killed_controller_leaves_no_host_with_half", "fleet", a_killed_controller),
    ("a_host_that_reboots_during_the_rollout_is_finished_by_the_next_run", "fleet", a_host_that_reboots),
    ("thirty_hosts_of_which_two_are_down", "fleet", thirty_hosts),
    ("the_ansible_of_debian_12_rolls_out_and_back", "fleet-controller", the_ansible_of_debian_12),
];

/// A value of the recap of a host.
#[track_caller]
pub fn recap(output: &Output, host: &str, key: &str) -> u32 {
    let line = output.stdout.lines().rfind(|line| line.starts_with(&format!("{host} ")) && line.contains("ok="));
    let line = line.unwrap_or_else(|| panic!("no recap of {host}: {output:?}"));
    let value = line.split_whitespace().find_map(|word| word.strip_prefix(&format!("{key}=")));
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{line}"))
}

#[track_caller]
pub fn succeeded(output: &Output) {
    assert_eq!(output.status, 0, "{}{}", output.stdout, output.stderr);
}

#[track_caller]
fn none_lost(load: &Load) {
    let Load { sent, lost, silence, why } = load;
    assert!(*lost == 0 && *sent > 100, "{lost} of {sent} requests lost, longest silence {silence} s: {why}");
    eprintln!("0 of {sent} requests lost, longest silence {silence:.2} s");
}

fn a_release_goes_out(f: &Fleet) {
    succeeded(&f.release("1"));
    assert_eq!(f.releases(), ["r1"; 3]);
    let client = f.under_load();
    // What it means, for each host, and nothing is changed.
    let checked = f.rollout(&["-e", "file=shop.toml.j2", "-e", "rev=2", "--check", "--diff"]);
    succeeded(&checked);
    assert!(checked.stdout.contains("+# Release 2") && checked.stdout.contains("roll"), "{}", checked.stdout);
    assert!(NODES.iter().all(|node| recap(&checked, node, "changed") == 1), "{}", checked.stdout);
    assert_eq!(f.releases(), ["r1"; 3]);
    let hooks = &[
        "-e",
        "before=drain.yml",
        "-e",
        "after=undrain.yml",
        "-e",
        "file=shop.toml.j2",
        "-e",
        "canary=2s",
        "-e",
        "rev=2",
    ];
    succeeded(&f.rollout(hooks));
    assert_eq!(f.releases(), ["r2"; 3]);
    let load = client.end();
    none_lost(&load);
    let hooked = NODES.map(|node| format!("drain {node}\nready {node}\n"));
    assert_eq!(f.controller.read("/root/hooks"), hooked.concat(), "one host after the other");
    // Again: nothing, and no host leaves the balancer for nothing.
    let again = f.rollout(hooks);
    succeeded(&again);
    assert!(NODES.iter().all(|node| recap(&again, node, "changed") == 0), "{}", again.stdout);
    assert_eq!(f.controller.read("/root/hooks"), hooked.concat());
    // Without a balancer's help, and back: the same, older.
    let client = f.under_load();
    succeeded(&f.release("1"));
    none_lost(&client.end());
    assert_eq!(f.releases(), ["r1"; 3]);
}

fn a_bad_release_stops(f: &Fleet) {
    succeeded(&f.release("1"));
    let pids = |node: &str| ["shop-web@1.service", "shop-web@2.service"].map(|unit| f.node(node).pid(unit));
    let untouched = [pids("n3"), pids("n4")];
    let second = pids("n2")[1];
    let client = f.under_load();
    let output = f.release("bad");
    assert_eq!(output.status, 2, "{}{}", output.stdout, output.stderr);
    let said = ["web@1 failed: exit status 3: cannot load config of rev bad", "rolled back to the previous files"];
    assert!(said.iter().all(|text| output.stdout.contains(text)), "{}", output.stdout);
    assert_eq!(f.releases(), ["r1"; 3]);
    assert_eq!([pids("n3"), pids("n4")], untouched);
    assert_eq!(pids("n2")[1], second, "the other instance was never touched");
    assert_eq!(f.node("n2").copse(&["plan", "--exit-code", "shop"]).status, 0);
    // To look at: the host stays as it is, its other instance held at what it runs.
    let output = f.rollout(&["-e", "file=shop.toml.j2", "-e", "rev=bad", "-e", "on_failure=hold"]);
    assert_eq!(output.status, 2, "{output:?}");
    none_lost(&client.end());
    assert_eq!(f.node("n2").pid("shop-web@2.service"), second);
    assert!(f.node("n2").copse(&["status", "shop"]).stdout.contains("pinned"), "held");
    assert_eq!([pids("n3"), pids("n4")], untouched);
    // On with the next.
    succeeded(&f.release("2"));
    assert_eq!(f.releases(), ["r2"; 3]);
}

fn a_host_that_cannot(f: &Fleet) {
    succeeded(&f.release("1"));
    f.node("n4").sh("mv /opt/shop/r3 /opt/shop/gone");
    let client = f.under_load();
    let output = f.release("3");
    assert_eq!(output.status, 2, "{output:?}");
    assert_eq!(f.releases(), ["r3", "r3", "r1"]);
    let back = f.release("1");
    succeeded(&back);
    assert_eq!(recap(&back, "n4", "changed"), 0, "{}", back.stdout);
    assert_eq!(f.releases(), ["r1"; 3]);
    none_lost(&client.end());
    f.node("n4").sh("mv /opt/shop/gone /opt/shop/r3");
    // Back without files: each host to its last complete apply.
    succeeded(&f.release("2"));
    f.node("n3").ok(&["copse", "apply", "shop"]);
    let nothing = f.rollout(&["-e", "state=rolled_back"]);
    succeeded(&nothing);
    assert!(NODES.iter().all(|node| recap(&nothing, node, "changed") == 0), "{}", nothing.stdout);
}

fn a_link_that_is_cut(f: &Fleet) {
    succeeded(&f.release("1"));
    let rolling = f.spawn_rollout(&["-e", "file=shop.toml.j2", "-e", "rev=2", "-e", "canary=8s"]);
    let n2 = f.node("n2");
    n2.wait_until("the apply has begun", || n2.run(&["pgrep", "-f", "[c]opse apply"]).status == 0);
    f.controller.ok(&["ip", "link", "set", "n2", "down"]);
    n2.wait_until("the apply is complete", || {
        n2.run(&["sh", "-c", "! pgrep -f '[c]opse apply' && grep -c '^# Release 2' /etc/copse/shop.toml"]).status == 0
            && n2.copse(&["plan", "--exit-code", "shop"]).status == 0
    });
    f.controller.ok(&["ip", "link", "set", "n2", "up"]);
    let output = rolling.finish();
    succeeded(&output);
    assert_eq!(f.releases(), ["r2"; 3]);
    let again = f.release("2");
    assert!(NODES.iter().all(|node| recap(&again, node, "changed") == 0), "{}", again.stdout);
}

fn a_killed_controller(f: &Fleet) {
    succeeded(&f.release("1"));
    let client = f.under_load();
    let rolling = f.spawn_rollout(&["-e", "file=shop.toml.j2", "-e", "rev=2", "-e", "canary=4s"]);
    let n2 = f.node("n2");
    n2.wait_until("the apply has begun", || n2.run(&["pgrep", "-f", "[c]opse apply"]).status == 0);
    f.controller.sh("pkill -KILL -f '[a]nsible-playbook'; pkill -KILL -x ssh; true");
    drop(rolling);
    n2.wait_until("the host completes it on its own", || n2.run(&["pgrep", "-f", "[c]opse apply"]).status != 0);
    n2.wait_until("with nothing left to do", || n2.copse(&["plan", "--exit-code", "shop"]).status == 0);
    assert_eq!(f.releases(), ["r2", "r1", "r1"]);
    let on = f.release("2");
    succeeded(&on);
    assert_eq!(recap(&on, "n2", "changed"), 0, "{}", on.stdout);
    assert_eq!(f.releases(), ["r2"; 3]);
    none_lost(&client.end());
}

fn a_host_that_reboots(f: &Fleet) {
    succeeded(&f.release("1"));
    f.node("n2").ok(&["copse", "enable", "shop"]);
    let rolling = f.spawn_rollout(&["-e", "file=shop.toml.j2", "-e", "rev=2", "-e", "canary=20s"]);
    let n2 = f.node("n2");
    n2.wait_until("the apply has begun", || n2.run(&["pgrep", "-f", "[c]opse apply"]).status == 0);
    // All of the machine's processes end, and /run/copse with them.
    n2.run(&["sh", "-c", "rm -rf /run/copse; systemctl soft-reboot --no-block"]);
    let output = rolling.finish();
    assert_ne!(output.status, 0, "{}", output.stdout);
    assert!(output.stdout.contains("`n2` no longer answers, so `n3` is not touched"), "{}", output.stdout);
    assert_eq!([f.release_of("n3"), f.release_of("n4")], ["r1", "r1"], "{}", output.stdout);
    f.controller
        .wait_until("it is back", || f.controller.run(&["ssh", "-n", "n2", "copse", "wait", "shop"]).status == 0);
    let on = f.release("2");
    succeeded(&on);
    assert_eq!(f.releases(), ["r2"; 3]);
}

/// Stand-ins: ten names on each machine, each with a group of its own.
fn thirty_hosts(f: &Fleet) {
    let host = |number: usize| {
        let node = if [7, 21].contains(&number) { "10.7.0.99".to_owned() } else { format!("n{}", 2 + number % 3) };
        format!("h{number} ansible_host={node} group=s{number}\n")
    };
    f.controller.write("/root/thirty", &(1..=30).map(host).collect::<String>());
    let group = "[process.a]\nexec = \"/bin/sleep infinity\"\nenvironment = { REV = \"{{ rev }}\" }\n";
    f.controller.write("/root/small.toml.j2", group);
    let run = |more: &[&str]| {
        let playbook = ["ansible-playbook", "-i", "thirty", "copse.systemd.rollout", "-e", "file=small.toml.j2"];
        let words = [&playbook[..], &["-e", "canary=1s", "-e", "rev=1"], more].concat();
        f.controller.run_within(LONG * 2, &command(&words))
    };
    let down = run(&[]);
    assert_ne!(down.status, 0);
    assert!(["h7", "h21"].iter().all(|host| recap(&down, host, "unreachable") == 1), "{}", down.stdout);
    assert!(f.nodes.iter().all(|node| !node.exists("/etc/copse/s1.toml") && !node.exists("/etc/copse/s30.toml")));
    let rest = run(&["--limit", "all:!h7:!h21"]);
    succeeded(&rest);
    for number in (1..=30).filter(|number| ![7, 21].contains(number)) {
        let node = f.node(&format!("n{}", 2 + number % 3));
        assert_eq!(node.state(&format!("s{number}.target")), "active", "{number}");
    }
    let again = run(&["--limit", "all:!h7:!h21"]);
    succeeded(&again);
    assert!([1, 2, 30].iter().all(|host| recap(&again, &format!("h{host}"), "changed") == 0), "{}", again.stdout);
}

fn the_ansible_of_debian_12(f: &Fleet) {
    assert!(f.controller.ok(&["ansible", "--version"]).contains("core 2.14"));
    succeeded(&f.release("1"));
    succeeded(&f.release("2"));
    assert_eq!(f.releases(), ["r2"; 3]);
    let again = f.release("2");
    assert!(NODES.iter().all(|node| recap(&again, node, "changed") == 0), "{}", again.stdout);
    let output = f.release("bad");
    assert_eq!(output.status, 2, "{}{}", output.stdout, output.stderr);
    assert!(output.stdout.contains("cannot load config of rev bad; rolled back"), "{}", output.stdout);
    assert_eq!(f.releases(), ["r2"; 3]);
}
