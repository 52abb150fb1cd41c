//! `copse start`, `stop`, `restart` and their like: what happens, and what is said about it.

use std::time::{Duration, Instant};

use crate::machines::machine::Machine;
use crate::machines::scope::{Output, Scope};
use crate::situation::{Situation, situation};
use crate::stand_in;

pub const SITUATIONS: &[Situation] = &[
    situation!(a_start_says_what_becomes_of_each_unit),
    situation!(a_start_of_what_can_not_start_says_why),
    situation!(a_start_of_a_running_group_brings_back_what_failed),
    // The journal of 247 does not recover from being stopped: it stays in the way of later situations.
    situation!(a_journal_that_does_not_answer_holds_up_no_start, [V252, V257, V262]),
    situation!(a_start_says_that_systemd_has_not_read_the_file),
    situation!(a_stop_returns_when_the_last_process_is_gone),
    situation!(a_stopped_process_stays_stopped_under_traffic),
    situation!(a_reload_reaches_what_can_reload_and_restarts_nothing),
    situation!(a_signal_and_a_forgotten_failure),
    situation!(who_waits_for_a_group_learns_how_it_ended),
    situation!(on_a_terminal_a_line_for_each_unit_is_brought_up_to_date_in_place),
    situation!(a_terminal_that_is_lost_changes_nothing),
    situation!(the_journal_tells_who_restarted_what_and_why),
    situation!(whoever_may_not_is_told_so_and_nothing_happens),
    situation!(a_users_own_group),
];

pub(crate) const SOON: Duration = Duration::from_secs(20);

pub(crate) const GROUP: &str = r#"
    [process.manager]
    exec = "/usr/local/bin/stand-in notify 0.1"
    ready = "notify"
    [process.worker]
    exec = ["/usr/local/bin/stand-in", "unless", "/run/bad-worker", "notify", "0.1"]
    ready = "notify"
    after = ["manager"]
    instances = 3
    restart-sec = "100ms"
    start-limit-burst = 2
    start-limit-interval-sec = "1h"
    [process.loader]
    exec = "/usr/local/bin/stand-in run"
    start = "manual"
"#;

pub(crate) const WORKERS: [&str; 3] = ["worker@1", "worker@2", "worker@3"];

pub(crate) fn copse(m: &impl Scope, words: &[&str]) -> Output {
    m.run(&[&["copse"], words].concat())
}

/// The exit status, and what is said.
#[track_caller]
pub(crate) fn expect(output: &Output, exit: i32, said: &[&str]) {
    let all = format!("{}{}", output.stdout, output.stderr);
    assert_eq!(output.status, exit, "{all}");
    for text in said {
        assert!(all.contains(text), "`{text}` isn't in\n{all}");
    }
}

pub(crate) fn pids(m: &impl Scope, group: &str, processes: &[&str]) -> Vec<u32> {
    processes.iter().map(|process| m.pid(&format!("{group}-{process}.service"))).collect()
}

/// When a unit's main process was started, and when the unit got ready, in microseconds.
pub(crate) fn times(m: &impl Scope, unit: &str) -> (u64, u64) {
    let [started, ready] = m.properties(unit, ["ExecMainStartTimestampMonotonic", "ActiveEnterTimestampMonotonic"]);
    (started.parse().expect("a number"), ready.parse().expect("a number"))
}

fn a_start_says_what_becomes_of_each_unit(m: &Machine) {
    stand_in::install(m);
    let _group = m.group("begin", GROUP);
    expect(&copse(m, &["start", "begin"]), 0, &["start    manager   ready", "start    worker@3  ready"]);
    assert_eq!(m.property("begin.target", "ActiveState"), "active");
    expect(&copse(m, &["stop", "begin"]), 0, &["stop     worker@1  stopped"]);
    m.write("/run/bad-worker", "");
    let output = copse(m, &["start", "begin"]);
    m.remove("/run/bad-worker");
    // With the last line of its journal.
    expect(
        &output,
        1,
        &["start    manager   ready", "✗ start    worker@2  failed: exit status 1", "  worker@2: it is bad\n"],
    );
}

