//! Day to day: more instances, a process on hold, the freezer, a setup step once more.

use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::machines::version::Version;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(more_and_fewer_instances_and_the_others_are_not_touched),
    situation!(a_scale_that_lasts_and_one_until_the_next_boot),
    situation!(what_cannot_be_scaled_changes_nothing),
    situation!(instances_with_sockets_of_their_own_go_with_them),
    situation!(a_held_process_stays_stopped_while_its_group_starts),
    situation!(a_held_process_is_released),
    situation!(a_frozen_group_stands_still_and_goes_on),
    situation!(what_is_frozen_is_thawed_before_it_is_stopped_restarted_or_killed),
    situation!(what_is_frozen_with_its_slice_is_left_alone_with_the_reason, [V257, V262]),
    situation!(a_setup_step_runs_again_when_forced),
    situation!(the_files_and_units_of_a_group),
    situation!(who_may_not_changes_nothing),
];

const GROUP: &str = r#"
    [setup.step]
    shell = "echo x >>/run/step-ran"
    inputs = ["/etc/hostname"]
    [process.db]
    exec = "/usr/local/bin/stand-in notify"
    ready = "notify"
    [process.web]
    exec = "/usr/local/bin/stand-in notify"
    ready = "notify"
    after = ["db"]
    instances = 2
"#;

fn states<const N: usize>(m: &Machine, units: [&str; N]) -> [String; N] {
    units.map(|unit| m.state(unit))
}

fn more_and_fewer_instances_and_the_others_are_not_touched(m: &Machine) {
    let _group = m.start_group("wide", GROUP);
    let all = || ["wide-db.service", "wide-web@1.service"].map(|unit| m.pid(unit));
    let pids = all();
    m.systemctl(&["stop", "wide-web@2.service"]);
    let output = m.copse(&["scale", "wide/web", "4"]);
    output.expect(0, &["wide/web: 4 instances until the next boot\n"]);
    let [two, three, four] = states(m, ["wide-web@2.service", "wide-web@3.service", "wide-web@4.service"]);
    // What an administrator stopped stays stopped.
    assert_eq!([two.as_str(), &three, &four], ["inactive", "active", "active"]);
    assert_eq!(all(), pids);
    let drop_in = "/run/copse/wide.toml.d/95-scale-web.toml";
    assert_eq!(m.read(drop_in), "# Written by `copse scale wide/web 4`.\n[process.web]\ninstances = 4\n");
    let four = m.pid("wide-web@4.service");
    m.copse(&["scale", "--json", "wide/web", "1"]).expect(0, &["\"instances\":1"]);
    assert_eq!(states(m, ["wide-web@3.service", "wide-web@4.service"]), ["inactive", "inactive"]);
    assert!(!m.exists(&format!("/proc/{four}")));
    assert_eq!(all(), pids);
    // The group is ready with what it has now.
    m.copse(&["status", "wide"]).expect(0, &["wide   active"]);
    m.copse(&["scale", "wide/web", "0"]).expect(0, &["wide/web: 0 instances until the next boot\n"]);
    assert_eq!(m.state("wide-web@1.service"), "inactive");
    m.copse(&["scale", "--reset", "wide/web"]).expect(0, &["wide/web: 2 instances, as in the group file\n"]);
    assert_eq!(states(m, ["wide-web@1.service", "wide-web@2.service"]), ["active", "active"]);
    assert!(!m.exists("/run/copse/wide.toml.d"));
    assert_eq!(m.pid("wide-db.service"), pids[0]);
}

fn a_scale_that_lasts_and_one_until_the_next_boot(m: &Machine) {
    let _group = m.group("wide", GROUP);
    m.copse(&["scale", "wide/web", "3"]).expect(0, &["the group is stopped"]);
    assert_eq!(m.state("wide-web@3.service"), "inactive");
    m.copse(&["scale", "--permanent", "wide/web", "1"]).expect(0, &["wide/web: 1 instance; the group is stopped\n"]);
    // It counts now as well.
    assert!(!m.exists("/run/copse/wide.toml.d"));
    m.systemctl(&["start", "wide.target"]);
    assert_eq!(states(m, ["wide-web@1.service", "wide-web@2.service"]), ["active", "inactive"]);
    m.copse(&["scale", "wide/web", "2"]).expect(0, &["2 instances"]);
    assert_eq!(m.state("wide-web@2.service"), "active");
    m.remove("/run/copse/wide.toml.d");
    m.remove("/etc/copse/wide.toml.d");
}

