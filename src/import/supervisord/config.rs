//! What supervisord's files say, in its own terms: programs with their processes, as `ServerOptions.read_config` and
//! `processes_from_section` of supervisor 4 make them.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::datatypes::Autorestart;
use super::expanded::{Expanded, Part};
use super::ini::{Ini, Setting, Spot};
use super::percent::{self, Named, Wrong};
use super::shlex;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Place, SourceFile};

/// Everything that was read.
#[derive(Debug)]
pub struct Config {
    /// The files, in the order in which they were read.
    pub files: Vec<Arc<SourceFile>>,
    /// Their sections.
    pub ini: Ini,
    /// `[supervisord]`
    pub daemon: Daemon,
    /// In the order of the text; a program that is in two groups is there twice.
    pub programs: Vec<Program>,
    /// Whether `%(host_node_name)s` was filled in.
    pub host_used: bool,
    /// Whether supervisord would read all of it: a program that it refuses isn't among the programs.
    pub diagnostics: Diagnostics,
}

/// What `[supervisord]` says about its programs.
#[derive(Debug, Default)]
pub struct Daemon {
    /// What each program's environment begins with.
    pub environment: Vec<(Expanded, Expanded)>,
    /// Who it runs as.
    pub user: Option<String>,
    /// `umask`
    pub umask: Option<i64>,
    /// `directory`
    pub directory: Option<Expanded>,
    /// `minfds`
    pub minfds: Option<i64>,
}

/// A `[program:x]` or `[fcgi-program:x]`.
#[derive(Debug, Clone)]
pub struct Program {
    /// Its place among the sections.
    pub section: usize,
    /// Its name.
    pub name: String,
    /// The name of its group, which is its own where no `[group:x]` has it.
    pub group: String,
    /// Whether a `[group:x]` has it.
    pub grouped: bool,
    /// `priority`, of the group and of the program.
    pub priority: (i64, i64),
    /// `autostart`
    pub autostart: bool,
    /// `autorestart`
    pub autorestart: Autorestart,
    /// `startsecs`
    pub startsecs: i64,
    /// `startretries`
    pub startretries: i64,
    /// `stopsignal`
    pub stopsignal: String,
    /// `stopwaitsecs`
    pub stopwaitsecs: i64,
    /// `stopasgroup`
    pub stopasgroup: bool,
    /// `killasgroup`
    pub killasgroup: bool,
    /// `exitcodes`
    pub exitcodes: Vec<u8>,
    /// `user`
    pub user: Option<String>,
    /// `umask`
    pub umask: Option<i64>,
    /// Where the output goes.
    pub output: Outputs,
    /// The socket of a `[fcgi-program:x]`.
    pub socket: Option<Socket>,
    /// `numprocs_start`
    pub first: i64,
    /// The processes, `numprocs` of them.
    pub processes: Vec<Process>,
    /// The same with the number left open, where there may be several.
    pub pattern: Option<Process>,
}

/// One process of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// `process_name`
    pub name: Expanded,
    /// The words of `command`.
    pub argv: Vec<Expanded>,
    /// `[supervisord]`'s environment and the program's own.
    pub environment: Vec<(Expanded, Expanded)>,
    /// `directory`
    pub directory: Option<Expanded>,
}

/// Which of a program's outputs are thrown away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outputs {
    /// `stdout_logfile=NONE`
    pub no_stdout: bool,
    /// `stderr_logfile=NONE`
    pub no_stderr: bool,
    /// `redirect_stderr`
    pub joined: bool,
}

/// A FastCGI socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Socket {
    /// `unix://PATH`, normalized, or `tcp://HOST:PORT`.
    pub address: Address,
    /// `socket_owner`
    pub owner: Option<String>,
    /// `socket_mode`
    pub mode: Option<i64>,
    /// `socket_backlog`
    pub backlog: Option<i64>,
}