/// Before systemd knows of a group, and where its file is wrong: the start says what to do.
fn a_start_of_what_can_not_start_says_why(m: &Machine) {
    m.write("/etc/copse/unread.toml", "[process.a]\nexec = \"sleep infinity\"\n");
    let output = copse(m, &["start", "unread"]);
    expect(
        &output,
        1,
        &["Unit unread.target not found", "help: run `systemctl daemon-reload` if the group file is new"],
    );
    m.write("/etc/copse/unread.toml", "[process.a\n");
    m.reload();
    expect(
        &copse(m, &["start", "unread"]),
        5,
        &["group file of `unread` is invalid: /etc/copse/", "help: run `copse check unread`"],
    );
    expect(&copse(m, &["status", "unread"]), 5, &["/etc/copse/unread.toml:1:11: error[syntax]: "]);
    m.write("/etc/copse/unread.toml", "[process.a]\nexec = \"/srv/no-such-program\"\nrestart = \"no\"\n");
    m.reload();
    expect(&copse(m, &["check", "unread"]), 0, &["warning[missing]: there is no program `/srv/no-such-program`"]);
    let output = copse(m, &["start", "unread"]);
    expect(&output, 1, &["a  failed: exit status 203/EXEC"]);
    // In systemd's words, or in copse's where those got lost.
    let why =
        ["\n  a: Failed at step EXEC spawning /srv/no-such-program: No such", "\n  a: its program does not exist"];
    assert!(why.iter().any(|why| output.stdout.contains(why)), "{output:?}");
    m.remove("/etc/copse/unread.toml");
    m.reload();
}

fn a_start_of_a_running_group_brings_back_what_failed(m: &Machine) {
    stand_in::install(m);
    let group = m.group("again", GROUP);
    group.start();
    let before = pids(m, "again", &WORKERS[..2]);
    m.write("/run/bad-worker", "");
    m.systemctl(&["kill", "--signal=KILL", "again-worker@3.service"]);
    m.wait("again-worker@3.service", "ActiveState", "failed", SOON);
    expect(&copse(m, &["start", "again"]), 1, &["✗ start    worker@3  failed: exit status 1"]);
    m.remove("/run/bad-worker");
    let output = copse(m, &["start", "again"]);
    expect(&output, 0, &["start    worker@3  ready"]);
    assert!(!output.stdout.contains("worker@1"), "nothing happened to it: {}", output.stdout);
    assert_eq!(pids(m, "again", &WORKERS[..2]), before);
    expect(&copse(m, &["start", "again/loader", "again-worker@1.service"]), 0, &["start    loader  ready"]);
    assert_eq!(m.property("again-loader.service", "ActiveState"), "active");
}

fn a_journal_that_does_not_answer_holds_up_no_start(m: &Machine) {
    let _group = m.group("mute", "[process.bad]\nshell = \"exit 3\"\nready = \"oneshot\"\ninstances = 2\n");
    m.systemctl(&["kill", "--signal=STOP", "systemd-journald.service"]);
    let begin = Instant::now();
    let output = copse(m, &["start", "mute"]);
    let took = begin.elapsed();
    m.systemctl(&["kill", "--signal=CONT", "systemd-journald.service"]);
    expect(&output, 1, &["✗ start    bad@1  failed: exit status 3", "✗ start    bad@2  failed: exit status 3"]);
    assert!(took < Duration::from_secs(10), "{took:?} {output:?}");
}

fn a_start_says_that_systemd_has_not_read_the_file(m: &Machine) {
    stand_in::install(m);
    let file = |value: u32| {
        format!("[process.a]\nexec = \"/usr/local/bin/stand-in run\"\nenvironment = {{ VALUE = \"{value}\" }}\n")
    };
    let group = m.group("unread", &file(1));
    group.start();
    assert_eq!(copse(m, &["restart", "unread"]).stderr, "");
    m.write(&group.file(), &file(2));
    // systemd goes by the time of the change, which may be the same as before within a tick.
    m.sh("touch -d '+2 seconds' /etc/copse/unread.toml");
    for verb in ["start", "restart"] {
        let said = "group file of `unread` changed on disk, using the units that are loaded";
        let help = "help: run `systemctl daemon-reload`, or `copse apply unread`";
        expect(&copse(m, &[verb, "unread"]), 0, &[said, help]);
    }
    expect(&copse(m, &["apply", "unread"]), 0, &[]);
    assert_eq!(copse(m, &["restart", "unread"]).stderr, "");
}

fn a_stop_returns_when_the_last_process_is_gone(m: &Machine) {
    stand_in::install(m);
    let group = m.group(
        "slow",
        r#"
        [process.quick]
        exec = "/usr/local/bin/stand-in run"
        [process.firm]
        exec = "/usr/local/bin/stand-in stubborn"
        ready = "notify"
        timeout-stop-sec = "700ms"
        [process.nightly]
        exec = "/usr/local/bin/stand-in run"
        on-calendar = "2099-01-01"
        "#,
    );
    group.start();
    m.systemctl(&["start", "--no-block", "slow-nightly.service"]);
    let output = copse(m, &["stop", "slow"]);
    for unit in ["slow-quick.service", "slow-firm.service", "slow-nightly.timer", "slow.target"] {
        assert!(["inactive", "failed"].contains(&&*m.property(unit, "ActiveState")), "{unit}");
    }
    expect(
        &output,
        0,
        &[
            "firm",
            "stopped, failed on the way",
            "nightly was started by its timer and keeps running; `copse stop slow/nightly` stops it",
        ],
    );
    expect(&copse(m, &["stop", "slow/nightly"]), 0, &["stop"]);
    assert_eq!(m.property("slow-nightly.service", "MainPID"), "0");
}

