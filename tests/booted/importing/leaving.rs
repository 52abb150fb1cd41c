//! What ran under supervisord runs as before: Debian's supervisor first, then the group that was imported from its file.

use super::compare::{Input, normalized};
use crate::machines::group::Group;
use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use std::collections::BTreeMap;

/// Debian's, which includes what is in conf.d.
const CONF: &str = "/etc/supervisor/supervisord.conf";
const CONF_D: &str = "/etc/supervisor/conf.d/leaving.conf";

/// Redis and a web server from Debian's packages, and stand-ins for what ends in all the ways there are.
const PROGRAMS: &str = r#"
[supervisord]
environment=SHARED="from all",WHERE="%(here)s"

[program:redis]
command=/usr/bin/redis-server --port 0 --unixsocket /run/leaving/redis.sock --save '' ; in memory
user=redis
priority=1
umask=077

[program:web]
command=python3 -m http.server --bind 127.0.0.1 --directory /srv/leaving 81%(process_num)02d
process_name=%(program_name)s_%(process_num)02d
numprocs=3
numprocs_start=1
directory=/srv/leaving/www
user=u2001
umask=027
stopsignal=INT
environment=SHARED="mine",PERCENT="100%%",QUOTED='a "b" \c',NUMBER="%(process_num)02d"

[program:signalled]
command=/srv/leaving/signalled "two words" $HOME 'a\b' %%h {instance}
stopsignal=USR1

[program:stubborn]
command=/srv/leaving/stubborn
autostart=false
startsecs=0
stopwaitsecs=2

[program:ends-well]
command=/srv/leaving/ends ends-well 0
autostart=false
startsecs=0

[program:expects-three]
command=/srv/leaving/ends expects-three 3
autostart=false
exitcodes=0,3
startsecs=0

[program:ends-badly]
command=/srv/leaving/ends ends-badly 1
autostart=false
startsecs=0

[program:never-again]
command=/srv/leaving/ends never-again 1
autostart=false
autorestart=false
startsecs=0

[program:always-again]
command=/srv/leaving/ends always-again 0
autostart=false
autorestart=true
startsecs=0
"#;

/// Writes down which signal ends it, and lets nobody wait for its child.
const SIGNALLED: &str = r#"#!/usr/bin/python3 -IS
import signal, sys
def end(number, frame):
    with open("/run/leaving/signal", "w") as file:
        file.write(signal.Signals(number).name)
    sys.exit(0)
for number in signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGHUP:
    signal.signal(number, end)
while True:
    signal.pause()
"#;

/// Takes no notice of being told to end.
const STUBBORN: &str = "#!/bin/sh\ntrap : TERM\nwhile :; do sleep 1; done\n";

/// Counts its starts, and ends with the status that it is told.
const ENDS: &str = "#!/bin/sh\necho start >>\"/run/leaving/$1.starts\"\nexit \"$2\"\n";

/// What somebody who looks sees of a process.
#[derive(Debug, PartialEq)]
struct Seen {
    argv: Vec<String>,
    environment: BTreeMap<String, String>,
    user: String,
    groups: Vec<String>,
    directory: String,
    umask: String,
}

/// Who runs the programs.
trait Supervisor {
    /// The process of that name in supervisord's file, if it runs.
    fn pid(&self, name: &str) -> Option<u32>;
    fn start(&self, name: &str);
    fn stop(&self, name: &str);
}

struct Supervisord<'m>(&'m Machine);

impl Supervisord<'_> {
    fn ctl(&self, words: &[&str]) -> String {
        self.0.run(&[&["supervisorctl"], words].concat()).stdout
    }
}

impl Supervisor for Supervisord<'_> {
    fn pid(&self, name: &str) -> Option<u32> {
        self.ctl(&["pid", name]).trim().parse().ok().filter(|pid| *pid > 0)
    }

    fn start(&self, name: &str) {
        self.ctl(&["start", name]);
    }

    fn stop(&self, name: &str) {
        self.ctl(&["stop", name]);
    }
}

/// The imported group, with the unit of each process.
struct Imported<'m>(&'m Machine, BTreeMap<String, String>);