/// Where a FastCGI socket listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// At a path.
    Unix(String),
    /// At a host, which may be a name, and a port.
    Tcp(String, u16),
}

/// What the reading needs besides the files.
pub struct World<'w> {
    /// The variables that supervisord would find in its environment, as far as the caller says so.
    pub environment: BTreeMap<String, String>,
    /// The machine's name.
    pub host: String,
    /// The files that a pattern of `[include]`, joined to the directory of the first file, names, in their order.
    pub include: &'w dyn Fn(&str) -> Vec<Result<SourceFile, Diagnostic>>,
}

/// Reads `files`, the first of which is the one that supervisord would be started with; the others are read as if it
/// included them. Paths are absolute.
#[must_use]
pub fn read(files: Vec<SourceFile>, world: &World<'_>) -> Config {
    let here = directory_of(files.first().map_or(Path::new("/"), |file| &file.path));
    let mut reader = Reader {
        files: Vec::new(),
        ini: Ini::default(),
        here,
        host: world.host.clone(),
        host_used: Cell::new(false),
        environment: world.environment.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect(),
        assumed: RefCell::default(),
        diagnostics: Diagnostics::default(),
    };
    let (several, mut files) = (files.len() > 1, files.into_iter());
    files.next().into_iter().for_each(|file| reader.file(file));
    reader.included(world, several);
    for file in files {
        let here = directory_of(&file.path);
        reader.file(file);
        reader.ini.expand_here(&here);
    }
    let daemon = reader.daemon();
    let programs = reader.programs(&daemon);
    Config {
        files: reader.files,
        ini: reader.ini,
        daemon,
        programs,
        host_used: reader.host_used.get(),
        diagnostics: reader.diagnostics,
    }
}

fn directory_of(path: &Path) -> String {
    path.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned()
}

/// Where a setting or section stands, as an excerpt shows it: the whole line.
#[must_use]
pub fn place(files: &[Arc<SourceFile>], spot: Spot) -> Place {
    let file = &files[spot.file];
    let mut start = 0;
    let mut rest = file.text.as_str();
    for _ in 1..spot.line {
        let end =
            rest.find(['\n', '\r']).map_or(rest.len(), |at| at + if rest[at..].starts_with("\r\n") { 2 } else { 1 });
        start += end;
        rest = &rest[end..];
    }
    let line = rest.split(['\n', '\r']).next().unwrap_or_default();
    let indent = line.len() - line.trim_start().len();
    Place::new(file, start + indent..start + line.trim_end().len().max(indent))
}

/// What is read so far.
pub(super) struct Reader {
    files: Vec<Arc<SourceFile>>,
    pub(super) ini: Ini,
    here: String,
    host: String,
    host_used: Cell<bool>,
    /// What `%(ENV_X)s` stands for.
    environment: BTreeMap<String, Expanded>,
    /// Variables that were asked for and have no value.
    assumed: RefCell<BTreeSet<String>>,
    diagnostics: Diagnostics,
}

/// The names that a text may use, beyond `here`, `host_node_name` and the environment.
#[derive(Default, Clone)]
pub(super) struct Names {
    /// `program_name` and `group_name`, `numprocs`, `process_num`.
    pub(super) plain: BTreeMap<&'static str, Named>,
    /// What the program's own `environment` sets: later options see it.
    pub(super) own: BTreeMap<String, Expanded>,
}

impl Reader {
    fn file(&mut self, file: SourceFile) {
        let number = self.files.len();
        let bogus = self.ini.read(number, &file.text);
        self.files.push(Arc::new(file));
        for line in bogus {
            let message = format!("supervisord doesn't read this line: {}", line.why);
            self.say(Code::NotImported, line.spot, message, None);
        }
    }

