//! How a run ends that doesn't end by itself: by the terminal, by force, by nobody.

use super::{Run, all_left, leaves_nothing, state};
use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(ctrl_c_on_a_terminal_stops_the_run_and_shows_the_last_words),
    situation!(a_second_ctrl_c_kills_what_does_not_stop),
    situation!(a_run_that_is_killed_is_cleared_up_after),
    situation!(a_users_run_that_is_killed_is_cleared_up_after),
    situation!(a_run_whose_keeper_is_killed_as_well_is_cleared_up_after),
    situation!(the_next_run_clears_up_after_one_that_nobody_kept),
    situation!(a_reader_that_goes_away_ends_the_run),
    situation!(a_manager_that_re_executes_itself_meanwhile_ends_nothing),
];

/// Runs a command on a terminal of its own, presses Ctrl-C when it has shown a text, and prints what was on the screen
/// and how it ended.
const TERMINAL: &str = r#"#!/usr/bin/python3 -S
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
screen, pressed = b"", False
while True:
    try:
        chunk = os.read(terminal, 4096)
    except OSError:
        break
    if not chunk:
        break
    screen += chunk
    if not pressed and sys.argv[1].encode() in screen:
        pressed = os.write(terminal, b"\x03") == 1
sys.stdout.write(screen.decode(errors="replace"))
print("status", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"#;

const LAST_WORDS: &str = "a: trap 'echo last words; exit 0' TERM; echo up; while :; do sleep 0.1; done\n";

fn ctrl_c_on_a_terminal_stops_the_run_and_shows_the_last_words(m: &Machine) {
    m.write_program("/usr/local/bin/on-terminal", TERMINAL);
    m.write("/srv/term/Procfile", LAST_WORDS);
    let shown =
        m.ok(&["env", "TERM=xterm", "on-terminal", "| up", "copse", "run", "/srv/term/Procfile", "--color=never"]);
    assert!(shown.contains("| up") && shown.contains("copse: Ctrl-C: stopping"), "{shown}");
    assert!(shown.contains("| last words") && shown.contains("status 0"), "{shown}");
    // Colours are for terminals.
    let shown = m.ok(&["env", "TERM=xterm", "on-terminal", " up", "copse", "run", "/srv/term/Procfile"]);
    assert!(shown.contains("\u{1b}[36m") && shown.contains("status 0"), "{shown:?}");
    let shown = m.ok(&["env", "TERM=xterm", "NO_COLOR=1", "on-terminal", " up", "copse", "run", "/srv/term/Procfile"]);
    assert!(!shown.contains('\u{1b}') && shown.contains("status 0"), "{shown:?}");
    assert_eq!(m.sh("ls /run/copse/run; ls /run/copse | grep run- || true"), "");
}

fn a_second_ctrl_c_kills_what_does_not_stop(m: &Machine) {
    m.write("/srv/deaf/deaf.toml", "[process.a]\nshell = \"trap '' TERM; echo up; while :; do sleep 0.1; done\"\n");
    let run = Run::ready(m, &["copse", "run", "/srv/deaf/deaf.toml"]);
    run.sees("| up");
    let group = run.group.clone();
    run.signal("INT");
    run.sees("copse: Ctrl-C: stopping");
    // It would have a minute and a half.
    m.wait_for_state(&run.unit("-a.service"), "deactivating");
    run.signal("INT");
    let (status, shown) = run.end();
    assert_eq!(status, 0, "{shown}");
    assert!(shown.contains("copse: Ctrl-C again: killing what still runs"), "{shown}");
    all_left(m, &group);
}

fn a_run_that_is_killed_is_cleared_up_after(m: &Machine) {
    killed(m, "/srv/killed/Procfile");
}

fn a_users_run_that_is_killed_is_cleared_up_after(m: &Machine) {
    let user = m.user(2001);
    killed(&user, &format!("{}/killed/Procfile", user.home()));
}

#[track_caller]
fn killed(scope: &impl Scope, path: &str) {
    scope.machine().write(
        path,
        "a: trap ': >/tmp/run-stopped-well; exit 0' TERM; while :; do sleep 0.1; done\nb: sleep infinity\n",
    );
    let run = Run::ready(scope, &["copse", "run", path]);
    let group = run.group.clone();
    run.signal("KILL");
    drop(run);
    leaves_nothing(scope, &group);
    // They were asked to stop, not killed.
    assert!(scope.machine().exists("/tmp/run-stopped-well"));
    scope.machine().remove("/tmp/run-stopped-well");
}

fn a_run_whose_keeper_is_killed_as_well_is_cleared_up_after(m: &Machine) {
    m.write("/srv/alone/Procfile", "a: sleep infinity\n");
    let run = Run::ready(m, &["copse", "run", "/srv/alone/Procfile"]);
    let group = run.group.clone();
    let keeper = m.pid(&format!("copse-run@{group}.service")).to_string();
    m.ok(&["kill", "-s", "KILL", &keeper, &run.pid()]);
    leaves_nothing(m, &group);
}

fn the_next_run_clears_up_after_one_that_nobody_kept(m: &Machine) {
    // As a power cut of the mind leaves it: files and a running unit, and no keeper.
    let (group, state) = ("run-lost-1", state(m));
    m.write(&format!("{state}/run/{group}/caller"), "4194304 17\n");
    m.write(&format!("{state}/run/{group}/files/group"), "[process.a]\nexec = \"/bin/sleep infinity\"\n");
    m.ok(&["ln", &format!("{state}/run/{group}/files/group"), &format!("{state}/{group}.toml")]);
    m.reload();
    m.systemctl(&["start", &format!("{group}.target")]);
    m.write("/srv/next/Procfile", "a: true\n");
    let output = m.copse(&["run", "/srv/next/Procfile"]);
    assert_eq!(output.status, 0, "{}{}", output.stdout, output.stderr);
    leaves_nothing(m, group);
}

fn a_reader_that_goes_away_ends_the_run(m: &Machine) {
    m.write("/srv/pipe/Procfile", "a: while :; do echo still here; sleep 0.05; done\n");
    let shown = m.sh("copse run /srv/pipe/Procfile | head -n 5");
    let group = shown.split_whitespace().nth(1).expect("the group's name").to_owned();
    leaves_nothing(m, &group);
}

fn a_manager_that_re_executes_itself_meanwhile_ends_nothing(m: &Machine) {
    m.write("/srv/again/Procfile", "a: sleep infinity\nb: while ! test -e /tmp/run-go; do sleep 0.1; done; exit 6\n");
    let run = Run::ready(m, &["copse", "run", "/srv/again/Procfile"]);
    let group = run.group.clone();
    let pid = m.pid(&run.unit("-a.service"));
    m.systemctl(&["daemon-reexec"]);
    m.wait_until("the manager is back", || m.try_systemctl(&["show", "--property=Version"]).status == 0);
    assert_eq!(m.pid(&run.unit("-a.service")), pid);
    m.write("/tmp/run-go", "");
    let (status, shown) = run.end();
    m.remove("/tmp/run-go");
    assert_eq!(status, 6, "{shown}");
    all_left(m, &group);
}
