//! The signals of Linux by name and number: signal(7).

/// By number from 1, as x86 and Arm number them, with the names that systemd uses (29 is `SIGIO`, not `SIGPOLL`).
pub const NAMES: &[&str] = &[
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGIO",
    "SIGPWR",
    "SIGSYS",
];

/// The last real-time signal.
const SIGRTMAX: i32 = 64;

/// The names without `SIG`.
pub fn short_names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|name| &name["SIG".len()..])
}

/// The signal's name without `SIG`; the number of a signal that has no name.
pub fn short_name(number: i32) -> String {
    let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    index.and_then(|index| short_names().nth(index)).map_or_else(|| number.to_string(), ToOwned::to_owned)
}

/// The number of `HUP`, `SIGHUP`, `hup` or `1`.
pub fn number(text: &str) -> Option<i32> {
    let name = text.to_ascii_uppercase();
    let name = match name.strip_prefix("SIG").unwrap_or(&name) {
        "POLL" => "IO",
        name => name,
    };
    let named = short_names().zip(1..).find_map(|(known, number)| (known == name).then_some(number));
    named.or_else(|| text.parse().ok().filter(|number| (1..=SIGRTMAX).contains(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        for text in ["HUP", "SIGHUP", "sighup", "1"] {
            assert_eq!(number(text), Some(1), "{text}");
        }
        assert_eq!((number("IO"), number("POLL")), (Some(29), Some(29)));
        assert_eq!((number("34"), number("65"), number("0"), number("NONE")), (Some(34), None, None, None));
        assert_eq!((short_name(11).as_str(), short_name(40).as_str(), short_name(-1).as_str()), ("SEGV", "40", "-1"));
    }
}
