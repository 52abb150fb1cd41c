//! `copse enable` and `copse disable`, beside what systemctl itself then says.

use crate::machines::machine::{Boot, Machine};
use crate::machines::scope::Scope;
use crate::machines::user::User;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(an_enabled_group_is_one_for_systemctl_and_a_disabled_one_leaves_nothing),
    situation!(enabling_a_running_group_touches_nothing_of_it),
    situation!(a_packaged_target_is_enabled_natively),
    situation!(wanted_by_in_the_file_is_overruled_and_obeyed_again),
    situation!(what_cannot_be_enabled_is_left_alone),
    situation!(a_user_enables_a_group_of_the_own_manager),
    situation!(an_enabled_group_runs_after_a_boot),
];

const GROUP: &str = "description = \"A group\"\n[process.a]\nexec = \"/bin/sleep infinity\"\n";

const TARGET: &str = "/etc/systemd/system/able.target";

fn is_enabled(m: &impl Scope, unit: &str) -> String {
    m.try_systemctl(&["is-enabled", unit]).stdout.trim().to_owned()
}

/// What of the administrator's is about `able.target`.
fn left(m: &impl Scope) -> String {
    m.ok(&["find", "/etc/systemd", "-name", "able*"])
}

fn an_enabled_group_is_one_for_systemctl_and_a_disabled_one_leaves_nothing(m: &Machine) {
    let group = m.group("able", GROUP);
    m.copse(&["enable", "able"]).expect(0, &["able: enabled\n"]);
    assert_eq!(is_enabled(m, "able.target"), "enabled");
    assert!(m.exists("/etc/systemd/system/multi-user.target.wants/able.target"));
    assert!(m.property("multi-user.target", "Wants").contains("able.target"));
    assert_eq!(m.property("able.target", "Description"), "A group");
    // Twice is the same.
    m.copse(&["enable", "able"]).expect(0, &["able: enabled\n"]);
    group.start();
    assert_eq!(m.state("able-a.service"), "active");
    m.copse(&["disable", "--now", "able"]).expect(0, &["able: disabled"]);
    assert_eq!(m.state("able-a.service"), "inactive");
    assert_eq!((left(m).as_str(), is_enabled(m, "able.target").as_str()), ("", "generated"));
    assert!(!m.property("multi-user.target", "Wants").contains("able.target"));
    m.copse(&["disable", "able"]).expect(0, &["able: was not enabled"]);
    m.copse(&["enable", "--now", "able"]).expect(0, &[]);
    assert_eq!(m.state("able.target"), "active");
    // The group is gone, and can still be disabled.
    m.remove("/etc/copse/able.toml");
    m.reload();
    m.copse(&["disable", "able"]).expect(0, &["able: disabled"]);
    assert_eq!(left(m), "");
}

fn enabling_a_running_group_touches_nothing_of_it(m: &Machine) {
    let group = m.start_group("able", GROUP);
    let pid = m.pid("able-a.service");
    for verb in ["enable", "disable"] {
        m.ok(&["copse", verb, "able"]);
        assert_eq!(m.state("able.target"), "active", "{verb}");
        assert_eq!(m.pid("able-a.service"), pid, "{verb}");
    }
    // Its processes belong to it as before.
    m.ok(&["copse", "enable", "able"]);
    group.stop();
    m.wait_for_state("able-a.service", "inactive");
    m.ok(&["copse", "disable", "able"]);
}

fn a_packaged_target_is_enabled_natively(m: &Machine) {
    let packaged = "/usr/lib/systemd/system/able.target";
    m.write(packaged, "[Unit]\nX-CopseGroup=yes\n[Install]\nWantedBy=multi-user.target\n");
    let _group = m.group("able", GROUP);
    assert_eq!(is_enabled(m, "able.target"), "disabled");
    m.copse(&["enable", "able"]).expect(0, &["able: enabled\n"]);
    assert_eq!((is_enabled(m, "able.target").as_str(), m.exists(TARGET)), ("enabled", false));
    m.copse(&["disable", "able"]).expect(0, &["able: disabled\n"]);
    assert_eq!((is_enabled(m, "able.target").as_str(), left(m).as_str()), ("disabled", ""));
    m.write(packaged, "[Unit]\nX-CopseGroup=yes\n");
    m.reload();
    m.copse(&["enable", "able"]).expect(1, &["copse: `able.target` has no [Install] section\n"]);
    m.remove(packaged);
}

