//! The keys of one process.

use std::collections::BTreeSet;

use super::instances::Numbered;
use super::notes::Notes;
use super::restarts;
use super::restarts::span;
use super::texts::{argument, text};
use crate::basic::diagnostic::Code;
use crate::basic::scope::Scope;
use crate::import::group_file::{Table, Value};
use crate::import::supervisord::config::{Address, Config, Process, Program, Socket};
use crate::import::supervisord::python_format::{Expanded, Part};
use crate::import::supervisord::reader::{give_value, normalized};
use crate::model;
use crate::model::{Piece, Text};

/// systemd's default limit of open files (systemd-system.conf(5), "DefaultLimitNOFILE=").
const FILES: i64 = 1024;

pub(super) struct Translation<'t, 'n> {
    pub(super) program: &'t Program,
    pub(super) config: &'t Config,
    pub(super) scope: Scope,
    pub(super) notes: &'t mut Notes<'n>,
}

impl Translation<'_, '_> {
    /// Fills the table; `None` if the program cannot be a process, which is reported.
    pub(super) fn fill(&mut self, names: Option<&[String]>, table: &mut Table) -> Option<()> {
        let program = self.program;
        match names {
            None => self.run(program.processes.first()?, table)?,
            Some(names) => self.run_instances(&Numbered { program, names }, table)?,
        }
        self.identity(table);
        if !program.autostart {
            table.set("start", "manual");
        }
        restarts::set(program, &self.config.programs, table, self.notes);
        table.set("kill-signal", program.stopsignal.as_str());
        // To systemd, zero is no limit.
        table.set("timeout-stop-sec", span(program.stopwaitsecs.max(1)));
        table.set("kill-mode", if program.stopasgroup { "control-group" } else { "mixed" });
        self.output(table);
        program.socket.as_ref().map_or(Some(()), |socket| self.socket(socket, table))
    }

    fn report(&mut self, code: Code, option: &str, message: impl Into<String>, help: Option<&str>) {
        self.notes.report(code, self.program.section, option, message, help);
    }

    /// Command, directory and variables: once for all processes if possible, or else for each instance.
    fn run_instances(&mut self, numbered: &Numbered<'_>, table: &mut Table) -> Option<()> {
        let first = self.program.processes.first()?;
        let (argv, directory) = (numbered.argv(), numbered.directory());
        let common = Process {
            name: first.name.clone(),
            argv: argv.clone().unwrap_or_else(|| first.argv.clone()),
            environment: first.environment.iter().filter_map(|(name, _)| numbered.variable(name)).collect(),
            directory: directory.clone().unwrap_or_else(|| first.directory.clone()),
        };
        self.run(&common, table)?;
        let is_common = |name: &Expanded| common.environment.iter().any(|(known, _)| known == name);
        for (process, name) in self.program.processes.iter().zip(numbered.names) {
            let mut own = Table::default();
            if argv.is_none() && process.argv != first.argv {
                set_command(&mut own, self.command(process)?);
            }
            let variables = process.environment.iter().filter(|(name, _)| !is_common(name));
            self.environment(variables, &mut own);
            if directory.is_none() && process.directory != first.directory {
                self.directory(process, &mut own);
            }
            if !own.is_empty() {
                *table.table("instance").table(name) = own;
            }
        }
        Some(())
    }

    fn run(&mut self, process: &Process, table: &mut Table) -> Option<()> {
        self.directory(process, table);
        let key = set_command(table, self.command(process)?);
        let mut seen = BTreeSet::new();
        let open: Vec<&str> = variables(process).filter(|name| seen.insert(*name)).collect();
        if !open.is_empty() {
            table.comment_at(
                key,
                format!("needs these variables in the environment of the process: {}", open.join(", ")),
            );
        }
        self.environment(&process.environment, table);
        search_path(process, table);
        Some(())
    }

    fn command(&mut self, process: &Process) -> Option<Value> {
        for name in variables(process) {
            let message =
                format!("`%(ENV_{name})s` has no value, so `{name}` is read from the environment of the process");
            let help = format!("set it in `environment` or an `environment-file`, or {}", give_value(name));
            self.report(Code::Otherwise, "command", message, Some(&help));
        }
        let argv: Option<Vec<Text>> = process.argv.iter().map(argument).collect();
        let Some(mut argv) = argv else {
            self.report(Code::NotImported, "command", "`command` needs a variable that systemd cannot have", None);
            return None;
        };
        // systemd expands nothing in the path of a program; env(1) does, and executes the program in its place.
        if argv.first().is_some_and(|word| word.has(|piece| matches!(piece, Piece::Env(_) | Piece::EnvWords(_)))) {
            argv.insert(0, Text::literal("/usr/bin/env"));
        } else if process.argv[0].0.contains(&Part::Char('/'))
            && argv[0].is_relative()
            && self.directory_of(process).is_none_or(|directory| !directory.is_absolute())
        {
            let message = "the path of the program is relative to the unknown directory of supervisord";
            self.report(Code::NotImported, "command", message, Some("write an absolute path"));
            return None;
        }
        let command = Value::command(&argv);
        if command.is_none() {
            let message = "`command` has the number of the process between braces";
            self.report(Code::NotImported, "command", message, None);
        }
        command
    }

