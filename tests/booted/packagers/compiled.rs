//! The same package with static units, which debhelper's own dh_installsystemd handles: what it is told to restart is
//! restarted, and nobody else for that.

use super::{MANAGER, STORE, WEB, administrators, is_active, is_enabled, nobody_runs, nothing_is_left, pids};
use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::machines::version::Version;
use crate::packaged::apt;

use super::visitor::Visitors;

/// What becomes of the source, in shell: units instead of the group file.
pub(super) fn change(version: Version) -> String {
    // Debian 12's dh_installsystemd looks there alone.
    let units = if version == Version::V252 { "lib/systemd/system" } else { "usr/lib/systemd/system" };
    format!(
        r#"rm debian/tally.copse
sed -i 's/dh-sequence-copse/copse/; s/^ python3,/ copse, python3,/' debian/control
sed -i '/^description/i wanted-by = ["multi-user.target"]' tally.toml
cat >>debian/rules <<'END'

execute_after_dh_auto_install:
	copse compile tally.toml --systemd-version {version} --output debian/tally/{units}

override_dh_installsystemd:
	dh_installsystemd --no-restart-on-upgrade tally.target
	dh_installsystemd --no-enable {MANAGER}
END"#
    )
}

pub(super) fn an_upgrade_of_compiled_units_restarts_whom_debhelper_is_told(m: &Machine) {
    let machine = administrators(m);
    apt(&machine, "install /root/tally-compiled_1.deb");
    assert_eq!((is_enabled(&machine).as_str(), is_active(&machine, "tally.target")), ("enabled", true));
    assert!(!machine.exists("/run/systemd/generator/tally.target.wants"), "nothing is generated");
    let visitors = Visitors::new(&machine);
    visitors.see("1");
    let (manager, others) = (machine.pid(MANAGER), (machine.pid(STORE), pids(&machine, WEB)));
    apt(&machine, "install /root/tally-compiled_2.deb");
    assert_ne!(machine.pid(MANAGER), manager);
    assert_eq!(machine.property(MANAGER, "StatusText"), "version 2");
    assert_eq!((machine.pid(STORE), pids(&machine, WEB)), others);
    // One after the other, as an administrator does it.
    for unit in WEB {
        machine.systemctl(&["restart", unit]);
    }
    visitors.see("2");
    visitors.lost_nothing();
    apt(&machine, "purge tally");
    nobody_runs(&machine);
    nothing_is_left(&machine);
}
