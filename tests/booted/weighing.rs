//! `copse plan`: what each kind of change needs.

use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::planning::{GROUP, change, plan, steps};
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(what_needs_no_restart_is_only_read),
    situation!(an_administrators_drop_in_counts),
    situation!(fewer_and_more_instances_a_new_and_a_removed_process),
    situation!(a_changed_address_stops_the_service_for_its_socket),
    situation!(a_changed_timer_is_only_read),
    situation!(a_program_file_is_replaced),
    situation!(a_link_on_the_way_to_an_input_is_flipped),
    situation!(a_setup_step_and_what_is_after_it),
];

fn what_needs_no_restart_is_only_read(m: &Machine) {
    let group = m.start_group("plan", GROUP);
    let pid = m.pid("plan-gc.service");
    change(
        m,
        &group,
        "restart-sec = \"100ms\"",
        "restart-sec = \"200ms\"\ntimeout-stop-sec = 5\nkill-signal = \"SIGINT\"",
    );
    assert_eq!(steps(m, "plan"), ["update gc: definition"]);
    let text = plan(m, "plan").stdout;
    assert!(text.contains("RestartSec= 100ms → 200ms"), "{text}");
    assert!(text.contains("no restart"), "{text}");
    m.reload();
    assert_eq!(steps(m, "plan"), [""; 0]);
    assert_eq!(m.pid("plan-gc.service"), pid);
    assert_eq!(m.property("plan-gc.service", "TimeoutStopUSec"), "5s");
    // A comment, and the order of keys: not even that.
    m.write(&group.file(), &(m.ok(&["cat", &group.file()]) + "\n# a comment\n"));
    assert_eq!(steps(m, "plan"), [""; 0]);
}

fn an_administrators_drop_in_counts(m: &Machine) {
    let _group = m.start_group("plan", GROUP);
    let path = "/etc/systemd/system/plan-web@2.service.d/override.conf";
    m.write(path, "[Service]\nEnvironment=B=2\n");
    assert_eq!(steps(m, "plan"), ["roll web@2: definition"]);
    assert!(plan(m, "plan").stdout.contains(path));
    m.reload();
    assert_eq!(steps(m, "plan"), ["roll web@2: definition"]);
    m.remove("/etc/systemd/system/plan-web@2.service.d");
    m.write("/etc/systemd/system/plan-.service.d/all.conf", "[Service]\nRestartSec=7\n");
    assert_eq!(steps(m, "plan"), ["update gc: definition", "update web@1,web@2,web@3: definition"]);
    m.reload();
    assert_eq!(steps(m, "plan"), [""; 0]);
    m.remove("/etc/systemd/system/plan-.service.d");
    m.reload();
}

fn fewer_and_more_instances_a_new_and_a_removed_process(m: &Machine) {
    let group = m.start_group("plan", GROUP);
    let expected = ["stop web@2,web@3: gone", "start new: new"];
    change(m, &group, "instances = 3", "instances = 1");
    change(m, &group, "[process.gc]", "[process.new]\nexec = \"/usr/local/bin/stand-in run\"\n[process.gc]");
    assert_eq!(steps(m, "plan"), expected);
    m.reload();
    assert_eq!(steps(m, "plan"), expected);
    change(m, &group, "instances = 1", "instances = 5");
    assert_eq!(steps(m, "plan"), ["start new: new", "start web@4,web@5: new"]);
    m.reload();
    m.systemctl(&["start", "plan-web@4.service"]);
    assert_eq!(steps(m, "plan"), ["start new: new", "start web@5: new"]);
    // Somebody who stops what has just been started means it.
    m.systemctl(&["stop", "plan-web@4.service"]);
    assert_eq!(steps(m, "plan"), ["start new: new", "start web@5: new"]);
    m.write(&group.file(), "[process.gc]\nexec = \"/usr/local/bin/stand-in run\"\nrestart-sec = \"100ms\"\n");
    m.reload();
    assert_eq!(steps(m, "plan"), ["stop web@1,web@2,web@3: gone"]);
}

fn a_changed_address_stops_the_service_for_its_socket(m: &Machine) {
    let group =
        m.start_group("plan", "[process.s]\nexec = \"/usr/local/bin/stand-in run\"\nlisten = \"tcp:127.0.0.1:7001\"\n");
    assert_eq!(steps(m, "plan"), [""; 0]);
    change(m, &group, "7001", "7002");
    assert_eq!(steps(m, "plan"), ["rebind s: definition"]);
    m.reload();
    assert_eq!(steps(m, "plan"), ["rebind s: definition"]);
    let text = plan(m, "plan").stdout;
    assert!(text.contains("ListenStream= 127.0.0.1:7001 → 127.0.0.1:7002") && text.contains("restarted"), "{text}");
    m.systemctl(&["stop", "plan-s.service"]);
    m.systemctl(&["restart", "plan-s.socket"]);
    m.systemctl(&["start", "plan-s.service"]);
    assert_eq!(steps(m, "plan"), [""; 0]);
}

