//! `copse start`, `stop`, `restart` and their like: what happens, and what is said about it.

use std::time::{Duration, Instant};

use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::situation::{Situation, situation};

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

pub(crate) fn pids(m: &impl Scope, group: &str, processes: &[&str]) -> Vec<u32> {
    processes.iter().map(|process| m.pid(&format!("{group}-{process}.service"))).collect()
}

/// When a unit's main process was started, and when the unit got ready, in microseconds.
pub(crate) fn times(m: &impl Scope, unit: &str) -> (u64, u64) {
    let [started, ready] = m.properties(unit, ["ExecMainStartTimestampMonotonic", "ActiveEnterTimestampMonotonic"]);
    (started.parse().expect("a number"), ready.parse().expect("a number"))
}

fn a_start_says_what_becomes_of_each_unit(m: &Machine) {
    let _group = m.group("begin", GROUP);
    m.copse(&["start", "begin"]).expect(0, &["start    manager   ready", "start    worker@3  ready"]);
    assert_eq!(m.state("begin.target"), "active");
    m.copse(&["stop", "begin"]).expect(0, &["stop     worker@1  stopped"]);
    m.write("/run/bad-worker", "");
    let output = m.copse(&["start", "begin"]);
    m.remove("/run/bad-worker");
    // With the last line of its journal.
    output.expect(
        1,
        &["start    manager   ready", "✗ start    worker@2  failed: exit status 1", "  worker@2: it is bad\n"],
    );
}

/// Before systemd knows of a group, and where its file is wrong: the start says what to do.
fn a_start_of_what_can_not_start_says_why(m: &Machine) {
    m.write("/etc/copse/unread.toml", "[process.a]\nexec = \"sleep infinity\"\n");
    let output = m.copse(&["start", "unread"]);
    output.expect(1, &["Unit unread.target not found", "help: run `systemctl daemon-reload` if the group file is new"]);
    m.write("/etc/copse/unread.toml", "[process.a\n");
    m.reload();
    m.copse(&["start", "unread"])
        .expect(5, &["group file of `unread` is invalid: /etc/copse/", "help: run `copse check unread`"]);
    m.copse(&["status", "unread"]).expect(5, &["/etc/copse/unread.toml:1:11: error[syntax]: "]);
    m.write("/etc/copse/unread.toml", "[process.a]\nexec = \"/srv/no-such-program\"\nrestart = \"no\"\n");
    m.reload();
    m.copse(&["check", "unread"]).expect(0, &["warning[missing]: there is no program `/srv/no-such-program`"]);
    let output = m.copse(&["start", "unread"]);
    output.expect(1, &["a  failed: exit status 203/EXEC"]);
    // In systemd's words, or in copse's where those got lost.
    let why =
        ["\n  a: Failed at step EXEC spawning /srv/no-such-program: No such", "\n  a: its program does not exist"];
    assert!(why.iter().any(|why| output.stdout.contains(why)), "{output:?}");
    m.remove("/etc/copse/unread.toml");
    m.reload();
}

fn a_start_of_a_running_group_brings_back_what_failed(m: &Machine) {
    let _group = m.start_group("again", GROUP);
    let before = pids(m, "again", &WORKERS[..2]);
    m.write("/run/bad-worker", "");
    m.systemctl(&["kill", "--signal=KILL", "again-worker@3.service"]);
    m.wait_for_state("again-worker@3.service", "failed");
    m.copse(&["start", "again"]).expect(1, &["✗ start    worker@3  failed: exit status 1"]);
    m.remove("/run/bad-worker");
    let output = m.copse(&["start", "again"]);
    output.expect(0, &["start    worker@3  ready"]);
    assert!(!output.stdout.contains("worker@1"), "nothing happened to it: {}", output.stdout);
    assert_eq!(pids(m, "again", &WORKERS[..2]), before);
    m.copse(&["start", "again/loader", "again-worker@1.service"]).expect(0, &["start    loader  ready"]);
    assert_eq!(m.state("again-loader.service"), "active");
}

fn a_journal_that_does_not_answer_holds_up_no_start(m: &Machine) {
    let _group = m.group("mute", "[process.bad]\nshell = \"exit 3\"\nready = \"oneshot\"\ninstances = 2\n");
    m.systemctl(&["kill", "--signal=STOP", "systemd-journald.service"]);
    let begin = Instant::now();
    let output = m.copse(&["start", "mute"]);
    let took = begin.elapsed();
    m.systemctl(&["kill", "--signal=CONT", "systemd-journald.service"]);
    output.expect(1, &["✗ start    bad@1  failed: exit status 3", "✗ start    bad@2  failed: exit status 3"]);
    assert!(took < Duration::from_secs(10), "{took:?} {output:?}");
}

