//! Clients of supervisord on a group: Debian's own `supervisorctl`, and a client of Python's that makes any call.

mod compare;

use std::time::Duration;

use compare::the_commands_of_supervisorctl_answer_as_with_supervisord;

use crate::machines::group::Group;
use crate::machines::machine::Machine;
use crate::machines::scope::{Output, Scope};
use crate::situation::{Situation, situation};

pub const SITUATIONS: &[Situation] = &[
    situation!(supervisorctl_shows_starts_and_stops_the_processes_of_a_group, [V252, V257, V262]),
    situation!(the_commands_of_supervisorctl_answer_as_with_supervisord, [V252, V257, V262]),
    situation!(the_front_comes_with_an_apply_and_costs_nothing_when_killed, [V252, V257, V262]),
    situation!(a_client_that_calls_shutdown_at_its_end_stops_in_time, [V252, V257, V262]),
    situation!(only_who_may_write_to_the_socket_controls_the_group_and_nothing_else, [V252, V257, V262]),
    situation!(every_refusal_has_its_fault_or_status, [V252, V257, V262]),
    situation!(a_broken_group_file_changes_no_answer, [V252, V257, V262]),
    situation!(what_was_removed_or_found_outlives_an_idle_exit, [V252, V257, V262]),
    situation!(a_port_needs_the_password_and_no_web_page_has_it, [V252, V257, V262]),
];

const GROUP: &str = r#"
    supervisor-socket = "/run/demo/supervisor.sock"
    [process.one]
    exec = "/bin/sleep infinity"
    [process.later]
    start = "manual"
    exec = "/bin/sleep infinity"
    [process.web]
    exec = ["/bin/sh", "-c", "while :; do echo web {instance} is here; sleep 1; done"]
    instances = 2
"#;

/// A group with the user and the polkit rule of its front. When dropped, the rule is gone.
struct Fronted<'m> {
    m: &'m Machine,
    group: Group<'m>,
    rule: String,
}

impl<'m> Fronted<'m> {
    #[track_caller]
    fn new(m: &'m Machine, name: &str, toml: &str) -> Self {
        m.ok(&["systemd-sysusers"]);
        let group = m.group(name, toml);
        let rule = format!("/etc/polkit-1/rules.d/50-copse-{name}.rules");
        m.write(&rule, &m.ok(&["copse", "polkit", name]));
        m.run(&["systemctl", "restart", "polkit.service"]);
        group.start();
        Self { m, group, rule }
    }

    /// `supervisorctl` on the socket of the group.
    fn ctl(&self, words: &[&str]) -> Output {
        self.m.run(&[&["supervisorctl", "-s", "unix:///run/demo/supervisor.sock"], words].concat())
    }

    #[track_caller]
    fn says(&self, words: &[&str], status: i32, text: &str) {
        let output = self.ctl(words);
        assert_eq!(
            (output.status, output.stdout.as_str()),
            (status, text),
            "supervisorctl {words:?}: {output:?}\n{}",
            self.m.account_of(&["copse-supervisor@*"])
        );
    }
}

impl Drop for Fronted<'_> {
    fn drop(&mut self) {
        self.m.remove(&self.rule);
    }
}

