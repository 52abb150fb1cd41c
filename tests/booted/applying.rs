//! `copse apply`: what a change of the files brings about, whom it leaves alone, and what becomes of it when it is
//! stopped in the middle.

use crate::asking::pids;
use crate::machines::machine::Machine;
use crate::machines::scope::{Scope, Spawned};
use crate::machines::version::Version;
use crate::situation::{Situation, situation};

/// The command's promises; 247 has no wrk, and nothing here that 252 hasn't.
pub(crate) const ON: &[Version] = &[Version::V252, Version::V257, Version::V262];

pub const SITUATIONS: &[Situation] = &[
    situation!(no_request_fails_while_four_workers_are_restarted_and_brought_up_to_date, ON),
    situation!(a_definition_that_never_gets_ready_stops_at_the_first_and_three_serve_on, ON),
    situation!(what_failed_half_way_can_be_rolled_back, ON),
    situation!(a_deploy_that_flips_a_link_and_a_program_that_is_replaced_are_rolled, ON),
    situation!(an_apply_that_is_killed_anywhere_is_simply_run_again, ON),
    situation!(an_apply_that_is_interrupted_holds_what_it_did_not_come_to, ON),
    situation!(of_two_applies_at_once_the_second_waits_or_says_that_it_cannot, ON),
    situation!(an_address_changes_with_its_service_down, ON),
    situation!(a_broken_file_keeps_only_its_own_group_from_being_applied, ON),
    situation!(nothing_is_started_of_a_group_that_is_not_active, ON),
    situation!(a_users_group_is_applied, ON),
    situation!(who_is_not_root_is_told_so, ON),
];

pub(crate) const GROUP: &str = r#"
    description = "Before"
    [defaults]
    environment = { VALUE = "1" }
    [process.one]
    exec = "/usr/local/bin/stand-in notify"
    ready = "notify"
    restart-sec = "100ms"
    start-limit-burst = 2
    start-limit-interval-sec = "1h"
    [process.pool]
    exec = "/usr/local/bin/stand-in notify"
    ready = "notify"
    instances = 2
    [process.kept]
    exec = "/usr/local/bin/stand-in run"
    refresh = "keep"
    [process.fresh]
    exec = "/usr/local/bin/stand-in run"
    exec-reload = ["/bin/sh", "-c", "echo again >> /run/fresh-reloads"]
    refresh = "reload"
    inputs = ["/run/fresh-input"]
    [process.called]
    exec = "/usr/local/bin/stand-in run"
    start = "manual"
    [process.idle]
    exec = "/usr/local/bin/stand-in run"
    start = "manual"
    [process.job]
    exec = "/usr/local/bin/stand-in run"
    on-calendar = "2099-01-01"
"#;

pub(crate) fn another_value(text: &str) -> String {
    text.replace("VALUE = \"1\"", "VALUE = \"2\"")
}

/// Answers one request on each connection, and ends when it was told to and has answered what it accepted.
const SERVER: &str = r#"#!/usr/bin/python3 -S
import os, select, signal, socket, sys, time
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
if os.environ.get("BROKEN"):
    print("it is bad", flush=True)
    sys.exit(1)
while not os.path.exists(os.environ.get("AWAITED", "/")):
    time.sleep(0.02)
listener = socket.socket(fileno=3)
listener.setblocking(False)
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"READY=1", os.environ["NOTIFY_SOCKET"])
body = os.environ.get("VALUE", "").encode()
answer = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
while not stop:
    try:
        if not select.select([listener], [], [], 0.1)[0]:
            continue
        connection, _ = listener.accept()
    except (InterruptedError, BlockingIOError):
        continue
    connection.setblocking(True)
    request = b""
    while b"\r\n\r\n" not in request:
        more = connection.recv(4096)
        if not more:
            break
        request += more
    else:
        connection.sendall(answer)
    connection.close()
"#;

const WEB: &str = r#"
    [process.web]
    exec = "/usr/local/bin/serve-http"
    ready = "notify"
    listen = "tcp:127.0.0.1:PORT"
    non-blocking = true
    instances = 4
    environment = { VALUE = "1" }
"#;

const WORKERS: [&str; 4] = ["web@1", "web@2", "web@3", "web@4"];

fn web(port: &str, environment: &str) -> String {
    WEB.replace("PORT", port).replace("VALUE = \"1\"", environment)
}

/// Requests without pause, until they are [`done`].
fn load(m: &Machine, port: &str) -> Spawned {
    load_for(m, port, "1h")
}

fn load_for(m: &Machine, port: &str, time: &str) -> Spawned {
    let url = format!("http://127.0.0.1:{port}/");
    m.spawn(&["wrk", "--threads=1", "--connections=8", "--timeout=300s", "--duration", time, &url])
}

