//! The same commands of `supervisorctl` to Debian's supervisord and to a group with the same programs.

use std::collections::BTreeSet;
use std::time::Duration;

use super::Fronted;
use crate::machines::machine::Machine;
use crate::machines::scope::Scope;

const SCRIPT: &str = include_str!("ctl.sh");

/// The longest run of the script.
const LIMIT: Duration = Duration::from_secs(400);

const CONF: &str = r#"
[unix_http_server]
file=/run/ctl.sock
[supervisord]
logfile=/tmp/ctl/supervisord.log
pidfile=/run/ctl.pid
childlogdir=/tmp/ctl
[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface
[supervisorctl]
serverurl=unix:///run/ctl.sock
[program:web]
command=/bin/sh -c 'while :; do echo web is here; sleep 0.2; done'
process_name=%(program_name)s_%(process_num)s
numprocs=2
[program:one]
command=/bin/sleep 3
autostart=false
autorestart=unexpected
[program:exit0]
command=/bin/sleep 2
autorestart=false
[program:exit3]
command=/bin/sh -c 'sleep 2; exit 3'
autorestart=false
[program:loop]
command=/bin/sh -c 'echo bad; exit 1'
autostart=false
startretries=2
[program:nofile]
command=/nonexistent/program
autostart=false
[program:noexec]
command=/etc/hostname
autostart=false
startretries=2
[program:slow]
command=/bin/sleep 1000
autostart=false
[program:term5]
command=/bin/sh -c 'trap "exit 5" TERM; while :; do sleep 0.1; done'
autostart=false
"#;

const GROUP: &str = r#"
supervisor-socket = "/run/demo/supervisor.sock"
[defaults]
restart-sec = 1
start-limit-burst = 3
start-limit-interval-sec = 60
[process.web]
exec = ["/bin/sh", "-c", "while :; do echo web is here; sleep 0.2; done"]
instances = 2
first-instance = 0
restart = "always"
[process.one]
exec = "/bin/sleep 3"
start = "manual"
[process.exit0]
exec = "/bin/sleep 2"
restart = "no"
[process.exit3]
exec = ["/bin/sh", "-c", "sleep 2; exit 3"]
restart = "no"
essential = false
[process.loop]
exec = ["/bin/sh", "-c", "echo bad; exit 1"]
start = "manual"
[process.nofile]
exec = "/nonexistent/program"
start = "manual"
[process.noexec]
exec = "/etc/hostname"
start = "manual"
[process.slow]
exec = "/bin/sleep 1000"
start = "manual"
[process.term5]
exec = ["/bin/sh", "-c", "trap 'exit 5' TERM; while :; do sleep 0.1; done"]
start = "manual"
"#;

/// The commands of which supervisord answers something else: copse-supervisor(8), DIFFERENCES.
const DIFFERENT: &[&str] = &[
    "status loop nofile",
    "maintail -80",
    "maintail -f (for 3 s)",
    "status",
    "clear web:web_0",
    "clear all",
    "start all",
    "restart all",
];

pub fn the_commands_of_supervisorctl_answer_as_with_supervisord(m: &Machine) {
    m.ok(&["mkdir", "-p", "/tmp/ctl"]);
    m.write("/tmp/ctl/conf", CONF);
    m.write("/tmp/ctl/ctl.sh", SCRIPT);
    let script = |words: &[&str]| {
        let output = m.run_within(LIMIT, &[&["bash", "/tmp/ctl/ctl.sh"], words].concat());
        assert_eq!(output.status, 0, "{output:?}");
        answers(&output.stdout)
    };
    let supervisord = m.spawn(&["supervisord", "-n", "-c", "/tmp/ctl/conf"]);
    let expected = script(&["supervisorctl", "-c", "/tmp/ctl/conf"]);
    drop(supervisord);
    let _group = Fronted::new(m, "demo", GROUP);
    let found = script(&["supervisorctl", "-s", "unix:///run/demo/supervisor.sock"]);
    let commands = |all: &[(String, String)]| all.iter().map(|(command, _)| command.clone()).collect::<Vec<_>>();
    assert_eq!(commands(&found), commands(&expected));
    let mut differ = BTreeSet::new();
    let mut account = String::new();
    for ((command, expected), (_, found)) in expected.iter().zip(&found) {
        if expected != found {
            differ.insert(command.as_str());
            if !DIFFERENT.contains(&command.as_str()) {
                account += &format!("$ {command}\n--- supervisord\n{expected}+++ copse-supervisor\n{found}");
            }
        }
    }
    let same: Vec<_> = DIFFERENT.iter().filter(|command| !differ.contains(**command)).collect();
    assert!(same.is_empty(), "no different answers of {same:?}");
    assert!(account.is_empty(), "{account}\n{}", m.account_of(&["copse-supervisor@*"]));
    assert!(expected.len() >= 80, "{}", expected.len());
}

/// Each command with what it printed, without what differs from run to run.
fn answers(text: &str) -> Vec<(String, String)> {
    let mut answers: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("$ ") {
            Some(command) => answers.push((command.to_owned(), String::new())),
            None => {
                if let Some((_, answer)) = answers.last_mut() {
                    *answer += &(normalized(line) + "\n");
                }
            }
        }
    }
    // Results of several processes come in an order of their own.
    for (command, answer) in &mut answers {
        if command != "help" {
            let mut lines: Vec<&str> = answer.lines().collect();
            lines.sort_unstable();
            *answer = lines.join("\n") + "\n";
        }
    }
    answers
}

fn normalized(line: &str) -> String {
    let line = line.replace("/run/ctl.sock", "SOCKET").replace("/run/demo/supervisor.sock", "SOCKET");
    let line = regex::Regex::new(r"pid \d+, uptime \d+:\d\d:\d\d").unwrap().replace_all(&line, "pid N, uptime T");
    let line =
        regex::Regex::new(r"[A-Z][a-z]{2} \d\d \d\d:\d\d [AP]M").unwrap().replace_all(&line, "DATE").into_owned();
    // Of Debian 12 and 13.
    let line = line.replace("4.2.5", "4.3.0");
    match line.parse::<u32>() {
        Ok(0) | Err(_) => line,
        Ok(_) => "N".to_owned(),
    }
}
