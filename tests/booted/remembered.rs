//! From which text a running process was started, whoever changed, reloaded or restarted what since; and units that are
//! pinned to an older text.

use copse::basic::clock::Monotonic;
use copse::state::history::{History, StartHistory};
use copse::state::pins::{Pin, Pins, Units};
use copse::state::store;
use copse::unit::name::{GroupName, drop_in_directories};

use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(a_daemon_reload_by_hand_hides_nothing),
    situation!(a_reexecuted_manager_and_an_automatic_restart_hide_nothing),
    situation!(an_edit_that_is_taken_back_leaves_everything_current),
    situation!(a_broken_edit_is_not_what_a_restart_gets),
    situation!(a_drop_in_in_etc_is_known_of_what_was_started_with_it),
    situation!(a_pinned_process_that_is_killed_comes_back_as_it_was_and_its_siblings_new),
    situation!(a_pinned_process_keeps_the_socket_that_the_new_file_does_not_have),
    situation!(a_group_that_is_rolled_back_runs_the_old_definition_again),
    situation!(a_users_own_group_is_remembered_as_well),
    situation!(drop_ins_are_looked_for_where_systemd_looks),
];

/// A user of whom no other situation writes drop-ins.
const LOOKED_AT: u32 = 2002;

/// Processes of a kind each, which carry the number of their definition in their environment. `b` waits for `a`, so
/// that `a` is restarted in place where systemd can do that (`RestartMode=direct`).
fn numbered(number: u32) -> String {
    format!(
        r#"
        [defaults]
        environment = {{ NUMBER = "{number}" }}
        restart-sec = "100ms"
        [process.a]
        exec = "/usr/local/bin/stand-in notify"
        ready = "notify"
        [process.b]
        exec = "/usr/local/bin/stand-in run"
        after = ["a"]
        [process.w]
        exec = "/usr/local/bin/stand-in run"
        instances = 3
        "#
    )
}

/// The history of a group, as the generator of this scope's manager left it.
#[track_caller]
fn history(scope: &impl Scope, directory: &str, group: &str) -> History {
    let bytes = scope.machine().read(&format!("{directory}/history"));
    let mut history: StartHistory = store::from_bytes(bytes.as_bytes()).unwrap();
    history.groups.remove(&GroupName::new(group).unwrap()).unwrap()
}

fn started(scope: &impl Scope, unit: &str) -> Monotonic {
    Monotonic::from_micros(scope.property(unit, "ExecMainStartTimestampMonotonic").parse().unwrap()).unwrap()
}

/// The number that the history says a unit runs with, after making sure that it is the one that it does run with.
#[track_caller]
fn number(scope: &impl Scope, history: &History, unit: &str) -> String {
    let started = started(scope, unit);
    let origin = history.origin(unit, started).expect("known since the boot");
    let text = &origin.source.file.text;
    let (_, rest) = text.split_once("NUMBER = \"").unwrap();
    let number = rest.split_once('"').unwrap().0.to_owned();
    let environment = format!("tr '\\0' '\\n' </proc/{}/environ", scope.pid(unit));
    let environment = scope.machine().ok(&["sh", "-c", &environment]);
    let carried = format!("NUMBER={number}");
    assert!(environment.lines().any(|line| line == carried), "{unit}: {number} of\n{environment}");
    number
}

/// The numbers of several units of a group of the system manager.
#[track_caller]
fn numbers<const N: usize>(m: &Machine, group: &str, processes: [&str; N]) -> [String; N] {
    let history = history(m, "/run/copse", group);
    processes.map(|process| number(m, &history, &format!("{group}-{process}.service")))
}

fn a_daemon_reload_by_hand_hides_nothing(m: &Machine) {
    let group = m.start_group("handmade", &numbered(1));
    group.rewrite(&numbered(2));
    m.reload();
    assert_eq!(numbers(m, "handmade", ["a", "b", "w@1"]), ["1", "1", "1"]);
    m.systemctl(&["restart", "handmade-b.service", "handmade-w@1.service"]);
    assert_eq!(numbers(m, "handmade", ["a", "b", "w@1", "w@2"]), ["1", "2", "2", "1"]);
    // The group as a whole.
    m.systemctl(&["restart", "handmade.target"]);
    assert_eq!(numbers(m, "handmade", ["a", "b", "w@1", "w@2"]), ["2", "2", "2", "2"]);
}

fn a_reexecuted_manager_and_an_automatic_restart_hide_nothing(m: &Machine) {
    let group = m.start_group("reexec", &numbered(1));
    group.rewrite(&numbered(2));
    m.kill_and_wait("reexec-w@1.service");
    m.systemctl(&["daemon-reexec"]);
    assert_eq!(numbers(m, "reexec", ["a", "b", "w@1", "w@2"]), ["1", "1", "2", "1"]);
    group.rewrite(&numbered(3));
    // `a` is restarted in place from 254 on: most of its timestamps stay those of the first start.
    m.kill_and_wait("reexec-a.service");
    m.kill_and_wait("reexec-b.service");
    m.systemctl(&["daemon-reexec"]);
    assert_eq!(numbers(m, "reexec", ["a", "b", "w@1", "w@2"]), ["3", "3", "2", "1"]);
}

