//! What a group names that isn't on this machine: its start would fail, or a process of it.
//!
//! Only `copse check` of installed groups asks: the generator runs before file systems are mounted, and a file that is
//! named by its path may be meant for another machine. That it isn't there is a warning, for a setup step may make it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::basic::diagnostic::{Code, Diagnostic, Diagnostics, SourceLocation};
use crate::basic::scope::{SEARCH_PATH, Scope};
use crate::cli::files::polkit;
use crate::group_file::discover::Source;
use crate::model;
use crate::model::{Group, Piece, Service, Text};

/// Directives in whose presence a path means another file, or a user is made by systemd.
const ELSEWHERE: [&str; 7] = [
    "RootDirectory",
    "RootImage",
    "ExecSearchPath",
    "DynamicUser",
    "BindPaths",
    "BindReadOnlyPaths",
    "TemporaryFileSystem",
];

/// What is to be found out about the machine.
pub(super) trait Machine {
    /// What is at a path.
    fn at(&self, path: &Path) -> Found;
    /// The texts of all files with polkit's rules; `None` where one of them can't be read.
    fn rules(&self) -> Option<Vec<String>>;
    /// Whether there is an entry of that key in `passwd` or `group`.
    fn has(&self, database: &str, key: &str) -> bool;
}

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    Directory,
    File,
    Program,
    /// It can't be told, as for who may not look there.
    Unknown,
}

/// The machine that this process runs on.
pub(super) struct ThisMachine;

impl Machine for ThisMachine {
    fn at(&self, path: &Path) -> Found {
        match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => Found::Directory,
            Ok(found) if found.permissions().mode() & 0o111 != 0 => Found::Program,
            Ok(_) => Found::File,
            Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
                Found::Nothing
            }
            Err(_) => Found::Unknown,
        }
    }

    fn rules(&self) -> Option<Vec<String>> {
        let mut texts = Vec::new();
        for directory in polkit::RULES {
            let entries = match std::fs::read_dir(directory) {
                Ok(entries) => entries,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(_) => return None,
            };
            for entry in entries {
                let path = entry.ok()?.path();
                if path.extension().is_some_and(|extension| extension == "rules") {
                    texts.push(String::from_utf8_lossy(&std::fs::read(path).ok()?).into_owned());
                }
            }
        }
        Some(texts)
    }

    /// By getent(1), which asks wherever this machine keeps its users. 2: there is no such entry.
    fn has(&self, database: &str, key: &str) -> bool {
        let getent = Command::new("getent").args([database, key]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        !getent.is_ok_and(|status| status.code() == Some(2))
    }
}

/// Warnings for everything that a group names and that isn't there.
pub(super) fn missing(group: &Group, source: &Source, machine: &dyn Machine) -> Diagnostics {
    let mut look = Look { machine, source, found: Diagnostics::default() };
    let processes =
        group.processes.iter().map(|(name, process)| ("process", name, &process.service, &process.location));
    let steps = group.setup.iter().map(|(name, step)| ("setup", name, &step.service, &step.location));
    for (kind, name, service, place) in steps.chain(processes) {
        let elsewhere = |(_, directive, _): &(_, String, _)| ELSEWHERE.contains(&directive.as_str());
        if !service.pass.0.iter().any(elsewhere) {
            look.service(kind, name.as_str(), service, place);
        }
    }
    look.rule(group);
    look.supervisor_rule(group);
    look.found
}

struct Look<'l> {
    machine: &'l dyn Machine,
    source: &'l Source,
    found: Diagnostics,
}

