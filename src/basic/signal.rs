//! Signals by name and number: signal(7), as x86 and Arm number them.

const NAMES: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM",
    "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "POLL",
    "PWR", "SYS",
];

/// The number of the last real-time signal.
const LAST: i32 = 64;

/// The signal's name without `SIG`, or its number where it has none.
pub fn name(number: i32) -> String {
    let name = usize::try_from(number).ok().and_then(|number| NAMES.get(number.checked_sub(1)?));
    name.map_or_else(|| number.to_string(), ToString::to_string)
}

/// The names, without `SIG`.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().copied()
}

/// The number of `HUP`, `SIGHUP`, `hup` or `1`.
pub fn number(text: &str) -> Option<i32> {
    let name = text.to_ascii_uppercase();
    let name = name.strip_prefix("SIG").unwrap_or(&name);
    let named = NAMES.iter().position(|known| *known == name).and_then(|at| i32::try_from(at + 1).ok());
    named.or_else(|| text.parse().ok().filter(|number| (1..=LAST).contains(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        for text in ["HUP", "SIGHUP", "sighup", "1"] {
            assert_eq!(number(text), Some(1), "{text}");
        }
        assert_eq!((number("34"), number("65"), number("0"), number("NONE")), (Some(34), None, None, None));
        assert_eq!((name(11).as_str(), name(40).as_str(), name(-1).as_str()), ("SEGV", "40", "-1"));
    }
}