fn supervisorctl_shows_starts_and_stops_the_processes_of_a_group(m: &Machine) {
    let f = Fronted::new(m, "demo", GROUP);
    let status = f.ctl(&["status"]);
    let names: Vec<(&str, &str)> = status
        .stdout
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?, words.next()?))
        })
        .collect();
    assert_eq!(
        names,
        [("later", "STOPPED"), ("one", "RUNNING"), ("web:web_1", "RUNNING"), ("web:web_2", "RUNNING")],
        "{status:?}\n{}",
        m.account_of(&["copse-supervisor@*"])
    );
    assert_eq!(status.status, 3);
    let pid = m.pid("demo-web@1.service");
    f.says(&["pid", "web:web_1"], 0, &format!("{pid}\n"));
    f.says(&["start", "later"], 0, "later: started\n");
    assert_eq!(m.state("demo-later.service"), "active");
    f.says(&["start", "later"], 0, "later: ERROR (already started)\n");
    f.says(&["stop", "later"], 0, "later: stopped\n");
    f.says(&["stop", "later"], 0, "later: ERROR (not running)\n");
    f.says(
        &["restart", "web:*"],
        0,
        "web:web_1: stopped\nweb:web_2: stopped\nweb:web_1: started\nweb:web_2: started\n",
    );
    assert_ne!(m.pid("demo-web@1.service"), pid);
    f.says(&["signal", "TERM", "later"], 7, "later: ERROR (not running)\n");
    f.says(&["start", "nosuch"], 1, "nosuch: ERROR (no such process)\n");
    f.says(&["version"], 0, "4.3.0\n");
    m.wait_until("the log is read", || f.ctl(&["tail", "-20", "web:web_1"]).stdout.contains("web 1 is here"));
    f.says(&["shutdown"], 0, "Shut down\n");
    m.wait_for_state(&f.group.target(), "inactive");
    m.wait_for_state("demo-one.service", "inactive");
}

/// The lines of a table that a command prints, each cut to its first two words.
fn words_of(output: &Output) -> Vec<String> {
    let words = |line: &str| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    output.stdout.lines().map(words).collect()
}

impl Fronted<'_> {
    /// What the method answers: JSON, or `FAULT CODE TEXT`.
    fn call(&self, method: &str, arguments: &str) -> String {
        self.m.write("/tmp/client.py", CLIENT);
        let url = "unix:///run/demo/supervisor.sock";
        let output = self.m.run(&["python3", "/tmp/client.py", url, "call", method, arguments]);
        assert_eq!(
            output.status,
            0,
            "{method} {arguments}: {output:?}\n{}",
            self.m.account_of(&["copse-supervisor@*"])
        );
        output.stdout.trim_end().to_owned()
    }

    /// The status of the answer to each request, and how many answers came.
    fn statuses(&self, requests: &[String]) -> Vec<String> {
        self.m.write("/tmp/client.py", CLIENT);
        let lines: Vec<String> = requests.iter().map(|request| serde_json::to_string(request).unwrap()).collect();
        self.m.write("/tmp/requests", &(lines.join("\n") + "\n"));
        let script = "python3 /tmp/client.py unix:///run/demo/supervisor.sock http </tmp/requests";
        let output = self.m.run(&["sh", "-c", script]);
        assert_eq!(output.status, 0, "{output:?}");
        output.stdout.lines().map(str::to_owned).collect()
    }

    /// Has the front exit after a second without a connection, and waits until it has.
    fn wait_until_idle(&self) {
        self.m.wait_for_state("copse-supervisor@demo.service", "inactive");
    }
}

const CLIENT: &str = include_str!("supervisor/client.py");

/// A front that exits soon when it is idle. When dropped, it is as it was.
struct Hasty<'m>(&'m Machine);

impl<'m> Hasty<'m> {
    const DROP_IN: &'static str = "/run/systemd/system/copse-supervisor@.service.d/hasty.conf";

    fn new(m: &'m Machine) -> Self {
        m.write(Self::DROP_IN, "[Service]\nExecStart=\nExecStart=/usr/bin/copse-supervisor --exit-idle-time=1s %i\n");
        Self(m)
    }
}

impl Drop for Hasty<'_> {
    fn drop(&mut self) {
        self.0.remove(Self::DROP_IN);
        self.0.reload();
    }
}