    /// `[include]`, of the first file only: supervisord includes once.
    fn included(&mut self, world: &World<'_>, several: bool) {
        let Some(include) = self.ini.section("include").cloned() else { return };
        let here = self.here.clone();
        self.ini.expand_here(&here);
        let Some(setting) = self.ini.section("include").and_then(|include| self.ini.get(include, "files")).cloned()
        else {
            self.say(Code::NotImported, include.spot, "`[include]` names no `files`", None);
            return;
        };
        let files = match self.expand(&setting.value, &Names::default()) {
            Ok(files) => files,
            Err(wrong) => return self.wrong(&setting, &wrong),
        };
        let Some(patterns) = files.literal() else {
            let variable = files.open().unwrap_or_default();
            let message = format!("the included files aren't known: `%(ENV_{variable})s` has no value");
            return self.say(Code::NotImported, setting.spot, message, Some(give_value(variable)));
        };
        for pattern in patterns.split(super::ini::is_space).filter(|pattern| !pattern.is_empty()) {
            let joined = Path::new(&self.here).join(pattern);
            let found = (world.include)(&joined.to_string_lossy());
            if found.is_empty() && !several {
                let message = format!("no file matches `{pattern}`");
                self.say(Code::LeftOut, setting.spot, message, None);
            }
            for file in found {
                match file {
                    Ok(file) => {
                        let here = directory_of(&file.path);
                        self.file(file);
                        self.ini.expand_here(&here);
                    }
                    Err(diagnostic) => self.diagnostics.push(diagnostic),
                }
            }
        }
    }

    pub(super) fn say(&mut self, code: Code, spot: Spot, message: impl Into<String>, help: Option<String>) {
        let mut diagnostic = Diagnostic::new(code, place(&self.files, spot), message);
        diagnostic.help = help;
        self.diagnostics.push(diagnostic);
    }

    /// Reports what keeps a program, or the whole file, from being read.
    pub(super) fn wrong(&mut self, setting: &Setting, wrong: &Wrong) {
        let option = &setting.option;
        let help = match wrong {
            Wrong::Open(variable) => Some(give_value(variable)),
            Wrong::Unknown(_) => Some(
                "supervisord knows `here`, `host_node_name`, `program_name`, `group_name`, `process_num`, `numprocs`, \
                 and `ENV_NAME` for the variables of its environment"
                    .to_owned(),
            ),
            Wrong::Format(_) => None,
        };
        self.say(Code::NotImported, setting.spot, format!("`{option}`: {wrong}"), help);
    }

    /// Expands the value of an option.
    pub(super) fn expand(&self, value: &str, names: &Names) -> Result<Expanded, Wrong> {
        self.expand_again(&value.into(), names)
    }

    fn expand_again(&self, value: &Expanded, names: &Names) -> Result<Expanded, Wrong> {
        percent::expand(value, &|name| self.named(name, names))
    }

    fn named(&self, name: &str, names: &Names) -> Option<Named> {
        if let Some(known) = names.plain.get(name) {
            return Some(known.clone());
        }
        match (name, name.strip_prefix("ENV_")) {
            ("here", _) => Some(Named::Text(self.here.as_str().into())),
            ("host_node_name", _) => {
                self.host_used.set(true);
                Some(Named::Text(self.host.as_str().into()))
            }
            (_, Some(variable)) => {
                let known = names.own.get(variable).or_else(|| self.environment.get(variable));
                Some(Named::Text(known.cloned().unwrap_or_else(|| {
                    self.assumed.borrow_mut().insert(variable.to_owned());
                    Expanded(vec![Part::Env(variable.into(), false)])
                })))
            }
            _ => None,
        }
    }

    /// Forgets of a process's own variables those that supervisord's environment has as well: it comes back for the
    /// next process.
    pub(super) fn forget_own(&self, names: &mut Names) {
        let assumed = self.assumed.borrow();
        names.own.retain(|name, _| !self.environment.contains_key(name) && !assumed.contains(name));
    }

