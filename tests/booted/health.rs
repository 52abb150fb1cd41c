//! Health by probe: who is restarted, who isn't, and when the watcher goes; and setup steps fenced in.

use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::served;
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(a_hung_database_is_restarted_and_its_siblings_are_left_alone),
    situation!(health_is_looked_after_while_a_unit_reloads),
    situation!(a_process_that_takes_its_time_to_stop_is_not_taken_for_hung),
    situation!(the_watcher_goes_with_its_process),
    situation!(a_setup_step_in_a_strict_sandbox_of_another_user_keeps_its_stamp),
];

/// All processes of a unit.
fn processes(m: &Machine, unit: &str) -> Vec<String> {
    let group = m.property(unit, "ControlGroup");
    let script = format!("cat '/sys/fs/cgroup{group}/cgroup.procs' 2>/dev/null || true");
    if group.is_empty() { Vec::new() } else { m.sh(&script).lines().map(str::to_owned).collect() }
}

fn a_hung_database_is_restarted_and_its_siblings_are_left_alone(m: &Machine) {
    let _group = m.start_group(
        "ailing",
        r#"
        [process.redis]
        exec = "redis-server --port 8350 --dir {runtime-directory}"
        runtime-directory = "ailing"
        ready = { tcp = "127.0.0.1:8350" }
        health = { command = ["redis-cli", "-p", "8350", "ping"], interval-sec = "2s", failures = 2 }
        restart-sec = "100ms"
        user = "nobody"
        hardening = "strict"
        [process.web]
        exec = "/bin/sleep infinity"
        after = ["redis"]
        "#,
    );
    let redis = "ailing-redis.service";
    let [hung, web] = [redis, "ailing-web.service"].map(|unit| m.pid(unit));
    assert_eq!(processes(m, redis).len(), 2, "the program, and the watcher beside it");
    m.systemctl(&["kill", "--kill-who=main", "--signal=STOP", redis]);
    m.wait(redis, "NRestarts", "1");
    m.wait_for_state(redis, "active");
    assert_ne!(m.pid(redis), hung);
    assert_eq!(m.pid("ailing-web.service"), web);
    assert_eq!(m.ok(&["redis-cli", "-p", "8350", "ping"]), "PONG");
    let journal = m.journal(&["-u", redis]);
    assert!(journal.contains("Watchdog timeout"), "{journal}");
    let why =
        "not healthy, no `WATCHDOG=1` until it is: command redis-cli -p 8350 ping: no answer in time (2 in a row)";
    assert!(journal.contains(why), "{journal}");
}

fn health_is_looked_after_while_a_unit_reloads(m: &Machine) {
    served::install(m);
    // One whose ExecReload= takes long, and one that reloads by itself and says so.
    let _group = m.start_group(
        "reloading",
        r#"
        [defaults]
        health = { tcp = "127.0.0.1:8352", interval-sec = "1s", failures = 2 }
        restart = "no"
        [process.told]
        exec = ["/usr/local/bin/server", "late", "tcp", "8352"]
        ready = { tcp = "127.0.0.1:8352" }
        exec-reload = ["/bin/sh", "-c", "until [ -e /run/reloaded ]; do sleep 0.1; done"]
        [process.tells]
        shell = '''
        trap 'copse-notify send --reloading; until [ -e /run/reloaded ]; do sleep 0.1; done; copse-notify send --ready' HUP
        copse-notify send --ready
        while :; do sleep 0.1; done
        '''
        ready = "notify"
        after = ["told"]
        exec-reload = ["/bin/kill", "-HUP", "{env:MAINPID}"]
        "#,
    );
    for unit in ["reloading-told.service", "reloading-tells.service"] {
        let pid = m.pid(unit);
        m.remove("/run/reloaded");
        m.systemctl(&["reload", "--no-block", unit]);
        m.wait_for_state(unit, "reloading");
        let ping = || -> u64 { m.property(unit, "WatchdogTimestampMonotonic").parse().expect("a number") };
        let began = ping();
        // For longer than the watchdog's time (3 × the interval) would let it live without.
        m.wait_until("it was pinged for four seconds", || ping() > began + 4_000_000);
        assert_eq!(m.state(unit), "reloading", "{unit}");
        m.write("/run/reloaded", "");
        m.wait_for_state(unit, "active");
        assert_eq!(m.pid(unit), pid, "{unit}");
    }
}

/// Goes on serving for a second after it was asked to stop, then only ends what it has, for longer than the watchdog
/// would wait.
const DRAINING: &str = r#"#!/usr/bin/python3 -S
import os, signal, socket, sys, time
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(time.monotonic()))
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", int(sys.argv[1])))
s.listen(64)
s.settimeout(0.1)
while not (stop or os.path.exists(sys.argv[2])) or time.monotonic() < (stop or [0])[0] + 1.2:
    try:
        s.accept()[0].close()
    except OSError:
        pass
s.close()
time.sleep(0 if os.path.exists(sys.argv[2]) else 5)
while not stop:
    time.sleep(0.05)
print("ended in order", flush=True)
"#;

