//! The keys of one process.

use std::collections::BTreeSet;

use super::Translation;
use super::restarts::span;
use super::texts;
use super::texts::Numbered;
use crate::basic::diagnostic::Code;
use crate::basic::scope::Scope;
use crate::import::group_file::{Table, Value};
use crate::import::supervisord::config::{Address, Process, Program, normalized};
use crate::import::supervisord::configparser::{Setting, Spot};
use crate::import::supervisord::expanded::{Expanded, Part};
use crate::import::supervisord::reader::give_value;
use crate::model;
use crate::model::{Piece, Text};

/// The soft limit of open files that systemd gives anyway (systemd-system.conf(5), "DefaultLimitNOFILE=").
const FILES: i64 = 1024;

impl Translation<'_> {
    /// Fills the table; `None` where the program can't be a process, which is reported.
    pub(super) fn process(&mut self, program: &Program, names: Option<&[String]>, table: &mut Table) -> Option<()> {
        self.runs(program, names, table)?;
        self.identity(program, table);
        if !program.autostart {
            table.set("start", "manual");
        }
        self.restarts(program, table);
        self.stops(program, table);
        self.output(program, table);
        self.socket(program, table)
    }

    /// Command, environment and directory: once for all processes where that says it, or else for each instance.
    fn runs(&mut self, program: &Program, names: Option<&[String]>, table: &mut Table) -> Option<()> {
        let first = program.processes.first()?;
        let Some(names) = names else { return self.run(program, first, table) };
        let numbered = Numbered { program, names };
        let argv = numbered.argv();
        let directory = numbered.directory();
        let common = Process {
            argv: argv.clone().unwrap_or_else(|| first.argv.clone()),
            environment: first.environment.iter().filter_map(|(name, _)| numbered.variable(name)).collect(),
            directory: directory.clone().unwrap_or_else(|| first.directory.clone()),
            ..first.clone()
        };
        self.run(program, &common, table)?;
        for (process, name) in program.processes.iter().zip(names) {
            let mut own = Table::default();
            if argv.is_none() && process.argv != first.argv {
                set_command(&mut own, self.command(program, process)?);
            }
            let is_common = |name: &Expanded| common.environment.iter().any(|(known, _)| known == name);
            let variables = process.environment.iter().filter(|(name, _)| !is_common(name));
            let environment = Process { environment: variables.cloned().collect(), ..process.clone() };
            self.environment(program, &environment, &mut own);
            if directory.is_none() && process.directory != first.directory {
                self.directory(program, process, &mut own);
            }
            if !own.is_empty() {
                *table.table("instance").table(name) = own;
            }
        }
        Some(())
    }

    fn run(&mut self, program: &Program, process: &Process, table: &mut Table) -> Option<()> {
        self.directory(program, process, table);
        let command = self.command(program, process)?;
        let key = set_command(table, command);
        let mut seen = BTreeSet::new();
        let variables = process.argv.iter().flat_map(|word| &word.0).filter_map(variable);
        let open: Vec<String> = variables.filter(|name| seen.insert(name.clone())).collect();
        if !open.is_empty() {
            table.comment_at(key, format!("from the process's environment, which has to set it: {}", open.join(", ")));
        }
        self.environment(program, process, table);
        self.search_path(process, table);
        Some(())
    }

    fn command(&mut self, program: &Program, process: &Process) -> Option<Value> {
        let spot = self.spot(program.section, "command");
        for variable in process.argv.iter().flat_map(|word| &word.0) {
            if let Part::Env(name, _) = variable {
                let message = format!(
                    "`%(ENV_{name})s` has no value: the process's own variable `{name}` is taken when it starts"
                );
                let help = format!("set it in `environment` or an `environment-file`, or {}", give_value(name));
                self.say(Code::Otherwise, spot, message, Some(&help));
            }
        }
        let mut argv: Vec<Text> = process.argv.iter().map(texts::argument).collect::<Option<_>>().or_else(|| {
            self.say(Code::NotImported, spot, "`command` needs a variable that systemd can't have", None);
            None
        })?;
        // systemd expands nothing in a program's path; env(1) takes its place and is gone at once.
        if argv.first().is_some_and(|word| word.has(|piece| matches!(piece, Piece::Env(_) | Piece::EnvWords(_)))) {
            argv.insert(0, Text::literal("/usr/bin/env"));
        } else if process.argv[0].0.contains(&Part::Char('/'))
            && argv[0].is_relative()
            && self.directory_of(process).is_none_or(|directory| !is_absolute(&directory))
        {
            let message = "the program's path is relative, and where supervisord itself would run isn't known";
            self.say(Code::NotImported, spot, message, Some("write its absolute path"));
            return None;
        }
        let command = Value::command(&argv);
        if command.is_none() {
            self.say(Code::NotImported, spot, "an argument has the process's number between braces", None);
        }
        command
    }

    /// The process's directory, or else supervisord's own.
    fn directory_of(&self, process: &Process) -> Option<Expanded> {
        let daemon = &self.config.daemon.directory;
        match (&process.directory, daemon) {
            (Some(own), Some(daemon)) if !is_absolute(own) && is_absolute(daemon) => {
                let mut joined = daemon.clone();
                joined.0.push(Part::Char('/'));
                joined.0.extend(own.0.iter().cloned());
                Some(joined)
            }
            (own, daemon) => own.clone().or_else(|| daemon.clone()),
        }
    }

    fn directory(&mut self, program: &Program, process: &Process, table: &mut Table) {
        let Some(directory) = self.directory_of(process) else { return };
        let spot = self.spot(program.section, "directory");
        if let Some(variable) = directory.open() {
            let message = format!("`directory` isn't imported: `%(ENV_{variable})s` has no value");
            table.comment(message.clone());
            self.say(Code::LeftOut, spot, message, Some(&give_value(variable)));
            return;
        }
        if !is_absolute(&directory) {
            let message =
                "`directory` isn't imported: it is relative, and where supervisord itself would run isn't known";
            table.comment(message);
            return self.say(Code::LeftOut, spot, message, None);
        }
        // systemd takes no `..` there.
        let directory = match directory.literal() {
            Some(path) => Expanded::from(normalized(&path)),
            None => directory,
        };
        if let Some(path) = texts::text(&directory).as_ref().and_then(model::spelled) {
            table.set("working-directory", path);
        }
    }

    fn environment(&mut self, program: &Program, process: &Process, table: &mut Table) {
        for (name, value) in &process.environment {
            let name = name.literal().unwrap_or_default();
            let mut leave_out = |why: String, help: Option<&str>| {
                let message = format!("the variable `{name}` isn't imported: {why}");
                table.comment(message.clone());
                self.say(Code::LeftOut, self.spot_of_variable(program, &name), message, help);
            };
            if let Some(variable) = value.open() {
                leave_out(format!("`%(ENV_{variable})s` has no value"), Some(&give_value(variable)));
            } else if !model::is_variable(&name) {
                leave_out("systemd knows names of letters, digits and `_` only".to_owned(), None);
            } else if let Some(value) = texts::text(value).as_ref().and_then(model::spelled) {
                table.table("environment").set(&name, value);
            } else {
                leave_out("it has the process's number between braces".to_owned(), None);
            }
        }
    }

    /// Where a variable is set: in the program's own environment, or in that of all.
    fn spot_of_variable(&self, program: &Program, name: &str) -> Spot {
        let ini = &self.config.ini;
        let own = ini.get(&ini.sections[program.section], "environment");
        let common = ini.section("supervisord").and_then(|section| ini.get(section, "environment"));
        let sets = |setting: &&Setting| setting.value.contains(name);
        own.filter(sets).or(common).map_or(ini.sections[program.section].spot, |setting| setting.spot)
    }

    /// supervisord looks for programs in the `PATH` that the process gets, systemd in its own.
    fn search_path(&self, process: &Process, table: &mut Table) {
        let by_name = process.argv[0].literal().is_some_and(|program| !program.contains('/'));
        let path = process.environment.iter().find(|(name, _)| name.literal().as_deref() == Some("PATH"));
        let Some(path) = path.filter(|_| by_name).and_then(|(_, path)| path.literal()) else { return };
        // Pass-through is systemd's own grammar, in which blanks, quotes, backslashes and percent signs mean something.
        let plain = |directory: &&str| {
            directory.starts_with('/')
                && directory.chars().all(|c| {
                    c.is_ascii_alphanumeric() || !c.is_ascii() && !c.is_whitespace() || "/._+-@~,=".contains(c)
                })
        };
        let directories: Vec<&str> = path.split(':').filter(plain).collect();
        if !directories.is_empty() {
            table.table("service").set("ExecSearchPath", directories.join(":"));
        }
    }

    fn identity(&mut self, program: &Program, table: &mut Table) {
        let daemon = &self.config.daemon;
        let user = program.user.clone().or_else(|| daemon.user.clone());
        if let Some(user) = user {
            if self.scope == Scope::System {
                table.set("user", user);
            } else {
                let message = "`user` isn't imported: a user's service manager runs everything as that user";
                self.say(Code::LeftOut, self.spot(program.section, "user"), message, None);
            }
        }
        if let Some(umask) = program.umask.or(daemon.umask) {
            table.set("umask", format!("{:04o}", umask & 0o777));
        }
        if let Some(files) = daemon.minfds.filter(|files| *files > FILES) {
            table.set("limit-nofile", files);
        }
    }

    fn stops(&mut self, program: &Program, table: &mut Table) {
        table.set("kill-signal", program.stopsignal.as_str());
        // To systemd, zero is no limit.
        table.set("timeout-stop-sec", span(program.stopwaitsecs.max(1)));
        table.set("kill-mode", if program.stopasgroup { "control-group" } else { "mixed" });
    }

    fn output(&mut self, program: &Program, table: &mut Table) {
        let output = program.output;
        if output.no_stdout {
            table.table("service").set("StandardOutput", "null");
        }
        // The error output goes where the output goes, unless it says otherwise.
        let stderr = match (output.joined, output.no_stdout, output.no_stderr) {
            (true, ..) | (_, true, true) | (_, false, false) => return,
            (false, true, false) => "journal",
            (false, false, true) => "null",
        };
        table.table("service").set("StandardError", stderr);
    }

    /// The process gets the listening socket as its standard input.
    fn socket(&mut self, program: &Program, table: &mut Table) -> Option<()> {
        let Some(socket) = &program.socket else { return Some(()) };
        let listen = match &socket.address {
            Address::Unix(path) => format!("unix:{path}"),
            Address::Tcp(host, port) => {
                let host = if host == "localhost" { "127.0.0.1" } else { host };
                if host.parse::<std::net::Ipv4Addr>().is_err() {
                    let message = format!("`socket`: systemd listens at addresses, and `{host}` is a name");
                    self.say(
                        Code::NotImported,
                        self.spot(program.section, "socket"),
                        message,
                        Some("write its address"),
                    );
                    return None;
                }
                format!("tcp:{host}:{port}")
            }
        };
        table.set("listen", model::spelled(&Text::literal(listen))?);
        let service = table.table("service");
        service.set("StandardInput", "socket");
        if service.get("StandardOutput").is_none() {
            service.set("StandardOutput", "journal");
        }
        let own = table.table("socket");
        if let Some(owner) = &socket.owner {
            let (user, group) = owner.split_once(':').map_or((&**owner, None), |(user, group)| (user, Some(group)));
            own.set("SocketUser", user.replace('%', "%%"));
            group.into_iter().for_each(|group| own.set("SocketGroup", group.replace('%', "%%")));
        }
        if let Some(mode) = socket.mode {
            own.set("SocketMode", format!("{:04o}", mode & 0o777));
        }
        if let Some(backlog) = socket.backlog {
            own.set("Backlog", backlog.to_string());
        }
        if own.is_empty() {
            table.remove("socket");
        }
        Some(())
    }
}

/// Sets `exec`, or `shell` where that is what it says. To a shell `{env:NAME}` isn't one word.
fn set_command(table: &mut Table, command: Value) -> &'static str {
    if let Value::Array(words) = &command
        && let [Value::String(shell), Value::String(option), Value::String(script)] = &words[..]
        && (shell.as_str(), option.as_str()) == ("/bin/sh", "-c")
        && !script.contains("{env:")
    {
        table.set("shell", script.as_str());
        return "shell";
    }
    table.set("exec", command);
    "exec"
}

fn variable(part: &Part) -> Option<String> {
    if let Part::Env(name, _) = part { Some(name.to_string()) } else { None }
}

fn is_absolute(path: &Expanded) -> bool {
    path.0.first() == Some(&Part::Char('/'))
}
