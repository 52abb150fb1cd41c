//! Reads the files as `ServerOptions.read_config` of supervisor 4 does, with each `%(name)s` expanded.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::config::{Config, Daemon, World};
use super::configparser::{Ini, Setting, is_space};
use super::datatypes::{boolean, integer, pairs};
use super::python_format::{Expanded, Named, Part, Wrong, expand};
use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, SourceFile};
use crate::basic::scope::SEARCH_PATH;

/// What texts of a program may refer to, besides what they all may: `program_name`, and `ENV_NAME` for each variable that
/// its `environment` sets.
pub(super) type Names = BTreeMap<String, Named>;

/// Reads `files`. supervisord would be started with the first; the others are read as if that included them. Paths are
/// absolute.
pub fn read(files: Vec<SourceFile>, world: &World<'_>) -> Config {
    let here = directory_of(files.first().map_or(Path::new("/"), |file| &file.path));
    let variable = |(name, value): (&String, &String)| (format!("ENV_{name}"), Named::Text(value.as_str().into()));
    let mut reader = Reader {
        files: Vec::new(),
        ini: Ini::default(),
        diagnostics: Diagnostics::default(),
        refused: false,
        host: world.host.clone(),
        known: world.environment.iter().map(variable).collect(),
    };
    reader.known.insert("here".to_owned(), Named::Text(here.as_str().into()));
    let several = files.len() > 1;
    for (index, file) in files.into_iter().enumerate() {
        let directory = directory_of(&file.path);
        reader.file(file);
        if index == 0 {
            reader.included(&here, world, several);
        }
        if several {
            reader.ini.expand_here(&directory);
        }
    }
    let daemon = reader.daemon();
    let programs = reader.programs(&daemon);
    Config { files: reader.files, ini: reader.ini, daemon, programs, diagnostics: reader.diagnostics }
}

fn directory_of(path: &Path) -> String {
    path.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned()
}

pub(super) struct Reader {
    files: Vec<PathBuf>,
    pub(super) ini: Ini,
    pub(super) diagnostics: Diagnostics,
    /// Set by each error.
    pub(super) refused: bool,
    host: String,
    /// `here`, `host_node_name` once it is used, and `ENV_NAME` for each variable that supervisord's environment has, or
    /// has to have.
    pub(super) known: Names,
}

impl Reader {
    fn file(&mut self, file: SourceFile) {
        self.files.push(file.path.clone());
        let diagnostics = self.ini.read(&Arc::new(file));
        self.diagnostics.extend(diagnostics);
    }

    /// `[include]` of the first file: supervisord reads no other.
    fn included(&mut self, here: &str, world: &World<'_>, several: bool) {
        let Some(include) = self.ini.section("include") else { return };
        self.ini.expand_here(here);
        let Some(setting) = self.ini.get(include, "files").cloned() else {
            self.refuse::<()>(include, "files", "`[include]` has no `files`");
            return;
        };
        let patterns = self.literal(&setting, &Names::new()).unwrap_or_default();
        for pattern in patterns.split(is_space).filter(|pattern| !pattern.is_empty()) {
            let found = (world.include)(&Path::new(here).join(pattern).to_string_lossy());
            if found.is_empty() && !several {
                let message = format!("no file matches `{pattern}`");
                self.diagnostics.push(Diagnostic::new(Code::LeftOut, &setting.location, message));
            }
            for file in found {
                match file {
                    Ok(file) => {
                        let directory = directory_of(&file.path);
                        self.file(file);
                        self.ini.expand_here(&directory);
                    }
                    Err(diagnostic) => self.diagnostics.push(diagnostic),
                }
            }
        }
    }

    fn daemon(&mut self) -> Daemon {
        let Some(section) = self.ini.section("supervisord") else { return Daemon::default() };
        let environment = self.daemon_environment(section);
        let variables = environment.iter().filter_map(|(name, value)| Some((name.literal()?, value.clone())));
        self.known.extend(variables.map(|(name, value)| (format!("ENV_{name}"), Named::Text(value))));
        let names = Names::new();
        let directory = self.ini.get(section, "directory").cloned();
        let directory = directory.and_then(|setting| self.expanded(&setting, &names));
        let mut options = Options { reader: self, section, names: &names };
        Daemon {
            environment,
            user: options.get("user", "a user", |text| Some(text.to_owned())),
            umask: options.get("umask", "an octal number", |text| integer(text, 8)),
            directory,
            minfds: options.get("minfds", "a whole number", |text| integer(text, 10)),
        }
    }

    /// Releases up to 4.3 expand it twice, and refuse what fails then; later ones expand it once.
    fn daemon_environment(&mut self, section: usize) -> Vec<(Expanded, Expanded)> {
        let Some(setting) = self.ini.get(section, "environment").cloned() else { return Vec::new() };
        let Some(mut text) = self.expanded(&setting, &Names::new()) else { return Vec::new() };
        if text.0.contains(&Part::Char('%')) {
            let message =
                "`environment` of `[supervisord]`: supervisor up to 4.3 expands it twice, later releases once";
            let note = Diagnostic::new(Code::Otherwise, &setting.location, message).help("write it without `%%`");
            self.diagnostics.push(note);
            let again = text.literal().map(|value| Setting { value, ..setting.clone() });
            text = again.and_then(|setting| self.expand(&setting, &Names::new()).ok()).unwrap_or(text);
        }
        match pairs(&text) {
            Ok(pairs) => pairs,
            Err(reason) => self.refuse(section, "environment", format!("`environment`: {reason}")).unwrap_or_default(),
        }
    }

