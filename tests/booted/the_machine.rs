//! Situations of the machine itself: without these, none of the others would mean anything.

use std::time::Duration;

use crate::machines::machine::{Boot, Machine};
use crate::machines::scope::Scope;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(a_boot_reaches_multi_user_target),
    situation!(systemd_is_of_the_version_that_is_asked_for),
    situation!(a_plain_service_starts_and_its_line_is_in_the_journal),
    situation!(sockets_work_on_the_loopback_interface),
    situation!(a_command_that_never_ends_is_ended),
    situation!(a_spawned_client_goes_on_and_is_gone_when_dropped),
    situation!(files_are_written_and_read_in_the_machine_only),
    situation!(an_unprivileged_user_has_a_manager_of_its_own),
    situation!(a_file_placed_before_the_boot_is_there_at_boot),
    situation!(the_installed_programs_run),
    situation!(a_record_in_the_kernel_log_reaches_the_journal),
    situation!(a_dropped_group_leaves_nothing_behind),
];

fn a_boot_reaches_multi_user_target(m: &Machine) {
    m.wait_for_state("multi-user.target", "active");
    let state = m.run(&["systemctl", "is-system-running"]);
    assert!(["running", "degraded"].contains(&state.stdout.trim()), "{state:?}");
}

fn systemd_is_of_the_version_that_is_asked_for(m: &Machine) {
    let said = m.ok(&["systemctl", "--version"]);
    assert!(said.starts_with(&format!("systemd {} ", m.version())), "{said}");
    assert_eq!(m.read("/proc/1/comm"), "systemd\n");
}

fn a_plain_service_starts_and_its_line_is_in_the_journal(m: &Machine) {
    m.write(
        "/run/systemd/system/plain.service",
        "[Service]\nExecStart=/bin/sh -c 'echo a line of plain; exec sleep infinity'\n",
    );
    m.reload();
    m.systemctl(&["start", "plain.service"]);
    let [state, main_pid] = m.properties("plain.service", ["ActiveState", "MainPID"]);
    assert_eq!(state, "active");
    assert_eq!(main_pid, m.pid("plain.service").to_string());
    m.wait_until("the line is in the journal", || {
        m.journal(&["-u", "plain.service"]).lines().any(|line| line == "a line of plain")
    });
    m.systemctl(&["stop", "plain.service"]);
    m.remove("/run/systemd/system/plain.service");
    m.reload();
    assert_eq!(m.property("plain.service", "LoadState"), "not-found");
}

fn sockets_work_on_the_loopback_interface(m: &Machine) {
    let server = m.spawn(&["python3", "-m", "http.server", "--bind", "127.0.0.1", "8123"]);
    m.wait_until("the server answers", || {
        let fetch = "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:8123/').status)";
        m.run(&["python3", "-c", fetch]).stdout == "200\n"
    });
    drop(server);
}

fn a_command_that_never_ends_is_ended(m: &Machine) {
    let output = m.run_within(Duration::from_secs(5), &["sh", "-c", "echo begun; sleep 987654 & wait"]);
    assert_eq!((output.status, output.stdout.as_str()), (124, "begun\n"));
    m.wait_until("its child is gone", || m.run(&["pgrep", "-f", "sleep 98765[4]"]).status == 1);
}

fn a_spawned_client_goes_on_and_is_gone_when_dropped(m: &Machine) {
    let mut client = m.spawn(&["sh", "-c", "echo here; echo there >&2; exec sleep 876543"]);
    m.wait_until("it has spoken", || client.stdout() == "here\n" && client.stderr() == "there\n");
    assert!(client.runs());
    drop(client);
    m.wait_until("it is gone", || m.run(&["pgrep", "-f", "sleep 87654[3]"]).status == 1);
    assert_eq!(m.spawn(&["sh", "-c", "exit 7"]).finish().status, 7);
    assert_eq!(m.spawn(&["sleep", "1000"]).finish_within(Duration::from_millis(50)).status, 124);
}