impl Look<'_> {
    fn service(&mut self, kind: &str, name: &str, service: &Service, place: &SourceLocation) {
        let at = |source, keys: &[&str]| spot(source, kind, name, keys).unwrap_or_else(|| place.clone());
        if let Some(program) = service.exec.first().and_then(literal) {
            let message = self.program(program);
            self.say(message, || at(self.source, &["exec", "shell"]));
        }
        if let Some(directory) =
            service.working_directory.as_ref().and_then(literal).filter(|path| path.starts_with('/'))
        {
            let message = match self.machine.at(Path::new(directory)) {
                Found::Nothing => Some(format!("there is no directory `{directory}`")),
                Found::File | Found::Program => Some(format!("`{directory}` isn't a directory")),
                Found::Directory | Found::Unknown => None,
            };
            self.say(message, || at(self.source, &["working-directory"]));
        }
        for (_, file) in service.environment_files.iter().filter(|(optional, _)| !optional) {
            let gone = literal(file).filter(|file| self.machine.at(Path::new(file)) == Found::Nothing);
            let message = gone.map(|file| format!("there is no file `{file}`"));
            self.say(message, || at(self.source, &["environment-file"]));
        }
        for (directive, key, database) in [("User", "user", "passwd"), ("Group", "group", "group")] {
            let named = service.directives.iter().find(|found| found.name == directive);
            let named = named.filter(|found| !found.value.bytes().all(|byte| byte.is_ascii_digit()));
            let gone = named.filter(|found| !self.machine.has(database, &found.value));
            let message = gone.map(|found| format!("there is no {key} `{}`", found.value));
            self.say(message, || at(self.source, &[key]));
        }
    }

    /// What copse-supervisor may do is decided by polkit(8), too.
    fn supervisor_rule(&mut self, group: &Group) {
        let Some(supervisor) = group.supervisor.as_ref().filter(|_| group.scope == Scope::System) else { return };
        let Some(rules) = self.machine.rules() else { return };
        if rules.iter().any(|text| polkit::permits_supervisor(text, group)) {
            return;
        }
        let message = "clients of supervisord can change nothing yet: there is no polkit rule for copse-supervisor on this \
                       machine";
        let help = format!("as root: `copse polkit {0} > {1}/50-copse-{0}.rules`", group.name, polkit::RULES[0]);
        self.found.push(Diagnostic::new(Code::Missing, supervisor.location.clone(), message).help(help));
    }

    /// `controls` say who may do what; polkit(8) goes by its own files.
    fn rule(&mut self, group: &Group) {
        if group.scope == Scope::User || !polkit::needs_rule(group) {
            return;
        }
        let Some(rules) = self.machine.rules() else { return };
        let first = group.processes.iter().find(|(_, process)| !process.controls.is_empty());
        if let Some((name, process)) = first.filter(|_| !rules.iter().any(|text| polkit::is_about(text, group))) {
            let message = "`controls` has no effect yet: there is no polkit rule for it on this machine";
            let place = spot(self.source, "process", name.as_str(), &["controls"]);
            let help = format!("as root: `copse polkit {0} > {1}/50-copse-{0}.rules`", group.name, polkit::RULES[0]);
            let place = place.unwrap_or_else(|| process.location.clone());
            self.found.push(Diagnostic::new(Code::Missing, place, message).help(help));
        }
    }

    /// What is wrong with a program, if something is.
    fn program(&self, program: &str) -> Option<String> {
        if !program.contains('/') {
            let anywhere = SEARCH_PATH.split(':').map(|directory| PathBuf::from(directory).join(program));
            let found = anywhere.map(|path| self.machine.at(&path)).any(|found| found != Found::Nothing);
            return (!found).then(|| {
                format!(
                    "there is no program `{program}` in {}",
                    SEARCH_PATH.split(':').take(4).collect::<Vec<_>>().join(", ")
                )
            });
        }
        match self.machine.at(Path::new(program)) {
            Found::Nothing => Some(format!("there is no program `{program}`")),
            Found::File => Some(format!("`{program}` isn't executable")),
            Found::Directory => Some(format!("`{program}` is a directory")),
            Found::Program | Found::Unknown => None,
        }
    }

    fn say(&mut self, message: Option<String>, place: impl FnOnce() -> SourceLocation) {
        if let Some(message) = message {
            let diagnostic = Diagnostic::new(Code::Missing, place(), format!("{message} on this machine"));
            self.found.push(diagnostic);
        }
    }
}

/// A text without placeholders: what others come to depends on the instance, or is made by systemd.
fn literal(text: &Text) -> Option<&str> {
    (!text.has(|piece| !matches!(piece, Piece::Literal(_)))).then(|| text.leading())
}