fn the_front_comes_with_an_apply_and_costs_nothing_when_killed(m: &Machine) {
    let _hasty = Hasty::new(m);
    let f = Fronted::new(m, "demo", &GROUP.replace("supervisor-socket", "# "));
    assert_eq!(f.ctl(&["version"]).status, 7, "nobody listens");
    m.write(&f.group.file(), GROUP);
    m.write(&f.rule, &m.ok(&["copse", "polkit", "demo"]));
    m.ok(&["copse", "apply", "demo"]);
    m.wait_until("polkit goes by the rule", || f.ctl(&["start", "later"]).stdout.starts_with("later: started"));
    assert_eq!(m.state("copse-supervisor@demo.socket"), "active");
    // Nothing of copse's runs while nobody asks.
    f.wait_until_idle();
    let pid = m.pid("demo-one.service");
    f.says(&["pid", "one"], 0, &format!("{pid}\n"));
    for _ in 0..5 {
        m.run(&["systemctl", "kill", "--signal=KILL", "copse-supervisor@demo.service"]);
        f.says(&["pid", "one"], 0, &format!("{pid}\n"));
    }
    // A change of its rights, while the front runs.
    let mode = "[supervisor]\nsocket = \"/run/demo/supervisor.sock\"\nmode = \"0660\"\n";
    m.write(&f.group.file(), &(mode.to_owned() + GROUP.split_once('\n').unwrap().1.split_once('\n').unwrap().1));
    m.ok(&["copse", "apply", "demo"]);
    assert_eq!(m.ok(&["stat", "-Lc", "%a", "/run/demo/supervisor.sock"]), "660");
    f.says(&["pid", "one"], 0, &format!("{pid}\n"));
    assert!(m.ok(&["copse", "plan", "demo"]).contains("nothing"), "{}", m.ok(&["copse", "plan", "demo"]));
    // Of the whole group.
    m.ok(&["copse", "restart", "demo"]);
    assert_ne!(f.ctl(&["pid", "one"]).stdout, format!("{pid}\n"));
    f.group.stop();
    let has_link = || m.run(&["test", "-e", "/run/demo/supervisor.sock"]).status == 0;
    m.wait_until("the link is gone", || !has_link());
    f.wait_until_idle();
    f.group.start();
    f.says(&["version"], 0, "4.3.0\n");
}