fn a_changed_timer_is_only_read(m: &Machine) {
    let text = "[process.t]\nexec = \"/usr/local/bin/stand-in end\"\non-calendar = \"2031-01-01\"\n\
                [process.a]\nexec = \"/usr/local/bin/stand-in run\"\n";
    let group = m.start_group("plan", text);
    change(m, &group, "2031", "2032");
    assert_eq!(steps(m, "plan"), ["update t.timer: definition"]);
    m.reload();
    assert_eq!(steps(m, "plan"), [""; 0]);
    assert!(m.property("plan-t.timer", "NextElapseUSecRealtime").contains("2032"));
}

fn a_program_file_is_replaced(m: &Machine) {
    m.sh(
        "mkdir -p /opt/plan; cp /bin/sleep /opt/plan/server; printf '#!/bin/sh\\nexec sleep 100\\n' >/opt/plan/script; \
          chmod +x /opt/plan/script",
    );
    let _group = m.start_group(
        "plan",
        "[process.p]\nexec = \"/opt/plan/server 100\"\n[process.q]\nexec = \"/opt/plan/script\"\n",
    );
    assert_eq!(steps(m, "plan"), [""; 0]);
    let install = |name: &str, make: &str| m.sh(&format!("cd /opt/plan; {make} >new; chmod +x new; mv new {name}"));
    install("server", "cat server");
    assert_eq!(steps(m, "plan"), [""; 0], "the same, installed again");
    install("server", "(cat server; echo more)");
    assert_eq!(steps(m, "plan"), ["restart p: program"]);
    install("script", "(cat script; echo '# more')");
    assert_eq!(steps(m, "plan"), ["restart p: program", "restart q: program"]);
    let text = plan(m, "plan").stdout;
    assert!(text.contains("plan: not up to date\n") && text.contains("program changed: /opt/plan/server"), "{text}");
    m.systemctl(&["restart", "plan-p.service", "plan-q.service"]);
    assert_eq!(steps(m, "plan"), [""; 0]);
    m.remove("/opt/plan");
}

fn a_link_on_the_way_to_an_input_is_flipped(m: &Machine) {
    m.sh("mkdir -p /srv/plan/1 /srv/plan/2; echo 1 >/srv/plan/1/REVISION; echo 2 >/srv/plan/2/REVISION; \
          ln -sfn 1 /srv/plan/current");
    let text = GROUP.replace("instances = 3", "instances = 2\ninputs = [\"/srv/plan/current/REVISION\"]");
    let text = text + "inputs = [\"/srv/plan/missing\"]\nexec-reload = \"/bin/true\"\nrefresh = \"reload\"\n";
    let _group = m.start_group("plan", &text);
    assert_eq!(steps(m, "plan"), [""; 0]);
    m.sh("ln -s 2 /srv/plan/new; mv -T /srv/plan/new /srv/plan/current");
    assert_eq!(steps(m, "plan"), ["roll web@1,web@2: input"]);
    m.write("/srv/plan/missing", "there");
    assert_eq!(steps(m, "plan"), ["reload gc: input", "roll web@1,web@2: input"]);
    m.systemctl(&["restart", "plan-web@1.service"]);
    assert_eq!(steps(m, "plan"), ["reload gc: input", "roll web@2: input"]);
    m.remove("/srv/plan");
}

fn a_setup_step_and_what_is_after_it(m: &Machine) {
    m.sh("mkdir -p /srv/plan; echo 1 >/srv/plan/schema");
    let text = "[setup.migrate]\nexec = \"/bin/true\"\ninputs = [\"/srv/plan/schema\"]\n[setup.plain]\nexec = \"/bin/true 1\"\n\
                [process.a]\nexec = \"/usr/local/bin/stand-in run\"\nafter = [\"migrate\"]\n\
                [process.b]\nexec = \"/usr/local/bin/stand-in run\"\n";
    let group = m.start_group("plan", text);
    assert_eq!(steps(m, "plan"), [""; 0]);
    m.sh("echo 1 >/srv/plan/schema");
    assert_eq!(steps(m, "plan"), [""; 0], "written again, the same");
    m.sh("echo 2 >/srv/plan/schema");
    assert_eq!(steps(m, "plan"), ["run migrate: input", "restart a: setup"]);
    // Run by hand: what is after it has still to follow, also for who asks later.
    m.systemctl(&["reload", "plan-migrate.service"]);
    assert_eq!(steps(m, "plan"), ["restart a: setup"]);
    m.systemctl(&["restart", "plan-a.service"]);
    assert_eq!(steps(m, "plan"), [""; 0]);
    change(m, &group, "/bin/true 1", "/bin/true 2");
    assert_eq!(steps(m, "plan"), ["run plain: definition"]);
    m.reload();
    assert_eq!(steps(m, "plan"), ["run plain: definition"]);
    m.remove("/srv/plan");
}
