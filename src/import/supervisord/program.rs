//! Programs: `processes_from_section` of supervisor's options.py, with what belongs to FastCGI.

use std::collections::BTreeSet;

use super::config::{Address, Daemon, Outputs, Process, Program, Socket, normalized};
use super::configparser::Setting;
use super::datatypes;
use super::datatypes::{Autorestart, boolean, integer};
use super::expanded::Expanded;
use super::python_format::{Named, Wrong};
use super::reader::{Names, Reader, give_value};
use super::shlex;
use crate::basic::diagnostic::Code;
use crate::model::MOST_INSTANCES;

/// A program that can't be read; why was reported.
struct Refused;

/// Which section, and in which group.
struct Which<'w> {
    section: usize,
    name: &'w str,
    group: &'w str,
    grouped: bool,
    group_priority: Option<i64>,
}

impl Reader {
    /// All programs: those of `[group:x]` sections, then the others, in the order of their sections.
    pub(super) fn programs(&mut self, daemon: &Daemon) -> Vec<Program> {
        let names: Vec<String> = self.ini.sections.iter().map(|section| section.name.clone()).collect();
        let mut taken = BTreeSet::new();
        let mut programs = Vec::new();
        for (at, group) in names.iter().enumerate().filter_map(|(at, name)| Some((at, name.strip_prefix("group:")?))) {
            self.group(at, group, &names, &mut taken, &mut programs, daemon);
        }
        for (at, section) in names.iter().enumerate().filter(|(at, _)| !taken.contains(at)) {
            let program = ["program:", "fcgi-program:"].iter().find_map(|prefix| section.strip_prefix(prefix));
            let Some(name) = program.and_then(|name| self.checked_name(at, name)) else { continue };
            let which = Which { section: at, name: &name, group: &name, grouped: false, group_priority: None };
            programs.extend(self.program(&which, daemon).ok());
        }
        programs.sort_by_key(|program: &Program| program.section);
        programs
    }

    fn group(
        &mut self,
        at: usize,
        group: &str,
        names: &[String],
        taken: &mut BTreeSet<usize>,
        programs: &mut Vec<Program>,
        daemon: &Daemon,
    ) {
        let nothing = Names::default();
        let Some(group) = self.checked_name(at, group) else { return };
        let list = self.optional(at, "programs", &nothing, "names", |text| Some(text.to_owned())).unwrap_or_default();
        let whole = |text: &str| integer(text, 10);
        let priority = self.optional(at, "priority", &nothing, "a whole number", whole).unwrap_or(999);
        let (mut seen, before) = (BTreeSet::new(), programs.len());
        // Of processes with the same name in the same group there is one.
        for program in datatypes::strings(&list).into_iter().filter(|program| seen.insert(*program)) {
            let found = ["program:", "fcgi-program:"].iter().find_map(|prefix| {
                let section = format!("{prefix}{program}");
                names.iter().position(|name| *name == section)
            });
            let Some(section) = found else {
                let spot = self.setting(at, "programs").map_or(self.ini.sections[at].spot, |setting| setting.spot);
                let message =
                    format!("`[group:{group}]` names `{program}`, which isn't there: supervisord refuses this file");
                self.say(Code::NotImported, spot, message, None);
                continue;
            };
            taken.insert(section);
            let which = Which { section, name: program, group: &group, grouped: true, group_priority: Some(priority) };
            programs.extend(self.program(&which, daemon).ok());
        }
        self.leave_out_hidden(before, programs);
    }

    /// Of two programs of a group whose processes have the same names supervisord runs the later one.
    fn leave_out_hidden(&mut self, before: usize, programs: &mut Vec<Program>) {
        let names =
            |program: &Program| program.processes.iter().map(|process| process.name.clone()).collect::<Vec<_>>();
        let hidden = |at: usize| {
            let later: Vec<Expanded> = programs[at + 1..].iter().flat_map(names).collect();
            let own = names(&programs[at]);
            !own.is_empty() && own.iter().all(|name| later.contains(name))
        };
        let hidden: Vec<usize> = (before..programs.len()).filter(|at| hidden(*at)).collect();
        for at in hidden.into_iter().rev() {
            let program = programs.remove(at);
            let message = format!(
                "another program of `{}`'s group has processes of the same name, and supervisord runs those",
                program.name
            );
            self.say(Code::LeftOut, self.ini.sections[program.section].spot, message, None);
        }
    }

