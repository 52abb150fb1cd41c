//! A package that has a group in it, as a packager makes it: `examples/package`, built by the debhelper (or rpmbuild) of each
//! suite, installed, upgraded under load, and removed.

mod compiled;
mod rpm;
mod visitor;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use crate::machines::machine::Machine;
use crate::machines::scope::{Output, Scope};
use crate::machines::version::Version;
use crate::packaged::{apt, installed, with_packages};
use crate::situation::{Situation, situation};

use compiled::an_upgrade_of_compiled_units_restarts_whom_debhelper_is_told;
use rpm::an_upgrade_by_rpm_loses_no_visit;
use visitor::Visitors;

pub const SITUATIONS: &[Situation] = &[
    // Not on 247: the package is for Debian 12 and later.
    situation!(an_upgrade_of_a_package_with_a_group_loses_no_visit, [V252, V257, V262]),
    situation!(what_the_administrator_stopped_or_disabled_outlives_an_upgrade, [V252, V257, V262]),
    situation!(an_upgrade_whose_program_does_not_start_leaves_the_others_serving, [V252, V257, V262]),
    situation!(an_upgrade_that_does_not_go_with_a_drop_in_leaves_all_as_it_was, [V252, V257, V262]),
    situation!(nothing_is_touched_where_the_policy_or_the_packager_says_so, [V252, V257, V262]),
    situation!(an_upgrade_by_rpm_loses_no_visit, [V252, V257, V262]),
    situation!(an_upgrade_of_compiled_units_restarts_whom_debhelper_is_told, [V252, V257, V262]),
];

const STORE: &str = "tally-store.service";
const MANAGER: &str = "tally-manager.service";
const WEB: [&str; 3] = ["tally-web@1.service", "tally-web@2.service", "tally-web@3.service"];

/// Where the source is while it is built.
const SOURCE: &str = "/root/package";

/// The versions of the package: each with a change of its source. The programs tell their version, so they all change.
const VERSIONS: &[(&str, &str)] = &[
    ("1", "true"),
    // Its web program ends at once.
    ("1.1", r#"sed -i '/^    notify/i\    sys.exit("it is bad")' web"#),
    // Its manager has another name.
    ("1.2", "sed -i 's/^.process.manager./[process.keeper]/' tally.toml"),
    ("2", "true"),
    // It leaves more to the administrator.
    ("3", r"printf '\noverride_dh_copse:\n\tdh_copse --no-enable --no-apply\n' >>debian/rules"),
];

/// Puts the example on the machine, as it is in `examples/`.
fn place_source(machine: &Machine) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/package");
    let files = crate::examples::files_below(&source);
    for path in files {
        let name = path.strip_prefix(&source).expect("it is below").to_str().expect("a plain name");
        let text = fs::read(&path).expect("an example is there");
        let mode = if text.starts_with(b"#!") { 0o755 } else { 0o644 };
        machine.write_bytes(&format!("{SOURCE}/{name}"), &text, mode);
    }
}

/// What was built on one machine, by file name: the packages of all [`VERSIONS`] and their variants.
type Packages = BTreeMap<String, Vec<u8>>;

/// All packages, built once by the debhelper and the rpmbuild of this suite.
fn built(version: Version) -> &'static Packages {
    static BUILT: [OnceLock<Packages>; Version::ALL.len()] = [const { OnceLock::new() }; Version::ALL.len()];
    BUILT[version as usize].get_or_init(|| {
        let machine = with_packages(version, &["copse", "dh-copse"]);
        place_source(&machine);
        let debs = VERSIONS.iter().map(|(number, change)| build_deb(&machine, number, "", change));
        let compiled = ["1", "2"].map(|number| build_deb(&machine, number, "-compiled", &compiled::change(version)));
        debs.chain(compiled).chain(rpm::build(&machine)).collect()
    })
}

/// Builds a version of the package with a change of its source; what it is called from then on, and its bytes.
fn build_deb(machine: &Machine, number: &str, variant: &str, change: &str) -> (String, Vec<u8>) {
    let (name, directory) = (format!("tally{variant}_{number}.deb"), format!("/root/build{variant}-{number}"));
    // For the first all that a packager's command does; the others without its bookkeeping, which takes as long again.
    let build = if number == "1" {
        "dpkg-buildpackage --no-sign --build=binary --no-check-builddeps"
    } else {
        "debian/rules binary"
    };
    let script = format!(
        "mkdir {directory}; cp -a {SOURCE} {directory}/tally; cd {directory}/tally; \
         sed -i '1s/(1)/({number})/' debian/changelog\n{change}\n\
         dpkg-checkbuilddeps -I; {build} 2>&1"
    );
    let output = machine.run(&["sh", "-euc", &script]);
    assert_eq!(output.status, 0, "{output:?}");
    (name, machine.read_bytes(&format!("{directory}/tally_{number}_all.deb")))
}

