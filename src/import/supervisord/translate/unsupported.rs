//! Sections and options that are not imported.

use super::notes::Notes;
use super::translated::Translated;
use crate::basic::diagnostic::Code;
use crate::basic::suggest;
use crate::import::supervisord::configparser::Setting;
use crate::import::supervisord::options;
use crate::import::supervisord::options::{Fate, KINDS, Kind, LOGS, Row};

/// What is not imported for the same reason: the sections as a whole, and the options with their sections.
struct Reason {
    reason: &'static str,
    sections: Vec<usize>,
    options: Vec<(usize, String)>,
}

/// The number of sections in a sentence.
const SECTIONS_MAX: usize = 4;

/// Reports all that is not imported, once for each reason, and adds comments to the processes. Returns whether log files
/// of several programs are among it, which get no comment of their own.
pub(super) fn report(processes: &mut [Translated<'_>], notes: &mut Notes<'_>) -> bool {
    let ini = notes.ini;
    let mut reasons: Vec<Reason> = Vec::new();
    for (index, section) in ini.sections.iter().enumerate() {
        let Some(kind) = options::kind(&section.name) else {
            unknown_section(index, notes);
            continue;
        };
        if let Some(reason) = kind.unsupported {
            entry(&mut reasons, reason).sections.push(index);
            continue;
        }
        for setting in ini.settings(index) {
            if let Some(reason) = reason(kind, setting, |option| ini.get(index, option)) {
                entry(&mut reasons, reason).options.push((index, setting.option.clone()));
            }
        }
        unknown_options(index, kind, processes, notes);
    }
    let mut logs = false;
    for reason in &reasons {
        let several = reason.options.iter().any(|(section, _)| *section != reason.options[0].0);
        let commented = if reason.reason == LOGS && several { &mut [] } else { &mut *processes };
        logs |= reason.reason == LOGS && several;
        reason.report(commented, notes);
    }
    logs
}

fn entry<'r>(reasons: &'r mut Vec<Reason>, reason: &'static str) -> &'r mut Reason {
    let index = reasons.iter().position(|known| known.reason == reason).unwrap_or_else(|| {
        reasons.push(Reason { reason, sections: Vec::new(), options: Vec::new() });
        reasons.len() - 1
    });
    &mut reasons[index]
}

impl Reason {
    fn report(&self, processes: &mut [Translated<'_>], notes: &mut Notes<'_>) {
        let names = |sections: &[usize]| {
            let shown = if sections.len() > SECTIONS_MAX + 1 { SECTIONS_MAX } else { sections.len() };
            let names = sections[..shown].iter().map(|section| format!("`[{}]`", notes.ini.sections[*section].name));
            let more = (shown < sections.len()).then(|| format!("{} more", sections.len() - shown));
            names.chain(more).collect::<Vec<_>>()
        };
        if let Some(first) = self.sections.first() {
            let message = not_imported(&names(&self.sections), "", self.reason);
            notes.report(Code::LeftOut, *first, "", message, None);
        }
        let mut of: Vec<usize> = self.options.iter().map(|(section, _)| *section).collect();
        of.dedup();
        let of = if of.len() > 1 { format!(" of {}", names(&of).join(", ")) } else { String::new() };
        let Some((section, option)) = self.options.first() else { return };
        let options = |chosen: Option<usize>| {
            let mut names: Vec<String> = Vec::new();
            for (section, option) in &self.options {
                let name = format!("`{option}`");
                if chosen.is_none_or(|chosen| chosen == *section) && !names.contains(&name) {
                    names.push(name);
                }
            }
            names
        };
        notes.report(Code::LeftOut, *section, option, not_imported(&options(None), &of, self.reason), None);
        for process in processes {
            let own = options(Some(process.program.section));
            if !own.is_empty() {
                process.table.comment(not_imported(&own, "", self.reason));
            }
        }
    }
}

/// `a`, `b` of `[c]`, `[d]` are not imported: REASON
fn not_imported(names: &[String], of: &str, reason: &str) -> String {
    let verb = if names.len() == 1 { "is" } else { "are" };
    format!("{}{of} {verb} not imported: {reason}", names.join(", "))
}

/// Why an option is not imported.
fn reason<'s>(kind: &Kind, setting: &Setting, get: impl Fn(&str) -> Option<&'s Setting>) -> Option<&'static str> {
    let option = setting.option.as_str();
    // `stdout` of `stdout_logfile_maxbytes`
    let file = || get(&format!("{}_logfile", option.split('_').next().unwrap_or_default()));
    let row = kind.row(option)?;
    match row.fate {
        Fate::Imported if option.ends_with("_logfile") && is_file(setting) => Some(LOGS),
        Fate::Unsupported if row.text == LOGS && !file().is_some_and(is_file) => None,
        Fate::Unsupported => Some(row.text),
        Fate::Imported | Fate::Ignored => None,
    }
}

/// Whether the output goes to a file, rather than to supervisord's own output, to syslog or nowhere.
fn is_file(setting: &Setting) -> bool {
    let value = setting.value.to_lowercase();
    let streams = ["/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/fd/2"];
    let processes = ["/proc/1/fd/1", "/proc/1/fd/2", "/proc/self/fd/1", "/proc/self/fd/2"];
    let others = ["auto", "syslog", "none", "off", "/dev/null"];
    ![&streams[..], &processes, &others].concat().contains(&value.as_str())
}

fn unknown_section(section: usize, notes: &mut Notes<'_>) {
    let name = &notes.ini.sections[section].name;
    let kinds = KINDS.iter().map(|kind| kind.name.trim_end_matches(':'));
    let near = suggest::nearest(name.split(':').next().unwrap_or_default(), kinds);
    let message = format!("`[{name}]` is not a section of supervisord, which ignores it");
    notes.report(Code::LeftOut, section, "", message, near.map(|near| format!("did you mean `{near}`?")).as_deref());
}

fn unknown_options(section: usize, kind: &Kind, processes: &mut [Translated<'_>], notes: &mut Notes<'_>) {
    let settings = notes.ini.sections[section].settings.iter();
    let unknown: Vec<&str> =
        settings.map(|setting| setting.option.as_str()).filter(|option| kind.row(option).is_none()).collect();
    let Some(first) = unknown.first() else { return };
    let names: Vec<String> = unknown.iter().map(|option| format!("`{option}`")).collect();
    let verb = if names.len() == 1 { "is" } else { "are" };
    let message = format!("{} {verb} unknown to supervisord, which ignores unknown options", names.join(", "));
    for process in processes.iter_mut().filter(|process| process.program.section == section) {
        process.table.comment(message.clone());
    }
    let near = suggest::nearest(first, kind.rows.iter().flat_map(Row::options));
    notes.report(Code::LeftOut, section, first, message, near.map(|near| format!("did you mean `{near}`?")).as_deref());
}
