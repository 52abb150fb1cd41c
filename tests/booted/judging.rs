//! The readiness gate and the judge of `failure-policy = "stop"` alone, on units written by hand: cases that
//! a group file doesn't bring about by itself.

use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(a_gate_tells_why_each_process_is_missing),
    situation!(what_is_skipped_done_or_masked_does_not_keep_a_group_from_starting),
    situation!(a_gate_goes_on_waiting_over_a_reexecution_of_systemd),
    situation!(a_process_asked_to_stop_while_starting_takes_nobody_down),
    situation!(a_start_pre_that_fails_after_a_restart_takes_the_group_down),
    situation!(an_invalid_group_fails_with_its_diagnostics),
];

const DIRECTORY: &str = "/run/systemd/system";

/// Says that it is ready, and ends badly when it is asked to stop.
const ENDS_BADLY: &str = "Type=notify\nNotifyAccess=all\n\
    ExecStart=/bin/bash -c 'trap \"exit 1\" TERM; systemd-notify --ready; while :; do sleep 1 & wait $$!; done'\n";

/// Units written by hand, removed when dropped.
struct ByHand<'m> {
    machine: &'m Machine,
    group: &'static str,
    files: Vec<String>,
}

impl<'m> ByHand<'m> {
    /// A group of `processes` (name, lines of `[Unit]`, lines of `[Service]`), each of them awaited.
    fn new(machine: &'m Machine, group: &'static str, processes: &[(&str, &str, &str)]) -> Self {
        let mut this = ByHand { machine, group, files: Vec::new() };
        let mut target = format!(
            "[Unit]\nWants=copse-reset@{group}.service\nRequires=copse-ready@{group}.service\nAfter=copse-ready@{group}.service\n"
        );
        let mut awaited = "[Service]\nTimeoutStartSec=300s\n".to_owned();
        for (name, unit, service) in processes {
            target.push_str(&format!("Wants={name}.service\n"));
            awaited.push_str(&format!("StandardInputText={name}.service\n"));
            if service.is_empty() {
                continue;
            }
            this.write(
                &format!("{name}.service"),
                &format!(
                    "[Unit]\nPartOf={group}.target\nAfter=copse-reset@{group}.service\n{unit}\n[Service]\n{service}\n"
                ),
            );
        }
        this.write(&format!("{group}.target"), &target);
        this.write(&format!("copse-ready@{group}.service.d/50-copse.conf"), &awaited);
        machine.reload();
        this
    }

    fn write(&mut self, name: &str, text: &str) {
        let path = format!("{DIRECTORY}/{name}");
        self.machine.write(&path, text);
        self.files.push(path);
    }

    fn start(&self) -> i32 {
        self.machine.try_systemctl(&["start", &format!("{}.target", self.group)]).status
    }

    fn status_text(&self) -> String {
        self.machine.property(&format!("copse-ready@{}.service", self.group), "StatusText")
    }
}

impl Drop for ByHand<'_> {
    fn drop(&mut self) {
        let target = format!("{}.target", self.group);
        let mark = format!("copse-failed@{target}");
        self.machine.try_systemctl(&["stop", &target, &mark]);
        for file in &self.files {
            self.machine.remove(file);
        }
        self.machine.try_systemctl(&["reset-failed"]);
        self.machine.reload();
    }
}

fn a_gate_tells_why_each_process_is_missing(m: &Machine) {
    let mut group = ByHand::new(
        m,
        "missing",
        &[
            ("missing-refused", "AssertPathExists=/nowhere", "ExecStart=/bin/sleep infinity"),
            ("missing-bad", "", "Type=oneshot\nRestart=always\nExecStart=/bin/true"),
            ("missing-step", "Requires=missing-step-x.service\nAfter=missing-step-x.service", "ExecStart=/bin/sleep 9"),
            ("missing-file", "", ""),
        ],
    );
    group.write("missing-step-x.service", "[Service]\nType=oneshot\nExecStart=/bin/false\n");
    m.reload();
    assert_eq!(group.start(), 1);
    let log = m.journal(&["-u", "copse-ready@missing.service"]);
    for line in [
        "missing-refused.service: assertion failed; see `systemctl status missing-refused.service`",
        "missing-bad.service: not loaded (bad-setting); see `systemctl status missing-bad.service`",
        "missing-step.service: not started (its job was canceled, or a unit that it requires failed); see `systemctl status missing-step.service`",
        "missing-file.service: not loaded (not-found); see `systemctl status missing-file.service`",
    ] {
        assert!(log.lines().any(|said| said == line), "no line `{line}` in:\n{log}");
    }
    let status = group.status_text();
    assert!(
        status.starts_with("not ready: missing-refused.service: assertion failed") && status.ends_with("and 1 more"),
        "{status}"
    );
}