/// Ends the requests: none may have failed.
#[track_caller]
fn done(m: &Machine, load: Spawned) {
    m.ok(&["pkill", "-INT", "-x", "wrk"]);
    all_answered(load);
}

#[track_caller]
fn all_answered(load: Spawned) {
    let output = load.finish();
    assert_eq!(output.status, 0, "{output:?}");
    assert!(!output.stdout.contains("Socket errors") && !output.stdout.contains("Non-2xx"), "{}", output.stdout);
    let requests = output.stdout.lines().find(|line| line.contains("requests in")).expect("a line that counts them");
    let count: u64 = requests.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number");
    assert!(count > 50, "{requests}");
}

/// What each of the workers was started with.
fn values(m: &Machine, group: &str) -> Vec<String> {
    let of = |pid: u32| m.sh(&format!("tr '\\0' '\\n' < /proc/{pid}/environ | sed -n s/^VALUE=//p"));
    pids(m, group, &WORKERS).into_iter().map(of).collect()
}

fn no_request_fails_while_four_workers_are_restarted_and_brought_up_to_date(m: &Machine) {
    m.write_program("/usr/local/bin/serve-http", SERVER);
    let group = m.start_group("load", &web("9101", "VALUE = \"1\""));
    let before = pids(m, "load", &WORKERS);
    let requests = load(m, "9101");
    m.copse(&["restart", "load"]).expect(0, &["web@4  ready"]);
    let between = pids(m, "load", &WORKERS);
    m.write(&group.file(), &web("9101", "VALUE = \"2\""));
    m.copse(&["apply", "load"]).expect(0, &["web@4  ready"]);
    done(m, requests);
    let after = pids(m, "load", &WORKERS);
    assert!((0..4).all(|at| before[at] != between[at] && between[at] != after[at]));
    assert_eq!(values(m, "load"), ["2"; 4]);
}

fn a_definition_that_never_gets_ready_stops_at_the_first_and_three_serve_on(m: &Machine) {
    m.write_program("/usr/local/bin/serve-http", SERVER);
    let group = m.start_group("bad", &web("9102", "VALUE = \"1\""));
    let before = pids(m, "bad", &WORKERS[1..]);
    m.write(&group.file(), &web("9102", "VALUE = \"2\", BROKEN = \"yes\""));
    let requests = load(m, "9102");
    let output = m.copse(&["apply", "bad"]);
    output.expect(
        6,
        &[
            "✗ roll     web@1  failed: exit status 1",
            "it is bad",
            "bad: stopped at web@1",
            "pinned to the definition they run: web@2, web@3, web@4",
        ],
    );
    assert_eq!(pids(m, "bad", &WORKERS[1..]), before);
    done(m, requests);
    // One that is killed comes back as it was, also after a reload by hand.
    m.reload();
    m.kill_and_wait("bad-web@3.service");
    let three = || WORKERS[1..].iter().map(|worker| m.pid(&format!("bad-{worker}.service"))).collect::<Vec<_>>();
    for pid in three() {
        let environment = m.sh(&format!("tr '\\0' '\\n' < /proc/{pid}/environ"));
        assert!(environment.contains("VALUE=1") && !environment.contains("BROKEN"), "{environment}");
    }
    m.copse(&["status", "bad"]).expect(8, &["web@1"]);
    m.write(&group.file(), &web("9102", "VALUE = \"3\""));
    m.copse(&["apply", "bad"]).expect(0, &["web@1  ready", "web@4  ready"]);
    assert_eq!(values(m, "bad"), ["3"; 4]);
    assert!(!m.exists("/run/copse/pins/bad"), "nothing is held any more");
    m.kill_and_wait("bad-web@3.service");
    assert_eq!(values(m, "bad"), ["3"; 4]);
}