fn a_start_says_that_systemd_has_not_read_the_file(m: &Machine) {
    let file = |value: u32| {
        format!("[process.a]\nexec = \"/usr/local/bin/stand-in run\"\nenvironment = {{ VALUE = \"{value}\" }}\n")
    };
    let group = m.start_group("unread", &file(1));
    assert_eq!(m.copse(&["restart", "unread"]).stderr, "");
    m.write(&group.file(), &file(2));
    // systemd goes by the time of the change, which may be the same as before within a tick.
    m.sh("touch -d '+2 seconds' /etc/copse/unread.toml");
    for verb in ["start", "restart"] {
        let said = "group file of `unread` changed on disk, using the units that are loaded";
        let help = "help: run `systemctl daemon-reload`, or `copse apply unread`";
        m.copse(&[verb, "unread"]).expect(0, &[said, help]);
    }
    m.copse(&["apply", "unread"]).expect(0, &[]);
    assert_eq!(m.copse(&["restart", "unread"]).stderr, "");
}

fn a_stop_returns_when_the_last_process_is_gone(m: &Machine) {
    let _group = m.start_group(
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
    m.systemctl(&["start", "--no-block", "slow-nightly.service"]);
    let output = m.copse(&["stop", "slow"]);
    for unit in ["slow-quick.service", "slow-firm.service", "slow-nightly.timer", "slow.target"] {
        assert!(["inactive", "failed"].contains(&&*m.state(unit)), "{unit}");
    }
    output.expect(
        0,
        &[
            "firm",
            "stopped, failed on the way",
            "nightly was started by its timer and keeps running; `copse stop slow/nightly` stops it",
        ],
    );
    m.copse(&["stop", "slow/nightly"]).expect(0, &["stop"]);
    assert_eq!(m.property("slow-nightly.service", "MainPID"), "0");
}

fn a_stopped_process_stays_stopped_under_traffic(m: &Machine) {
    crate::sockets::install(m);
    let _group = m.start_group(
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
    let client = crate::sockets::asking(m, "9011");
    m.copse(&["stop", "busy/web"]).expect(0, &["web.socket", "stopped"]);
    m.write("/run/enough", "");
    client.finish();
    m.assert_state(&["busy-web.service", "busy-web.socket"], "inactive");
    // Of instances that share a socket one stays down while the other serves.
    m.remove("/run/enough");
    let client = crate::sockets::asking(m, "9012");
    m.copse(&["stop", "busy/pool@1"]).expect(0, &["pool@1  stopped"]);
    m.write("/run/enough", "");
    let output = client.finish();
    assert!(output.stdout.contains("refused=0 empty=0"), "{}", output.stdout);
    assert_eq!(m.state("busy-pool@1.service"), "inactive");
    let said = "pool.socket is still listening: a connection starts busy/pool@2 again";
    m.copse(&["stop", "busy/pool@2"]).expect(0, &[said]);
    assert_eq!(m.state("busy-pool.socket"), "active");
}

fn a_reload_reaches_what_can_reload_and_restarts_nothing(m: &Machine) {
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
    m.copse(&["reload", "fresh"])
        .expect(0, &["reload   able", "reloaded", "not reloaded, without `exec-reload`: unable"]);
    m.copse(&["reload", "fresh/step"]).expect(0, &["reload   step"]);
    m.copse(&["reload", "fresh/unable"]).expect(1, &["cannot reload unable: there is no `exec-reload`"]);
    assert_eq!((m.read("/run/fresh-able").as_str(), m.read("/run/fresh-step").as_str()), ("reloaded\n", "ran\nran\n"));
    assert_eq!(pids(m, "fresh", &["able", "unable"]), before);
    m.remove("/run/fresh-step");
    m.remove("/run/fresh-able");
}

fn a_signal_and_a_forgotten_failure(m: &Machine) {
    let _group = m.start_group("sign", GROUP);
    m.write("/run/bad-worker", "");
    m.copse(&["kill", "-s", "SIGKILL", "sign/worker@1"]).expect(0, &["kill     worker@1  sent SIGKILL"]);
    m.wait_for_state("sign-worker@1.service", "failed");
    m.remove("/run/bad-worker");
    m.copse(&["kill", "sign/worker@1"]).expect(3, &["`sign/worker@1` has no running process"]);
    m.copse(&["kill", "-s", "NONE", "sign"]).expect(2, &["there is no signal `NONE`"]);
    m.copse(&["reset-failed", "sign"]).expect(0, &["reset    worker@1 ", "failure reset"]);
    assert_eq!(m.state("sign-worker@1.service"), "inactive");
}

fn who_waits_for_a_group_learns_how_it_ended(m: &Machine) {
    m.remove("/run/await-go");
    let group = m.group("await", &GROUP.replace("notify 0.1\"", "await /run/await-go\""));
    m.systemctl(&["start", "--no-block", "await.target"]);
    m.copse(&["wait", "--timeout=1ms", "await"]).expect(9, &["await is starting"]);
    m.write("/run/await-go", "");
    m.copse(&["wait", "await"]).expect(0, &[]);
    assert_eq!(m.state("await.target"), "active");
    m.systemctl(&["stop", "--no-block", "await.target"]);
    m.copse(&["wait", "await"]).expect(3, &["await is stopped"]);
    m.copse(&["wait", "nothing"]).expect(4, &["there is no group `nothing`"]);
    m.write("/run/bad-worker", "");
    m.systemctl(&["start", "--no-block", "await.target"]);
    let output = m.copse(&["wait", "await"]);
    m.remove("/run/bad-worker");
    output.expect(1, &["await is failed: worker@1"]);
    drop(group);
}

fn on_a_terminal_a_line_for_each_unit_is_brought_up_to_date_in_place(m: &Machine) {
    let _group = m.start_group("screen", GROUP);
    let script = "import pty; pty.spawn(['sh', '-c', 'stty cols 60; TERM=xterm copse restart screen/worker'])";
    let shown = m.ok(&["python3", "-c", script]);
    assert!(shown.contains("\u{21bb} restart  worker@1  0") && shown.contains("\u{1b}[A\u{1b}[2K"), "{shown:?}");
    // What is left when it is over: what was drawn last and isn't cleared again.
    let last = shown.rsplit("\u{1b}[2K").next().unwrap_or_default();
    assert!(last.contains("restart  worker@3  ready") && !last.contains('\u{21bb}'), "{shown:?}");
}

fn a_terminal_that_is_lost_changes_nothing(m: &Machine) {
    let _group = m.start_group("line", GROUP);
    let before = pids(m, "line", &WORKERS);
    // The terminal goes away after the first line: SIGHUP, and from then on nothing can be written.
    let script = "import os, pty\npid, fd = pty.fork()\nif pid == 0: os.execlp('copse', 'copse', 'restart', 'line/worker')\n\
                  os.read(fd, 100); os.close(fd)\nprint(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))";
    assert_eq!(m.ok(&["python3", "-c", script]), "0");
    assert!(pids(m, "line", &WORKERS).iter().zip(&before).all(|(now, before)| now != before));
}

fn the_journal_tells_who_restarted_what_and_why(m: &Machine) {
    let _group = m.start_group("record", GROUP);
    m.copse(&["restart", "record/worker@2"]).expect(0, &["worker@2  ready"]);
    let told = m.journal(&["COPSE_GROUP=record", "COPSE_UNIT=record-worker@2.service", "_UID=0"]);
    assert_eq!(told, "restart worker@2: ready (requested; by root)");
    let logs = m.copse(&["logs", "record"]).stdout;
    assert!(logs.contains("worker@2    | copse: restart worker@2: ready"), "copse logs shows it as well: {logs}");
}

fn whoever_may_not_is_told_so_and_nothing_happens(m: &Machine) {
    let _group = m.start_group("mine", GROUP);
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
        m.run(&nobody)
            .expect(77, &["not allowed to change `mine", "help: run it as root, or allow it by a polkit rule"]);
    }
    assert_eq!(pids(m, "mine", &WORKERS), before);
    assert_eq!(m.state("mine-loader.service"), "inactive");
}

fn a_users_own_group(m: &Machine) {
    let user = m.user(2001);
    user.write(&format!("{}/.config/copse/own.toml", user.home()), GROUP);
    user.reload();
    user.copse(&["--user", "start", "own"]).expect(0, &["start    worker@3  ready"]);
    let before = pids(&user, "own", &WORKERS);
    user.copse(&["--user", "restart", "own/worker"]).expect(0, &["worker@3  ready"]);
    assert!(pids(&user, "own", &WORKERS).iter().zip(&before).all(|(now, before)| now != before));
    user.copse(&["--user", "stop", "own"]).expect(0, &["stop     worker@1  stopped"]);
    m.remove(&format!("{}/.config/copse", user.home()));
    user.reload();
}