fn an_edit_that_is_taken_back_leaves_everything_current(m: &Machine) {
    let group = m.start_group("undone", &numbered(1));
    group.rewrite(&numbered(2));
    m.systemctl(&["restart", "undone-b.service"]);
    group.rewrite(&numbered(1));
    let history = history(m, "/run/copse", "undone");
    assert_eq!(history.versions.len(), 3);
    let current = |process: &str| {
        let unit = format!("undone-{process}.service");
        let started = started(m, &unit);
        history.origin(&unit, started) == history.last().map(|last| last.origin(&unit))
    };
    assert_eq!(["a", "b", "w@1"].map(current), [true, false, true]);
}

fn a_broken_edit_is_not_what_a_restart_gets(m: &Machine) {
    let group = m.start_group("slip", &numbered(1));
    group.rewrite("[process.a\n");
    m.systemctl(&["restart", "slip-b.service"]);
    assert_eq!(numbers(m, "slip", ["a", "b"]), ["1", "1"]);
    assert_eq!(history(m, "/run/copse", "slip").versions.len(), 1);
}

fn a_drop_in_in_etc_is_known_of_what_was_started_with_it(m: &Machine) {
    let group = m.start_group("edited", &numbered(1));
    let path = "/etc/systemd/system/edited-w@.service.d/nice.conf";
    m.write(path, "[Service]\nNice=7\n");
    m.reload();
    m.systemctl(&["restart", "edited-w@2.service"]);
    let history = history(m, "/run/copse", "edited");
    let with = |unit: &str| {
        let started = started(m, unit);
        let origin = history.origin(unit, started).unwrap();
        origin.overrides.above.iter().any(|file| file.path == std::path::Path::new(path))
    };
    let nice = |unit: &str| m.ok(&["ps", "-o", "nice=", "-p", &m.pid(unit).to_string()]).trim() == "7";
    for (unit, changed) in [("edited-w@1.service", false), ("edited-w@2.service", true)] {
        assert_eq!((with(unit), nice(unit)), (changed, changed), "{unit}");
    }
    m.remove("/etc/systemd/system/edited-w@.service.d");
    drop(group);
}

/// Pins units of a group to the `version`th of its versions, and has systemd take note.
fn pin(m: &Machine, group: &str, version: usize, units: Units) {
    let version = history(m, "/run/copse", group).versions[version].clone();
    let pins = Pins(vec![Pin { source: version.source, cpus: version.cpus, units }]);
    let path = format!("/run/copse/pins/{group}");
    m.write(&path, std::str::from_utf8(&store::to_bytes(&pins)).unwrap());
    m.ok(&["chmod", "600", &path]);
    m.reload();
}

fn unpin(m: &Machine, group: &str) {
    m.remove(&format!("/run/copse/pins/{group}"));
    m.reload();
}

fn only(units: &[&str]) -> Units {
    Units::Only(units.iter().map(ToString::to_string).collect())
}

fn a_pinned_process_that_is_killed_comes_back_as_it_was_and_its_siblings_new(m: &Machine) {
    let group = m.start_group("pinned", &numbered(1));
    group.rewrite(&numbered(2));
    pin(m, "pinned", 0, only(&["pinned-a.service", "pinned-w@2.service", "pinned-w@3.service"]));
    assert_eq!(numbers(m, "pinned", ["a", "b", "w@1", "w@2"]), ["1", "1", "1", "1"]);
    for process in ["a", "b", "w@1", "w@2"] {
        m.kill_and_wait(&format!("pinned-{process}.service"));
    }
    assert_eq!(numbers(m, "pinned", ["a", "b", "w@1", "w@2"]), ["1", "2", "2", "1"]);
    assert_eq!(m.property("pinned-w@2.service", "NeedDaemonReload"), "no");
    // They are of the group as ever.
    assert_eq!(m.property("pinned-w@2.service", "PartOf"), "pinned.target");
    assert!(m.property("pinned.target", "Wants").contains("pinned-w@2.service"));
    unpin(m, "pinned");
    assert_eq!(numbers(m, "pinned", ["a", "w@2", "w@3"]), ["1", "1", "1"]);
    m.kill_and_wait("pinned-w@3.service");
    m.systemctl(&["restart", "pinned-w@2.service"]);
    assert_eq!(numbers(m, "pinned", ["a", "w@1", "w@2", "w@3"]), ["1", "2", "2", "2"]);
    group.stop();
    m.wait_for_state("pinned-w@2.service", "inactive");
}

