//! What all programs have in common to be said.

use super::{Translated, Translation};
use crate::basic::diagnostic::Code;
use crate::import::supervisord::configparser::Setting;

impl Translation<'_> {
    /// Says it; gives whether the file has to say at its top that several programs' log files aren't written.
    pub(super) fn report(&mut self, all: &mut [Translated<'_>]) -> bool {
        self.say_who_keeps_children(all);
        self.say_about_variables(all);
        self.say_what_is_filled_in();
        self.say_what_is_left_out(all)
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
        let path = settings().find(|setting| setting.value.contains("%(ENV_PATH)"));
        if let Some(setting) = path.filter(|_| self.config.path_used) {
            let message = "`%(ENV_PATH)s` is systemd's own search path here, which supervisord has as well where systemd starts it";
            let help = "`--env FILE` with a line `PATH=…`, or `--env-from-process`, takes another";
            self.say(Code::Otherwise, setting.spot, message, Some(help));
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
}
