//! What isn't imported, option by option, and what all programs have in common to be said.

use super::{Translated, Translation};
use crate::diagnostic::Code;
use crate::import::supervisord::ini::{Section, Setting};
use crate::import::supervisord::options::{self, Fate};
use crate::suggest;

impl Translation<'_> {
    pub(super) fn report(&mut self, all: &mut [Translated<'_>]) {
        self.say_who_keeps_children(all);
        self.say_about_variables(all);
        self.say_what_is_filled_in();
        for at in 0..self.config.ini.sections.len() {
            self.section(at, all);
        }
    }

    fn say_who_keeps_children(&mut self, all: &[Translated<'_>]) {
        let alone = |one: &&Translated<'_>| !one.program.stopasgroup && !one.program.killasgroup;
        let names: Vec<String> = all.iter().filter(alone).map(|one| format!("`{}`", one.name)).collect();
        if let Some(first) = all.iter().find(alone) {
            let (their, them) = if names.len() == 1 { ("its", "it") } else { ("their", "them") };
            let message = format!(
                "supervisord stops {} alone and lets {their} children live; here the children are killed with {them}",
                names.join(", ")
            );
            let help =
                "`stopasgroup` and `killasgroup` say so to supervisord; `kill-mode = \"process\"` would let them live";
            self.say(Code::Otherwise, self.spot(first.program.section, "killasgroup"), message, Some(help));
        }
    }

    fn say_about_variables(&mut self, all: &[Translated<'_>]) {
        for one in all {
            let texts = one.program.processes.iter().flat_map(|process| &process.argv);
            if texts.filter_map(|word| word.literal()).any(|word| word.contains("SUPERVISOR_")) {
                let message = "supervisord's own variables, SUPERVISOR_PROCESS_NAME and its like, aren't set";
                self.say(Code::LeftOut, self.spot(one.program.section, "command"), message, None);
            }
        }
    }

    fn say_what_is_filled_in(&mut self) {
        let ini = &self.config.ini;
        let settings = || ini.sections.iter().flat_map(|section| &section.settings).chain(&ini.defaults);
        let host = settings().find(|setting| setting.value.contains("%(host_node_name)"));
        if let Some(setting) = host.filter(|_| self.config.host_used) {
            let message = "`%(host_node_name)s` is this machine's name: on another it would have to be imported anew";
            self.say(Code::Otherwise, setting.spot, message, None);
        }
        let ambiguous: Vec<&Setting> = settings().filter(|setting| setting.ambiguous).collect();
        for setting in ambiguous {
            let message = format!(
                "`{}` has several comment characters: supervisord on Python 3.14 and later reads it as shorter",
                setting.option
            );
            self.say(Code::Otherwise, setting.spot, message, None);
        }
    }

    fn section(&mut self, at: usize, all: &mut [Translated<'_>]) {
        let section = &self.config.ini.sections[at];
        let Some(kind) = options::kind(&section.name) else {
            let kinds = options::KINDS.iter().map(|kind| kind.name.trim_end_matches(':'));
            let near = suggest::nearest(section.name.split(':').next().unwrap_or_default(), kinds);
            let message = format!("supervisord ignores `[{}]`: it has no such section", section.name);
            let help = near.map(|near| format!("was `{near}` meant?"));
            return self.say(Code::LeftOut, section.spot, message, help.as_deref());
        };
        if let Some(why) = kind.gone {
            return self.say(Code::LeftOut, section.spot, format!("`[{}]` isn't imported: {why}", section.name), None);
        }
        // One sentence for all options that have the same reason.
        let mut reasons: Vec<(&str, Vec<&Setting>)> = Vec::new();
        for setting in section.settings.iter().chain(&self.config.ini.defaults) {
            let why = match options::row(kind, &setting.option).map(|row| row.fate) {
                Some(Fate::Key(..)) if setting.option.ends_with("_logfile") && is_file(setting) => options::LOGS,
                Some(Fate::Gone(_)) if is_about_a_file(&setting.option) && !self.has_file(section, setting) => continue,
                Some(Fate::Key(..) | Fate::Holds(_)) => continue,
                Some(Fate::Gone(why)) => why,
                // In [DEFAULT] it may be meant for others.
                None if !section.settings.contains(setting) => continue,
                None => "supervisord ignores it: it has no such option there",
            };
            match reasons.iter_mut().find(|(known, _)| *known == why) {
                Some((_, settings)) => settings.push(setting),
                None => reasons.push((why, vec![setting])),
            }
        }
        for (why, settings) in reasons {
            let names: Vec<String> = settings.iter().map(|setting| format!("`{}`", setting.option)).collect();
            let message = format!("{}: {why}", names.join(", "));
            for one in all.iter_mut().filter(|one| one.program.section == at) {
                one.table.comment(message.clone());
            }
            let known = settings[0].option.as_str();
            let near = options::row(kind, known)
                .is_none()
                .then(|| suggest::nearest(known, kind.rows.iter().map(|row| row.option)));
            let help = near.flatten().map(|near| format!("was `{near}` meant?"));
            self.say(Code::LeftOut, settings[0].spot, message, help.as_deref());
        }
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