    fn checked_name(&mut self, section: usize, name: &str) -> Option<String> {
        let checked = datatypes::name(name).map(str::to_owned);
        if checked.is_none() {
            let message = format!("`{name}` can't be a name: supervisord takes none with a blank, a `:` or a `/`");
            self.say(Code::NotImported, self.ini.sections[section].spot, message, None);
        }
        checked
    }

    fn program(&mut self, which: &Which<'_>, daemon: &Daemon) -> Result<Program, Refused> {
        let at = which.section;
        let mut names = Names::default();
        names.plain.insert("program_name", Named::Text(which.name.into()));
        names.plain.insert("group_name", Named::Text(which.group.into()));
        let before = names.clone();
        let mut options = Options { reader: self, section: at, names: &before, good: true };
        let whole = |text: &str| integer(text, 10);
        let priority = options.value("priority", 999, 999, "a whole number", whole);
        let stopasgroup = options.value("stopasgroup", false, false, "`true` or `false`", boolean);
        let mut program = Program {
            section: at,
            name: which.name.to_owned(),
            group: which.group.to_owned(),
            grouped: which.grouped,
            priority: (which.group_priority.unwrap_or(priority), if which.grouped { priority } else { 0 }),
            // What may or may not be wanted had better not be started.
            autostart: options.value("autostart", true, false, "`true` or `false`", boolean),
            autorestart: options.value(
                "autorestart",
                Autorestart::Unexpected,
                Autorestart::Unexpected,
                "`true`, `false` or `unexpected`",
                datatypes::autorestart,
            ),
            startsecs: options.value("startsecs", 1, 1, "a whole number", whole),
            startretries: options.value("startretries", 3, 3, "a whole number", whole),
            stopsignal: options.value("stopsignal", "SIGTERM".into(), "SIGTERM".into(), "a signal", datatypes::signal),
            stopwaitsecs: options.value("stopwaitsecs", 10, 10, "a whole number", whole),
            stopasgroup,
            killasgroup: options.value("killasgroup", stopasgroup, stopasgroup, "`true` or `false`", boolean),
            exitcodes: options.value("exitcodes", vec![0], vec![0], "exit statuses", datatypes::exit_codes),
            user: options.user(),
            umask: options.maybe("umask", "an octal number", |text| integer(text, 8)),
            output: options.outputs(),
            socket: None,
            first: options.value("numprocs_start", 0, 0, "a whole number", whole),
            processes: Vec::new(),
            pattern: None,
        };
        let numprocs = options.value("numprocs", 1, 1, "a whole number", whole);
        let mut good = options.good;
        if program.stopasgroup && !program.killasgroup {
            self.refuse(at, "killasgroup", "`stopasgroup=true` excludes `killasgroup=false`");
            good = false;
        }
        if numprocs > MOST_INSTANCES {
            self.refuse(at, "numprocs", format!("more than {MOST_INSTANCES} processes of a program"));
            good = false;
        }
        if self.ini.sections[at].name.starts_with("fcgi-program:") && !which.grouped {
            match self.socket(at, which.name, program.user.as_deref()) {
                Ok(socket) => program.socket = Some(socket),
                Err(Refused) => good = false,
            }
        }
        self.processes(&mut program, numprocs, names, daemon)?;
        if good { Ok(program) } else { Err(Refused) }
    }

    fn refuse(&mut self, section: usize, option: &str, message: impl Into<String>) {
        let spot = self.setting(section, option).map_or(self.ini.sections[section].spot, |setting| setting.spot);
        self.say(Code::NotImported, spot, message, None);
    }

