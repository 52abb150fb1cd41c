//! `copse run`: a throw-away group with its log in front, as people start their Procfiles.

use std::time::Duration;

use crate::machines::machine::Machine;
use crate::machines::scope::{LIMIT, Scope, Spawned};
use crate::situation::{Situation, situation};

pub mod ending;

pub const SITUATIONS: &[Situation] = &[
    situation!(a_procfile_runs_in_front_until_ctrl_c_and_leaves_nothing),
    situation!(the_first_process_that_ends_ends_the_run_with_its_status),
    situation!(a_user_runs_a_procfile_with_the_own_environment),
    situation!(every_variable_arrives_as_the_caller_has_it),
    situation!(a_group_file_is_run_with_its_steps_sockets_and_readiness),
    situation!(an_installed_group_of_the_same_name_goes_on_beside_a_run),
    situation!(two_runs_of_one_procfile_at_once_are_two),
    situation!(a_formation_and_a_port_are_foreman_s),
    situation!(what_cannot_be_run_is_said_and_leaves_nothing),
];

/// Real programs: a web server and a database.
const PROCFILE: &str = "\
# What a shop needs.
web: exec python3 -m http.server $PORT --bind 127.0.0.1
db: redis-server --port 0 --unixsocket /tmp/copse-run-$PORT.sock --save '' --appendonly no
";

/// A run, and where it was started.
struct Run<'m, S: Scope> {
    scope: &'m S,
    spawned: Spawned,
    group: String,
}

