//! Programs: `processes_from_section` of supervisor's options.py, and what belongs to FastCGI.

use std::collections::BTreeSet;

use super::config::{Address, Daemon, Process, Program, Socket};
use super::configparser::{Setting, strip};
use super::datatypes;
use super::datatypes::{Autorestart, integer};
use super::python_format::{Expanded, Named};
use super::reader::{Names, Options, Reader, normalized};
use crate::basic::diagnostic::{Code, Diagnostic};
use crate::import::shlex;
use crate::model::MOST_INSTANCES;

const PREFIXES: [&str; 2] = ["program:", "fcgi-program:"];

impl Reader {
    /// The programs of `[group:x]` sections and all others, in the order of their sections.
    pub(super) fn programs(&mut self, daemon: &Daemon) -> Vec<Program> {
        let sections: Vec<String> = self.ini.sections.iter().map(|section| section.name.clone()).collect();
        let (mut programs, mut grouped) = (Vec::new(), Vec::new());
        for (section, group) in sections.iter().enumerate() {
            if let Some(group) = group.strip_prefix("group:") {
                self.group(section, group, daemon, &mut programs, &mut grouped);
            }
        }
        for (section, name) in sections.iter().enumerate().filter(|(section, _)| !grouped.contains(section)) {
            let Some(name) = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)) else { continue };
            let program = self.name(section, name).and_then(|name| self.program(section, &name, None, daemon));
            programs.extend(program);
        }
        programs.sort_by_key(|program| program.section);
        programs
    }

    fn group(
        &mut self,
        section: usize,
        group: &str,
        daemon: &Daemon,
        programs: &mut Vec<Program>,
        grouped: &mut Vec<usize>,
    ) {
        let Some(group) = self.name(section, group) else { return };
        let names = Names::new();
        let mut options = Options { reader: self, section, names: &names };
        let list = options.get("programs", "names", |text| Some(text.to_owned())).unwrap_or_default();
        let priority = options.get("priority", "a whole number", |text| integer(text, 10)).unwrap_or(999);
        let first = programs.len();
        let mut seen = BTreeSet::new();
        // A program that is named twice is in the group once.
        for name in list.split(',').map(strip).filter(|name| !list.is_empty() && seen.insert(*name)) {
            let Some(section) = PREFIXES.iter().find_map(|prefix| self.ini.section(&format!("{prefix}{name}"))) else {
                let message =
                    format!("`[group:{group}]` names the missing program `{name}`: supervisord refuses this file");
                self.refuse::<()>(section, "programs", message);
                continue;
            };
            grouped.push(section);
            programs.extend(self.program(section, name, Some((&group, priority)), daemon));
        }
        self.leave_out_hidden(first, programs);
    }

    /// If two programs of a group have processes of the same names, supervisord runs those of the later one.
    fn leave_out_hidden(&mut self, first: usize, programs: &mut Vec<Program>) {
        for index in (first..programs.len()).rev() {
            let later: Vec<&Expanded> = programs[index + 1..].iter().flat_map(names).collect();
            if !programs[index].processes.is_empty() && names(&programs[index]).all(|name| later.contains(&name)) {
                let program = programs.remove(index);
                let message = format!(
                    "`{}` is hidden: supervisord runs a later program of the group with the same names",
                    program.name
                );
                let location = &self.ini.sections[program.section].location;
                self.diagnostics.push(Diagnostic::new(Code::LeftOut, location, message));
            }
        }
    }

    fn name(&mut self, section: usize, name: &str) -> Option<String> {
        let message = || format!("`{name}` is no name for supervisord: it holds a blank, a `:` or a `/`");
        datatypes::name(name).map(str::to_owned).or_else(|| self.refuse(section, "", message()))
    }

    /// A program, if supervisord accepts it; `group` with its priority.
    fn program(&mut self, section: usize, name: &str, group: Option<(&str, i64)>, daemon: &Daemon) -> Option<Program> {
        self.refused = false;
        let (group_name, group_priority) = group.unzip();
        let group_name = group_name.unwrap_or(name);
        let mut names = Names::new();
        names.insert("program_name".to_owned(), Named::Text(name.into()));
        names.insert("group_name".to_owned(), Named::Text(group_name.into()));
        let mut options = Options { reader: self, section, names: &names };
        let priority = options.number("priority", 999);
        let stopasgroup = options.flag("stopasgroup", false);
        let mut program = Program {
            section,
            name: name.to_owned(),
            group: group_name.to_owned(),
            grouped: group.is_some(),
            priority: (group_priority.unwrap_or(priority), if group.is_some() { priority } else { 0 }),
            // A process that may not be wanted is better not started.
            autostart: options.flag("autostart", true) && options.open("autostart").is_none(),
            autorestart: options.or(
                "autorestart",
                Autorestart::Unexpected,
                "`true`, `false` or `unexpected`",
                datatypes::autorestart,
            ),
            startsecs: options.number("startsecs", 1),
            startretries: options.number("startretries", 3),
            stopsignal: options.or("stopsignal", "SIGTERM".to_owned(), "a signal", datatypes::signal),
            stopwaitsecs: options.number("stopwaitsecs", 10),
            stopasgroup,
            killasgroup: options.flag("killasgroup", stopasgroup),
            exitcodes: options.or("exitcodes", vec![0], "exit statuses", datatypes::exit_codes),
            // With another value, the process might run as root.
            user: options.get("user", "a user", |text| Some(text.to_owned())),
            umask: options.get("umask", "an octal number", |text| integer(text, 8)),
            redirect_stderr: options.flag("redirect_stderr", false),
            no_stdout: options.discards("stdout_logfile"),
            no_stderr: options.discards("stderr_logfile"),
            socket: None,
            first: options.number("numprocs_start", 0),
            processes: Vec::new(),
            pattern: None,
        };
        let numprocs = options.number("numprocs", 1);
        if program.stopasgroup && !program.killasgroup {
            self.refuse::<()>(section, "killasgroup", "`killasgroup=false` conflicts with `stopasgroup=true`");
        }
        if numprocs > MOST_INSTANCES {
            return self.refuse(section, "numprocs", format!("`numprocs` is more than {MOST_INSTANCES}"));
        }
        if self.ini.sections[section].name.starts_with("fcgi-program:") && group.is_none() {
            program.socket = self.socket(section, name, program.user.as_deref());
        }
        self.processes(&mut program, numprocs, names, daemon)?;
        (!self.refused).then_some(program)
    }

    fn processes(&mut self, program: &mut Program, numprocs: i64, mut names: Names, daemon: &Daemon) -> Option<()> {
        let section = program.section;
        let default = || Setting {
            option: "process_name".to_owned(),
            value: "%(program_name)s".to_owned(),
            location: self.ini.location(section, "command").clone(),
        };
        let mut name = self.ini.get(section, "process_name").cloned().unwrap_or_else(default);
        name.value = match datatypes::name(&name.value) {
            Some(name) => name.to_owned(),
            None => return self.refuse(section, "process_name", "`process_name` has a blank, a `:` or a `/`"),
        };
        if numprocs > 1 && !name.value.contains("%(process_num)") {
            let message = "several processes need `%(process_num)` in `process_name`";
            return self.refuse(section, "numprocs", message);
        }
        names.insert("numprocs".to_owned(), Named::Number(numprocs));
        for number in program.first..program.first.saturating_add(numprocs) {
            // supervisord forgets the variables of the process before, if they are in its own environment.
            names.retain(|name, _| !self.known.contains_key(name));
            names.insert("process_num".to_owned(), Named::Number(number));
            program.processes.push(self.process(section, &name, &mut names, daemon)?);
        }
        if numprocs > 1 {
            names.retain(|name, _| !name.starts_with("ENV_"));
            names.insert("process_num".to_owned(), Named::ProcessNumber);
            // If the number cannot be left open, the processes are translated one by one.
            let (diagnostics, refused) = (std::mem::take(&mut self.diagnostics), self.refused);
            program.pattern = self.process(section, &name, &mut names, daemon);
            (self.diagnostics, self.refused) = (diagnostics, refused);
        }
        Some(())
    }

    fn process(&mut self, section: usize, name: &Setting, names: &mut Names, daemon: &Daemon) -> Option<Process> {
        let mut environment = daemon.environment.clone();
        for (variable, value) in self.environment(section, names)? {
            if let Some(variable) = variable.literal() {
                names.insert(format!("ENV_{variable}"), Named::Text(value.clone()));
            }
            match environment.iter_mut().find(|(known, _)| *known == variable) {
                Some((_, known)) => *known = value,
                None => environment.push((variable, value)),
            }
        }
        let directory = match self.ini.get(section, "directory").cloned() {
            None => None,
            Some(setting) => Some(self.expanded(&setting, names)?),
        };
        let Some(command) = self.ini.get(section, "command").cloned() else {
            return self.refuse(section, "command", "the program has no `command`: supervisord refuses this file");
        };
        let command = self.expanded(&command, names)?;
        let argv: Vec<Expanded> = match shlex::posix(&command.0, true) {
            Ok(argv) if !argv.is_empty() => argv.into_iter().map(Expanded).collect(),
            Ok(_) => return self.refuse(section, "command", "`command` is empty"),
            Err(reason) => return self.refuse(section, "command", format!("`command`: {reason}")),
        };
        Some(Process { name: self.expanded(name, names)?, argv, environment, directory })
    }

    fn environment(&mut self, section: usize, names: &Names) -> Option<Vec<(Expanded, Expanded)>> {
        let Some(setting) = self.ini.get(section, "environment").cloned() else { return Some(Vec::new()) };
        let text = self.expanded(&setting, names)?;
        match datatypes::pairs(&text) {
            Ok(pairs) => Some(pairs),
            Err(reason) => self.refuse(section, "environment", format!("`environment`: {reason}")),
        }
    }

    fn socket(&mut self, section: usize, program: &str, user: Option<&str>) -> Option<Socket> {
        let Some(setting) = self.ini.get(section, "socket").cloned() else {
            let message = "a FastCGI program needs a `socket`: supervisord refuses this file";
            return self.refuse(section, "socket", message);
        };
        // Unlike other options, it may refer to nothing but the program.
        let names = Names::from([("program_name".to_owned(), Named::Text(program.into()))]);
        let text = self.literal(&setting, &names)?;
        let nothing = Names::new();
        let mut options = Options { reader: self, section, names: &nothing };
        let owner = options.get("socket_owner", "a user, or `user:group`", |text| Some(text.to_owned()));
        let mode = options.get("socket_mode", "an octal number", |text| integer(text, 8));
        let backlog = options.get("socket_backlog", "1 to 65535", |text| {
            integer(text, 10).filter(|backlog| (1..=65_535).contains(backlog))
        });
        if let Some(path) = text.strip_prefix("unix://").filter(|path| path.starts_with('/')) {
            let owner = owner.or_else(|| user.map(str::to_owned));
            return Some(Socket {
                address: Address::Unix(normalized(path)),
                owner,
                mode: mode.or(Some(0o700)),
                backlog,
            });
        }
        let address = text.strip_prefix("tcp://").and_then(|address| {
            let (host, port) = address.split_once(':')?;
            let host = Some(host.to_lowercase()).filter(|host| !host.is_empty() && !host.contains(char::is_whitespace));
            Some(Address::Tcp(host?, port.parse().ok().filter(|port| *port > 0)?))
        });
        let Some(address) = address else {
            let message = format!("`socket` takes `unix:///PATH` or `tcp://HOST:PORT`, not `{text}`");
            return self.refuse(section, "socket", message);
        };
        if owner.is_some() || mode.is_some() {
            let message = "`socket_owner` and `socket_mode` apply to Unix sockets only";
            return self.refuse(section, "socket", message);
        }
        Some(Socket { address, owner, mode, backlog })
    }
}

impl Options<'_> {
    /// Whether an output is discarded.
    fn discards(&self, option: &str) -> bool {
        let value = self.reader.ini.get(self.section, option).map(|setting| setting.value.to_lowercase());
        matches!(value.as_deref(), Some("none" | "off" | "/dev/null"))
    }
}

fn names(program: &Program) -> impl Iterator<Item = &Expanded> {
    program.processes.iter().map(|process| &process.name)
}
