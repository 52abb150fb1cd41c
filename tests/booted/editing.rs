//! A group file changes, breaks or vanishes while its group runs; and what administrators do to units.

use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(a_broken_edit_leaves_the_running_group_and_its_restart_policy),
    situation!(a_fixed_file_takes_over),
    situation!(a_group_that_was_never_good_says_what_is_wrong_when_it_is_started),
    situation!(a_broken_group_leaves_the_others_alone),
    situation!(a_removed_process_keeps_its_stop_signal),
    situation!(a_removed_group_file_leaves_the_group_to_be_stopped_as_it_was_meant),
    situation!(mistakes_are_in_the_kernel_log),
    situation!(a_static_target_is_enabled_disabled_and_preset_like_any_unit),
    situation!(a_masked_process_is_not_started_and_not_waited_for),
    situation!(a_full_override_in_etc_wins),
    situation!(drop_ins_for_a_process_and_for_all_of_a_group_apply),
    situation!(a_unit_of_a_package_is_never_hidden),
];

const GOOD: &str = r#"
    [process.a]
    exec = "/usr/local/bin/stand-in run"
    restart-sec = "100ms"
    [process.b]
    exec = "/usr/local/bin/stand-in run"
"#;

fn a_broken_edit_leaves_the_running_group_and_its_restart_policy(m: &Machine) {
    let group = m.start_group("edited", GOOD);
    let pids = [m.pid("edited-a.service"), m.pid("edited-b.service")];
    for broken in ["[process.a\nexec = ", "[process.a]\nexek = \"/bin/true\"\n", "\u{0}"] {
        group.rewrite(broken);
        assert_eq!([m.pid("edited-a.service"), m.pid("edited-b.service")], pids);
        assert_eq!(m.property("edited-a.service", "Restart"), "on-failure");
        assert_eq!(m.state("edited.target"), "active");
    }
    m.kill_and_wait("edited-a.service");
    assert_eq!(m.pid("edited-b.service"), pids[1]);
}

fn a_fixed_file_takes_over(m: &Machine) {
    let group = m.start_group("fixed", GOOD);
    group.rewrite("nonsense");
    group.rewrite("[process.a]\nexec = \"/usr/local/bin/stand-in notify\"\nready = \"notify\"\nrestart-sec = \"7s\"\n[process.b]\nexec = \"/usr/local/bin/stand-in run\"\n");
    assert_eq!(m.property("fixed-a.service", "RestartUSec"), "7s");
    m.systemctl(&["restart", "fixed-a.service"]);
    assert_eq!(m.property("fixed-a.service", "Type"), "notify");
}

fn a_group_that_was_never_good_says_what_is_wrong_when_it_is_started(m: &Machine) {
    let group = m.group("hopeless", "[process.a]\nexec = \"/bin/true\"\nrestat = \"always\"\n");
    group.fails_to_start();
    let status = m.run(&["systemctl", "status", "--no-pager", "--full", "hopeless.target"]).stdout;
    assert!(status.contains("/etc/copse/hopeless.toml:3"), "{status}");
    assert!(status.contains("restat"), "{status}");
    let failed = m.failed();
    assert!(failed.contains("copse-invalid@hopeless.service"), "{failed}");
    let journal = m.journal(&["-u", "copse-invalid@hopeless.service"]);
    assert!(journal.contains("/etc/copse/hopeless.toml:3"), "{journal}");
    assert!(journal.contains("did you mean `restart`"), "{journal}");
}

fn a_broken_group_leaves_the_others_alone(m: &Machine) {
    let _good = m.start_group("healthy", GOOD);
    let pid = m.pid("healthy-a.service");
    let _broken = m.group("rotten", "[[[");
    assert_eq!(m.pid("healthy-a.service"), pid);
    assert_eq!(m.property("healthy-a.service", "LoadState"), "loaded");
    m.kill_and_wait("healthy-a.service");
}

const SIGNALLED: &str = r#"
    [process.stays]
    exec = "/usr/local/bin/stand-in run"
    [process.goes]
    exec = ["/bin/sh", "-c", "trap 'echo got USR1 >/run/signal; exit 0' USR1; trap '' TERM; while :; do sleep 0.1; done"]
    kill-signal = "SIGUSR1"
    timeout-stop-sec = "5min"
"#;

fn a_removed_process_keeps_its_stop_signal(m: &Machine) {
    m.remove("/run/signal");
    let group = m.start_group("shrunk", SIGNALLED);
    let pid = m.pid("shrunk-goes.service");
    group.rewrite("[process.stays]\nexec = \"/usr/local/bin/stand-in run\"\n");
    // Also after another reload, which knows the process from nothing but the one before.
    m.reload();
    assert_eq!(m.pid("shrunk-goes.service"), pid);
    assert_eq!(m.property("shrunk-goes.service", "LoadState"), "loaded");
    group.stop();
    m.wait_for_state("shrunk-goes.service", "inactive");
    assert_eq!(m.read("/run/signal"), "got USR1\n");
    m.reload();
    assert_eq!(m.property("shrunk-goes.service", "LoadState"), "not-found", "what doesn't run is forgotten");
}

