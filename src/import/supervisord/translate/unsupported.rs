//! What isn't imported: sections and options, and the word that is left of it in the group file.

use super::{Translated, Translation};
use crate::basic::diagnostic::{At, Code, Diagnostic};
use crate::basic::suggest;
use crate::import::group_file::GroupFile;
use crate::import::supervisord::config::place;
use crate::import::supervisord::configparser::{Section, Setting};
use crate::import::supervisord::options;
use crate::import::supervisord::options::{Fate, Kind, LOGS};

/// What is left out for the same reason, in the order of the text.
struct Reason<'c> {
    why: &'static str,
    /// Headers of sections that are left out as a whole.
    sections: Vec<&'c Section>,
    /// Options, each with its section.
    options: Vec<(usize, &'c Setting)>,
}

/// More names than this in one sentence nobody reads.
const NAMED: usize = 4;

impl<'c> Translation<'c> {
    /// One sentence for all that is left out for the same reason, at the first place. Gives whether log files of several
    /// programs are: of them the processes' comments don't speak.
    pub(super) fn say_what_is_left_out(&mut self, all: &mut [Translated<'_>]) -> bool {
        let config = self.config;
        let mut reasons: Vec<Reason<'_>> = Vec::new();
        for (at, section) in config.ini.sections.iter().enumerate() {
            match options::kind(&section.name) {
                None => self.say_unknown_section(section),
                Some(Kind { gone: Some(why), .. }) => reason(&mut reasons, why).sections.push(section),
                Some(kind) => {
                    for (why, setting) in self.left_out(section, kind) {
                        reason(&mut reasons, why).options.push((at, setting));
                    }
                    self.say_unknown_options(at, kind, all);
                }
            }
        }
        let is_logs =
            |reason: &Reason<'_>| reason.why == LOGS && reason.options.iter().any(|(at, _)| *at != reason.options[0].0);
        for reason in &reasons {
            self.say_reason(reason, if is_logs(reason) { &mut [] } else { &mut *all });
        }
        reasons.iter().any(is_logs)
    }

    fn say_reason(&mut self, reason: &Reason<'_>, all: &mut [Translated<'_>]) {
        let why = reason.why;
        if let Some(first) = reason.sections.first() {
            let names: Vec<&str> = reason.sections.iter().map(|section| section.name.as_str()).collect();
            let verb = if names.len() == 1 { "isn't" } else { "aren't" };
            let message =
                format!("{} {verb} imported: {why}", enumerated(names.into_iter().map(|name| format!("`[{name}]`"))));
            self.say(Code::LeftOut, first.spot, message, None);
        }
        let Some((_, first)) = reason.options.first() else { return };
        let mut sections: Vec<usize> = reason.options.iter().map(|(at, _)| *at).collect();
        sections.dedup();
        let options = |of: &dyn Fn(usize) -> bool| {
            let mut names: Vec<String> = reason
                .options
                .iter()
                .filter(|(at, _)| of(*at))
                .map(|(_, setting)| format!("`{}`", setting.option))
                .collect();
            let mut seen = std::collections::BTreeSet::new();
            names.retain(|name| seen.insert(name.clone()));
            names.join(", ")
        };
        let mut message = options(&|_| true);
        if sections.len() > 1 {
            let names = sections.iter().map(|at| format!("`[{}]`", self.config.ini.sections[*at].name));
            message += &format!(" of {}", enumerated(names));
        }
        self.say(Code::LeftOut, first.spot, format!("{message}: {why}"), None);
        for one in all.iter_mut().filter(|one| sections.contains(&one.program.section)) {
            let section = one.program.section;
            one.table.comment(format!("{}: {why}", options(&|at| at == section)));
        }
    }