fn wanted_by_in_the_file_is_overruled_and_obeyed_again(m: &Machine) {
    let _group = m.group("able", &format!("wanted-by = [\"timers.target\"]\n{GROUP}"));
    let wanted = || m.property("able.target", "WantedBy");
    assert_eq!(wanted(), "timers.target");
    m.copse(&["disable", "able"]).expect(0, &["overrides `wanted-by` of the group file"]);
    assert_eq!((wanted().as_str(), is_enabled(m, "able.target").as_str()), ("", "disabled"));
    m.copse(&["enable", "able"]).expect(0, &["able: enabled\n"]);
    assert_eq!((wanted().as_str(), is_enabled(m, "able.target").as_str()), ("timers.target", "enabled"));
    m.ok(&["copse", "disable", "able"]);
    m.remove(TARGET);
    m.reload();
    assert_eq!(wanted(), "timers.target");
}

fn what_cannot_be_enabled_is_left_alone(m: &Machine) {
    let _group = m.group("able", GROUP);
    let user = m.user(2001);
    for verb in ["enable", "disable"] {
        let output = user.copse(&[verb, "able"]);
        assert_eq!(output.status, 77, "{output:?}");
        let mut lines = output.stderr.lines();
        let message = lines.next().is_some_and(|line| line.starts_with("copse: "));
        assert!(message && lines.all(|line| line.starts_with("  help: ")), "{output:?}");
    }
    m.copse(&["enable", "abel"]).expect(4, &["there is no group `abel`\n  help: did you mean `able`?"]);
    m.copse(&["enable", "able/a"]).expect(2, &["`able/a` is not a group"]);
    m.systemctl(&["mask", "able.target"]);
    m.copse(&["enable", "able"])
        .expect(1, &["`able.target` is masked\n  help: run `systemctl unmask able.target` first"]);
    m.systemctl(&["unmask", "able.target"]);
    m.write(TARGET, "[Unit]\nDescription=somebody's own\n");
    m.reload();
    m.copse(&["enable", "able"]).expect(1, &["was not written by copse"]);
    m.copse(&["disable", "able"]).expect(1, &["was not written by copse"]);
    m.remove(TARGET);
    m.write("/etc/copse/able.toml", "x = 1\n");
    m.reload();
    m.copse(&["enable", "able"]).expect(5, &["`copse check able`"]);
    assert_eq!(left(m), "");
}

fn a_user_enables_a_group_of_the_own_manager(m: &Machine) {
    let user: User<'_> = m.user(2001);
    let config = format!("{}/.config", user.home());
    user.write(&format!("{config}/copse/mine.toml"), GROUP);
    m.ok(&["chown", "-R", "2001:2001", &config]);
    user.reload();
    user.copse(&["--user", "enable", "mine"]).expect(0, &["mine: enabled\n"]);
    assert_eq!(is_enabled(&user, "mine.target"), "enabled");
    assert!(m.exists(&format!("{config}/systemd/user/default.target.wants/mine.target")));
    user.copse(&["--user", "disable", "mine"]).expect(0, &["mine: disabled"]);
    assert_eq!(m.ok(&["find", &format!("{config}/systemd"), "-name", "mine*"]), "");
    m.remove(&format!("{config}/copse/mine.toml"));
    user.reload();
}

fn an_enabled_group_runs_after_a_boot(m: &Machine) {
    let _group = m.group("able", GROUP);
    m.ok(&["copse", "enable", "able"]);
    let (link, unit) = ("/etc/systemd/system/multi-user.target.wants/able.target", m.read(TARGET));
    let target = m.ok(&["readlink", link]);
    m.ok(&["copse", "disable", "able"]);
    // Another machine with what `enable` made, and nothing else.
    let boot = Boot::new(m.version()).expect("this machine could be booted as well");
    let boot = boot.write("/etc/copse/able.toml", GROUP).write(TARGET, &unit).link(link, &target);
    let mut other = boot.start().expect("as before");
    other.wait_until_booted().expect("as before");
    assert_eq!(other.state("able.target"), "active");
    assert_eq!(other.state("able-a.service"), "active");
}
