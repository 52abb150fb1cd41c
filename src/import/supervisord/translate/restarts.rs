//! How often, and after which exits, a process is started again.

use super::notes::Notes;
use crate::import::group_file::Table;
use crate::import::supervisord::config::Program;
use crate::import::supervisord::datatypes::Autorestart;

/// The signals after which systemd counts an exit as clean (systemd.service(5), "Restart="), and supervisord does not.
const CLEAN_SIGNALS: &str = "SIGHUP SIGINT SIGPIPE SIGTERM";
const CLEAN_SIGNALS_COMMENT: &str =
    "supervisord restarts after these signals; systemd would count them as a clean exit.";

/// supervisord's default of `startretries`, plus one.
const STARTS: i64 = 4;

pub(super) fn set(program: &Program, programs: &[Program], table: &mut Table, notes: &mut Notes<'_>) {
    let (retries, seconds) = (program.startretries.max(0), program.startsecs.max(0));
    let starts = retries.saturating_add(1).min(i64::from(i32::MAX));
    let expected: Vec<i64> = program.exitcodes.iter().filter(|code| **code != 0).map(|code| i64::from(*code)).collect();
    if !expected.is_empty() {
        table.set("success-exit-status", expected);
    }
    let (word, burst) = match program.autorestart {
        Autorestart::Always => ("always", starts),
        Autorestart::Unexpected => ("on-failure", starts),
        // Starts by hand count as well, and supervisord does not limit those.
        Autorestart::Never => ("no", starts.max(STARTS)),
    };
    table.set("restart", word);
    table.set("start-limit-burst", burst);
    if forces_restarts(program, programs) {
        let zero = program.autorestart == Autorestart::Unexpected && !program.exitcodes.contains(&0);
        let service = table.table("service");
        service.set("RestartForceExitStatus", format!("{}{CLEAN_SIGNALS}", if zero { "0 " } else { "" }));
        service.comment_at("RestartForceExitStatus", CLEAN_SIGNALS_COMMENT);
    }
    if seconds > 1 && program.autorestart != Autorestart::Never {
        // A failed start takes up to `startsecs`, and the delay after it a second.
        table.set("start-limit-interval-sec", span(burst.saturating_mul(seconds.saturating_add(1))));
    }
    notes.restarts(program, retries, seconds);
}

/// Whether the process gets `RestartForceExitStatus=`. It makes no difference to `always`, but if all others have the same
/// value, one line in `[defaults]` is enough.
fn forces_restarts(program: &Program, programs: &[Program]) -> bool {
    let unexpected = |program: &Program| program.autorestart == Autorestart::Unexpected;
    let always = |program: &Program| program.autorestart == Autorestart::Always;
    let plain = |program: &Program| unexpected(program) && program.exitcodes.contains(&0);
    unexpected(program)
        || always(program)
            && programs.iter().any(plain)
            && programs.iter().all(|program| always(program) || plain(program))
}

/// A number of seconds as a person writes it.
pub(super) fn span(seconds: i64) -> String {
    match seconds.min(1 << 40) {
        seconds if seconds % 3600 == 0 => format!("{}h", seconds / 3600),
        seconds if seconds % 60 == 0 => format!("{}min", seconds / 60),
        seconds => format!("{seconds}s"),
    }
}