    /// What `work` comes to, without its reports.
    pub(super) fn silently<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let kept = std::mem::take(&mut self.diagnostics);
        let result = work(self);
        self.diagnostics = kept;
        result
    }

    fn daemon(&mut self) -> Daemon {
        let mut daemon = Daemon::default();
        let Some(section) = self.ini.sections.iter().position(|section| section.name == "supervisord") else {
            return daemon;
        };
        daemon.environment = self.daemon_environment(section);
        for (name, value) in &daemon.environment {
            if let Some(name) = name.literal() {
                self.environment.insert(name, value.clone());
            }
        }
        let names = Names::default();
        let octal = |text: &str| super::datatypes::integer(text, 8);
        let whole = |text: &str| super::datatypes::integer(text, 10);
        daemon.user = self.optional(section, "user", &names, "a user", |text| Some(text.to_owned()));
        daemon.umask = self.optional(section, "umask", &names, "an octal number", octal);
        daemon.minfds = self.optional(section, "minfds", &names, "a whole number", whole);
        daemon.directory = self
            .setting(section, "directory")
            .and_then(|setting| self.expand(&setting.value, &names).map_err(|wrong| self.wrong(&setting, &wrong)).ok());
        daemon
    }

    /// Releases up to 4.3 expand it twice, and refuse what the second time doesn't go; later ones expand it once.
    fn daemon_environment(&mut self, section: usize) -> Vec<(Expanded, Expanded)> {
        let Some(setting) = self.setting(section, "environment") else { return Vec::new() };
        let names = Names::default();
        let once = match self.expand(&setting.value, &names) {
            Ok(once) => once,
            Err(wrong) => {
                self.wrong(&setting, &wrong);
                return Vec::new();
            }
        };
        let twice = self.expand_again(&once, &names);
        if twice.as_ref() != Ok(&once) {
            let message = "`environment` of `[supervisord]` is expanded twice up to supervisor 4.3, and once by later releases: \
                           they read this differently";
            self.say(Code::Otherwise, setting.spot, message, Some("write it without `%%`".to_owned()));
        }
        match shlex::pairs(&twice.unwrap_or(once)) {
            Ok(pairs) => pairs,
            Err(why) => {
                self.say(Code::NotImported, setting.spot, format!("`environment`: {why}"), None);
                Vec::new()
            }
        }
    }

    pub(super) fn setting(&self, section: usize, option: &str) -> Option<Setting> {
        self.ini.get(&self.ini.sections[section], option).cloned()
    }

    /// An option that has no default; what is wrong with it is reported.
    pub(super) fn optional<T>(
        &mut self,
        section: usize,
        option: &str,
        names: &Names,
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let setting = self.setting(section, option)?;
        match self.literal(&setting, names) {
            Ok(text) => {
                let parsed = parse(&text);
                if parsed.is_none() {
                    let message = format!("`{option}` takes {expected}, not `{text}`: supervisord refuses this file");
                    self.say(Code::NotImported, setting.spot, message, None);
                }
                parsed
            }
            Err(wrong) => {
                self.wrong(&setting, &wrong);
                None
            }
        }
    }

    /// The value of an option, which mustn't have anything open.
    pub(super) fn literal(&self, setting: &Setting, names: &Names) -> Result<String, Wrong> {
        let text = self.expand(&setting.value, names)?;
        text.literal().ok_or_else(|| Wrong::Open(text.open().unwrap_or_default().to_owned()))
    }
}

/// How a variable gets a value.
pub(super) fn give_value(variable: &str) -> String {
    format!("give it one: `--env FILE` with a line `{variable}=…`, or `--env-from-process`")
}

/// The absolute path, without `.`, `..` and doubled slashes: Python's `os.path.normpath`.
#[must_use]
pub(super) fn normalized(path: &str) -> String {
    let mut normal = PathBuf::from("/");
    for part in Path::new(path).components() {
        match part {
            std::path::Component::ParentDir => {
                normal.pop();
            }
            std::path::Component::Normal(name) => normal.push(name),
            _ => {}
        }
    }
    normal.to_string_lossy().into_owned()
}