/// As Knot Resolver's manager does it: at every end it has supervisord shut down.
const SHUTS_DOWN: &str = r#"#!/usr/bin/python3
import signal, sys, xmlrpc.client
from supervisor.xmlrpc import SupervisorTransport
url = sys.argv[1]
server = xmlrpc.client.ServerProxy("http://127.0.0.1", transport=SupervisorTransport(None, None, url))
def end(number, frame):
    try:
        server.supervisor.shutdown()
        print("shut down", flush=True)
    except xmlrpc.client.Fault as fault:
        print("fault", fault.faultCode, fault.faultString, flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
print(server.supervisor.reloadConfig(), flush=True)
server("close")()
while True:
    signal.pause()
"#;

fn a_client_that_calls_shutdown_at_its_end_stops_in_time(m: &Machine) {
    let _hasty = Hasty::new(m);
    m.write("/usr/local/bin/shuts-down", SHUTS_DOWN);
    m.ok(&["chmod", "755", "/usr/local/bin/shuts-down"]);
    let toml = r#"
        supervisor-socket = "/run/demo/supervisor.sock"
        [process.manager]
        exec = "/usr/local/bin/shuts-down {env:SUPERVISOR_SERVER_URL}"
        user = "root"
        controls = ["worker"]
        timeout-stop-sec = 20
        [process.worker]
        exec = "/bin/sleep infinity"
    "#;
    let f = Fronted::new(m, "demo", toml);
    let of_manager = || m.journal(&["-u", "demo-manager.service"]);
    m.wait_until("its own start finds no changes", || of_manager().contains("[[[], [], []]]"));
    let worker = m.pid("demo-worker.service");
    let since = std::time::Instant::now();
    m.ok(&["systemctl", "restart", "demo-manager.service"]);
    assert_eq!(m.pid("demo-worker.service"), worker, "the others run on");
    assert!(of_manager().contains("fault 6 SHUTDOWN_STATE"), "{}", of_manager());
    // It is there at the end of the client, however long nobody has called, and after it was killed.
    m.ok(&["systemctl", "kill", "--signal=KILL", "copse-supervisor@demo.service"]);
    m.ok(&["sleep", "3"]);
    m.wait_for_state("copse-supervisor@demo.service", "active");
    m.ok(&["systemctl", "restart", "demo.target"]);
    assert_ne!(m.pid("demo-worker.service"), worker);
    // Its handler must not run in the middle of its first call.
    let begun = || of_manager().matches("[[[], [], []]]").count() == 3;
    m.wait_until("the client has made its first call", begun);
    f.group.stop();
    assert!(since.elapsed() < Duration::from_secs(30), "{:?}", since.elapsed());
    for unit in ["demo-manager.service", "copse-supervisor@demo.service"] {
        assert_eq!(m.property(unit, "Result"), "success", "{unit}\n{}", of_manager());
    }
    m.remove("/usr/local/bin/shuts-down");
}

fn only_who_may_write_to_the_socket_controls_the_group_and_nothing_else(m: &Machine) {
    let (owner, stranger) = (m.user(2001), m.user(2002));
    let toml = GROUP.replace(
        "supervisor-socket = \"/run/demo/supervisor.sock\"",
        "[supervisor]\nsocket = \"/run/demo/supervisor.sock\"\nuser = \"u2001\"\nmode = \"0600\"",
    );
    let f = Fronted::new(m, "demo", &toml);
    let ctl = ["supervisorctl", "-s", "unix:///run/demo/supervisor.sock"];
    let denied = stranger.run(&[&ctl[..], &["status"]].concat());
    assert!(denied.status != 0 && denied.stdout.contains("PermissionError"), "{denied:?}");
    assert_eq!(owner.run(&[&ctl[..], &["restart", "one"]].concat()).stdout, "one: stopped\none: started\n");
    // The socket is where only root can write; the path of the key is a link to it.
    assert_eq!(m.ok(&["readlink", "/run/demo/supervisor.sock"]), "/run/copse/supervisor/demo.sock");
    assert_eq!(m.ok(&["stat", "-c", "%U %a", "/run/copse/supervisor"]), "root 755");
    assert_eq!(m.ok(&["stat", "-c", "%U %a", "/run/copse/supervisor/demo.sock"]), "u2001 600");
    // What the front itself may do.
    let front = format!("/proc/{}", m.pid("copse-supervisor@demo.service"));
    assert_eq!(m.ok(&["stat", "-c", "%U", &front]), "copse-supervisor");
    m.write("/run/systemd/system/foreign.service", "[Service]\nExecStart=/bin/sleep infinity\n");
    m.reload();
    m.ok(&["systemctl", "start", "foreign.service"]);
    let inside = |words: &[&str]| {
        let of_front = ["--wait", "--pipe", "--quiet", "--collect", "--property=User=copse-supervisor"];
        m.run(&[&["systemd-run"], &of_front[..], &["--"], words].concat())
    };
    for words in [
        &["systemctl", "--no-ask-password", "stop", "foreign.service"][..],
        &["systemctl", "--no-ask-password", "restart", "dbus.service"],
        &["systemctl", "--no-ask-password", "set-property", "--runtime", "demo-one.service", "Nice=5"],
        &["systemctl", "--no-ask-password", "start", "demo.target"],
        &["systemctl", "--no-ask-password", "mask", "--runtime", "demo-one.service"],
        &["systemd-run", "--no-ask-password", "/bin/true"],
    ] {
        let output = inside(words);
        assert_ne!(output.status, 0, "{words:?} {output:?}");
    }
    assert_eq!(m.state("foreign.service"), "active");
    // Without the rule it reads, and says why it changes nothing.
    m.remove(&f.rule);
    m.run(&["systemctl", "restart", "polkit.service"]);
    let pid = m.pid("demo-one.service");
    for (method, arguments, fault) in [
        ("supervisor.stopProcess", "[\"one\"]", "FAULT 30 FAILED: one: not permitted"),
        ("supervisor.startProcess", "[\"later\"]", "FAULT 50 SPAWN_ERROR: later: not permitted"),
        ("supervisor.signalProcess", "[\"one\", \"HUP\"]", "FAULT 30 FAILED: one: not permitted"),
        ("supervisor.shutdown", "[]", "FAULT 30 FAILED: not permitted"),
        ("supervisor.restart", "[]", "FAULT 30 FAILED: not permitted"),
    ] {
        let answer = f.call(method, arguments);
        assert!(answer.starts_with(fault) && !answer.contains('\n'), "{method}: {answer}");
    }
    assert!(m.ok(&["copse", "check", "demo"]).contains("no polkit rule for copse-supervisor"));
    f.says(&["pid", "one"], 0, &format!("{pid}\n"));
    m.systemctl(&["stop", "foreign.service"]);
    m.remove("/run/systemd/system/foreign.service");
}

fn every_refusal_has_its_fault_or_status(m: &Machine) {
    let f = Fronted::new(m, "demo", GROUP);
    for (method, arguments, answer) in [
        ("supervisor.getAPIVersion", "[]", "\"3.0\""),
        ("supervisor.getIdentification", "[]", "\"demo\""),
        ("supervisor.getState", "[]", "{\"statecode\": 1, \"statename\": \"RUNNING\"}"),
        ("supervisor.nothing", "[]", "FAULT 1 UNKNOWN_METHOD"),
        ("supervisor._update", "[\"x\"]", "FAULT 1 UNKNOWN_METHOD"),
        ("supervisor.getProcessInfo", "[]", "FAULT 2 INCORRECT_PARAMETERS"),
        ("supervisor.getProcessInfo", "[\"one\", 1]", "FAULT 2 INCORRECT_PARAMETERS"),
        (
            "supervisor.readProcessLog",
            "[\"one\", 0, -1]",
            "FAULT 3 BAD_ARGUMENTS: a length that is negative, or a negative offset with a length",
        ),
        ("system.methodHelp", "[\"x.y\"]", "FAULT 4 SIGNATURE_UNSUPPORTED"),
        ("system.methodSignature", "[\"supervisor.startProcess\"]", "[\"boolean\", \"string\", \"boolean\"]"),
        ("supervisor.startProcess", "[\"nosuch\"]", "FAULT 10 BAD_NAME: nosuch"),
        ("supervisor.startProcess", "[\"../x\"]", "FAULT 10 BAD_NAME: ../x"),
        ("supervisor.startProcess", "[\"-H\"]", "FAULT 10 BAD_NAME: -H"),
        ("supervisor.startProcess", "[\"demo-one.service\"]", "FAULT 10 BAD_NAME: demo-one.service"),
        ("supervisor.signalProcess", "[\"one\", \"FOO\"]", "FAULT 11 BAD_SIGNAL: FOO"),
        (
            "supervisor.clearLog",
            "[]",
            "FAULT 30 FAILED: the log is in the journal, which is cleared by journalctl --vacuum-time",
        ),
        ("supervisor.startProcess", "[\"one\"]", "FAULT 60 ALREADY_STARTED: one"),
        ("supervisor.stopProcess", "[\"later\"]", "FAULT 70 NOT_RUNNING: later"),
        ("supervisor.sendProcessStdin", "[\"one\", \"x\"]", "FAULT 20 NO_FILE: one"),
        ("supervisor.sendRemoteCommEvent", "[\"a\", \"b\"]", "FAULT 30 FAILED: no event listeners"),
        ("supervisor.addProcessGroup", "[\"one\"]", "FAULT 90 ALREADY_ADDED: one"),
        ("supervisor.removeProcessGroup", "[\"one\"]", "FAULT 91 STILL_RUNNING: one"),
        ("supervisor.tailProcessStderrLog", "[\"one\", 0, 10]", "[\"\", 0, false]"),
        (
            "system.multicall",
            "[[{\"methodName\": \"supervisor.getAPIVersion\"}, {\"methodName\": \"system.multicall\", \"params\": [[]]}]]",
            "[\"3.0\", {\"faultCode\": 2, \"faultString\": \"INCORRECT_PARAMETERS: Recursive system.multicall forbidden\"}]",
        ),
    ] {
        assert_eq!(f.call(method, arguments), answer, "{method} {arguments}");
    }
    let call = "<?xml version='1.0'?><methodCall><methodName>supervisor.getPID</methodName></methodCall>";
    let post = |head: &str, body: &str| format!("POST /RPC2 HTTP/1.1\r\nHost: x\r\n{head}\r\n{body}");
    let length = |body: &str| format!("Content-Length: {}\r\n", body.len());
    let whole = post(&length(call), call);
    let (deep, doctype) = ("<value><array><data>".repeat(100), format!("<!DOCTYPE x []>{call}"));
    let requests = [
        (whole.clone(), "200 1"),
        // Two at once, and after a surplus line end.
        (whole.clone() + &whole, "200 2"),
        (format!("{whole}\r\n{whole}"), "200 2"),
        (whole.replace("HTTP/1.1\r\nHost: x", "HTTP/1.0"), "200 1"),
        (whole.replace("/RPC2", "/RPC2/x"), "200 1"),
        (whole.replace("POST", "GET"), "400 0"),
        (whole.replace("POST", "PUT"), "400 0"),
        (post(&length("x"), "x"), "400 0"),
        (post(&length("<methodCall/>"), "<methodCall/>"), "400 0"),
        (post(&length(&doctype), &doctype), "400 0"),
        (post(&length(&deep), &deep), "400 0"),
        (post("", ""), "411 0"),
        (post("Content-Length: 2000000\r\n", "x"), "413 0"),
        ("GET / HTTP/1.1\r\nHost:\r\n\r\n".to_owned(), "404 0"),
        ("GET /logtail/nosuch HTTP/1.1\r\nHost:\r\n\r\n".to_owned(), "404 0"),
        ("POST /logtail/one HTTP/1.1\r\nHost:\r\nContent-Length: 0\r\n\r\n".to_owned(), "400 0"),
        (format!("GET /{} HTTP/1.1\r\nHost:\r\n\r\n", "x".repeat(20_000)), "431 0"),
        (format!("GET / HTTP/1.1\r\nHost:\r\nX: {}\r\n\r\n", "x".repeat(20_000)), "431 0"),
    ];
    let found = f.statuses(&requests.iter().map(|(request, _)| request.clone()).collect::<Vec<_>>());
    for ((request, expected), found) in requests.iter().zip(&found) {
        assert_eq!(found, expected, "{}", &request[..request.len().min(300)]);
    }
    // None of it did any harm.
    f.says(&["version"], 0, "4.3.0\n");
}

fn a_broken_group_file_changes_no_answer(m: &Machine) {
    let f = Fronted::new(m, "demo", GROUP);
    let before = words_of(&f.ctl(&["status"]));
    m.write(&f.group.file(), &GROUP.replace("exec = \"/bin/sleep infinity\"", "exce = 1"));
    assert_eq!(words_of(&f.ctl(&["status"])), before);
    let reread = f.ctl(&["reread"]);
    assert!(reread.status == 1 && reread.stdout.starts_with("ERROR: CANT_REREAD: /etc/copse/demo.toml:"), "{reread:?}");
    m.reload();
    assert_eq!(words_of(&f.ctl(&["status"])), before);
    f.says(&["restart", "one"], 0, "one: stopped\none: started\n");
}

fn what_was_removed_or_found_outlives_an_idle_exit(m: &Machine) {
    let _hasty = Hasty::new(m);
    let f = Fronted::new(m, "demo", GROUP);
    let listed = |name: &str| words_of(&f.ctl(&["status"])).iter().any(|line| line.starts_with(name));
    f.says(&["stop", "web:*"], 0, "web:web_1: stopped\nweb:web_2: stopped\n");
    f.says(&["remove", "web"], 0, "web: removed process group\n");
    f.wait_until_idle();
    assert!(!listed("web:"));
    f.wait_until_idle();
    f.says(&["add", "web"], 0, "web: added process group\n");
    m.wait_for_state("demo-web@1.service", "active");
    assert!(listed("web:web_1"));
    // A new process, and a changed one.
    let fresh = "[process.fresh]\nexec = \"/bin/sleep infinity\"\n";
    m.write(&f.group.file(), &(GROUP.replace("instances = 2", "instances = 2\nnice = 1") + fresh));
    m.write(&f.rule, &m.ok(&["copse", "polkit", "demo"]));
    m.run(&["systemctl", "restart", "polkit.service"]);
    f.says(&["reread"], 0, "fresh: available\nweb: changed\n");
    f.wait_until_idle();
    assert!(!listed("fresh"));
    f.wait_until_idle();
    f.says(&["add", "fresh"], 0, "fresh: added process group\n");
    m.wait_for_state("demo-fresh.service", "active");
    f.says(&["update"], 0, "");
    // What is gone from the file is stopped and removed.
    m.write(&f.group.file(), &GROUP.replace("instances = 2", "instances = 2\nnice = 2"));
    let update = f.ctl(&["update"]);
    let mut lines: Vec<&str> = update.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "fresh: removed process group",
            "fresh: stopped",
            "web: added process group",
            "web: stopped",
            "web: updated process group"
        ]
        .into_iter()
        .filter(|line| !line.ends_with("web: added process group"))
        .collect::<Vec<_>>(),
        "{update:?}"
    );
    assert_ne!(m.state("demo-fresh.service"), "active");
    m.wait_for_state("demo-web@1.service", "active");
    assert_eq!(m.property("demo-web@1.service", "Nice"), "2");
    // At the next start of the group, nothing of it is left.
    f.group.stop();
    f.group.start();
    assert!(listed("web:web_1") && !listed("fresh"));
}