impl<'m, S: Scope> Run<'m, S> {
    /// Starts one and waits until it says that it is ready.
    #[track_caller]
    fn ready(scope: &'m S, words: &[&str]) -> Run<'m, S> {
        let run = Run::begun(scope, words);
        let ready = |line: &str| line.contains(&run.group) && line.ends_with("| copse: ready");
        run.shows("copse: ready", |shown| shown.lines().any(ready));
        run
    }

    /// Starts one and waits until it has a name.
    #[track_caller]
    fn begun(scope: &'m S, words: &[&str]) -> Run<'m, S> {
        let mut spawned = scope.spawn(words);
        let mut group = String::new();
        let said = |spawned: &Spawned| format!("{}\n{}", spawned.stdout(), spawned.stderr());
        scope.wait_until(&format!("{words:?} begins"), || {
            let text = spawned.stdout();
            let first = text.lines().next().unwrap_or_default().split_whitespace().nth(1).unwrap_or_default();
            group = first.to_owned();
            let runs = spawned.runs();
            assert!(runs || !group.is_empty(), "it ended: {}", said(&spawned));
            !group.is_empty() && text.contains('\n')
        });
        Run { scope, spawned, group }
    }

    /// Waits until a text was shown.
    #[track_caller]
    fn sees(&self, text: &str) {
        self.shows(text, |shown| shown.contains(text));
    }

    #[track_caller]
    fn shows(&self, what: &str, holds: impl Fn(&str) -> bool) {
        let began = std::time::Instant::now();
        while !holds(&self.spawned.stdout()) {
            let said = || format!("{}{}", self.spawned.stdout(), self.spawned.stderr());
            assert!(began.elapsed() < LIMIT, "`{what}` isn't shown:\n{}", said());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn unit(&self, rest: &str) -> String {
        format!("{}{rest}", self.group)
    }

    /// The PID of the `copse` itself, as the machine has it.
    #[track_caller]
    fn pid(&self) -> String {
        let text = self.scope.machine().read(&format!("{}/run/{}/caller", state(self.scope), self.group));
        text.split(' ').next().expect("a PID").to_owned()
    }

    #[track_caller]
    fn signal(&self, signal: &str) {
        self.scope.machine().ok(&["kill", "-s", signal, &self.pid()]);
    }

    /// Waits for its end; gives the exit status and all that was shown.
    #[track_caller]
    fn end(self) -> (i32, String) {
        let output = self.spawned.finish();
        (output.status, output.stdout + &output.stderr)
    }
}

/// Where the files of runs are.
fn state(scope: &impl Scope) -> String {
    match scope.tool("systemctl").as_slice() {
        [_, "--user"] => "/run/user/2001/copse".to_owned(),
        _ => "/run/copse".to_owned(),
    }
}

/// Waits until nothing is left of a run: no unit, no file, no process.
#[track_caller]
fn leaves_nothing(scope: &impl Scope, group: &str) {
    scope.wait_until(&format!("nothing is left of {group}"), || left(scope, group).is_empty());
}

/// What is left of a run.
#[track_caller]
fn left(scope: &impl Scope, group: &str) -> String {
    // In the name of the slice the dashes are escaped.
    let pattern = format!("*{}*", group.replace('-', "?*"));
    let units = scope.systemctl(&["list-units", "--all", "--full", "--plain", "--no-legend", "--no-pager", &pattern]);
    // systemd forgets to remove where it keeps LogExtraFields= (unlink() of `extra-fields:`, up to 257 at least).
    let files = format!(
        "find {} /run/systemd /run/user -path '*{group}*' ! -name 'log-extra-fields:*' 2>/dev/null || true",
        state(scope)
    );
    let files = scope.machine().sh(&files);
    // Its processes are in control groups that bear its name.
    let processes = scope.machine().sh(&format!("grep -l -F '{group}-' /proc/[0-9]*/cgroup 2>/dev/null || true"));
    format!("{units}{files}{processes}")
}

#[track_caller]
fn all_left(scope: &impl Scope, group: &str) {
    let left = left(scope, group);
    assert_eq!(left, "", "this is left of {group}");
}

/// Waits until a web server answers.
#[track_caller]
fn serves(m: &Machine, port: u16) {
    let fetch = format!("import urllib.request as r; print(r.urlopen('http://127.0.0.1:{port}/').status)");
    m.wait_until(&format!("port {port} serves"), || m.run(&["python3", "-c", &fetch]).stdout == "200\n");
}

fn a_procfile_runs_in_front_until_ctrl_c_and_leaves_nothing(m: &Machine) {
    m.write("/srv/my shop/Procfile", PROCFILE);
    let run = Run::ready(m, &["copse", "run", "/srv/my shop/Procfile"]);
    assert!(run.group.starts_with("run-my_shop-"), "{}", run.group);
    run.sees("| copse: ready, PID ");
    serves(m, 5000);
    // What the server says comes by, under its name.
    run.sees("\"GET / HTTP/1.1\" 200");
    run.sees("eady to accept connections");
    // They run in the Procfile's directory, as programs, with no shell above them.
    for process in ["web", "db"] {
        let pid = m.pid(&run.unit(&format!("-{process}.service")));
        assert_eq!(m.ok(&["readlink", &format!("/proc/{pid}/cwd")]), "/srv/my shop");
        // Before 250 systemd can't be told where to look for a program.
        let shell = m.ok(&["cat", &format!("/proc/{pid}/comm")]) == "sh";
        assert!(!shell || m.version().number() < 250, "{process} runs below a shell");
    }
    // It is a group like any other.
    let status = m.copse(&["status", &run.group]);
    assert_eq!(status.status, 0, "{}{}", status.stdout, status.stderr);
    let group = run.group.clone();
    run.signal("INT");
    let (status, shown) = run.end();
    assert_eq!(status, 0, "{shown}");
    for line in ["copse: Ctrl-C: stopping", "web              | copse: stopped".trim_start_matches("web              ")]
    {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
    // redis says good-bye, and that is seen.
    assert!(shown.contains("Redis is now ready to exit, bye bye..."), "{shown}");
    all_left(m, &group);
}

fn the_first_process_that_ends_ends_the_run_with_its_status(m: &Machine) {
    for (command, status, line) in [
        ("sleep 0.3; echo a last word; exit 3", 3, "copse: failed: exit status 3"),
        ("sleep 0.3; echo a last word", 0, "| copse: exited"),
        ("echo a last word; kill -SEGV $$", 139, "copse: failed: signal SEGV"),
        ("echo a last word; exec no-such-program", 127, "copse: failed: exit status 127"),
    ] {
        m.write("/srv/ends/Procfile", &format!("stays: sleep infinity\nends: {command}\n"));
        let run = Run::begun(m, &["copse", "run", "/srv/ends/Procfile"]);
        let group = run.group.clone();
        let (ended, shown) = run.end();
        assert_eq!(ended, status, "{command}: {shown}");
        for line in [line, "| a last word", "copse: ends exited: stopping"] {
            assert!(shown.contains(line), "{command}: {line}\n{shown}");
        }
        all_left(m, &group);
    }
}

fn a_user_runs_a_procfile_with_the_own_environment(m: &Machine) {
    let user = m.user(2001);
    let path = format!("{}/shop/Procfile", user.home());
    user.write(&path, "web: echo \"$FROM_CALLER $FROM_FILE $PORT $HOME\"; exec sleep infinity\ntool: mine\n");
    user.write(&format!("{}/shop/.env", user.home()), "FROM_FILE='of the file' # not this\nexport PORT=7000\n");
    user.write(&format!("{}/bin/mine", user.home()), "#!/bin/sh\necho mine runs; exec sleep infinity\n");
    m.ok(&["chmod", "+x", &format!("{}/bin/mine", user.home())]);
    let search = format!("PATH={}/bin:/usr/bin:/bin", user.home());
    let run = Run::ready(&user, &["env", "FROM_CALLER=a secret", "PORT=1", &search, "copse", "run", &path]);
    run.sees(&format!("| a secret of the file 7000 {}", user.home()));
    // A program that only the caller's path has.
    run.sees("| mine runs");
    // Neither in what systemd tells everybody, nor in a file that others can read.
    let shown = user.systemctl(&["show", &run.unit("-web.service")]);
    assert!(!shown.contains("a secret"), "{shown}");
    assert_eq!(m.sh("find /run -type f -perm /044 -exec grep -l 'a secret' {} + 2>/dev/null || true"), "");
    let group = run.group.clone();
    run.signal("INT");
    let (status, shown) = run.end();
    assert_eq!(status, 0, "{shown}");
    assert!(shown.contains("`FROM_FILE` is read without") && shown.contains("/.env:1:1"), "{shown}");
    all_left(&user, &group);
}

/// Sets variables that are hard to carry, and becomes what follows.
const ODD: &str = r##"#!/usr/bin/python3 -S
import os, sys
odd = {"QUOTES": "a'b\"c`d", "DOLLAR": "$HOME ${X} $$", "BACKSLASH": "a\\b\\n\\\\", "LINES": "one\n\ntwo\n#three\n",
       "BLANKS": "  a\t b  ", "EMPTY": "", "PERCENT": "%h%%i", "HASH": "#a;b", "CONTROL": "".join(map(chr, range(1, 32))),
       "UMLAUT": "ä€\U0001f333", "CR": "a\r\nb", "_x": "=", "END": "\\", "SINGLE": "'", "DOUBLE": "\""}
os.environ.update(odd)
os.environb[b"LATIN"] = b"\xe4"
os.environ["BASH_FUNC_f%%"] = "() { :; }"
os.execvp(sys.argv[1], sys.argv[1:])
"##;

fn every_variable_arrives_as_the_caller_has_it(m: &Machine) {
    m.write_program("/usr/local/bin/odd", ODD);
    m.write("/srv/env/Procfile", "a: exec sleep infinity\n");
    let run = Run::ready(m, &["odd", "copse", "run", "/srv/env/Procfile"]);
    let pid = m.pid(&run.unit("-a.service"));
    let compare = format!(
        "import os\n\
         read = lambda pid: dict(v.split(b'=', 1) for v in open(f'/proc/{{pid}}/environ', 'rb').read().split(b'\\0') if v)\n\
         caller, process = read({}), read({pid})\n\
         own = {{b'PWD', b'OLDPWD', b'SHLVL', b'_', b'LATIN', b'BASH_FUNC_f%%'}}\n\
         print(sorted(k for k in caller if k not in own and caller[k] != process.get(k)), b'LATIN' in process, process[b'PORT'])",
        run.pid()
    );
    assert_eq!(m.ok(&["python3", "-c", &compare]), "[] False b'5000'");
    run.signal("INT");
    let (_, shown) = run.end();
    assert!(shown.contains("environment variables not valid for systemd, ignoring: BASH_FUNC_f%%, LATIN"), "{shown}");
}

fn a_group_file_is_run_with_its_steps_sockets_and_readiness(m: &Machine) {
    let group = r#"
        wanted-by = ["multi-user.target"]
        [setup.migrate]
        shell = "echo migrated > /tmp/run-migrated"
        inputs = ["/etc/hostname"]
        [process.server]
        exec = ["/usr/bin/python3", "-c", "import socket, time; s = socket.socket(fileno=3)\nwhile 1: s.accept()[0].sendall(b'hi')"]
        listen = "tcp:127.0.0.1:7801"
        [process.slow]
        shell = "sleep 0.5; touch {runtime-directory}/there; exec sleep infinity"
        runtime-directory = "{group}"
        ready = { file = "{runtime-directory}/there" }
        [process.spare]
        exec = "/bin/false"
        start = "manual"
    "#;
    m.write("/srv/whole/shop.toml", group);
    let run = Run::ready(m, &["copse", "run", "/srv/whole/shop.toml"]);
    assert!(run.group.starts_with("run-shop-"), "{}", run.group);
    for line in ["| copse: done", "server.socket | copse: listening", "| copse: ready, PID "] {
        run.sees(line);
    }
    assert_eq!(m.read("/tmp/run-migrated"), "migrated\n");
    let ask = "import socket; print(socket.create_connection(('127.0.0.1', 7801)).recv(9))";
    assert_eq!(m.ok(&["python3", "-c", ask]), "b'hi'");
    // Nobody starts it at the next boot.
    assert!(!m.exists(&format!("/run/systemd/generator/multi-user.target.wants/{}", run.unit(".target"))));
    // A crash is repaired, as the file wants it.
    m.kill_and_wait(&run.unit("-slow.service"));
    run.sees("copse: ended: signal KILL; restarting");
    let group = run.group.clone();
    run.signal("TERM");
    let (status, shown) = run.end();
    assert_eq!(status, 0, "{shown}");
    assert!(shown.contains("copse: SIGTERM: stopping"), "{shown}");
    all_left(m, &group);
    assert!(!m.exists("/var/lib/copse/setup") || !m.sh("ls /var/lib/copse/setup").contains(&group));
    m.remove("/tmp/run-migrated");
}

fn an_installed_group_of_the_same_name_goes_on_beside_a_run(m: &Machine) {
    let toml = "[process.web]\nexec = \"/bin/sleep infinity\"\n";
    let installed = m.start_group("twin", toml);
    let pid = m.pid("twin-web.service");
    let run = Run::ready(m, &["copse", "run", &installed.file()]);
    assert_ne!(m.pid(&run.unit("-web.service")), pid);
    let group = run.group.clone();
    run.signal("INT");
    assert_eq!(run.end().0, 0);
    all_left(m, &group);
    assert_eq!(m.pid("twin-web.service"), pid);
    assert_eq!(m.read(&installed.file()), toml);
    // One that would empty the other's runtime directory isn't begun.
    m.write("/srv/twin.toml", &format!("{toml}runtime-directory = \"twin\"\n"));
    m.ok(&["mkdir", "-p", "/run/twin"]);
    let refused = m.copse(&["run", "/srv/twin.toml"]);
    assert_eq!(refused.status, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("/run/twin already exists"), "{}", refused.stderr);
    m.remove("/run/twin");
}

fn two_runs_of_one_procfile_at_once_are_two(m: &Machine) {
    m.write("/srv/two/Procfile", PROCFILE);
    let first = Run::ready(m, &["copse", "run", "/srv/two/Procfile"]);
    let second = Run::ready(m, &["copse", "run", "--port", "6000", "/srv/two/Procfile"]);
    assert_ne!(first.group, second.group);
    for port in [5000, 6000] {
        serves(m, port);
    }
    let pid = m.pid(&second.unit("-web.service"));
    let group = first.group.clone();
    first.signal("INT");
    assert_eq!(first.end().0, 0);
    all_left(m, &group);
    assert_eq!(m.pid(&second.unit("-web.service")), pid);
    let group = second.group.clone();
    second.signal("INT");
    let (status, shown) = second.end();
    assert_eq!(status, 0, "{shown}");
    all_left(m, &group);
}

fn a_formation_and_a_port_are_foreman_s(m: &Machine) {
    m.write("/srv/many/Procfile", "a: echo a $PORT $PS; sleep infinity\nb: echo b $PORT; sleep infinity\nc: exit 9\n");
    let run = Run::ready(m, &["copse", "run", "/srv/many/Procfile", "--formation", "b=2,a=1", "--port", "8000"]);
    for line in ["a   | a 8000 a.1", "b@1 | b 8100", "b@2 | b 8101"] {
        run.sees(line);
    }
    run.signal("HUP");
    let (status, shown) = run.end();
    assert_eq!(status, 0, "{shown}");
}

fn what_cannot_be_run_is_said_and_leaves_nothing(m: &Machine) {
    m.write("/srv/bad/bad.toml", "[process.a]\nexec = \"/bin/true\"\nrestrt = \"no\"\n");
    m.write("/srv/bad/Procfile", "web: sleep infinity\n");
    m.write("/srv/bad/empty/Procfile", "# nothing\n");
    m.write("/srv/bad/step.toml", "[setup.s]\nshell = \"echo no use; exit 4\"\n[process.a]\nexec = \"/bin/sleep 9\"\n");
    for (words, status, text) in [
        (&["/srv/bad/bad.toml"][..], 5, "did you mean `restart`?"),
        (&["/srv/bad/none/Procfile"], 1, "there is no Procfile in /srv/bad/none\n  help: run `copse run FILE`"),
        (&["/srv/bad/Procfile", "--formation", "wob=2"], 2, "has no process `wob`\n  help: did you mean `web`?"),
        (&["/srv/bad/empty/Procfile"], 5, "has no process to run"),
        (&["/srv/bad/bad.toml", "--port", "80"], 2, "`--port` applies to Procfiles only"),
        (&["/srv/bad/step.toml"], 4, "| no use"),
    ] {
        let output = m.run(&[&["copse", "run"], words].concat());
        let shown = output.stdout + &output.stderr;
        assert_eq!(output.status, status, "{words:?}: {shown}");
        assert!(shown.contains(text), "{words:?}: {shown}");
        assert_eq!(m.sh("ls /run/copse/run; ls /run/copse | grep run- || true"), "", "{words:?}");
    }
}
