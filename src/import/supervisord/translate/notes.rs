//! What the report says.

use super::translated::Translated;
use crate::basic::diagnostic::{At, Code, Diagnostic, Diagnostics};
use crate::import::group_file::GroupFile;
use crate::import::supervisord::config::Program;
use crate::import::supervisord::configparser::{Ini, Section};
use crate::import::supervisord::datatypes::Autorestart;
use crate::import::supervisord::options;

/// The diagnostics of a translation.
pub(super) struct Notes<'c> {
    pub(super) ini: &'c Ini,
    pub(super) diagnostics: Diagnostics,
}

impl Notes<'_> {
    /// Reports something at an option of a section, or at its header.
    pub(super) fn report(
        &mut self,
        code: Code,
        section: usize,
        option: &str,
        message: impl Into<String>,
        help: Option<&str>,
    ) {
        let mut diagnostic = Diagnostic::new(code, self.ini.location(section, option), message);
        diagnostic.help = help.map(str::to_owned);
        self.diagnostics.push(diagnostic);
    }

    /// Reports a variable that is not imported, where it is set: by the program or by `[supervisord]`.
    pub(super) fn variable(&mut self, section: usize, name: &str, message: String, help: Option<&str>) {
        let sets =
            |section: &usize| self.ini.get(*section, "environment").is_some_and(|setting| setting.value.contains(name));
        let daemon = self.ini.section("supervisord");
        let section = Some(section).filter(sets).or(daemon.filter(sets)).unwrap_or(section);
        self.report(Code::LeftOut, section, "environment", message, help);
    }

    pub(super) fn killed_children(&mut self, processes: &[Translated<'_>]) {
        let alone = |process: &&Translated<'_>| !process.program.stopasgroup && !process.program.killasgroup;
        let names: Vec<String> = processes.iter().filter(alone).map(|process| format!("`{}`", process.name)).collect();
        let Some(first) = processes.iter().find(alone) else { return };
        let message =
            format!("supervisord stops only the main process of {}; systemd also kills the children", names.join(", "));
        let help = "set `kill-mode = \"process\"` to leave the children running";
        self.report(Code::Otherwise, first.program.section, "killasgroup", message, Some(help));
    }

    pub(super) fn supervisor_variables(&mut self, processes: &[Translated<'_>]) {
        for Translated { program, .. } in processes {
            let mut words = program.processes.iter().flat_map(|process| &process.argv);
            if words.any(|word| word.literal().is_some_and(|word| word.contains("SUPERVISOR_"))) {
                let message = "variables of supervisord, such as SUPERVISOR_PROCESS_NAME, are not set";
                self.report(Code::LeftOut, program.section, "command", message, None);
            }
        }
    }

    pub(super) fn restarts(&mut self, program: &Program, retries: i64, seconds: i64) {
        let name = &program.name;
        let starts = retries.saturating_add(1);
        let (option, message, help) = match program.autorestart {
            Autorestart::Always if seconds == 0 => (
                "startsecs",
                format!(
                    "`startsecs=0`: supervisord restarts `{name}` without delay and without limit; systemd waits a second, \
                     and stops after {starts} starts in a row"
                ),
                "set `start-limit-burst` for another number of starts",
            ),
            Autorestart::Never if seconds > 0 && retries > 0 => (
                "autorestart",
                format!(
                    "supervisord retries up to {retries} times if `{name}` exits within {seconds}s; `restart = \"no\"` does not"
                ),
                "set `restart = \"on-failure\"` to retry",
            ),
            _ => ("", String::new(), ""),
        };
        if !option.is_empty() {
            self.report(Code::Otherwise, program.section, option, message, Some(help));
        }
        if program.autorestart != Autorestart::Never && retries > 3 {
            let message = format!(
                "supervisord waits a second longer before each of the {retries} retries; systemd waits a second each time"
            );
            let help = "set `restart-sec` for longer delays";
            self.report(Code::Otherwise, program.section, "startretries", message, Some(help));
        }
    }

    /// Reports what becomes of a dependency in an option of a plug-in; `exited` is the program whose exit it waits for.
    pub(super) fn dependency(&mut self, section: usize, option: &str, word: &str, added: bool, exited: Option<&str>) {
        if !added {
            let message = format!("`{option}`: no process can wait for `{word}`");
            self.report(Code::LeftOut, section, option, message, None);
        }
        if let Some(program) = exited {
            let message = format!("`{option}` waits until `{program}` has exited; `after` waits until it has started");
            let help = format!("set `ready = \"oneshot\"` for `{program}`: it has started once it exited successfully");
            self.report(Code::Otherwise, section, option, message, Some(&help));
        }
        let message = format!("`{option}` is an option of a plug-in, imported as `after`");
        self.report(Code::Otherwise, section, option, message, None);
    }

    pub(super) fn priority(&mut self, section: usize) {
        let message = "supervisord starts in the order of `priority` without waiting; `after` waits until the earlier ones have started";
        let help = "remove `after` if the order does not matter";
        self.report(Code::Otherwise, section, "priority", message, Some(help));
    }

    /// Adds a comment for each program that is not in the file, in its place. `sections` are those of the processes.
    pub(super) fn comment_missing_programs(&self, file: &mut GroupFile, sections: &[(String, usize)]) {
        let position = |name: &str| file.processes.iter().position(|(known, _)| known == name);
        let found: Vec<(usize, usize)> =
            sections.iter().filter_map(|(name, section)| Some((*section, position(name)?))).collect();
        let is_program =
            |name: &str| ["program:", "fcgi-program:", "eventlistener:"].iter().any(|prefix| name.starts_with(prefix));
        for (index, section) in self.ini.sections.iter().enumerate() {
            if !is_program(&section.name) || found.iter().any(|(known, _)| *known == index) {
                continue;
            }
            let unsupported = options::kind(&section.name).and_then(|kind| kind.unsupported);
            let reason = unsupported.map_or_else(|| self.reasons(section), str::to_owned);
            let comment = format!("`[{}]` is not imported: {reason}", section.name);
            match found.iter().find(|(known, _)| *known > index) {
                Some((_, next)) => file.processes[*next].1.comment_above(comment),
                None => file.end.push(comment),
            }
        }
    }

    /// The errors in a section, or else the warnings.
    fn reasons(&self, section: &Section) -> String {
        let (path, start) = (section.location.path(), section.location.start);
        let headers = self.ini.sections.iter().map(|other| &other.location).filter(|other| other.path() == path);
        let end = headers.map(|header| header.start).filter(|other| *other > start).min().unwrap_or(u32::MAX);
        let inside = |diagnostic: &&Diagnostic| match &diagnostic.at {
            At::Location(at) => at.path() == path && (start..end).contains(&at.start),
            At::Path(_) => false,
        };
        let messages = |code: Code| -> Vec<&str> {
            let found = self.diagnostics.iter().filter(|diagnostic| diagnostic.code == code).filter(inside);
            found.map(|diagnostic| diagnostic.message.as_str()).collect()
        };
        let errors = messages(Code::NotImported);
        if errors.is_empty() { messages(Code::LeftOut).join("; ") } else { errors.join("; ") }
    }
}
