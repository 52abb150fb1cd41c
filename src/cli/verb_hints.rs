//! Commands that other tools have: a hint at the one to use here.

use std::ffi::OsString;

use super::common::error::Error;

/// Other tools' commands, and what to do instead.
const HINTS: &[(&[&str], &str)] = &[
    // supervisorctl
    (&["tail", "maintail", "fg", "attach"], "run `copse logs -f GROUP` to follow the journal of a group"),
    (
        &["update", "add", "reload-config", "deploy", "converge"],
        "run `copse apply GROUP` to do what changed files need, `copse plan GROUP` to see it first",
    ),
    (&["reread", "avail", "validate", "lint"], "run `copse check` to check group files"),
    (
        &["remove", "rm", "delete"],
        "remove the group file, or the process from it, then run `copse apply GROUP` to stop what was removed",
    ),
    (
        &["signal", "hup", "term", "quit", "sigusr1"],
        "run `copse kill --signal=HUP GROUP/PROCESS` to send a signal to a process",
    ),
    (&["clear", "flush"], "run `journalctl --vacuum-time=TIME` to remove old lines from the journal"),
    (&["shutdown"], "run `copse stop GROUP` to stop a group; there is no daemon to shut down"),
    (&["version"], "run `copse --version`"),
    (
        &["pid", "ps", "top", "show", "describe", "info", "is-active", "is-failed"],
        "run `copse status GROUP` for the processes of a group, `copse list` for all groups",
    ),
    (&["ls", "list-units"], "run `copse list` to list all groups"),
    (&["monit", "events", "watch"], "run `copse logs -f GROUP` or `copse status --watch GROUP` to watch a group"),
    // docker compose, foreman, circus
    (&["up"], "run `copse start GROUP` to start a group and wait until it is ready"),
    (&["down"], "run `copse stop GROUP` to stop a group and wait until its last process has exited"),
    (&["pause", "suspend"], "run `copse freeze GROUP` to suspend the processes of a group"),
    (&["unpause", "resume"], "run `copse thaw GROUP` to resume the processes of a group"),
    (&["incr", "decr"], "run `copse scale GROUP/PROCESS N` to set the number of instances"),
    (
        &["config", "units"],
        "run `copse render GROUP` for the units that a group file generates, `copse cat GROUP` for those in use",
    ),
    (&["exec", "shell"], "use `systemd-run` or nsenter(1) to run a command next to a process"),
    // git, terraform
    (&["diff", "dry-run", "preview"], "run `copse plan --diff GROUP` to see what changed, and what that needs"),
    (&["rollback", "revert", "undo"], "run `copse apply --rollback GROUP` to return to the last complete apply"),
    // systemctl
    (
        &["daemon-reload"],
        "run `systemctl daemon-reload` to read the group files again, or `copse apply GROUP`, which does it if needed",
    ),
    (&["try-restart", "bounce"], "run `copse restart GROUP` to restart a group, instance by instance"),
    (&["list-dependencies", "deps", "tree"], "run `copse graph GROUP` to draw the dependencies within a group"),
    (&["is-enabled"], "run `systemctl is-enabled GROUP.target` to see whether a group starts at boot"),
    (&["startup", "autostart"], "run `copse enable GROUP` to start a group at boot"),
    (
        &["mask", "disable-process"],
        "run `copse hold GROUP/PROCESS` to keep a process stopped, `systemctl mask UNIT` for any unit",
    ),
    (&["unmask", "unhold"], "run `copse release GROUP/PROCESS` to let a held process run again"),
    (&["new", "init", "create", "generate"], "run `copse edit --full GROUP` to create a group file"),
];

/// The error for another tool's command among `args` (the first is the program's name).
pub(super) fn hint(args: &[OsString]) -> Option<Error> {
    let mut args = args.iter().skip(1).map(|arg| arg.to_string_lossy());
    let name = args.find(|arg| !arg.starts_with('-'))?;
    if name == "apply" && args.take_while(|arg| arg != "--").any(|arg| arg == "--dry-run" || arg == "--check") {
        let help = "run `copse plan GROUP` to see what it would do";
        return Some(Error::usage("`apply` has no `--dry-run`").help(help));
    }
    let (_, help) = HINTS.iter().find(|(names, _)| names.contains(&&*name))?;
    Some(Error::usage(format_args!("there is no command `{name}`")).help(help))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basic::scope::Scope;

    #[test]
    fn a_command_of_another_tool_has_a_hint() {
        let hint = |args: &[&str]| {
            let error = hint(&args.iter().map(OsString::from).collect::<Vec<_>>())?;
            let (_, message, help) = error.parts(Scope::System);
            message.zip(help)
        };
        for (args, message, help) in [
            (
                &["copse", "--user", "tail", "shop"],
                "there is no command `tail`",
                "run `copse logs -f GROUP` to follow the journal of a group",
            ),
            (
                &["copse", "apply", "shop", "--dry-run"],
                "`apply` has no `--dry-run`",
                "run `copse plan GROUP` to see what it would do",
            ),
        ] {
            assert_eq!(hint(args), Some((message.to_owned(), help.to_owned())));
        }
        for args in [
            &["copse"][..],
            &["copse", "status", "up"],
            &["copse", "check", "ps"],
            &["tail", "status"],
            &["copse", "apply", "shop"],
        ] {
            assert_eq!(hint(args), None, "{args:?}");
        }
    }

    #[test]
    fn hints_name_commands_that_exist_for_names_that_do_not() {
        let command = crate::cli::arguments();
        let exists = |name: &str| command.find_subcommand(name).is_some();
        for (names, help) in HINTS {
            for name in *names {
                assert!(!exists(name), "`{name}` is a command of copse");
            }
            let named = help.split('`').filter_map(|piece| piece.strip_prefix("copse "));
            for name in named.filter_map(|rest| rest.split(' ').next()).filter(|name| !name.starts_with('-')) {
                assert!(exists(name), "there is no `copse {name}`: {help}");
            }
        }
        let all: Vec<&str> = HINTS.iter().flat_map(|(names, _)| names.iter().copied()).collect();
        let mut once = all.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), all.len());
    }
}
