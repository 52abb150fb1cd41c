//! What becomes of the groups of users when the Debian package is removed, upgraded and installed again.

use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::machines::user::User;
use crate::packaged::{apt, installed};
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    // Not on 247: the package is for Debian 12 and later.
    situation!(after_a_removal_a_users_running_group_goes_on_until_it_is_stopped, [V252, V257, V262]),
    situation!(a_group_that_ran_through_a_removal_is_copses_again_after_an_installation, [V252, V257, V262]),
];

const GROUP: &str = r#"
    failure-policy = "stop"
    runtime-directory = "mine"
    [process.db]
    exec = "/bin/sleep 1000"
    [process.web]
    exec = "/bin/sleep 1000"
    instances = 2
    after = ["db"]
"#;

const MEMBERS: [&str; 3] = ["mine-db.service", "mine-web@1.service", "mine-web@2.service"];
const UNITS: [&str; 4] = ["mine.target", "mine-db.service", "mine-web@1.service", "mine-web@2.service"];

fn started(machine: &Machine) -> User<'_> {
    let user = machine.user(2001);
    user.write(&format!("{}/.config/copse/mine.toml", user.home()), GROUP);
    // One that isn't started; nothing is left of it.
    user.write(&format!("{}/.config/copse/other.toml", user.home()), GROUP);
    user.reload();
    user.systemctl(&["start", "mine.target"]);
    user
}

fn pids(scope: &impl Scope) -> [u32; 3] {
    MEMBERS.map(|unit| scope.pid(unit))
}

fn files(user: &User<'_>) -> [String; 4] {
    UNITS.map(|unit| user.property(unit, "FragmentPath"))
}

/// What stays in `directory` of systemd's.
fn left(machine: &Machine, directory: &str) -> String {
    machine
        .sh(&format!("find {directory} -name '*mine*' -o -name '*other*' -o -name 'copse-*' -o -name '50-copse.conf' 2>/dev/null || true"))
}

fn after_a_removal_a_users_running_group_goes_on_until_it_is_stopped(m: &Machine) {
    let machine = installed(m);
    let user = started(&machine);
    let before = pids(&user);
    let said = apt(&machine, "remove copse");
    assert!(said.contains("still running until stopped or rebooted (of a user): mine;"), "{said}");
    assert_eq!(pids(&user), before);
    user.reload();
    assert_eq!(pids(&user), before);
    let kept = left(&machine, &format!("{}/systemd/user", user.runtime_directory()));
    assert!(kept.contains("mine.target.wants/mine-web@2.service") && !kept.contains("other"), "{kept}");
    let owners = machine.sh(&format!("stat -c %U {}/systemd/user/*", user.runtime_directory()));
    assert!(owners.lines().all(|owner| owner == "u2001"), "{owners}");
    user.kill_and_wait("mine-web@2.service");

    user.systemctl(&["stop", "mine.target"]);
    for unit in MEMBERS {
        user.wait_for_state(unit, "inactive");
    }
}

fn a_group_that_ran_through_a_removal_is_copses_again_after_an_installation(m: &Machine) {
    let machine = installed(m);
    let user = started(&machine);
    machine.write("/etc/copse/mine.toml", GROUP);
    machine.reload();
    machine.systemctl(&["start", "mine.target"]);
    let (before, of_user, generated) = (pids(&machine), pids(&user), files(&user));
    assert!(generated.iter().all(|path| path.contains("/systemd/generator/")), "{generated:?}");

    apt(&machine, "install --reinstall /root/copse.deb");
    user.reload();
    assert_eq!((pids(&machine), pids(&user)), (before, of_user), "an upgrade");
    assert_eq!(files(&user), generated);

    apt(&machine, "remove copse");
    user.reload();
    machine.reload();
    apt(&machine, "install /root/copse.deb");
    assert_eq!((pids(&machine), pids(&user)), (before, of_user), "installed again");
    assert_eq!(left(&machine, "/run/systemd/system"), "");
    assert_eq!(left(&machine, &format!("{}/systemd/user", user.runtime_directory())), "");
    assert_eq!(files(&user), generated, "read anew by itself");
    assert_eq!(UNITS.map(|unit| user.property(unit, "NeedDaemonReload")), ["no"; 4]);
    for (status, of) in [
        (machine.copse(&["plan", "--exit-code", "mine"]), "the system"),
        (user.copse(&["--user", "plan", "--exit-code", "mine"]), "the user"),
    ] {
        assert_eq!(status.status, 0, "nothing is outdated of {of}'s: {status:?}");
    }
}
