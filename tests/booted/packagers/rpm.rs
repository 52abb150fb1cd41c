//! The same package by the RPM macros: built by rpmbuild, installed by rpm(8) on a machine whose packages are dpkg's.

use super::{MANAGER, SOURCE, administrators, is_active, is_enabled, nobody_runs, nothing_is_left, upgrade_under_load};
use crate::machines::machine::Machine;
use crate::machines::scope::Scope;

const MACROS: &str = include_str!("../../../packaging/rpm/macros.copse");

/// Builds both versions.
pub(super) fn build(machine: &Machine) -> Vec<(String, Vec<u8>)> {
    machine.write("/usr/lib/rpm/macros.d/macros.copse", MACROS);
    let build = |number: &&str| {
        // No dependencies: the machine's packages aren't RPM's.
        let options = format!("--define '_sourcedir {SOURCE}' --define '_topdir /root/rpm' --define 'number {number}'");
        machine.sh(&format!("cd {SOURCE} && rpmbuild -bb --nodeps {options} tally.spec 2>&1"));
        let made = format!("/root/rpm/RPMS/noarch/tally-{number}-1.noarch.rpm");
        (format!("tally_{number}.rpm"), machine.read_bytes(&made))
    };
    ["1", "2"].iter().map(build).collect()
}

pub(super) fn an_upgrade_by_rpm_loses_no_visit(m: &Machine) {
    let machine = administrators(m);
    let rpm = |words: &str| machine.sh(&format!("rpm {words} 2>&1"));
    // rpm also warns that there is no logind here to hold back a shutdown.
    let change = |words: &str| {
        let said = rpm(words);
        assert!(!said.contains("scriptlet") && !said.contains("copse:"), "{said}");
    };
    let scripts = rpm("-qp --scripts /root/tally_1.rpm");
    for line in ["systemctl --no-reload preset tally.target || :", "*) copse apply --wait tally >/dev/null || : ;;"] {
        assert!(scripts.lines().any(|said| said.trim() == line), "{line}: {scripts}");
    }
    assert!(!scripts.contains('%'), "all macros are known: {scripts}");
    assert!(rpm("-qp --requires /root/tally_1.rpm").lines().any(|line| line.starts_with("copse >= ")));

    change("-i --nodeps /root/tally_1.rpm");
    // There is no preset, so it is enabled; RPM's distributions start nothing by installing it.
    assert_eq!((is_enabled(&machine).as_str(), is_active(&machine, "tally.target")), ("enabled", false));
    machine.systemctl(&["start", "tally.target"]);
    upgrade_under_load(&machine, || change("-U --nodeps /root/tally_2.rpm"));

    machine.systemctl(&["stop", MANAGER]);
    change("-U --nodeps --oldpackage /root/tally_1.rpm");
    assert!(is_active(&machine, "tally.target") && !is_active(&machine, MANAGER), "what is stopped stays so");

    change("-e tally");
    nobody_runs(&machine);
    nothing_is_left(&machine);
}