/// A machine with copse, and all versions of the package in /root.
fn administrators(m: &Machine) -> Machine {
    let packages = built(m.version());
    let machine = installed(m);
    for (name, package) in packages {
        machine.write_bytes(&format!("/root/{name}"), package, 0o644);
    }
    machine
}

fn install(machine: &Machine, number: &str) -> String {
    apt(machine, &format!("--allow-downgrades install /root/tally_{number}.deb"))
}

fn pids<const N: usize>(machine: &Machine, units: [&str; N]) -> [u32; N] {
    units.map(|unit| machine.pid(unit))
}

fn is_enabled(machine: &Machine) -> String {
    machine.try_systemctl(&["is-enabled", "tally.target"]).stdout.trim().to_owned()
}

fn is_active(machine: &Machine, unit: &str) -> bool {
    machine.state(unit) == "active"
}

fn failed_units(machine: &Machine) -> String {
    machine.systemctl(&["list-units", "--failed", "--plain", "--no-legend"])
}

#[track_caller]
fn is_configured(machine: &Machine, number: &str) {
    let state = machine.ok(&["dpkg-query", "--show", "--showformat=${Version} ${Status}", "tally"]);
    assert_eq!(state, format!("{number} install ok installed"));
}

fn an_upgrade_of_a_package_with_a_group_loses_no_visit(m: &Machine) {
    let machine = administrators(m);
    install(&machine, "1");
    assert_eq!((is_enabled(&machine).as_str(), is_active(&machine, "tally.target")), ("enabled", true));
    upgrade_under_load(&machine, || {
        install(&machine, "2");
        is_configured(&machine, "2");
    });
    apt(&machine, "remove tally");
    nobody_runs(&machine);
    apt(&machine, "purge tally");
    nothing_is_left(&machine);
}

/// From version 1, which runs, to version 2.
fn upgrade_under_load(machine: &Machine, upgrade: impl FnOnce()) {
    let visitors = Visitors::new(machine);
    visitors.see("1");
    the_manager_may_restart_the_web(machine);
    let (store, manager, web) = (machine.pid(STORE), machine.pid(MANAGER), pids(machine, WEB));
    upgrade();
    visitors.see("2");
    assert_eq!(machine.pid(STORE), store, "it is to be kept");
    assert_ne!(machine.pid(MANAGER), manager);
    assert_eq!(machine.property(MANAGER, "StatusText"), "version 2");
    assert!(pids(machine, WEB).iter().all(|pid| !web.contains(pid)), "all are new");
    visitors.lost_nothing();
    let status = machine.copse(&["status", "tally"]);
    assert!(status.stdout.contains("store") && status.stdout.contains("outdated"), "{status:?}");
    assert_eq!(failed_units(machine), "");
}

/// After a removal.
fn nobody_runs(machine: &Machine) {
    assert_eq!(machine.run(&["pgrep", "-u", "tally"]).status, 1, "nobody of it runs");
    assert!(
        !machine.exists("/usr/lib/copse/tally.toml") && !machine.exists("/run/systemd/generator/tally-web@.service")
    );
}

/// After a purge.
fn nothing_is_left(machine: &Machine) {
    // The example itself is in copse's package; /run/systemd/units is systemd's own memory.
    let find = "find /etc /usr /var/lib /run/systemd -name doc -prune -o -path /var/lib/dpkg -prune -o \
                -path /run/systemd/units -prune -o -name '*tally*' -print";
    assert_eq!(machine.sh(find), "", "nothing is left of it");
    assert_eq!(machine.systemctl(&["list-units", "--all", "--plain", "--no-legend", "tally*", "copse-*@tally*"]), "");
    assert_eq!(failed_units(machine), "");
}

/// What its user asks for is granted by the rule in the package.
fn the_manager_may_restart_the_web(machine: &Machine) {
    let before = pids(machine, WEB);
    machine.systemctl(&["reload", MANAGER]);
    machine.wait(MANAGER, "StatusText", "version 1, restarted 3 of 3");
    assert!(pids(machine, WEB).iter().all(|pid| !before.contains(pid)));
}