impl Supervisor for Imported<'_> {
    fn pid(&self, name: &str) -> Option<u32> {
        self.0.property(&self.1[name], "MainPID").parse().ok().filter(|pid| *pid > 0)
    }

    fn start(&self, name: &str) {
        self.0.systemctl(&["start", &self.1[name]]);
    }

    fn stop(&self, name: &str) {
        self.0.systemctl(&["stop", &self.1[name]]);
    }
}

const STAYING: &[&str] = &["redis:redis", "web:web_01", "web:web_02", "web:web_03", "signalled:signalled"];

pub fn what_ran_under_supervisord_runs_as_before(m: &Machine) {
    m.ok(&["mkdir", "-p", "/srv/leaving/www", "/run/leaving"]);
    m.ok(&["chmod", "1777", "/run/leaving"]);
    m.write(CONF_D, PROGRAMS);
    m.write_program("/srv/leaving/signalled", SIGNALLED);
    m.write_program("/srv/leaving/ends", ENDS);
    m.write_program("/srv/leaving/stubborn", STUBBORN);

    m.ok(&["systemctl", "enable", "--now", "supervisor.service"]);
    let before = observe(m, &Supervisord(m));
    let file = "/etc/copse/leaving.toml";
    m.ok(&["mkdir", "-p", "/etc/copse"]);
    let imported = m.copse(&["import", "supervisord", CONF, "--output", file]);
    assert_eq!(imported.status, 11, "{}", imported.stderr);
    let group = Group::there(m, "leaving");
    m.ok(&["copse", "check", "leaving"]);

    while_supervisord_runs_nothing_is_taken_over(m, &group);
    m.ok(&["systemctl", "disable", "--now", "supervisor.service"]);
    m.sh("rm -f /run/leaving/*");
    let started = m.copse(&["start", "leaving"]);
    assert_eq!(started.status, 0, "{}{}{}", started.stdout, started.stderr, group.account());
    let after = observe(m, &Imported(m, units()));
    assert_eq!(after, before);
    assert_eq!(m.copse(&["plan", "--exit-code", "leaving"]).status, 0);
    drop(group);
    m.sh(&format!("rm -rf /run/leaving /srv/leaving {CONF_D}"));
}

/// An apply has systemd read the group and starts nothing of it. Who starts it too early is told what can't be started,
/// and why; what runs under supervisord isn't touched.
fn while_supervisord_runs_nothing_is_taken_over(m: &Machine, group: &Group<'_>) {
    let supervisord = Supervisord(m);
    let pids = || STAYING.iter().map(|name| supervisord.pid(name)).collect::<Vec<_>>();
    let before = pids();
    let plan = m.copse(&["plan", "--exit-code", "leaving"]);
    assert_eq!(plan.status, 7, "{}{}", plan.stdout, plan.stderr);
    assert!(plan.stdout.contains("nothing is started"), "{}", plan.stdout);
    let applied = m.copse(&["apply", "leaving"]);
    assert_eq!(applied.status, 0, "{}{}{}", applied.stdout, applied.stderr, group.account());
    assert_eq!(m.state("leaving.target"), "inactive");
    assert_eq!(m.property("leaving-web@01.service", "LoadState"), "loaded");
    assert_eq!(pids(), before);
    m.ok(&["copse", "start", "leaving"]);
    m.wait_until("the web servers gave up", || {
        let status = m.copse(&["status", "leaving"]);
        status.status == 8 && status.stdout.matches("Address already in use").count() == 3
    });
    m.ok(&["copse", "stop", "leaving"]);
    assert_eq!(pids(), before);
}

/// The unit that each of supervisord's processes is in the group.
fn units() -> BTreeMap<String, String> {
    let input = Input {
        files: vec![(CONF_D.to_owned(), PROGRAMS.to_owned())],
        environment: BTreeMap::new(),
        host: String::new(),
    };
    let unit = |member: copse::import::supervisord::translate::Member| {
        let instance = member.instance.map(|name| format!("@{name}")).unwrap_or_default();
        (member.was, format!("leaving-{}{instance}.service", member.process))
    };
    input.import().members.into_iter().map(unit).collect()
}

