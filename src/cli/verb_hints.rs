//! Verbs that other tools have: one sentence that names what to use here.

use std::ffi::OsString;

/// Words, and what is used instead.
const HABITS: &[(&[&str], &str)] = &[
    // supervisorctl
    (&["tail", "maintail", "fg", "attach"], "`copse logs -f GROUP` follows a group's journal"),
    (
        &["update", "add", "reload-config", "deploy", "converge"],
        "`copse apply GROUP` does what a change of the files needs, `copse plan GROUP` shows it",
    ),
    (&["reread", "avail", "validate", "lint"], "`copse check` says what is wrong with the group files"),
    (
        &["remove", "rm", "delete"],
        "remove the group file or the process in it, and `copse apply GROUP` stops what is gone",
    ),
    (&["signal", "hup", "term", "quit", "sigusr1"], "`copse kill --signal=HUP GROUP/PROCESS` sends a signal"),
    (&["clear", "flush"], "the log is the journal: see `journalctl --vacuum-time`"),
    (&["shutdown"], "`copse stop GROUP` stops a group; there is no daemon that could be shut down"),
    (&["version"], "`copse --version`"),
    (
        &["pid", "ps", "top", "show", "describe", "info", "is-active", "is-failed"],
        "`copse status GROUP` shows a group's processes, `copse list` all groups",
    ),
    (&["ls", "list-units"], "`copse list` shows all groups, a line each"),
    (&["monit", "events", "watch"], "`copse logs -f GROUP` follows what happens in a group"),
    // docker compose, foreman, circus
    (&["up"], "`copse start GROUP` starts a group and returns when it is ready"),
    (&["down"], "`copse stop GROUP` stops a group and returns when the last process is gone"),
    (&["pause", "suspend"], "`copse freeze GROUP` suspends the processes of a group"),
    (&["unpause", "resume"], "`copse thaw GROUP` lets the processes of a group run on"),
    (&["incr", "decr"], "`copse scale GROUP/PROCESS N` runs so many instances"),
    (
        &["config", "units"],
        "`copse render GROUP` prints the units that a group's file makes, `copse cat GROUP` those in use",
    ),
    (&["export"], "`copse compile FILE` makes static units, and the generator makes them without being asked"),
    (&["exec", "shell"], "`systemd-run` and nsenter(1) run something beside a process"),
    // git, terraform
    (&["diff", "dry-run", "preview"], "`copse plan --diff GROUP` shows what changed, and what that needs"),
    (&["rollback", "revert", "undo"], "`copse apply --rollback GROUP` goes back to the last complete apply"),
    // systemctl
    (
        &["daemon-reload"],
        "`systemctl daemon-reload` reads the group files again; `copse apply GROUP` does it where it is needed",
    ),
    (&["try-restart", "bounce"], "`copse restart GROUP` restarts what runs, instance by instance"),
    (&["list-dependencies", "deps", "tree"], "`copse graph GROUP` draws who waits for whom"),
    (&["is-enabled"], "`systemctl is-enabled GROUP.target` says whether a group starts at boot"),
    (&["startup", "autostart"], "`copse enable GROUP` starts a group at boot"),
    (&["mask", "disable-process"], "`copse hold GROUP/PROCESS` keeps a process stopped, `systemctl mask` a unit"),
    (&["unmask", "unhold"], "`copse release GROUP/PROCESS` lets a held process run again"),
    (&["new", "init", "create", "generate"], "`copse edit --full GROUP` makes a group file"),
];

/// The sentence, where the verb among `arguments` (the first is the program's name) is another tool's.
pub(super) fn hint(arguments: &[OsString]) -> Option<String> {
    let mut words = arguments.iter().skip(1).map(|argument| argument.to_string_lossy());
    let verb = words.find(|word| !word.starts_with('-'))?;
    if verb == "apply" && words.take_while(|word| word != "--").any(|word| word == "--dry-run" || word == "--check") {
        return Some("`apply` has no `--dry-run`: `copse plan GROUP` shows what it would do".to_owned());
    }
    let (_, instead) = HABITS.iter().find(|(words, _)| words.contains(&&*verb))?;
    Some(format!("there is no verb `{verb}`: {instead}"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Copse;

    #[test]
    fn another_tools_verb_is_named_ours() {
        let hint = |words: &[&str]| hint(&words.iter().map(OsString::from).collect::<Vec<_>>());
        let expected = "there is no verb `tail`: `copse logs -f GROUP` follows a group's journal";
        assert_eq!(hint(&["copse", "--user", "tail", "shop"]).as_deref(), Some(expected));
        let expected = "`apply` has no `--dry-run`: `copse plan GROUP` shows what it would do";
        assert_eq!(hint(&["copse", "apply", "shop", "--dry-run"]).as_deref(), Some(expected));
        for words in [
            &["copse"][..],
            &["copse", "status", "up"],
            &["copse", "check", "ps"],
            &["tail", "status"],
            &["copse", "apply", "shop"],
        ] {
            assert_eq!(hint(words), None, "{words:?}");
        }
    }

    #[test]
    fn what_is_named_is_there_and_what_is_not_a_verb_is_none() {
        let command = Copse::command();
        let is_verb = |word: &str| command.find_subcommand(word).is_some();
        for (words, sentence) in HABITS {
            for word in *words {
                assert!(!is_verb(word), "`{word}` is a verb of copse");
            }
            let named = sentence.split('`').filter_map(|piece| piece.strip_prefix("copse "));
            for verb in named.filter_map(|rest| rest.split(' ').next()).filter(|word| !word.starts_with('-')) {
                assert!(is_verb(verb), "`copse {verb}` isn't there: {sentence}");
            }
        }
        let all: Vec<&str> = HABITS.iter().flat_map(|(words, _)| words.iter().copied()).collect();
        let mut once = all.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), all.len());
    }
}