    fn processes(
        &mut self,
        program: &mut Program,
        numprocs: i64,
        mut names: Names,
        daemon: &Daemon,
    ) -> Result<(), Refused> {
        let at = program.section;
        let process_name = self.setting(at, "process_name");
        let pattern = process_name.as_ref().map_or("%(program_name)s", |setting| &setting.value);
        let Some(pattern) = datatypes::name(pattern).map(str::to_owned) else {
            self.refuse(at, "process_name", "`process_name` can't have a blank, a `:` or a `/` in it");
            return Err(Refused);
        };
        if numprocs > 1 && !pattern.contains("%(process_num)") {
            self.refuse(at, "numprocs", "several processes need `%(process_num)` in their `process_name`");
            return Err(Refused);
        }
        names.plain.insert("numprocs", Named::Number(numprocs));
        for number in program.first..program.first.saturating_add(numprocs) {
            self.forget_own(&mut names);
            names.plain.insert("process_num", Named::Number(number));
            let process = self.process(at, &pattern, &mut names, daemon)?;
            program.processes.push(process);
        }
        if numprocs > 1 {
            let mut open = names;
            open.own.clear();
            open.plain.insert("process_num", Named::ProcessNumber);
            // Where the number can't be left open, each process is looked at by itself.
            program.pattern = self.silently(|quiet| quiet.process(at, &pattern, &mut open, daemon)).ok();
        }
        Ok(())
    }

    /// One process. What is wrong with it is reported once, however many there are: at one place one message stands.
    fn process(&mut self, at: usize, name: &str, names: &mut Names, daemon: &Daemon) -> Result<Process, Refused> {
        let mut environment = daemon.environment.clone();
        for (variable, value) in self.own_environment(at, names)? {
            if let Some(variable) = variable.literal() {
                names.own.insert(variable, value.clone());
            }
            match environment.iter_mut().find(|(known, _)| *known == variable) {
                Some((_, known)) => *known = value,
                None => environment.push((variable, value)),
            }
        }
        let directory = match self.setting(at, "directory") {
            None => None,
            Some(setting) => Some(self.expanded(&setting, names)?),
        };
        let Some(command) = self.setting(at, "command") else {
            self.refuse(at, "command", "the program has no `command`: supervisord refuses this file");
            return Err(Refused);
        };
        let expanded = self.expanded(&command, names)?;
        let argv = match shlex::split(&expanded) {
            Ok(argv) if !argv.is_empty() => argv,
            Ok(_) => return self.refused(&command, "it is empty"),
            Err(why) => return self.refused(&command, why),
        };
        let name = match self.expand(name, names) {
            Ok(name) => name,
            Err(wrong) => {
                let setting = self.setting(at, "process_name").unwrap_or(command);
                self.wrong(&setting, &wrong);
                return Err(Refused);
            }
        };
        Ok(Process { name, argv, environment, directory })
    }

    fn own_environment(&mut self, at: usize, names: &Names) -> Result<Vec<(Expanded, Expanded)>, Refused> {
        let Some(setting) = self.setting(at, "environment") else { return Ok(Vec::new()) };
        let expanded = self.expanded(&setting, names)?;
        shlex::pairs(&expanded).or_else(|why| self.refused(&setting, why))
    }

    fn expanded(&mut self, setting: &Setting, names: &Names) -> Result<Expanded, Refused> {
        self.expand(&setting.value, names).map_err(|wrong| {
            self.wrong(setting, &wrong);
            Refused
        })
    }

    fn refused<T>(&mut self, setting: &Setting, why: &str) -> Result<T, Refused> {
        self.say(Code::NotImported, setting.spot, format!("`{}`: {why}", setting.option), None);
        Err(Refused)
    }