/// Where one of these keys stands, of the process itself or else of `[defaults]`.
fn spot(source: &Source, kind: &str, name: &str, keys: &[&str]) -> Option<SourceLocation> {
    let of = |path: &[&str]| model::location_of(source, path, keys);
    of(&[kind, name]).or_else(|| of(&["defaults"]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basic::diagnostic::SourceFile;
    use crate::model::Context;
    use crate::unit::name::GroupName;

    /// With these texts of polkit's rules.
    struct Bare(Option<&'static str>);

    impl Machine for Bare {
        fn at(&self, path: &Path) -> Found {
            match path.to_str() {
                Some("/usr/bin/sleep" | "/bin/sh") => Found::Program,
                Some("/etc/passwd") => Found::File,
                Some("/srv") => Found::Directory,
                Some("/root/x") => Found::Unknown,
                _ => Found::Nothing,
            }
        }

        fn rules(&self) -> Option<Vec<String>> {
            self.0.map(|text| vec![text.to_owned()])
        }

        fn has(&self, database: &str, key: &str) -> bool {
            (database, key) == ("passwd", "ada")
        }
    }

    fn lines(text: &str) -> Vec<String> {
        lines_with(Some(""), text)
    }

    fn lines_with(rules: Option<&'static str>, text: &str) -> Vec<String> {
        let file = SourceFile { path: "/g.toml".into(), text: text.to_owned() };
        let source = Source { name: GroupName::new("g").unwrap(), file: file.into(), drop_ins: Vec::new() };
        let (group, diagnostics) = model::read(&source, &Context { scope: Scope::System, cpus: 1 });
        let group = group.unwrap_or_else(|| panic!("{diagnostics:?}"));
        missing(&group, &source, &Bare(rules)).iter().map(Diagnostic::line).collect()
    }

    #[test]
    fn what_a_group_names_and_is_not_there_is_said_with_its_place() {
        for (text, expected) in [
            ("exec = \"/usr/bin/nothere x\"", "3:8: warning[missing]: there is no program `/usr/bin/nothere`"),
            ("exec = \"nothere\"", "3:8: warning[missing]: there is no program `nothere` in /usr/local/sbin, "),
            ("exec = \"/etc/passwd\"", "3:8: warning[missing]: `/etc/passwd` isn't executable on this machine"),
            ("exec = \"bin/x\"", "3:8: warning[missing]: there is no program `/srv/bin/x`"),
            (
                "exec = \"sleep 1\"\nworking-directory = \"/none\"",
                "4:21: warning[missing]: there is no directory `/none`",
            ),
            ("exec = \"sleep 1\"\nenvironment-file = \"/none\"", "4:20: warning[missing]: there is no file `/none`"),
            ("exec = \"sleep 1\"\nuser = \"bob\"", "4:8: warning[missing]: there is no user `bob`"),
            ("exec = \"sleep 1\"\ngroup = \"bob\"", "4:9: warning[missing]: there is no group `bob`"),
        ] {
            let said = lines(&format!("defaults.working-directory = \"/srv\"\n[process.p]\n{text}\n"));
            assert!(said.len() == 1 && said[0].starts_with(&format!("/g.toml:{expected}")), "{text}: {said:?}");
        }
    }

    #[test]
    fn nothing_is_said_of_what_is_there_or_can_not_be_known() {
        for text in [
            "exec = \"sleep 1\"\nuser = \"ada\"\nworking-directory = \"/srv\"",
            "exec = \"sleep 1\"\nuser = \"4711\"\nenvironment-file = \"-/none\"",
            "exec = \"/root/x\"",
            "shell = \"no-such-program\"",
            "exec = \"/opt/{instance}\"\ninstances = 2",
            "exec = \"/none\"\nservice = { RootDirectory = \"/else\" }",
            "exec = \"sleep 1\"\nuser = \"bob\"\nservice = { DynamicUser = true }",
        ] {
            assert_eq!(lines(&format!("[process.p]\n{text}\n")), [""; 0], "{text}");
        }
    }

    #[test]
    fn controls_need_a_rule() {
        const TEXT: &str =
            "[process.w]\nexec = \"sleep 1\"\n[process.m]\nexec = \"sleep 1\"\nuser = \"ada\"\ncontrols = [\"w\"]\n";
        let said = lines_with(Some("polkit.addRule(function () {});"), TEXT);
        let expected = "/g.toml:6:12: warning[missing]: `controls` has no effect yet: there is no polkit rule for it on this \
                        machine; as root: `copse polkit g > /etc/polkit-1/rules.d/50-copse-g.rules`";
        assert_eq!(said, [expected]);
        let root = TEXT.replace("ada", "0");
        for (rules, text) in [
            // It may not be looked at.
            (None, TEXT),
            (Some("org.freedesktop.systemd1.manage-units … \"g-w.service\""), TEXT),
            (Some("org.freedesktop.systemd1.manage-units … subject.user == 'ada'"), TEXT),
            (Some(""), root.as_str()),
        ] {
            assert_eq!(lines_with(rules, text), [""; 0], "{rules:?}");
        }
    }
}
