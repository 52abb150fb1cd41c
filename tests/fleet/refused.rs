//! What a roll-out refuses, each in one sentence, before a file is written on any host.

use crate::Situation;
use crate::machines::scope::{Output, Scope as _};
use crate::network::{Fleet, NODES};
use crate::rolled::succeeded;

pub const SITUATIONS: &[Situation] = &[
    ("what_is_wrong_with_the_file_is_refused_on_all_hosts", "fleet", what_is_wrong_with_the_file),
    ("what_is_wrong_with_a_host_is_refused_on_all_hosts", "fleet", what_is_wrong_with_a_host),
    ("what_a_user_decided_is_respected", "fleet", what_a_user_decided),
];

/// It was refused with these words, and no host has another release than before.
#[track_caller]
fn refused(f: &Fleet, output: &Output, said: &[&str]) {
    assert_ne!(output.status, 0, "{}", output.stdout);
    let all = format!("{}{}", output.stdout, output.stderr).replace("\\n", "\n").replace("\\\"", "\"");
    for text in said {
        assert!(all.contains(text), "`{text}` isn't in\n{all}");
    }
    assert_eq!(f.releases(), ["r1"; 3]);
}

const FILE: [&str; 2] = ["-e", "file=shop.toml.j2"];

fn what_is_wrong_with_the_file(f: &Fleet) {
    succeeded(&f.release("1"));
    refused(f, &f.rollout(&FILE), &["cannot render `shop.toml.j2`", "'rev' is undefined", "-e rev=4"]);
    refused(f, &f.rollout(&[]), &["the group or its file is missing; pass `-e group=NAME -e file=FILE`"]);
    let typo = f.controller.read("/root/shop.toml.j2").replace("exec = \"/opt", "exce = \"/opt");
    f.controller.write("/root/typo.toml.j2", &typo);
    let output = f.rollout(&["-e", "file=typo.toml.j2", "-e", "rev=2"]);
    let said = ["no file was replaced", "/etc/copse/shop.toml:3:1", "did you mean `exec`?"];
    refused(f, &output, &said);
}

fn what_is_wrong_with_a_host(f: &Fleet) {
    succeeded(&f.release("1"));
    // One that does not answer.
    f.controller.ok(&["ip", "link", "set", "n4", "down"]);
    let output = f.release("2");
    f.controller.ok(&["ip", "link", "set", "n4", "up"]);
    refused(f, &output, &["UNREACHABLE"]);
    // An old copse.
    let n4 = f.node("n4");
    n4.sh("mv /usr/bin/copse /usr/bin/copse.new");
    n4.write_program("/usr/bin/copse", "#!/bin/sh\necho copse 0.0.9\n");
    let output = f.release("2");
    n4.sh("mv /usr/bin/copse.new /usr/bin/copse");
    refused(f, &output, &["copse 0.0.9 on this host is too old; upgrade the package copse to 0.1.0 or newer"]);
    // One machine under two names.
    f.controller.write("/root/twice", "n2\nn3\nalias ansible_host=n2\n");
    let output = f.rollout(&[&FILE[..], &["-e", "rev=2", "-i", "twice"]].concat());
    refused(f, &output, &["the same group `shop` on one machine; remove one of them from the inventory"]);
    // Another apply.
    let held = n4.spawn(&["flock", "/run/copse/lock/shop", "sleep", "600"]);
    n4.wait_until("the lock is taken", || n4.run(&["flock", "-n", "/run/copse/lock/shop", "true"]).status != 0);
    let output = f.release("2");
    drop(held);
    n4.run(&["pkill", "-x", "sleep"]);
    refused(f, &output, &["group `shop` is locked by another `copse apply`", "run the task again when it has ended"]);
}

fn what_a_user_decided(f: &Fleet) {
    succeeded(&f.release("1"));
    let n3 = f.node("n3");
    n3.ok(&["copse", "hold", "shop/clock"]);
    refused(f, &f.release("2"), &["a user holds `shop/clock`; run `copse release`, or set `force: true`"]);
    n3.ok(&["copse", "release", "shop/clock"]);
    // A change by hand, and back.
    let text = n3.read("/etc/copse/shop.toml");
    n3.write("/etc/copse/shop.toml", &text.replace("r1", "rbad"));
    assert_eq!(n3.copse(&["apply", "shop"]).status, 6);
    n3.ok(&["copse", "apply", "--rollback", "shop"]);
    n3.write("/etc/copse/shop.toml", &text.replace("process.clock]", "process.clock]\nnice = 1"));
    let output = f.release("2");
    n3.write("/etc/copse/shop.toml", &text);
    refused(f, &output, &["group `shop` is rolled back, and an apply would end that; set `force: true`"]);
    let words = [&FILE[..], &["-e", "rev=2", "-e", "canary=1s", "-e", "force=true"]].concat();
    succeeded(&f.rollout(&words));
    assert_eq!(f.releases(), NODES.map(|_| "r2"));
}