fn a_pinned_process_keeps_the_socket_that_the_new_file_does_not_have(m: &Machine) {
    let text =
        |listen| format!("[process.a]\nexec = \"/usr/local/bin/stand-in run\"\nrestart-sec = \"100ms\"\n{listen}");
    let group = m.start_group("leaning", &text("listen = \"tcp:127.0.0.1:4907\"\n"));
    // Without a daemon-reload in between: at one, systemd would close a socket that has no unit file any more.
    m.write(&group.file(), &text(""));
    pin(m, "leaning", 0, only(&["leaning-a.service"]));
    m.kill_and_wait("leaning-a.service");
    assert_eq!(m.property("leaning-a.socket", "LoadState"), "loaded");
    assert_eq!(m.state("leaning-a.socket"), "active");
    let environment = m.sh(&format!("tr '\\0' '\\n' </proc/{}/environ", m.pid("leaning-a.service")));
    assert!(environment.lines().any(|line| line == "LISTEN_FDS=1"), "{environment}");
    unpin(m, "leaning");
    m.systemctl(&["stop", "leaning-a.service", "leaning-a.socket"]);
}

fn a_group_that_is_rolled_back_runs_the_old_definition_again(m: &Machine) {
    let group = m.start_group("undo", &numbered(1));
    group.rewrite(&(numbered(2) + "[process.more]\nexec = \"/usr/local/bin/stand-in run\"\n"));
    m.systemctl(&["restart", "undo-a.service"]);
    pin(m, "undo", 0, Units::All);
    assert!(m.property("undo.target", "Description").contains("rolled back"));
    assert_eq!(m.property("undo-more.service", "LoadState"), "not-found");
    assert_eq!(numbers(m, "undo", ["a", "b"]), ["2", "1"]);
    m.kill_and_wait("undo-a.service");
    m.systemctl(&["restart", "undo-b.service"]);
    assert_eq!(numbers(m, "undo", ["a", "b"]), ["1", "1"]);
    unpin(m, "undo");
    assert_eq!(m.property("undo-more.service", "LoadState"), "loaded");
}

fn a_users_own_group_is_remembered_as_well(m: &Machine) {
    let user = m.user(2001);
    let path = format!("{}/.config/copse/mine.toml", user.home());
    let directory = format!("{}/copse", user.runtime_directory());
    let write = |number| {
        user.write(&path, &numbered(number));
        user.reload();
    };
    write(1);
    user.systemctl(&["start", "mine.target"]);
    write(2);
    user.systemctl(&["daemon-reexec"]);
    let told = || {
        let history = history(&user, &directory, "mine");
        ["a", "w@1"].map(|process| number(&user, &history, &format!("mine-{process}.service")))
    };
    assert_eq!(told(), ["1", "1"]);
    user.kill_and_wait("mine-a.service");
    assert_eq!(told(), ["2", "1"]);
    user.systemctl(&["stop", "mine.target"]);
    m.remove(&path);
    user.reload();
}

/// systemd is asked for which of many directories it reads drop-ins from: a user's own, as those for all services and
/// slices would reach every group of the machine.
fn drop_ins_are_looked_for_where_systemd_looks(m: &Machine) {
    let user = m.user(LOOKED_AT);
    let process = |name: &str, more: &str| format!("[process.{name}]\nexec = \"/usr/local/bin/stand-in run\"\n{more}");
    let group = format!("{}/.config/copse/a-b-.toml", user.home());
    user.write(&group, &format!("{}{}", process("c-d", ""), process("w-x", "instances = 2\n")));
    let units = ["a-b--c-d.service", "a-b--w-x@2.service", "a-b-.target", "app-copse-a\\x2db\\x2d.slice"];
    let mut names: Vec<String> = units.iter().flat_map(|unit| drop_in_directories(unit)).collect();
    // And where it might look.
    names.extend(
        "a-b--c-.service a-b--.service a-b-.service a-b.service a-.service a.service a-b--w-x@.service \
         a-b--w-@2.service a-b--w-@.service a-b--w-.service a-b-@2.service a-b-@.service a-@2.service a-@.service \
         a-b--w-x.service a-b--c-d@.service -.service a-.target a-b.target app-.slice app.slice -.slice"
            .split_whitespace()
            .map(str::to_owned),
    );
    let directory = format!("{}/.config/systemd/user", user.home());
    for name in &names {
        // Of two files of one name only one is read: each has its own.
        user.write(&format!("{directory}/{name}.d/50-{name}.conf"), "[Unit]\nX-Looked=yes\n");
    }
    user.reload();
    for unit in units {
        // systemctl(1) quotes what holds a backslash.
        let read = user.property(unit, "DropInPaths").replace('"', "").replace(r"\\", r"\");
        let mut read: Vec<_> =
            read.split(' ').filter_map(|path| path.rsplit_once("/50-")?.1.strip_suffix(".conf")).collect();
        read.retain(|name| *name != "copse");
        read.sort_unstable();
        let mut expected = drop_in_directories(unit);
        expected.sort_unstable();
        assert_eq!(read, expected, "{unit}");
    }
    m.sh(&format!("rm -r '{directory}' '{group}'"));
    user.reload();
}
