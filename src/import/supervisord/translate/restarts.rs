//! How often, and after which ends, a process is started again.

use super::Translation;
use crate::basic::diagnostic::Code;
use crate::import::group_file::Table;
use crate::import::supervisord::config::Program;
use crate::import::supervisord::datatypes::Autorestart;

/// What systemd takes for a clean end, and supervisord doesn't: a death by one of these (systemd.service(5), "Restart=").
const CLEAN_SIGNALS: &str = "SIGHUP SIGINT SIGPIPE SIGTERM";

/// Why they are in the file.
const CLEAN_COMMENT: &str = "What ends so is started again, as by supervisord; to systemd it ended well.";

/// `startretries` that supervisord has by itself, and one.
const STARTS: i64 = 4;

impl Translation<'_> {
    pub(super) fn restarts(&mut self, program: &Program, table: &mut Table) {
        let (retries, seconds) = (program.startretries.max(0), program.startsecs.max(0));
        let word = match program.autorestart {
            Autorestart::Always => "always",
            Autorestart::Unexpected => "on-failure",
            Autorestart::Never => "no",
        };
        table.set("restart", word);
        let expected: Vec<i64> =
            program.exitcodes.iter().map(|code| i64::from(*code)).filter(|code| *code != 0).collect();
        if !expected.is_empty() {
            table.set("success-exit-status", expected);
        }
        // Where all others have it, one line in `[defaults]` says it for all; to `always` it makes no difference.
        let all_have_it = || {
            let has = |other: &Program| other.autorestart == Autorestart::Unexpected && other.exitcodes.contains(&0);
            self.config.programs.iter().all(|other| other.autorestart == Autorestart::Always || has(other))
                && self.config.programs.iter().any(has)
        };
        if program.autorestart == Autorestart::Unexpected || program.autorestart == Autorestart::Always && all_have_it()
        {
            let unexpected_zero = program.autorestart == Autorestart::Unexpected && !program.exitcodes.contains(&0);
            let zero = if unexpected_zero { "0 " } else { "" };
            let service = table.table("service");
            service.set("RestartForceExitStatus", format!("{zero}{CLEAN_SIGNALS}"));
            service.comment_at("RestartForceExitStatus", CLEAN_COMMENT);
        }
        let never = program.autorestart == Autorestart::Never;
        let burst = retries.saturating_add(1).min(i64::from(i32::MAX));
        // Starts by hand count as well, and those aren't limited by supervisord.
        table.set("start-limit-burst", if never { burst.max(STARTS) } else { burst });
        if seconds > 1 && !never {
            // A start that fails takes up to `startsecs`, and the pause behind it a second.
            table.set("start-limit-interval-sec", span(burst.saturating_mul(seconds.saturating_add(1))));
        }
        self.say_about_restarts(program, retries, seconds);
    }

    fn say_about_restarts(&mut self, program: &Program, retries: i64, seconds: i64) {
        let name = &program.name;
        let starts = retries.saturating_add(1);
        if program.autorestart == Autorestart::Always && seconds == 0 {
            let message = format!(
                "supervisord starts `{name}` again for ever and without a pause, as `startsecs` is 0; here it pauses for a second and gives up after {starts} starts in a row"
            );
            self.say(
                Code::Otherwise,
                self.spot(program.section, "startsecs"),
                message,
                Some("`start-limit-burst` says after how many"),
            );
        }
        if program.autorestart == Autorestart::Never && seconds > 0 && retries > 0 {
            let message = format!(
                "where a start of `{name}` ends within {seconds}s, supervisord tries again, up to {retries} times; `restart = \"no\"` doesn't"
            );
            self.say(
                Code::Otherwise,
                self.spot(program.section, "autorestart"),
                message,
                Some("write `restart = \"on-failure\"` where it should be tried"),
            );
        }
        if program.autorestart != Autorestart::Never && retries > 3 {
            let message = format!(
                "supervisord pauses a second longer before each of the {retries} times that it tries again; here each pause is a second"
            );
            self.say(
                Code::Otherwise,
                self.spot(program.section, "startretries"),
                message,
                Some("`restart-sec` makes them longer"),
            );
        }
    }
}

/// So many seconds, as a person writes them.
pub(super) fn span(seconds: i64) -> String {
    match seconds.min(1 << 40) {
        seconds if seconds % 3600 == 0 => format!("{}h", seconds / 3600),
        seconds if seconds % 60 == 0 => format!("{}min", seconds / 60),
        seconds => format!("{seconds}s"),
    }
}