fn files_are_written_and_read_in_the_machine_only(m: &Machine) {
    let path = "/srv/copse-booted/deep/file";
    m.sh("mkdir -p /srv/real && ln -sfn /srv/real /srv/copse-booted");
    m.write(path, "text\n");
    assert_eq!(m.sh("cat /srv/real/deep/file; stat -c %a /srv/real/deep/file"), "text\n644");
    assert_eq!(m.read(path), "text\n");
    assert!(m.exists(path) && !std::path::Path::new(path).exists());
    m.write_program("/srv/real/program", "#!/bin/sh\necho ran\n");
    assert_eq!(m.ok(&["/srv/real/program"]), "ran");
    m.remove("/srv/copse-booted");
    m.remove("/srv/real");
    assert!(!m.exists(path));
}

fn an_unprivileged_user_has_a_manager_of_its_own(m: &Machine) {
    let user = m.user(2001);
    assert_eq!(user.ok(&["id", "-u"]), "2001");
    user.write(
        &format!("{}/.config/systemd/user/mine.service", user.home()),
        "[Service]\nExecStart=/bin/sh -c 'id -u; exec sleep infinity'\n",
    );
    user.reload();
    user.systemctl(&["start", "mine.service"]);
    let pid = user.pid("mine.service");
    assert_eq!(m.sh(&format!("stat -c %u /proc/{pid}")), "2001");
    // The user's bus is there as well: what speaks D-Bus finds the manager there.
    user.ok(&["busctl", "--user", "status", "org.freedesktop.systemd1"]);
    assert_eq!(m.property("mine.service", "LoadState"), "not-found");
    m.systemctl(&["stop", &user.unit()]);
    m.remove(&format!("{}/.config", user.home()));
}

fn a_file_placed_before_the_boot_is_there_at_boot(m: &Machine) {
    let unit = "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n";
    let mut other = Boot::new(m.version())
        .unwrap()
        .write("/etc/systemd/system/early.service", unit)
        .link("/etc/systemd/system/multi-user.target.wants/early.service", "../early.service")
        .start()
        .unwrap();
    other.wait_until_booted().unwrap();
    assert_eq!(other.state("early.service"), "active");
    assert_eq!(m.property("early.service", "LoadState"), "not-found");
}

fn the_installed_programs_run(m: &Machine) {
    // They run at all on this suite's C library: a program that can't be loaded ends with 126 or 127.
    for program in ["copse", "copse-notify", "/usr/lib/systemd/system-generators/copse-generator"] {
        let output = m.run(&[program, "--version"]);
        assert!(output.status < 126, "{program}: {output:?}");
    }
}

fn a_record_in_the_kernel_log_reaches_the_journal(m: &Machine) {
    let text = m.unique("a-record");
    m.sh(&format!("echo '<4>copse-booted[1]: {text}' >/dev/kmsg"));
    m.wait_until("the journal has it", || m.journal(&["-t", "copse-booted"]).contains(&text));
}

fn a_dropped_group_leaves_nothing_behind(m: &Machine) {
    let group = m.group("leaves", "[process.leaves]\nexec = \"sleep infinity\"\n");
    assert!(m.exists(&group.file()));
    // A process that doesn't follow the target and ignores SIGTERM, as a broken group may have.
    m.write(
        "/run/systemd/system/leaves-left.service",
        "[Service]\nExecStart=/bin/sh -c 'trap \"\" TERM; while :; do sleep 1; done'\n",
    );
    m.reload();
    m.systemctl(&["start", "leaves-left.service"]);
    assert!(group.units().contains(&"leaves-left.service".to_owned()), "{:?}", group.units());
    assert!(group.account().contains("leaves-left.service"));
    let file = group.file();
    drop(group);
    assert!(!m.exists(&file));
    assert_eq!(m.state("leaves-left.service"), "inactive");
    m.remove("/run/systemd/system/leaves-left.service");
    m.reload();
}
