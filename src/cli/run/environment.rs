//! The environment of the processes of `copse run`: the caller's, as with foreman.

use std::collections::BTreeSet;
use std::ffi::OsString;

use crate::import::dotenv;
use crate::import::dotenv::Variable;
use crate::model::is_variable;
use crate::unit::environment_file;
use crate::unit::environment_file::can_hold;

/// Variables that are about one process and would mislead another one: systemd.exec(5), "Environment variables in spawned
/// processes", and those of shells.
const OF_ONE_PROCESS: [&str; 35] = [
    "_",
    "CACHE_DIRECTORY",
    "CONFIGURATION_DIRECTORY",
    "CREDENTIALS_DIRECTORY",
    "DEBUG_INVOCATION",
    "EXIT_CODE",
    "EXIT_STATUS",
    "FDSTORE",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "LISTEN_FDNAMES",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_PIDFDID",
    "LOGS_DIRECTORY",
    "LOG_NAMESPACE",
    "MAINPID",
    "MAINPIDFDID",
    "MANAGERPID",
    "MANAGERPIDFDID",
    "MEMORY_PRESSURE_WATCH",
    "MEMORY_PRESSURE_WRITE",
    "NOTIFY_SOCKET",
    "OLDPWD",
    "PIDFILE",
    "PWD",
    "REMOTE_ADDR",
    "REMOTE_PORT",
    "RUNTIME_DIRECTORY",
    "SERVICE_RESULT",
    "SHLVL",
    "STATE_DIRECTORY",
    "SYSTEMD_EXEC_PID",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
];

/// Variables that systemd sets itself for a process with another `user`.
const OF_ONE_USER: [&str; 6] = ["DBUS_SESSION_BUS_ADDRESS", "HOME", "LOGNAME", "MAIL", "SHELL", "USER"];

/// What a process gets from elsewhere than its environment file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Own {
    /// Variables that the group file sets for it. The caller's must be left out, as a file overrides `Environment=`
    /// (systemd.exec(5)).
    pub(super) sets: BTreeSet<String>,
    /// It runs as another user than the caller.
    pub(super) other_user: bool,
}

/// The variables of the caller that all processes get, and the names of those that systemd does not accept: names consist
/// of letters, digits and `_`, and values are text.
pub(super) fn of_caller(all: impl IntoIterator<Item = (OsString, OsString)>) -> (Vec<Variable>, Vec<String>) {
    let (mut variables, mut invalid) = (Vec::new(), Vec::new());
    for (name, value) in all {
        let shown = name.to_string_lossy().into_owned();
        match (name.into_string(), value.into_string()) {
            (Ok(name), _) if OF_ONE_PROCESS.contains(&name.as_str()) => {}
            (Ok(name), Ok(value)) if is_variable(&name) && can_hold(&value) => {
                variables.push(Variable { name, value });
            }
            _ => invalid.push(shown),
        }
    }
    variables.sort_by(|a, b| a.name.cmp(&b.name));
    invalid.sort();
    (variables, invalid)
}

/// The text of a process's `EnvironmentFile=`: the caller's variables that apply to it, overridden by those of `.env`
/// files.
pub(super) fn file(caller: &[Variable], dot_env: &[Variable], own: &Own) -> String {
    let of_user = |name: &str| OF_ONE_USER.contains(&name) || name.starts_with("XDG_") || name.starts_with("SUDO_");
    let passed =
        |variable: &&Variable| !(own.sets.contains(&variable.name) || own.other_user && of_user(&variable.name));
    let mut variables: Vec<Variable> = caller.iter().filter(passed).cloned().collect();
    for variable in dot_env {
        dotenv::set(&mut variables, &variable.name, variable.value.clone());
    }
    environment_file::text(variables.iter().map(|variable| (variable.name.as_str(), variable.value.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(name: &str, value: &str) -> Variable {
        Variable { name: name.to_owned(), value: value.to_owned() }
    }

    #[test]
    fn all_of_the_caller_s_but_what_isnt_another_s_business() {
        use std::os::unix::ffi::OsStringExt as _;
        let all = [("PATH", "/opt/bin"), ("NOTIFY_SOCKET", "/x"), ("SHLVL", "2"), ("BASH_FUNC_f%%", "() { :; }")]
            .map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let odd = (OsString::from("LATIN"), OsString::from_vec(vec![0xe4]));
        let (variables, lost) = of_caller(all.into_iter().chain([odd]));
        assert_eq!(variables, [variable("PATH", "/opt/bin")]);
        assert_eq!(lost, ["BASH_FUNC_f%%", "LATIN"]);
    }

    #[test]
    fn the_file_says_more_than_the_caller_and_a_dot_env_more_than_both() {
        let caller = [variable("HOME", "/root"), variable("PORT", "1"), variable("A", "caller's"), variable("B", "b")];
        let dot_env = [variable("A", "of .env"), variable("C", "c")];
        let own = |sets: &[&str], other_user| Own { sets: sets.iter().map(ToString::to_string).collect(), other_user };
        assert_eq!(
            file(&caller, &dot_env, &own(&["PORT"], false)),
            "HOME=\"/root\"\nA=\"of .env\"\nB=\"b\"\nC=\"c\"\n"
        );
        assert_eq!(file(&caller, &[], &own(&["PORT", "A", "B"], true)), "");
    }
}