fn what_is_skipped_done_or_masked_does_not_keep_a_group_from_starting(m: &Machine) {
    let group = ByHand::new(
        m,
        "settled",
        &[
            ("settled-done", "", "ExecStart=/bin/true"),
            ("settled-condition", "ConditionPathExists=/nowhere", "ExecStart=/bin/sleep infinity"),
            ("settled-exec-condition", "", "ExecCondition=/bin/false\nExecStart=/bin/sleep infinity"),
            ("settled-masked", "", ""),
        ],
    );
    m.ok(&["systemctl", "mask", "--runtime", "settled-masked.service"]);
    let status = group.start();
    m.ok(&["systemctl", "unmask", "--runtime", "settled-masked.service"]);
    assert_eq!(status, 0, "{}", m.account_of(&["copse-ready@settled.service"]));
    assert_eq!(group.status_text(), "3 of 4 ready; the others are masked or not essential");
}

fn a_gate_goes_on_waiting_over_a_reexecution_of_systemd(m: &Machine) {
    let service = "Type=notify\nNotifyAccess=all\nTimeoutStartSec=300s\n\
        ExecStart=/bin/bash -c 'until [ -e /run/reexecuted ]; do sleep 0.1; done; systemd-notify --ready; exec sleep infinity'";
    let group = ByHand::new(m, "reexec", &[("reexec-a", "", service)]);
    m.systemctl(&["start", "--no-block", "reexec.target"]);
    m.wait("copse-ready@reexec.service", "StatusText", "waiting for 1 of 1: reexec-a.service (activating, start)");
    let gate = m.pid("copse-ready@reexec.service");
    m.systemctl(&["daemon-reexec"]);
    // It answers again.
    m.wait_until("systemd is back", || m.try_systemctl(&["show", "--property=Version"]).status == 0);
    assert_eq!(m.pid("copse-ready@reexec.service"), gate);
    m.write("/run/reexecuted", "");
    m.wait_for_state("reexec.target", "active");
    assert_eq!(group.status_text(), "all 1 ready");
    m.remove("/run/reexecuted");
}

fn a_process_asked_to_stop_while_starting_takes_nobody_down(m: &Machine) {
    let never_ready = ENDS_BADLY.replace("systemd-notify --ready;", "");
    let judged = "OnFailure=copse-gave-up@%N.service";
    let _group = ByHand::new(
        m,
        "asked",
        &[
            ("asked-a", judged, "ExecStart=/bin/sleep infinity"),
            ("asked-b", judged, &format!("{never_ready}Restart=on-failure\nRestartSec=1s")),
        ],
    );
    m.systemctl(&["start", "--no-block", "asked.target"]);
    m.wait("asked-b.service", "SubState", "start");
    // Its first child comes after its trap.
    let pid = m.pid("asked-b.service");
    m.wait_until("it has set its trap", || m.run(&["pgrep", "-P", &pid.to_string(), "sleep"]).status == 0);
    let a = m.pid("asked-a.service");
    m.try_systemctl(&["stop", "asked-b.service"]);
    m.wait_for_state("asked-b.service", "failed");
    m.wait_for_state("copse-gave-up@asked-b.service", "inactive");
    assert_eq!(m.pid("asked-a.service"), a);
    assert_eq!(m.state("copse-failed@asked.target"), "inactive");
}

fn a_start_pre_that_fails_after_a_restart_takes_the_group_down(m: &Machine) {
    let service =
        format!("{ENDS_BADLY}ExecStartPre=/bin/sh -c '[ ! -e /run/pre-fails ]'\nRestart=on-failure\nRestartSec=100ms");
    let limit = "OnFailure=copse-gave-up@%N.service\nStartLimitBurst=3\nStartLimitIntervalSec=60";
    let group = ByHand::new(m, "pre", &[("pre-a", "", "ExecStart=/bin/sleep infinity"), ("pre-b", limit, &service)]);
    assert_eq!(group.start(), 0);
    m.write("/run/pre-fails", "");
    m.try_systemctl(&["restart", "pre-b.service"]);
    m.wait_for_state("copse-failed@pre.target", "active");
    m.wait_for_state("pre-a.service", "inactive");
    m.remove("/run/pre-fails");
    assert_eq!(group.start(), 0, "a start right afterwards works");
    assert_eq!(m.state("copse-failed@pre.target"), "inactive");
}

fn an_invalid_group_fails_with_its_diagnostics(m: &Machine) {
    let mut group = ByHand { machine: m, group: "invalid", files: Vec::new() };
    group.write(
        "invalid.target",
        "[Unit]\nRequires=copse-invalid@invalid.service\nAfter=copse-invalid@invalid.service\n",
    );
    group.write(
        "copse-invalid@invalid.service.d/50-copse.conf",
        "[Service]\nStandardInputText=/etc/copse/invalid.toml:3:1: unknown key `exce`\nStandardInputText=help: `exec`\n",
    );
    m.reload();
    assert_eq!(group.start(), 1);
    assert_eq!(m.property("copse-invalid@invalid.service", "ExecMainStatus"), "5");
    let errors = m.journal(&["-u", "copse-invalid@invalid.service", "-p", "err", "-t", "copse"]);
    assert!(errors.contains("/etc/copse/invalid.toml:3:1: unknown key `exce`\nhelp: `exec`"), "{errors}");
}