fn a_port_needs_the_password_and_no_web_page_has_it(m: &Machine) {
    m.write("/etc/demo.password", "secret\n");
    m.ok(&["chmod", "600", "/etc/demo.password"]);
    let toml = GROUP.replace(
        "supervisor-socket = \"/run/demo/supervisor.sock\"",
        "[supervisor]\nsocket = \"/run/demo/supervisor.sock\"\nlisten = \"127.0.0.1:9001\"\nusername = \"me\"\n\
         password = { credential = \"/etc/demo.password\" }",
    );
    let f = Fronted::new(m, "demo", &toml);
    let ctl = |user: &str, password: &str| {
        m.run(&["supervisorctl", "-s", "http://127.0.0.1:9001", "-u", user, "-p", password, "version"])
    };
    assert_eq!(ctl("me", "secret").stdout, "4.3.0\n", "{}", m.account_of(&["copse-supervisor@*"]));
    for (user, password) in [("me", "wrong"), ("you", "secret"), ("me", "secret2"), ("", "")] {
        let output = ctl(user, password);
        assert!(output.status != 0 && output.stdout.contains("authentication"), "{output:?}");
    }
    // On the socket as well.
    assert_ne!(f.ctl(&["version"]).status, 0);
    // A page that a browser shows may post to a port of the machine, with the password that was typed in before.
    let post = |host: &str, of: &str| {
        let body = "<methodCall><methodName>supervisor.getPID</methodName></methodCall>";
        let script = "curl() { :; }; exec 3<>/dev/tcp/127.0.0.1/9001; printf '%s' \"$1\" >&3; head -n 1 <&3";
        let head = format!(
            "POST /RPC2 HTTP/1.1\r\nHost: {host}\r\nAuthorization: Basic bWU6c2VjcmV0\r\nContent-Type: {of}\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        m.ok(&["bash", "-c", script, "bash", &head]).split(' ').nth(1).map(str::to_owned).unwrap_or_default()
    };
    assert_eq!(post("127.0.0.1:9001", "text/xml"), "200");
    assert_eq!(post("127.0.0.1:9001", "text/plain"), "400");
    assert_eq!(post("evil.example", "text/xml"), "400");
    m.remove("/etc/demo.password");
}