fn a_process_that_takes_its_time_to_stop_is_not_taken_for_hung(m: &Machine) {
    m.write_program("/usr/local/bin/draining", DRAINING);
    m.remove("/run/drain");
    // The watcher isn't told of the stop by a signal: `mixed` and `process` reach the main process only, and exec-stop
    // comes before any.
    let group = m.start_group(
        "draining",
        r#"
        [defaults]
        ready = { tcp = "127.0.0.1:{env:PORT}" }
        health = { tcp = "127.0.0.1:{env:PORT}", interval-sec = "1s", failures = 1 }
        [process.mixed]
        exec = "/usr/local/bin/draining {env:PORT} /run/none"
        kill-mode = "mixed"
        environment = { PORT = "8360" }
        [process.group]
        exec = "/usr/local/bin/draining {env:PORT} /run/none"
        environment = { PORT = "8361" }
        [process.command]
        exec = "/usr/local/bin/draining {env:PORT} /run/drain"
        exec-stop = ["/bin/sh", "-c", "sleep 1.2; touch /run/drain; sleep 5"]
        environment = { PORT = "8362" }
        "#,
    );
    group.stop();
    for unit in ["draining-mixed.service", "draining-group.service", "draining-command.service"] {
        m.wait_until(&format!("{unit} has ended"), || ["inactive", "failed"].contains(&m.state(unit).as_str()));
        let [state, result] = m.properties(unit, ["ActiveState", "Result"]);
        let account = m.account_of(&[unit]);
        assert_eq!((state.as_str(), result.as_str()), ("inactive", "success"), "{unit}\n{account}");
        assert!(m.journal(&[&format!("_SYSTEMD_UNIT={unit}")]).contains("ended in order"), "{unit}\n{account}");
    }
}

fn the_watcher_goes_with_its_process(m: &Machine) {
    served::install(m);
    // systemd leaves alone what isn't the main process, so the watcher goes by itself or stays.
    let _group = m.start_group(
        "left",
        r#"
        [process.p]
        exec = ["/usr/local/bin/server", "late", "tcp", "8370"]
        health = { tcp = "127.0.0.1:8370", interval-sec = "10s" }
        kill-mode = "process"
        restart = "no"
        "#,
    );
    let all = processes(m, "left-p.service");
    assert_eq!(all.len(), 2, "the program, and the watcher beside it");
    m.systemctl(&["kill", "--kill-who=main", "--signal=KILL", "left-p.service"]);
    m.wait_for_state("left-p.service", "failed");
    m.wait_until("the watcher is gone", || !all.iter().any(|pid| m.exists(&format!("/proc/{pid}"))));
    // The same after a stop that the main process takes part in.
    m.systemctl(&["reset-failed", "left-p.service"]);
    m.systemctl(&["start", "left-p.service"]);
    let all = processes(m, "left-p.service");
    m.systemctl(&["stop", "left-p.service"]);
    m.wait_until("the watcher is gone", || !all.iter().any(|pid| m.exists(&format!("/proc/{pid}"))));
}

fn a_setup_step_in_a_strict_sandbox_of_another_user_keeps_its_stamp(m: &Machine) {
    for directory in ["/var/lib/copse", "/var/lib/private/copse", "/var/lib/stamped", "/var/lib/private/stamped"] {
        m.remove(directory);
    }
    m.write("/etc/stamped.conf", "one");
    let group = m.group(
        "stamped",
        r#"
        [defaults]
        hardening = "strict"
        inputs = ["/etc/stamped.conf"]
        [setup.nobody]
        user = "nobody"
        shell = 'echo "ran as $(id -u) with <$STATE_DIRECTORY>"'
        [setup.own-state]
        user = "u2001"
        state-directory = "stamped"
        shell = 'echo "ran as $(id -u) with <$STATE_DIRECTORY>"; touch {state-directory}/here'
        [setup.dynamic]
        shell = 'echo "ran as $(id -u) with <$STATE_DIRECTORY>"'
        service = { DynamicUser = "yes" }
        [process.p]
        exec = "/bin/sleep infinity"
        "#,
    );
    // Who each of them ran as, and with which directories of its own.
    let runs = |step: &str| -> Vec<(u32, String)> {
        let journal = m.journal(&[&format!("SYSLOG_IDENTIFIER=stamped-{step}")]);
        let ran = journal.lines().filter_map(|line| line.strip_prefix("ran as ")?.split_once(" with "));
        ran.map(|(user, directory)| (user.parse().expect("a number"), directory.to_owned())).collect()
    };
    let assert_runs = |count: usize, when: &str| {
        for (step, users, directory) in [
            ("nobody", 65534..=65534, "<>"),
            ("own-state", 2001..=2001, "</var/lib/stamped>"),
            ("dynamic", 61184..=65519, "<>"),
        ] {
            let ran = runs(step);
            assert_eq!(ran.len(), count, "{step} {when}: {ran:?}");
            assert!(ran.iter().all(|(user, own)| users.contains(user) && own == directory), "{step} {when}: {ran:?}");
        }
    };
    group.start();
    assert_runs(1, "at the first start");
    m.systemctl(&["restart", &group.target()]);
    assert_runs(1, "with nothing changed");
    m.write("/etc/stamped.conf", "two");
    m.systemctl(&["restart", &group.target()]);
    assert_runs(2, "after a change");
    assert_eq!(m.sh("stat -c %U /var/lib/stamped/here"), "u2001");
    m.remove("/etc/stamped.conf");
}
