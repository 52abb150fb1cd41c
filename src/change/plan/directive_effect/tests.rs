use super::*;
use crate::unit::directives;

#[test]
fn every_directive_that_a_systemd_knows_is_in_the_table() {
    let unknown: Vec<_> = directives::all()
        .filter(|(section, name)| of(section.text(), name).1 == "not known to copse")
        .map(|(section, name)| format!("{}.{name}", section.text()))
        .collect();
    assert_eq!(unknown, [""; 0]);
}

#[test]
fn every_row_is_needed_by_some_directive() {
    for row in TABLE {
        for pattern in row.names {
            let used = directives::all().any(|(section, name)| {
                section.text() == row.section && of(row.section, name).1 == row.why && matches(pattern, name)
            });
            assert!(used, "[{}] {pattern}", row.section);
        }
    }
}

#[test]
fn instances_of_each_kind() {
    for (section, name, effect) in [
        ("Unit", "Description", DaemonReload),
        ("Unit", "OnFailure", DaemonReload),
        ("Unit", "StartLimitBurst", DaemonReload),
        ("Unit", "JoinsNamespaceOf", Restart),
        ("Service", "Restart", DaemonReload),
        ("Service", "RestartSec", DaemonReload),
        ("Service", "TimeoutStopSec", DaemonReload),
        ("Service", "KillSignal", DaemonReload),
        ("Service", "ExecStop", DaemonReload),
        ("Service", "ExecReload", DaemonReload),
        ("Service", "MemoryMax", DaemonReload),
        ("Service", "MemorySwapMax", DaemonReload),
        ("Service", "MemoryPressureWatch", Restart),
        ("Service", "MemoryDenyWriteExecute", Restart),
        ("Service", "WatchdogSec", Restart),
        ("Service", "Environment", Restart),
        ("Service", "EnvironmentFile", Restart),
        ("Service", "LoadCredential", Restart),
        ("Service", "LimitNOFILE", Restart),
        ("Service", "Slice", Restart),
        ("Service", "RestrictRealtime", Restart),
        ("Service", "RuntimeDirectoryMode", Restart),
        ("Service", "RuntimeDirectoryPreserve", DaemonReload),
        ("Service", "OfTomorrow", Restart),
        ("Slice", "MemoryMax", DaemonReload),
        ("Timer", "OnCalendar", DaemonReload),
        ("Socket", "ListenStream", Rebind),
        ("Socket", "SocketMode", Rebind),
        ("Socket", "FileDescriptorName", Rebind),
        ("Socket", "MaxConnections", DaemonReload),
    ] {
        assert_eq!(of(section, name).0, effect, "[{section}] {name}");
    }
}

#[test]
fn how_readiness_is_asked_for_restarts_nobody() {
    let change = |old: &[&str], new: &[&str]| {
        let owned = |all: &[&str]| all.iter().map(ToString::to_string).collect();
        of_difference(&Difference {
            section: "Service".into(),
            name: "ExecStartPost".into(),
            old: owned(old),
            new: owned(new),
        })
    };
    let ask = |port: u32| format!(":{NOTIFY_PROGRAM} wait --tcp 127.0.0.1:{port}");
    assert_eq!(change(&[&ask(1)], &[&ask(2)]), DaemonReload);
    assert_eq!(change(&[], &[&ask(2)]), DaemonReload);
    assert_eq!(change(&[&ask(1)], &[&ask(1), ":\"/bin/x\""]), Restart);
    assert_eq!(change(&[":\"/bin/x\""], &[&ask(1)]), Restart);
}