fn what_cannot_be_scaled_changes_nothing(m: &Machine) {
    let group = m.group("wide", &format!("{GROUP}\n[process.named]\nexec = \"/bin/true\"\ninstances = [\"a\"]\n"));
    m.write("/etc/copse/wide.toml.d/99-mine.toml", "[process.web]\ninstances = 2\n");
    m.reload();
    for (name, count, status, text) in [
        ("wide/db", "2", 2, "wide/db has no instances, and its unit would be renamed"),
        ("wide/named", "2", 2, "the instances of wide/named have names"),
        ("wide/step", "2", 2, "`step` is a setup step, not a process"),
        ("wide/web@1", "2", 2, "help: name the process: `wide/web`"),
        ("wide", "2", 2, "name a process of the group: `wide/PROCESS`"),
        ("wide/other", "2", 5, "group file would be invalid, nothing changed"),
        ("wid/web", "2", 4, "there is no group `wid`\n  help: did you mean `wide`?"),
        ("wide/web", "3", 1, "not changed: `/etc/copse/wide.toml.d/99-mine.toml` sets `instances` of wide/web"),
        ("wide/web", "-1", 2, "unexpected argument"),
    ] {
        m.copse(&["scale", name, count]).expect(status, &[text]);
        assert!(!m.exists("/run/copse/wide.toml.d"), "{name} {count}");
    }
    drop(group);
}

fn instances_with_sockets_of_their_own_go_with_them(m: &Machine) {
    let listen =
        "[process.api]\nexec = \"/bin/sleep infinity\"\ninstances = 2\nlisten = \"unix:/run/api-{instance}\"\n";
    let _group = m.start_group("wide", listen);
    let pid = m.pid("wide-api@1.service");
    m.ok(&["copse", "scale", "wide/api", "3"]);
    assert_eq!(states(m, ["wide-api@3.socket", "wide-api@3.service"]), ["active", "active"]);
    m.ok(&["copse", "scale", "wide/api", "1"]);
    assert_eq!(
        states(m, ["wide-api@3.socket", "wide-api@2.socket", "wide-api@1.socket"]),
        ["inactive", "inactive", "active"]
    );
    assert_eq!(m.pid("wide-api@1.service"), pid);
    m.remove("/run/copse/wide.toml.d");
}

fn a_held_process_stays_stopped_while_its_group_starts(m: &Machine) {
    let _group = m.start_group("wide", GROUP);
    let web = m.pid("wide-web@1.service");
    m.copse(&["hold", "wide/db"]).expect(0, &["wide/db is held until the next boot, or `copse release wide/db`\n"]);
    assert_eq!((m.state("wide-db.service").as_str(), m.pid("wide-web@1.service")), ("inactive", web));
    let output = m.copse(&["status", "wide"]);
    output.expect(0, &["wide   active"]);
    assert!(output.stdout.lines().any(|line| line.contains("db") && line.contains("inactive, held")), "{output:?}");
    assert!(output.stdout.contains("/run/copse/wide.toml.d/95-hold-db.toml"), "{output:?}");
    // The group's start: setup is done, who is after it doesn't wait, it stays.
    m.systemctl(&["restart", "wide.target"]);
    assert_eq!(
        states(m, ["wide-step.service", "wide-db.service", "wide-web@1.service"]),
        ["active", "inactive", "active"]
    );
    // By name it still starts.
    m.systemctl(&["start", "wide-db.service"]);
    m.ok(&["copse", "release", "wide/db"]);
    assert!(!m.exists("/run/copse/wide.toml.d"));
}

fn a_held_process_is_released(m: &Machine) {
    let group =
        m.start_group("wide", &format!("{GROUP}\n[process.job]\nexec = \"/bin/true\"\non-calendar = \"yearly\"\n"));
    let db = m.pid("wide-db.service");
    m.ok(&["copse", "hold", "--permanent", "wide/web", "wide/job"]);
    let units = ["wide-web@1.service", "wide-web@2.service", "wide-job.timer"];
    assert_eq!(states(m, units), ["inactive", "inactive", "inactive"]);
    assert!(m.exists("/etc/copse/wide.toml.d/90-hold-web.toml"));
    m.copse(&["release", "wide/web", "wide/job"]).expect(0, &["wide/web is released\n"]);
    assert_eq!(states(m, units), ["active", "active", "active"]);
    assert_eq!(m.pid("wide-db.service"), db);
    assert!(!m.exists("/etc/copse/wide.toml.d"));
    m.copse(&["release", "wide/web"]).expect(0, &["wide/web is not held"]);
    // The file itself says so: nobody else's word is taken back.
    group.rewrite(&format!("{GROUP}\n[process.gc]\nexec = \"/bin/sleep 9\"\nhold = true\n"));
    m.copse(&["release", "wide/gc"]).expect(1, &["not changed: `/etc/copse/wide.toml` sets `hold` of wide/gc"]);
}