    /// Reports an error at an option of a section, or at its header.
    pub(super) fn refuse<T>(&mut self, section: usize, option: &str, message: impl Into<String>) -> Option<T> {
        self.error(Diagnostic::new(Code::NotImported, self.ini.location(section, option), message))
    }

    fn error<T>(&mut self, diagnostic: Diagnostic) -> Option<T> {
        self.refused = true;
        self.diagnostics.push(diagnostic);
        None
    }

    pub(super) fn expand(&mut self, setting: &Setting, names: &Names) -> Result<Expanded, Wrong> {
        let note = |message: &str| Diagnostic::new(Code::Otherwise, &setting.location, message);
        expand(&setting.value, |name| {
            if let Some(value) = names.get(name).or_else(|| self.known.get(name)) {
                return Some(value.clone());
            }
            let value = match name.strip_prefix("ENV_") {
                Some("PATH") => {
                    let message = "`%(ENV_PATH)s` becomes the default search path of systemd";
                    let help = "pass `--env FILE` with a line `PATH=…`, or `--env-from-process`, for another one";
                    self.diagnostics.push(note(message).help(help));
                    SEARCH_PATH.into()
                }
                Some(variable) => Expanded(vec![Part::Env(variable.into(), false)]),
                None if name == "host_node_name" => {
                    let message = "`%(host_node_name)s` becomes the name of this machine";
                    self.diagnostics.push(note(message).help("import the file again on each other machine"));
                    self.host.as_str().into()
                }
                None => return None,
            };
            self.known.insert(name.to_owned(), Named::Text(value.clone()));
            Some(Named::Text(value))
        })
    }

    /// The expanded value; an error is reported.
    pub(super) fn expanded(&mut self, setting: &Setting, names: &Names) -> Option<Expanded> {
        match self.expand(setting, names) {
            Ok(text) => Some(text),
            Err(wrong) => self.wrong(setting, &wrong),
        }
    }

    /// The expanded value, which has to be known.
    pub(super) fn literal(&mut self, setting: &Setting, names: &Names) -> Option<String> {
        let text = self.expanded(setting, names)?;
        text.literal().or_else(|| self.wrong(setting, &Wrong::Open(text.open().unwrap_or_default().to_owned())))
    }

    fn wrong<T>(&mut self, setting: &Setting, wrong: &Wrong) -> Option<T> {
        let help = match wrong {
            Wrong::Open(variable) => give_value(variable),
            Wrong::Unknown(_) => {
                "supervisord knows `here`, `host_node_name`, `program_name`, `group_name`, `process_num`, \
                                  `numprocs`, and `ENV_NAME` for the variables of its environment"
                    .to_owned()
            }
            Wrong::Format(_) => "write a literal percent sign as `%%`".to_owned(),
        };
        let message = format!("`{}`: {wrong}", setting.option);
        self.error(Diagnostic::new(Code::NotImported, &setting.location, message).help(help))
    }
}

/// The options of one section.
pub(super) struct Options<'r> {
    pub(super) reader: &'r mut Reader,
    pub(super) section: usize,
    pub(super) names: &'r Names,
}

impl Options<'_> {
    /// The value of an option. Every problem is an error.
    pub(super) fn get<T>(&mut self, option: &str, expected: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let setting = self.reader.ini.get(self.section, option)?.clone();
        let text = self.reader.literal(&setting, self.names)?;
        let message = || format!("`{option}` takes {expected}, not `{text}`: supervisord refuses this file");
        parse(&text).or_else(|| self.reader.refuse(self.section, option, message()))
    }

    /// The value of an option, or its default; also if a variable has no value, which is reported.
    pub(super) fn or<T>(&mut self, option: &str, default: T, expected: &str, parse: impl Fn(&str) -> Option<T>) -> T {
        let Some(variable) = self.open(option) else { return self.get(option, expected, parse).unwrap_or(default) };
        let message = format!("`{option}` is not imported: `%(ENV_{variable})s` has no value");
        let location = self.reader.ini.location(self.section, option);
        let warning = Diagnostic::new(Code::LeftOut, location, message).help(give_value(&variable));
        self.reader.diagnostics.push(warning);
        default
    }

    pub(super) fn number(&mut self, option: &str, default: i64) -> i64 {
        self.or(option, default, "a whole number", |text| integer(text, 10))
    }

    pub(super) fn flag(&mut self, option: &str, default: bool) -> bool {
        self.or(option, default, "`true` or `false`", boolean)
    }

    /// The variable without a value in an option.
    pub(super) fn open(&mut self, option: &str) -> Option<String> {
        let setting = self.reader.ini.get(self.section, option)?.clone();
        match self.reader.expand(&setting, self.names) {
            Ok(text) => text.open().map(str::to_owned),
            Err(Wrong::Open(variable)) => Some(variable),
            Err(_) => None,
        }
    }
}

/// How to give a variable its value.
pub(super) fn give_value(variable: &str) -> String {
    format!("pass `--env FILE` with a line `{variable}=…`, or `--env-from-process`")
}

/// Python's `os.path.normpath` of an absolute path: without `.`, `..` and doubled slashes.
pub(super) fn normalized(path: &str) -> String {
    let mut normal = PathBuf::from("/");
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => _ = normal.pop(),
            Component::Normal(name) => normal.push(name),
            _ => {}
        }
    }
    normal.to_string_lossy().into_owned()
}
