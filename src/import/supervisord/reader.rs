//! The reading itself: one file after the other, `%(name)s` expanded as supervisord would, and what is wrong with it said.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::config::{Daemon, World, directory_of, place};
use super::configparser::{Ini, Setting, Spot};
use super::expanded::{Expanded, Part};
use super::python_format;
use super::python_format::{Named, Wrong};
use super::shlex;
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, SourceFile};
use crate::basic::scope::SEARCH_PATH;

/// What is read so far.
pub(super) struct Reader {
    pub(super) files: Vec<Arc<SourceFile>>,
    pub(super) ini: Ini,
    here: String,
    host: String,
    pub(super) host_used: Cell<bool>,
    pub(super) path_used: Cell<bool>,
    /// What `%(ENV_X)s` stands for.
    environment: BTreeMap<String, Expanded>,
    /// Variables that were asked for and have no value.
    assumed: RefCell<BTreeSet<String>>,
    pub(super) diagnostics: Diagnostics,
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
    pub(super) fn new(here: String, world: &World<'_>) -> Self {
        Self {
            files: Vec::new(),
            ini: Ini::default(),
            here,
            host: world.host.clone(),
            host_used: Cell::new(false),
            path_used: Cell::new(false),
            environment: world.environment.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect(),
            assumed: RefCell::default(),
            diagnostics: Diagnostics::default(),
        }
    }

    pub(super) fn file(&mut self, file: SourceFile) {
        let number = self.files.len();
        let bogus = self.ini.read(number, &file.text);
        self.files.push(Arc::new(file));
        for line in bogus {
            let message = format!("supervisord doesn't read this line: {}", line.why);
            self.say(Code::NotImported, line.spot, message, None);
        }
    }

    /// `[include]`, of the first file only: supervisord includes once.
    pub(super) fn included(&mut self, world: &World<'_>, several: bool) {
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
        for pattern in patterns.split(super::configparser::is_space).filter(|pattern| !pattern.is_empty()) {
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
        python_format::expand(value, &|name| self.named(name, names))
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
                    if variable == "PATH" {
                        self.path_used.set(true);
                        return SEARCH_PATH.into();
                    }
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

    pub(super) fn daemon(&mut self) -> Daemon {
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