fn a_stopped_process_stays_stopped_under_traffic(m: &Machine) {
    crate::sockets::install(m);
    let group = m.group(
        "busy",
        r#"
        [process.web]
        exec = ["/usr/local/bin/serve", "it"]
        ready = "notify"
        listen = "tcp:127.0.0.1:9011"
        [process.pool]
        exec = ["/usr/local/bin/serve", "{instance}"]
        ready = "notify"
        listen = "tcp:127.0.0.1:9012"
        non-blocking = true
        instances = 2
        "#,
    );
    group.start();
    let client = crate::sockets::asking(m, "9011");
    expect(&copse(m, &["stop", "busy/web"]), 0, &["web.socket", "stopped"]);
    m.write("/run/enough", "");
    client.finish(SOON);
    for unit in ["busy-web.service", "busy-web.socket"] {
        assert_eq!(m.property(unit, "ActiveState"), "inactive", "{unit}");
    }
    // Of instances that share a socket one stays down while the other serves.
    m.remove("/run/enough");
    let client = crate::sockets::asking(m, "9012");
    expect(&copse(m, &["stop", "busy/pool@1"]), 0, &["pool@1  stopped"]);
    m.write("/run/enough", "");
    let output = client.finish(SOON);
    assert!(output.stdout.contains("refused=0 empty=0"), "{}", output.stdout);
    assert_eq!(m.property("busy-pool@1.service", "ActiveState"), "inactive");
    let said = "pool.socket is still listening: a connection starts busy/pool@2 again";
    expect(&copse(m, &["stop", "busy/pool@2"]), 0, &[said]);
    assert_eq!(m.property("busy-pool.socket", "ActiveState"), "active");
}

fn a_reload_reaches_what_can_reload_and_restarts_nothing(m: &Machine) {
    stand_in::install(m);
    let group = m.group(
        "fresh",
        r#"
        [setup.step]
        exec = ["/bin/sh", "-c", "echo ran >> /run/fresh-step"]
        [process.able]
        exec = "/usr/local/bin/stand-in run"
        exec-reload = ["/bin/sh", "-c", "echo reloaded >> /run/fresh-able"]
        [process.unable]
        exec = "/usr/local/bin/stand-in run"
        "#,
    );
    m.remove("/run/fresh-step");
    m.remove("/run/fresh-able");
    group.start();
    let before = pids(m, "fresh", &["able", "unable"]);
    expect(
        &copse(m, &["reload", "fresh"]),
        0,
        &["reload   able", "reloaded", "not reloaded, without `exec-reload`: unable"],
    );
    expect(&copse(m, &["reload", "fresh/step"]), 0, &["reload   step"]);
    expect(&copse(m, &["reload", "fresh/unable"]), 1, &["cannot reload unable: there is no `exec-reload`"]);
    assert_eq!((m.read("/run/fresh-able").as_str(), m.read("/run/fresh-step").as_str()), ("reloaded\n", "ran\nran\n"));
    assert_eq!(pids(m, "fresh", &["able", "unable"]), before);
    m.remove("/run/fresh-step");
    m.remove("/run/fresh-able");
}

fn a_signal_and_a_forgotten_failure(m: &Machine) {
    stand_in::install(m);
    let group = m.group("sign", GROUP);
    group.start();
    m.write("/run/bad-worker", "");
    expect(&copse(m, &["kill", "-s", "SIGKILL", "sign/worker@1"]), 0, &["kill     worker@1  sent SIGKILL"]);
    m.wait("sign-worker@1.service", "ActiveState", "failed", SOON);
    m.remove("/run/bad-worker");
    expect(&copse(m, &["kill", "sign/worker@1"]), 3, &["`sign/worker@1` has no running process"]);
    expect(&copse(m, &["kill", "-s", "NONE", "sign"]), 2, &["there is no signal `NONE`"]);
    expect(&copse(m, &["reset-failed", "sign"]), 0, &["reset    worker@1 ", "failure reset"]);
    assert_eq!(m.property("sign-worker@1.service", "ActiveState"), "inactive");
}