fn a_frozen_group_stands_still_and_goes_on(m: &Machine) {
    let counting = "shell = \"while :; do echo x >>/run/count; sleep 0.05; done\"";
    let group = m.start_group(
        "cold",
        &format!("[process.count]\n{counting}\n[process.done]\nexec = \"/bin/true\"\nready = \"oneshot\"\n"),
    );
    let length = || m.ok(&["stat", "-c", "%s", "/run/count"]).parse::<u64>().expect("a number");
    let pid = m.pid("cold-count.service");
    m.copse(&["freeze", "cold"]).expect(0, &["freeze   count"]);
    assert_eq!(m.property("cold-count.service", "FreezerState"), "frozen");
    m.copse(&["status", "cold"]).expect(0, &["active, frozen"]);
    // Its processes can't run; what another process sees doesn't change any more.
    let before = length();
    m.ok(&["sleep", "0.3"]);
    assert_eq!(length(), before);
    // Twice is the same.
    m.copse(&["freeze", "cold/count"]).expect(0, &["frozen"]);
    // What the manual says of stopping; 247 and 252 thaw it themselves. `copse stop` does that: see below.
    if matches!(m.version(), Version::V257 | Version::V262) {
        assert_eq!(m.try_systemctl(&["stop", "cold-count.service"]).status, 1);
        assert_eq!(m.pid("cold-count.service"), pid);
    }
    m.copse(&["thaw", "cold"]).expect(0, &["thaw     count"]);
    assert_eq!(m.property("cold-count.service", "FreezerState"), "running");
    m.wait_until("it goes on", || length() > before);
    assert_eq!(m.pid("cold-count.service"), pid);
    group.stop();
    m.copse(&["freeze", "cold"]).expect(3, &["`cold` has no running process"]);
    m.remove("/run/count");
}

fn a_setup_step_runs_again_when_forced(m: &Machine) {
    m.ok(&["rm", "-rf", "/var/lib/copse/setup/wide", "/run/step-ran"]);
    let group = m.start_group("wide", GROUP);
    let pids = ["wide-db.service", "wide-web@1.service"].map(|unit| m.pid(unit));
    let runs = || m.read("/run/step-ran").lines().count();
    assert_eq!(runs(), 1);
    m.copse(&["setup", "wide/step"]).expect(0, &["step"]);
    assert_eq!(runs(), 1);
    m.copse(&["setup", "--force", "wide/step"]).expect(0, &["step"]);
    assert_eq!(runs(), 2);
    let value: serde_json::Value =
        serde_json::from_str(&m.ok(&["copse", "setup", "--json", "--force", "wide-step.service"])).expect("an object");
    assert_eq!((&value["name"], &value["units"][0]["result"]), (&"wide/step".into(), &"done".into()), "{value}");
    assert_eq!(runs(), 3);
    for (name, status, text) in [
        ("wide/db", 2, "`wide/db` is not a setup step"),
        ("wide", 2, "name a setup step: `wide/step`"),
        ("wide/stp", 4, "group `wide` has no process `stp`"),
    ] {
        m.copse(&["setup", name]).expect(status, &[text]);
    }
    // One that fails says so, and restarts nobody.
    group.rewrite(&GROUP.replace("echo x >>/run/step-ran", "exit 3"));
    m.copse(&["setup", "wide/step"]).expect(1, &["step"]);
    assert_eq!(["wide-db.service", "wide-web@1.service"].map(|unit| m.pid(unit)), pids);
    m.ok(&["rm", "-rf", "/var/lib/copse/setup/wide", "/run/step-ran"]);
}

fn the_files_and_units_of_a_group(m: &Machine) {
    let _group = m.group("wide", GROUP);
    m.write("/etc/copse/wide.toml.d/50-local.toml", "[process.db]\nnice = 5\n");
    m.write("/etc/systemd/system/wide-web@.service.d/mine.conf", "[Service]\nOOMScoreAdjust=5\n");
    m.reload();
    let shown = m.ok(&["copse", "cat", "wide"]);
    let place = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text} isn't in\n{shown}"));
    let order = [
        "# /etc/copse/wide.toml\n",
        "# /etc/copse/wide.toml.d/50-local.toml\n[process.db]\nnice = 5\n",
        "# /run/systemd/generator/wide.target\n",
        "# /run/systemd/generator/wide-web@.service\n",
        "# /etc/systemd/system/wide-web@.service.d/mine.conf\n[Service]\nOOMScoreAdjust=5",
    ];
    assert!(order.map(place).is_sorted(), "{shown}");
    assert!(shown.contains("# /run/systemd/generator/copse-ready@wide.service.d/50-copse.conf\n"), "{shown}");
    let shown = m.ok(&["copse", "cat", "wide/db"]);
    assert!(shown.contains("wide-db.service") && !shown.contains("generator/wide-web"), "{shown}");
    let shown = m.ok(&["copse", "cat", "wide-web@2"]);
    assert!(shown.contains("generator/wide-web@.service") && shown.contains("OOMScoreAdjust=5"), "{shown}");
    m.copse(&["cat", "wide/other"]).expect(4, &["group `wide` has no process `other`"]);
    m.write("/etc/copse/wide.toml.d/50-local.toml", "[process.db\n");
    m.reload();
    assert!(m.ok(&["copse", "cat", "wide"]).contains("# /etc/copse/wide.toml.d/50-local.toml\n[process.db\n"));
    m.remove("/etc/copse/wide.toml.d");
    m.remove("/etc/systemd/system/wide-web@.service.d");
}