fn what_the_administrator_stopped_or_disabled_outlives_an_upgrade(m: &Machine) {
    let machine = administrators(m);
    install(&machine, "1");
    let active = |unit: &str| is_active(&machine, unit);
    machine.systemctl(&["stop", WEB[1], MANAGER]);
    let before = pids(&machine, [WEB[0], WEB[2]]);
    install(&machine, "2");
    assert_eq!([WEB[1], MANAGER].map(active), [false; 2]);
    assert!(pids(&machine, [WEB[0], WEB[2]]).iter().all(|pid| !before.contains(pid)));
    machine.systemctl(&["stop", "tally.target"]);
    install(&machine, "1");
    assert_eq!((active("tally.target"), is_enabled(&machine).as_str()), (false, "enabled"));
    // Of a package that comes back that isn't known any more; whether it is enabled, is.
    apt(&machine, "remove tally");
    install(&machine, "1");
    assert!(active("tally.target") && active(WEB[1]));
    machine.systemctl(&["disable", "tally.target"]);
    apt(&machine, "remove tally");
    install(&machine, "1");
    assert_eq!((active("tally.target"), is_enabled(&machine).as_str()), (false, "disabled"));
    assert_eq!(failed_units(&machine), "");
}

fn nothing_is_touched_where_the_policy_or_the_packager_says_so(m: &Machine) {
    let machine = administrators(m);
    install(&machine, "1");
    let before = (machine.pid(MANAGER), pids(&machine, WEB));
    machine.write_program("/usr/sbin/policy-rc.d", "#!/bin/sh\nexit 101\n");
    install(&machine, "2");
    assert_eq!((machine.pid(MANAGER), pids(&machine, WEB)), before);
    machine.remove("/usr/sbin/policy-rc.d");
    install(&machine, "3");
    assert_eq!((machine.pid(MANAGER), pids(&machine, WEB)), before);
    assert_eq!((is_enabled(&machine).as_str(), is_active(&machine, "tally.target")), ("enabled", true));
    apt(&machine, "purge tally");
    install(&machine, "3");
    assert_eq!((is_enabled(&machine).as_str(), is_active(&machine, "tally.target")), ("disabled", false));
}

fn an_upgrade_whose_program_does_not_start_leaves_the_others_serving(m: &Machine) {
    let machine = administrators(m);
    install(&machine, "1");
    let visitors = Visitors::new(&machine);
    visitors.see("1");
    let (store, others) = (machine.pid(STORE), pids(&machine, [WEB[1], WEB[2]]));
    let said = install(&machine, "1.1");
    is_configured(&machine, "1.1");
    assert!(said.contains("copse: tally: stopped at web@1"), "{said}");
    assert_eq!(machine.pid(STORE), store);
    assert_eq!(pids(&machine, [WEB[1], WEB[2]]), others);
    assert_ne!(machine.state(WEB[0]), "active");
    // Another upgrade, which repairs it.
    install(&machine, "2");
    visitors.see("2");
    assert!(pids(&machine, WEB).iter().all(|pid| !others.contains(pid)));
    assert_eq!(machine.pid(STORE), store);
    visitors.lost_nothing();
    assert_eq!(failed_units(&machine), "");
    // The same when it is new: nobody has stopped it, so the repaired one starts it.
    apt(&machine, "purge tally");
    install(&machine, "1.1");
    is_configured(&machine, "1.1");
    assert_eq!((is_enabled(&machine).as_str(), is_active(&machine, "tally.target")), ("enabled", false));
    install(&machine, "2");
    assert!(is_active(&machine, "tally.target") && WEB.iter().all(|unit| is_active(&machine, unit)));
    assert_eq!(failed_units(&machine), "");
}

fn an_upgrade_that_does_not_go_with_a_drop_in_leaves_all_as_it_was(m: &Machine) {
    let machine = administrators(m);
    install(&machine, "1");
    machine.write("/etc/copse/tally.toml.d/10-local.toml", "[process.manager]\nnice = 5\n");
    machine.copse(&["apply", "tally"]).expect(0, &["manager"]);
    let all = || (machine.pid(STORE), machine.pid(MANAGER), pids(&machine, WEB));
    let before = all();
    let said = install(&machine, "1.2");
    is_configured(&machine, "1.2");
    assert!(said.contains("10-local.toml") && said.contains("manager"), "{said}");
    assert_eq!(all(), before);
    machine.kill_and_wait(MANAGER);
    machine.remove("/etc/copse/tally.toml.d");
    let applied: Output = machine.copse(&["apply", "tally"]);
    applied.expect(0, &["keeper"]);
    assert_eq!(machine.state(MANAGER), "inactive");
    assert_eq!(machine.property("tally-keeper.service", "StatusText"), "version 1.2");
}