    /// The directory of the process, or that of supervisord.
    fn directory_of(&self, process: &Process) -> Option<Expanded> {
        match (&process.directory, &self.config.daemon.directory) {
            (Some(own), Some(daemon)) if !own.is_absolute() && daemon.is_absolute() => {
                Some(Expanded([&daemon.0[..], &[Part::Char('/')], &own.0].concat()))
            }
            (own, daemon) => own.clone().or_else(|| daemon.clone()),
        }
    }

    fn directory(&mut self, process: &Process, table: &mut Table) {
        let Some(directory) = self.directory_of(process) else { return };
        let (reason, help) = if let Some(variable) = directory.open() {
            (format!("`%(ENV_{variable})s` has no value"), Some(give_value(variable)))
        } else if !directory.is_absolute() {
            ("it is relative to the unknown directory of supervisord".to_owned(), None)
        } else {
            // systemd accepts no `..` there.
            let directory = directory.literal().map_or(directory, |path| normalized(&path).as_str().into());
            if let Some(path) = text(&directory).as_ref().and_then(model::spelled) {
                table.set("working-directory", path);
            }
            return;
        };
        let message = format!("`directory` is not imported: {reason}");
        table.comment(message.clone());
        self.report(Code::LeftOut, "directory", message, help.as_deref());
    }

    fn environment<'v>(&mut self, variables: impl IntoIterator<Item = &'v (Expanded, Expanded)>, table: &mut Table) {
        for (name, value) in variables {
            let name = name.literal().unwrap_or_default();
            let (reason, help) = if let Some(variable) = value.open() {
                (format!("`%(ENV_{variable})s` has no value"), Some(give_value(variable)))
            } else if !model::is_variable(&name) {
                ("its name is not made of letters, digits and `_`".to_owned(), None)
            } else if let Some(value) = text(value).as_ref().and_then(model::spelled) {
                table.table("environment").set(&name, value);
                continue;
            } else {
                ("it has the number of the process between braces".to_owned(), None)
            };
            let message = format!("the variable `{name}` is not imported: {reason}");
            table.comment(message.clone());
            self.notes.variable(self.program.section, &name, message, help.as_deref());
        }
    }

    fn identity(&mut self, table: &mut Table) {
        match self.program.user.as_ref().or(self.config.daemon.user.as_ref()) {
            Some(user) if self.scope == Scope::System => table.set("user", user.as_str()),
            Some(_) => {
                let message = "`user` is not imported: a user's service manager runs all processes as that user";
                self.report(Code::LeftOut, "user", message, None);
            }
            None => {}
        }
        if let Some(umask) = self.program.umask.or(self.config.daemon.umask) {
            table.set("umask", format!("{:04o}", umask & 0o777));
        }
        if let Some(files) = self.config.daemon.minfds.filter(|files| *files > FILES) {
            table.set("limit-nofile", files);
        }
    }

    fn output(&self, table: &mut Table) {
        let Program { no_stdout, no_stderr, redirect_stderr, .. } = *self.program;
        if no_stdout {
            table.table("service").set("StandardOutput", "null");
        }
        // Without a directive, the error output goes where the output goes.
        if !redirect_stderr && no_stdout != no_stderr {
            table.table("service").set("StandardError", if no_stderr { "null" } else { "journal" });
        }
    }

    /// The listening socket is the standard input of the process.
    fn socket(&mut self, socket: &Socket, table: &mut Table) -> Option<()> {
        let listen = match &socket.address {
            Address::Unix(path) => format!("unix:{path}"),
            Address::Tcp(host, port) => {
                let host = if host == "localhost" { "127.0.0.1" } else { host };
                if host.parse::<std::net::Ipv4Addr>().is_err() {
                    let message = format!("`socket`: systemd listens on addresses, and `{host}` is a name");
                    self.report(Code::NotImported, "socket", message, Some("write the address"));
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
        let mut own = Table::default();
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
        if !own.is_empty() {
            table.set("socket", own);
        }
        Some(())
    }
}

/// Sets `exec`, or `shell` for a script. In a script, the value of `{env:NAME}` would be read as code.
fn set_command(table: &mut Table, command: Value) -> &'static str {
    if let Value::Array(words) = &command
        && let [Value::String(shell), Value::String(option), Value::String(script)] = &words[..]
        && shell == "/bin/sh"
        && option == "-c"
        && !script.contains("{env:")
    {
        table.set("shell", script.as_str());
        return "shell";
    }
    table.set("exec", command);
    "exec"
}

/// The variables without a value in a command.
fn variables(process: &Process) -> impl Iterator<Item = &str> {
    let parts = process.argv.iter().flat_map(|word| &word.0);
    parts.filter_map(|part| if let Part::Env(name, _) = part { Some(&**name) } else { None })
}

/// supervisord searches a program in the `PATH` of the process, systemd in its own.
fn search_path(process: &Process, table: &mut Table) {
    let by_name = process.argv[0].literal().is_some_and(|program| !program.contains('/'));
    let path = process.environment.iter().find(|(name, _)| name.literal().as_deref() == Some("PATH"));
    let Some(path) = path.filter(|_| by_name).and_then(|(_, path)| path.literal()) else { return };
    // Values of directives follow systemd's own grammar, so that other characters would need an escape.
    let plain = |c: char| c.is_ascii_alphanumeric() || !c.is_ascii() && !c.is_whitespace() || "/._+-@~,=".contains(c);
    let directories: Vec<&str> =
        path.split(':').filter(|directory| directory.starts_with('/') && directory.chars().all(plain)).collect();
    if !directories.is_empty() {
        table.table("service").set("ExecSearchPath", directories.join(":"));
    }
}