    /// The options of a section that have no key, with the reasons.
    fn left_out(&self, section: &'c Section, kind: &Kind) -> Vec<(&'static str, &'c Setting)> {
        let settings = section.settings.iter().chain(&self.config.ini.defaults);
        let why = |setting: &&'c Setting| match options::row(kind, &setting.option)?.fate {
            Fate::Key(..) if setting.option.ends_with("_logfile") && is_file(setting) => Some(LOGS),
            Fate::Gone(_) if is_about_a_file(&setting.option) && !self.has_file(section, setting) => None,
            Fate::Gone(why) => Some(why),
            Fate::Key(..) | Fate::Holds(_) => None,
        };
        settings.filter_map(|setting| Some((why(&setting)?, setting))).collect()
    }

    fn say_unknown_section(&mut self, section: &Section) {
        let kinds = options::KINDS.iter().map(|kind| kind.name.trim_end_matches(':'));
        let near = suggest::nearest(section.name.split(':').next().unwrap_or_default(), kinds);
        let message = format!("supervisord ignores `[{}]`: it has no such section", section.name);
        self.say(Code::LeftOut, section.spot, message, near.map(|near| format!("was `{near}` meant?")).as_deref());
    }

    fn say_unknown_options(&mut self, at: usize, kind: &Kind, all: &mut [Translated<'_>]) {
        let settings = self.config.ini.sections[at].settings.iter();
        let unknown: Vec<&Setting> = settings.filter(|setting| options::row(kind, &setting.option).is_none()).collect();
        let Some(first) = unknown.first() else { return };
        let names: Vec<String> = unknown.iter().map(|setting| format!("`{}`", setting.option)).collect();
        let message = format!("{}: supervisord ignores it: it has no such option there", names.join(", "));
        for one in all.iter_mut().filter(|one| one.program.section == at) {
            one.table.comment(message.clone());
        }
        let near = suggest::nearest(&first.option, kind.rows.iter().map(|row| row.option));
        self.say(Code::LeftOut, first.spot, message, near.map(|near| format!("was `{near}` meant?")).as_deref());
    }

    /// Says of each program that isn't in the file why it isn't, at the place where it would be. `sections` are the
    /// sections that processes come from.
    pub(super) fn leave_word(&self, file: &mut GroupFile, sections: &[(String, usize)]) {
        let ini = &self.config.ini;
        let here = |name: &str| file.processes.iter().position(|(known, _)| known == name);
        let found: Vec<(usize, usize)> =
            sections.iter().filter_map(|(name, section)| Some((*section, here(name)?))).collect();
        let programs = ["program:", "fcgi-program:", "eventlistener:"];
        let is_program = |name: &str| programs.iter().any(|prefix| name.starts_with(prefix));
        for (at, section) in ini.sections.iter().enumerate().filter(|(_, section)| is_program(&section.name)) {
            if found.iter().any(|(known, _)| *known == at) {
                continue;
            }
            let why = match options::kind(&section.name).and_then(|kind| kind.gone) {
                Some(why) => why.to_owned(),
                None => self.why_not(at),
            };
            let comment = format!("`[{}]` isn't imported: {why}", section.name);
            match found.iter().find(|(known, _)| *known > at) {
                Some((_, next)) => file.processes[*next].1.comment_above(comment),
                None => file.end.push(comment),
            }
        }
    }

    /// What was said of the lines of a section.
    fn why_not(&self, section: usize) -> String {
        let sections = &self.config.ini.sections;
        let start = |spot| place(&self.config.files, spot).start;
        let (spot, begin) = (sections[section].spot, start(sections[section].spot));
        let later = sections.iter().map(|other| other.spot).filter(|other| other.file == spot.file);
        let end = later.filter(|other| other.line > spot.line).min_by_key(|other| other.line).map_or(u32::MAX, start);
        let said = |code: Code| -> Vec<&str> {
            let of_it = |diagnostic: &&Diagnostic| match &diagnostic.at {
                At::Location(at) => at.file == self.config.files[spot.file] && (begin..end).contains(&at.start),
                At::Path(_) => false,
            };
            let found = self.diagnostics.iter().filter(|diagnostic| diagnostic.code == code).filter(of_it);
            found.map(|diagnostic| diagnostic.message.as_str()).collect()
        };
        let errors = said(Code::NotImported);
        if errors.is_empty() { said(Code::LeftOut).join("; ") } else { errors.join("; ") }
    }

    /// Whether the output that an option is about goes to a file.
    fn has_file(&self, section: &Section, setting: &Setting) -> bool {
        let stream = setting.option.split('_').next().unwrap_or_default();
        self.config.ini.get(section, &format!("{stream}_logfile")).is_some_and(is_file)
    }
}

fn is_about_a_file(option: &str) -> bool {
    option.ends_with("_logfile_maxbytes") || option.ends_with("_logfile_backups")
}

/// Whether a log file is one, and not another spelling of supervisord's own output, of syslog, or of nothing.
fn is_file(setting: &Setting) -> bool {
    let value = setting.value.to_lowercase();
    let standard = [
        "/dev/stdout",
        "/dev/stderr",
        "/dev/fd/1",
        "/dev/fd/2",
        "/proc/1/fd/1",
        "/proc/1/fd/2",
        "/proc/self/fd/1",
        "/proc/self/fd/2",
    ];
    !standard.contains(&value.as_str()) && !matches!(value.as_str(), "auto" | "syslog" | "none" | "off" | "/dev/null")
}

fn reason<'r, 'c>(reasons: &'r mut Vec<Reason<'c>>, why: &'static str) -> &'r mut Reason<'c> {
    let at = reasons.iter().position(|known| known.why == why).unwrap_or_else(|| {
        reasons.push(Reason { why, sections: Vec::new(), options: Vec::new() });
        reasons.len() - 1
    });
    &mut reasons[at]
}

/// `a`, `b` and 3 more
fn enumerated(names: impl ExactSizeIterator<Item = String>) -> String {
    let count = names.len();
    let shown: Vec<String> = names.take(if count == NAMED + 1 { count } else { NAMED }).collect();
    let more = count - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    shown.join(", ") + &more
}