    fn socket(&mut self, at: usize, program: &str, user: Option<&str>) -> Result<Socket, Refused> {
        // Unlike other options, it knows the program's name only.
        let mut names = Names::default();
        names.plain.insert("program_name", Named::Text(program.into()));
        let Some(setting) = self.setting(at, "socket") else {
            self.refuse(at, "socket", "a FastCGI program needs a `socket`: supervisord refuses this file");
            return Err(Refused);
        };
        let text = self.literal(&setting, &names).map_err(|wrong| {
            self.wrong(&setting, &wrong);
            Refused
        })?;
        let nothing = Names::default();
        let mut options = Options { reader: self, section: at, names: &nothing, good: true };
        let mut socket = Socket {
            address: Address::Unix(String::new()),
            owner: options.maybe("socket_owner", "a user, or `user:group`", |text| Some(text.to_owned())),
            mode: options.maybe("socket_mode", "an octal number", |text| integer(text, 8)),
            backlog: options.maybe("socket_backlog", "1 to 65535", |text| {
                integer(text, 10).filter(|backlog| (1..=65_535).contains(backlog))
            }),
        };
        if !options.good {
            return Err(Refused);
        }
        if let Some(path) = text.strip_prefix("unix://").filter(|path| path.starts_with('/')) {
            socket.address = Address::Unix(normalized(path));
            socket.owner = socket.owner.or_else(|| user.map(str::to_owned));
            socket.mode = socket.mode.or(Some(0o700));
            return Ok(socket);
        }
        let address = text.strip_prefix("tcp://").and_then(|address| address.split_once(':'));
        let address = address.filter(|(host, _)| !host.is_empty() && !host.contains(char::is_whitespace));
        let port = |port: &str| port.parse::<u16>().ok().filter(|port| *port > 0);
        match address.and_then(|(host, number)| Some((host.to_lowercase(), port(number)?))) {
            Some(_) if socket.owner.is_some() || socket.mode.is_some() => {
                self.refused(&setting, "only a Unix socket can have `socket_owner` and `socket_mode`")
            }
            Some((host, port)) => Ok(Socket { address: Address::Tcp(host, port), ..socket }),
            None => self.refused(&setting, "it is neither `unix:///PATH` nor `tcp://HOST:PORT`"),
        }
    }
}

/// Reads a section's options one by one, so that all that is wrong with it is said at once.
struct Options<'r> {
    reader: &'r mut Reader,
    section: usize,
    names: &'r Names,
    good: bool,
}

impl Options<'_> {
    /// An option with its default, and what it is taken for where the value of a variable isn't known.
    fn value<T>(
        &mut self,
        option: &str,
        default: T,
        unknown: T,
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> T {
        let Some(setting) = self.reader.setting(self.section, option) else { return default };
        if let Err(Wrong::Open(variable)) = self.reader.literal(&setting, self.names) {
            let message = format!("`{option}` isn't imported: `%(ENV_{variable})s` has no value");
            self.reader.say(Code::LeftOut, setting.spot, message, Some(give_value(&variable)));
            return unknown;
        }
        self.maybe(option, expected, parse).unwrap_or(default)
    }

    /// An option without a default.
    fn maybe<T>(&mut self, option: &str, expected: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        self.reader.setting(self.section, option)?;
        let value = self.reader.optional(self.section, option, self.names, expected, parse);
        self.good &= value.is_some();
        value
    }

    /// Somebody who isn't known must not become root.
    fn user(&mut self) -> Option<String> {
        self.maybe("user", "a user", |text| Some(text.to_owned()))
    }

    fn outputs(&mut self) -> Outputs {
        let none = |text: &str| matches!(text.to_lowercase().as_str(), "none" | "off" | "/dev/null");
        let thrown_away =
            |option: &str| self.reader.setting(self.section, option).is_some_and(|setting| none(&setting.value));
        let (no_stdout, no_stderr) = (thrown_away("stdout_logfile"), thrown_away("stderr_logfile"));
        let joined = self.value("redirect_stderr", false, false, "`true` or `false`", boolean);
        Outputs { no_stdout, no_stderr, joined }
    }
}