fn who_waits_for_a_group_learns_how_it_ended(m: &Machine) {
    stand_in::install(m);
    let group = m.group("await", &GROUP.replace("notify 0.1\"", "notify 1\""));
    m.systemctl(&["start", "--no-block", "await.target"]);
    expect(&copse(m, &["wait", "--timeout=1ms", "await"]), 9, &["await is starting"]);
    expect(&copse(m, &["wait", "await"]), 0, &[]);
    assert_eq!(m.property("await.target", "ActiveState"), "active");
    m.systemctl(&["stop", "--no-block", "await.target"]);
    expect(&copse(m, &["wait", "await"]), 3, &["await is stopped"]);
    expect(&copse(m, &["wait", "nothing"]), 4, &["there is no group `nothing`"]);
    m.write("/run/bad-worker", "");
    m.systemctl(&["start", "--no-block", "await.target"]);
    let output = copse(m, &["wait", "await"]);
    m.remove("/run/bad-worker");
    expect(&output, 1, &["await is failed: worker@1"]);
    drop(group);
}

fn on_a_terminal_a_line_for_each_unit_is_brought_up_to_date_in_place(m: &Machine) {
    stand_in::install(m);
    let group = m.group("screen", GROUP);
    group.start();
    let script = "import pty; pty.spawn(['sh', '-c', 'stty cols 60; TERM=xterm copse restart screen/worker'])";
    let shown = m.ok(&["python3", "-c", script]);
    assert!(shown.contains("\u{21bb} restart  worker@1  0") && shown.contains("\u{1b}[A\u{1b}[2K"), "{shown:?}");
    // What is left when it is over: what was drawn last and isn't cleared again.
    let last = shown.rsplit("\u{1b}[2K").next().unwrap_or_default();
    assert!(last.contains("restart  worker@3  ready") && !last.contains('\u{21bb}'), "{shown:?}");
}

fn a_terminal_that_is_lost_changes_nothing(m: &Machine) {
    stand_in::install(m);
    let group = m.group("line", GROUP);
    group.start();
    let before = pids(m, "line", &WORKERS);
    // The terminal goes away after the first line: SIGHUP, and from then on nothing can be written.
    let script = "import os, pty\npid, fd = pty.fork()\nif pid == 0: os.execlp('copse', 'copse', 'restart', 'line/worker')\n\
                  os.read(fd, 100); os.close(fd)\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))";
    assert_eq!(m.ok(&["python3", "-c", script]), "0");
    assert!(pids(m, "line", &WORKERS).iter().zip(&before).all(|(now, before)| now != before));
}

fn the_journal_tells_who_restarted_what_and_why(m: &Machine) {
    stand_in::install(m);
    let group = m.group("record", GROUP);
    group.start();
    expect(&copse(m, &["restart", "record/worker@2"]), 0, &["worker@2  ready"]);
    let told = m.journal(&["COPSE_GROUP=record", "COPSE_UNIT=record-worker@2.service", "_UID=0"]);
    assert_eq!(told, "restart worker@2: ready (requested; by root)");
    let logs = copse(m, &["logs", "record"]).stdout;
    assert!(logs.contains("worker@2    | copse: restart worker@2: ready"), "copse logs shows it as well: {logs}");
}

fn whoever_may_not_is_told_so_and_nothing_happens(m: &Machine) {
    stand_in::install(m);
    let group = m.group("mine", GROUP);
    group.start();
    let before = pids(m, "mine", &WORKERS);
    let mut nobody = vec!["setpriv", "--reuid=2001", "--regid=2001", "--clear-groups", "copse"];
    let program = nobody.len();
    for words in [
        &["stop", "mine"][..],
        &["start", "mine/loader"],
        &["restart", "mine"],
        &["kill", "mine"],
        &["stop", "mine/worker@1"],
    ] {
        nobody.truncate(program);
        nobody.extend(words);
        expect(
            &m.run(&nobody),
            77,
            &["not allowed to change `mine", "help: run it as root, or allow it by a polkit rule"],
        );
    }
    assert_eq!(pids(m, "mine", &WORKERS), before);
    assert_eq!(m.property("mine-loader.service", "ActiveState"), "inactive");
}

fn a_users_own_group(m: &Machine) {
    stand_in::install(m);
    let user = m.user(2001);
    user.write(&format!("{}/.config/copse/own.toml", user.home()), GROUP);
    user.reload();
    expect(&copse(&user, &["--user", "start", "own"]), 0, &["start    worker@3  ready"]);
    let before = pids(&user, "own", &WORKERS);
    expect(&copse(&user, &["--user", "restart", "own/worker"]), 0, &["worker@3  ready"]);
    assert!(pids(&user, "own", &WORKERS).iter().zip(&before).all(|(now, before)| now != before));
    expect(&copse(&user, &["--user", "stop", "own"]), 0, &["stop     worker@1  stopped"]);
    m.remove(&format!("{}/.config/copse", user.home()));
    user.reload();
}