fn a_removed_group_file_leaves_the_group_to_be_stopped_as_it_was_meant(m: &Machine) {
    m.remove("/run/signal");
    let group = m.start_group("removed", SIGNALLED);
    m.remove(&group.file());
    m.reload();
    assert_eq!(m.property("removed-goes.service", "LoadState"), "loaded");
    group.stop();
    m.wait_for_state("removed-goes.service", "inactive");
    assert_eq!(m.read("/run/signal"), "got USR1\n");
}

fn mistakes_are_in_the_kernel_log(m: &Machine) {
    let name = m.unique("logged");
    let _group = m.group(&name, "[process.a]\nexec = \"/bin/true\"\nrestat = \"always\"\n");
    m.wait_until("the mistake is in the journal", || {
        m.journal(&["-k"]).lines().any(|line| {
            line.contains(&format!("/etc/copse/{name}.toml:3:1: error[unknown-key]")) && line.contains("`restart`")
        })
    });
}

fn a_static_target_is_enabled_disabled_and_preset_like_any_unit(m: &Machine) {
    m.write(
        "/usr/lib/systemd/system/packaged.target",
        "[Unit]\nDescription=A packaged group\nX-CopseGroup=yes\n[Install]\nWantedBy=multi-user.target\n",
    );
    let group = m.group("packaged", GOOD);
    // Up to 252, systemd calls it by its path below /lib.
    assert!(m.property("packaged.target", "FragmentPath").ends_with("/lib/systemd/system/packaged.target"));
    assert_eq!(m.run(&["systemctl", "is-enabled", "packaged.target"]).stdout.trim(), "disabled");
    m.systemctl(&["enable", "packaged.target"]);
    assert_eq!(m.run(&["systemctl", "is-enabled", "packaged.target"]).stdout.trim(), "enabled");
    m.systemctl(&["disable", "packaged.target"]);
    m.write("/etc/systemd/system-preset/00-packaged.preset", "enable packaged.target\n");
    m.systemctl(&["preset", "packaged.target"]);
    assert_eq!(m.run(&["systemctl", "is-enabled", "packaged.target"]).stdout.trim(), "enabled");
    m.systemctl(&["disable", "packaged.target"]);
    group.start();
    let pid = m.pid("packaged-a.service");
    m.systemctl(&["restart", "packaged.target"]);
    assert_ne!(m.pid("packaged-a.service"), pid);
    group.stop();
    m.wait_for_state("packaged-a.service", "inactive");
    drop(group);
    m.remove("/usr/lib/systemd/system/packaged.target");
    m.remove("/etc/systemd/system-preset/00-packaged.preset");
    m.reload();
}

fn a_masked_process_is_not_started_and_not_waited_for(m: &Machine) {
    let group = m.group("masked", GOOD);
    m.systemctl(&["mask", "masked-a.service"]);
    group.start();
    assert_eq!(m.state("masked-a.service"), "inactive");
    assert_eq!(m.state("masked-b.service"), "active");
    m.systemctl(&["unmask", "masked-a.service"]);
    m.systemctl(&["restart", "masked.target"]);
    assert_eq!(m.state("masked-a.service"), "active");
}

fn a_full_override_in_etc_wins(m: &Machine) {
    m.write(
        "/etc/systemd/system/overridden-a.service",
        "[Unit]\nPartOf=overridden.target\n[Service]\nExecStart=/bin/sleep infinity\n",
    );
    let group = m.start_group("overridden", GOOD);
    assert_eq!(m.read(&format!("/proc/{}/comm", m.pid("overridden-a.service"))), "sleep\n");
    drop(group);
    m.remove("/etc/systemd/system/overridden-a.service");
    m.reload();
}

fn drop_ins_for_a_process_and_for_all_of_a_group_apply(m: &Machine) {
    m.write("/etc/systemd/system/dropped-a.service.d/one.conf", "[Service]\nEnvironment=ONE=1\n");
    m.write("/etc/systemd/system/dropped-.service.d/all.conf", "[Service]\nEnvironment=ALL=1\n");
    let group = m.start_group("dropped", GOOD);
    let environment = |unit: &str| m.read(&format!("/proc/{}/environ", m.pid(unit)));
    assert!(environment("dropped-a.service").contains("ONE=1"));
    assert!(environment("dropped-a.service").contains("ALL=1"));
    assert!(!environment("dropped-b.service").contains("ONE=1"));
    assert!(environment("dropped-b.service").contains("ALL=1"));
    drop(group);
    m.remove("/etc/systemd/system/dropped-a.service.d");
    m.remove("/etc/systemd/system/dropped-.service.d");
    m.reload();
}

fn a_unit_of_a_package_is_never_hidden(m: &Machine) {
    m.write("/usr/lib/systemd/system/clash-a.service", "[Service]\nExecStart=/bin/sleep infinity\n");
    let group = m.group("clash", GOOD);
    assert!(m.property("clash-a.service", "FragmentPath").ends_with("/lib/systemd/system/clash-a.service"));
    group.fails_to_start();
    let status = m.run(&["systemctl", "status", "--no-pager", "--full", "clash.target"]).stdout;
    assert!(status.contains("clash-a.service"), "{status}");
    drop(group);
    m.remove("/usr/lib/systemd/system/clash-a.service");
    m.reload();
}