fn who_may_not_changes_nothing(m: &Machine) {
    let _group = m.start_group("wide", GROUP);
    let user = m.user(2001);
    let units = ["wide-db.service", "wide-web@1.service", "wide-web@2.service"];
    let pids = units.map(|unit| m.pid(unit));
    for words in [
        &["scale", "wide/web", "4"][..],
        &["scale", "--permanent", "wide/web", "1"],
        &["hold", "wide/db"],
        &["freeze", "wide"],
        &["setup", "wide/step"],
        &["setup", "--force", "wide/step"],
    ] {
        let output = user.copse(words);
        assert_eq!(output.status, 77, "{words:?} {output:?}");
        let mut lines = output.stderr.lines();
        let message = lines.next().is_some_and(|line| line.starts_with("copse: "));
        assert!(message && lines.all(|line| line.starts_with("  help: ")), "{words:?} {output:?}");
    }
    assert_eq!(units.map(|unit| m.pid(unit)), pids);
    assert!(!m.exists("/run/copse/wide.toml.d") && !m.exists("/etc/copse/wide.toml.d"));
    // Nothing was held, so there is nothing to take back.
    assert_eq!(m.property("wide-db.service", "FreezerState"), "running");
}

fn what_is_frozen_is_thawed_before_it_is_stopped_restarted_or_killed(m: &Machine) {
    let file = |value: u32| {
        format!(
            "[process.w]\nexec = \"/bin/sleep infinity\"\ninstances = 2\nenvironment = {{ VALUE = \"{value}\" }}\n\
             [process.other]\nexec = \"/bin/sleep infinity\"\n"
        )
    };
    let group = m.start_group("ice", &file(1));
    let freeze = || m.ok(&["systemctl", "freeze", "ice-w@2.service"]);
    let is_down = || assert_eq!(m.state("ice-w@2.service"), "inactive");
    const SAID: &str = "w@2 is frozen, thawing it first";
    freeze();
    m.copse(&["stop", "ice/w@2"]).expect(0, &[SAID]);
    is_down();
    m.copse(&["start", "ice/w@2"]).expect(0, &["ready"]);
    freeze();
    m.copse(&["restart", "ice"]).expect(0, &[SAID]);
    assert_eq!(m.property("ice-w@2.service", "FreezerState"), "running");
    freeze();
    m.write(&group.file(), &file(2));
    let plan = m.copse(&["plan", "ice"]);
    plan.expect(0, &["frozen, thawed first: w@2"]);
    m.copse(&["apply", "ice"]).expect(0, &[SAID]);
    assert!(m.sh("tr '\\0' '\\n' </proc/$(systemctl show -P MainPID ice-w@2)/environ").contains("VALUE=2"));
    // One that dies frozen could never be started again (257, 262).
    let pid = m.pid("ice-w@2.service");
    freeze();
    m.copse(&["kill", "-s", "KILL", "ice/w@2"]).expect(0, &[SAID]);
    m.wait_for_another("ice-w@2.service", pid);
    freeze();
    m.copse(&["stop", "ice"]).expect(0, &[SAID]);
    is_down();
    assert_eq!(m.state("ice.target"), "inactive");
}

fn what_is_frozen_with_its_slice_is_left_alone_with_the_reason(m: &Machine) {
    let _group = m.start_group("floe", "[process.w]\nexec = \"/bin/sleep infinity\"\n");
    let pid = m.pid("floe-w.service");
    m.ok(&["systemctl", "freeze", "system-copse-floe.slice"]);
    m.copse(&["status", "floe"]).expect(0, &["active, frozen"]);
    for verb in ["stop", "restart", "thaw"] {
        let output = m.copse(&[verb, "floe"]);
        output.expect(1, &["frozen together with its slice: `systemctl thaw system-copse-floe.slice` first"]);
        assert_eq!(m.pid("floe-w.service"), pid);
    }
    m.ok(&["systemctl", "thaw", "system-copse-floe.slice"]);
    m.copse(&["restart", "floe"]).expect(0, &["ready"]);
}