fn what_failed_half_way_can_be_rolled_back(m: &Machine) {
    m.write_program("/usr/local/bin/serve-http", SERVER);
    let group = m.start_group("back", &web("9103", "VALUE = \"1\""));
    m.copse(&["apply", "back"]).expect(0, &[]);
    let before = pids(m, "back", &WORKERS[1..]);
    m.write(&group.file(), &web("9103", "VALUE = \"2\", BROKEN = \"yes\""));
    m.copse(&["apply", "back"]).expect(6, &["copse apply --rollback back"]);
    let said = "web@2 and 2 others pinned to the definition before the rollout";
    m.copse(&["status", "back"]).expect(8, &[said, "active, outdated, pinned"]);
    m.copse(&["apply", "--rollback", "back"]).expect(0, &["web@1  ready"]);
    m.copse(&["status", "back"]).expect(0, &["back   active, rolled back", "to the last complete apply"]);
    m.copse(&["list"]).expect(0, &["active, rolled back"]);
    assert!(m.copse(&["status", "--json", "back"]).stdout.contains(r#""rolled_back":1"#));
    assert_eq!(values(m, "back"), ["1"; 4]);
    assert_eq!(pids(m, "back", &WORKERS[1..]), before, "they were never anything else");
    // Also what is started by others comes from before.
    m.reload();
    m.systemctl(&["restart", "back-web@2.service"]);
    assert_eq!(values(m, "back"), ["1"; 4]);
    m.write(&group.file(), &web("9103", "VALUE = \"3\""));
    m.copse(&["apply", "back"]).expect(0, &["web@4  ready"]);
    assert_eq!(values(m, "back"), ["3"; 4]);
    assert!(m.copse(&["status", "--json", "back"]).stdout.contains(r#""rolled_back":null"#));
}

fn a_deploy_that_flips_a_link_and_a_program_that_is_replaced_are_rolled(m: &Machine) {
    m.write_program("/srv/one/serve-http", SERVER);
    m.write_program("/srv/two/serve-http", SERVER);
    m.write("/srv/one/REVISION", "one\n");
    m.write("/srv/two/REVISION", "two\n");
    m.sh("ln -sfn one /srv/current");
    let file = web("9104", "VALUE = \"1\"")
        .replace("/usr/local/bin/serve-http\"", "/srv/current/serve-http\"\n    inputs = [\"/srv/current/REVISION\"]");
    let group = m.start_group("deploy", &file);
    let before = pids(m, "deploy", &WORKERS);
    m.copse(&["apply", "deploy"]).expect(0, &[]);
    assert_eq!(pids(m, "deploy", &WORKERS), before);
    m.sh("ln -sfn two /srv/current");
    m.copse(&["apply", "deploy"]).expect(0, &["/srv/current/REVISION", "web@4  ready"]);
    let between = pids(m, "deploy", &WORKERS);
    assert!((0..4).all(|at| before[at] != between[at]));
    // As a package does it: the new file takes the old one's name.
    m.sh("sed 's/it is bad/it is worse/' /srv/two/serve-http > /srv/two/new; chmod 755 /srv/two/new; mv /srv/two/new /srv/two/serve-http");
    m.copse(&["apply", "deploy"]).expect(0, &["serve-http", "web@4  ready"]);
    let after = pids(m, "deploy", &WORKERS);
    assert!((0..4).all(|at| between[at] != after[at]));
    drop(group);
    m.remove("/srv");
}

fn an_apply_that_is_killed_anywhere_is_simply_run_again(m: &Machine) {
    m.write_program("/usr/local/bin/serve-http", SERVER);
    let text = |value: u32| {
        let address = if value % 4 == 3 { "9106" } else { "9105" };
        web(address, &format!("VALUE = \"{value}\""))
    };
    let group = m.start_group("cut", &text(0));
    for value in 1..=20 {
        m.write(&group.file(), &text(value));
        // A moment that nobody chose; an apply takes about a second here.
        m.sh("copse apply cut >/dev/null 2>&1 & sleep 0.$(shuf -i 0-9 -n 1)$(shuf -i 0-9 -n 1); kill -9 $! || true; wait $! || true");
        let output = m.copse(&["apply", "cut"]);
        output.expect(0, &[]);
        assert_eq!(values(m, "cut"), vec![value.to_string(); 4], "{}", output.stdout);
        let again = m.copse(&["apply", "--json", "cut"]);
        assert!(again.stdout.contains(r#""changed":false"#), "{}", again.stdout);
        assert_eq!(m.state("cut-web.socket"), "active");
    }
}

fn an_apply_that_is_interrupted_holds_what_it_did_not_come_to(m: &Machine) {
    m.write_program("/usr/local/bin/serve-http", SERVER);
    let group = m.start_group("stopped", &web("9107", "VALUE = \"1\""));
    let before = pids(m, "stopped", &WORKERS);
    m.write(&group.file(), &(web("9107", "VALUE = \"2\"") + "    min-ready-sec = \"1h\"\n"));
    let apply = m.spawn(&["sh", "-c", "echo $$ > /run/apply-pid; exec copse apply stopped"]);
    m.wait_until("the first is another", || m.property("stopped-web@1.service", "MainPID") != before[0].to_string());
    m.sh("kill -HUP $(cat /run/apply-pid); kill -TERM $(cat /run/apply-pid)");
    let output = apply.finish();
    output.expect(6, &["interrupted"]);
    assert_eq!(pids(m, "stopped", &WORKERS[1..]), before[1..]);
    m.kill_and_wait("stopped-web@4.service");
    assert_eq!(values(m, "stopped"), ["2", "1", "1", "1"]);
    m.write(&group.file(), &web("9107", "VALUE = \"2\""));
    m.copse(&["apply", "stopped"]).expect(0, &["web@4  ready"]);
    assert_eq!(values(m, "stopped"), ["2"; 4]);
}

fn of_two_applies_at_once_the_second_waits_or_says_that_it_cannot(m: &Machine) {
    m.write_program("/usr/local/bin/serve-http", SERVER);
    m.remove("/run/twice-go");
    let group = m.start_group("twice", &web("9108", "VALUE = \"1\""));
    m.write(&group.file(), &web("9108", "VALUE = \"2\", AWAITED = \"/run/twice-go\""));
    let first = m.spawn(&["copse", "apply", "twice"]);
    m.wait_until("the first apply is at it", || m.exists("/run/copse/pins/twice"));
    m.copse(&["apply", "twice"]).expect(10, &["`twice` is locked by another `copse apply`"]);
    let second = m.spawn(&["copse", "apply", "--wait", "--json", "twice"]);
    m.write("/run/twice-go", "");
    first.finish().expect(0, &["web@4  ready"]);
    let pids_after = pids(m, "twice", &WORKERS);
    second.finish().expect(0, &[r#""changed":false"#]);
    assert_eq!(pids(m, "twice", &WORKERS), pids_after);
}

fn an_address_changes_with_its_service_down(m: &Machine) {
    m.write_program("/usr/local/bin/serve-http", SERVER);
    let group = m.start_group("moved", &web("9109", "VALUE = \"1\""));
    let requests = load(m, "9109");
    m.write(&group.file(), &web("9110", "VALUE = \"1\""));
    m.copse(&["apply", "moved"]).expect(0, &["web.socket  ready", "web@4"]);
    // Whoever asks at the old address learns that nobody is there; at the new one somebody is.
    drop(requests);
    all_answered(load_for(m, "9110", "5s"));
    assert!(m.property("moved-web.socket", "Listen").contains("9110"));
    assert_ne!(m.run(&["wrk", "-d", "1s", "http://127.0.0.1:9109/"]).status, 0);
}

fn a_broken_file_keeps_only_its_own_group_from_being_applied(m: &Machine) {
    let good = m.group("good", GROUP);
    let broken = m.group("broken", GROUP);
    good.start();
    broken.start();
    let before = pids(m, "broken", &["one"]);
    m.write(&good.file(), &another_value(GROUP));
    m.write(&broken.file(), "[process.one]\nexce = \"/bin/true\"\n");
    let good_before = pids(m, "good", &["one"]);
    m.copse(&["apply"]).expect(5, &["exce", "one", "ready"]);
    assert_ne!(pids(m, "good", &["one"]), good_before);
    assert_eq!(pids(m, "broken", &["one"]), before);
    m.copse(&["apply", "good"]).expect(0, &[]);
}

fn nothing_is_started_of_a_group_that_is_not_active(m: &Machine) {
    let group = m.group("asleep", GROUP);
    m.write(&group.file(), &another_value(GROUP));
    m.copse(&["apply", "asleep"]).expect(0, &["not active"]);
    assert_eq!(m.state("asleep-one.service"), "inactive");
    group.start();
    let environment = m.property("asleep-one.service", "Environment");
    assert!(environment.contains("VALUE=2"), "{environment}");
}

fn a_users_group_is_applied(m: &Machine) {
    let user = m.user(2001);
    let file = format!("{}/.config/copse/own.toml", user.home());
    user.write(&file, GROUP);
    user.reload();
    user.systemctl(&["start", "own.target"]);
    let before = pids(&user, "own", &["one", "pool@1", "kept"]);
    user.write(&file, &another_value(GROUP));
    user.copse(&["--user", "apply", "own"]).expect(0, &["pool@2", "ready"]);
    let after = pids(&user, "own", &["one", "pool@1", "kept"]);
    assert!(after[0] != before[0] && after[1] != before[1] && after[2] == before[2]);
    user.systemctl(&["stop", "own.target"]);
    m.remove(&format!("{}/.config/copse", user.home()));
    user.reload();
}

fn who_is_not_root_is_told_so(m: &Machine) {
    let group = m.start_group("theirs", GROUP);
    let before = pids(m, "theirs", &["one"]);
    m.write(&group.file(), &another_value(GROUP));
    let nobody = ["setpriv", "--reuid=2001", "--regid=2001", "--clear-groups", "copse", "apply", "theirs"];
    m.run(&nobody).expect(77, &["cannot lock `theirs`: permission denied"]);
    assert_eq!(pids(m, "theirs", &["one"]), before);
    assert!(!m.exists("/run/copse/pins/theirs"));
}