/// Everything that is promised to be the same: what the processes are, and what becomes of them.
fn observe(m: &Machine, by: &dyn Supervisor) -> (Vec<Seen>, Vec<String>) {
    m.wait_until("all processes run", || STAYING.iter().all(|name| by.pid(name).is_some()));
    m.wait_until("Redis answers", || {
        m.run(&["redis-cli", "-s", "/run/leaving/redis.sock", "ping"]).stdout.trim() == "PONG"
    });
    let fetch = "import sys, urllib.request; urllib.request.urlopen('http://127.0.0.1:8103/ends')";
    m.wait_until("the last web server answers", || m.run(&["python3", "-c", fetch]).status == 0);
    let seen = STAYING.iter().map(|name| seen(m, by.pid(name).expect("it runs"))).collect();
    let mut happened =
        vec![format!("{} web servers", m.run(&["pgrep", "-fc", "http.server --bind 127.0.0.1"]).stdout.trim())];
    for (name, signal) in
        [("web:web_02", "KILL"), ("web:web_03", "TERM"), ("web:web_01", "SEGV"), ("redis:redis", "KILL")]
    {
        let old = by.pid(name).expect("it runs");
        m.ok(&["kill", "-s", signal, &old.to_string()]);
        m.wait_until("another process takes its place", || by.pid(name).is_some_and(|pid| pid != old));
        happened.push(format!("{name} is back after {signal}"));
    }
    by.stop("signalled:signalled");
    m.wait_until("it was told to end", || m.exists("/run/leaving/signal"));
    happened.push(format!("stopped by {}", m.read("/run/leaving/signal")));
    by.start("stubborn:stubborn");
    m.wait_until("it runs", || by.pid("stubborn:stubborn").is_some());
    by.stop("stubborn:stubborn");
    m.wait_until("it was killed", || by.pid("stubborn:stubborn").is_none());
    happened.push("who doesn't end when told to is killed".to_owned());
    let starts = |name: &str| m.run(&["cat", &format!("/run/leaving/{name}.starts")]).stdout.lines().count();
    for name in ["ends-well", "expects-three", "never-again", "ends-badly", "always-again"] {
        by.start(&format!("{name}:{name}"));
    }
    // Those that come back have come back twice by the time that the others would have.
    for name in ["ends-badly", "always-again"] {
        m.wait_until("it is started again and again", || starts(name) > 2);
        by.stop(&format!("{name}:{name}"));
        happened.push(format!("{name} comes back"));
    }
    for name in ["ends-well", "expects-three", "never-again"] {
        happened.push(format!("{name}: {} start", starts(name)));
    }
    (seen, happened)
}

fn seen(m: &Machine, pid: u32) -> Seen {
    let texts = |file: &str| -> Vec<String> {
        m.read(&format!("/proc/{pid}/{file}")).split_terminator('\0').map(str::to_owned).collect()
    };
    let status = m.read(&format!("/proc/{pid}/status"));
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.split_whitespace().next().unwrap_or_default().to_owned()
    };
    // Beyond what the file says each of the two managers sets variables of its own.
    let said = ["SHARED", "WHERE", "PERCENT", "QUOTED", "NUMBER"];
    let environment = texts("environ").into_iter().filter_map(|variable| {
        let (name, value) = variable.split_once('=')?;
        said.contains(&name).then(|| (name.to_owned(), value.to_owned()))
    });
    Seen {
        argv: texts("cmdline"),
        environment: environment.collect(),
        user: m.ok(&["id", "-nu", &field("Uid:")]),
        groups: groups(&status),
        directory: normalized(&m.ok(&["readlink", &format!("/proc/{pid}/cwd")])),
        umask: field("Umask:"),
    }
}

/// The group, and all that the process is a member of.
fn groups(status: &str) -> Vec<String> {
    let words =
        |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().split_whitespace();
    let mut others: Vec<String> = words("Groups:").map(str::to_owned).collect();
    others.sort();
    words("Gid:").take(1).map(str::to_owned).chain(others).collect()
}
