//! The grammars of single words in directives.

use rustix::thread::CapabilitySet;

use crate::basic::exit_status;
use crate::basic::{signal, suggest};
use crate::group_file::keys::KeyKind;

/// The capabilities of capabilities(7).
pub fn capabilities() -> impl Iterator<Item = String> {
    CapabilitySet::all().iter_names().map(|(name, _)| format!("CAP_{name}"))
}

/// True if `word` can stand in a list of that kind: of exit statuses, or of capabilities.
pub fn is_word(kind: KeyKind, word: &str) -> bool {
    match kind {
        KeyKind::Statuses if word.starts_with(|c: char| c.is_ascii_digit()) => word.parse::<u8>().is_ok(),
        KeyKind::Statuses => exit_status::names().any(|name| name == word) || is_signal(word),
        _ => {
            word.to_ascii_uppercase().strip_prefix("CAP_").is_some_and(|name| CapabilitySet::from_name(name).is_some())
        }
    }
}

/// The word of a kind that `word` is most likely to be.
pub fn nearest(kind: KeyKind, word: &str) -> Option<String> {
    let signals = signal::NAMES.iter().copied();
    let near = match kind {
        KeyKind::Statuses => suggest::nearest(word, exit_status::names().chain(signals)),
        KeyKind::Signal => suggest::nearest(word, signals),
        _ => {
            let capabilities: Vec<String> = capabilities().collect();
            return suggest::nearest(word, capabilities.iter().map(String::as_str)).map(str::to_owned);
        }
    };
    near.map(str::to_owned)
}

fn is_signal(text: &str) -> bool {
    // From SIGRTMIN, 34, to SIGRTMAX, 64.
    let real_time = |prefix| {
        let offset: Option<&str> = text.strip_prefix(prefix);
        offset.is_some_and(|offset| is_number(offset) && offset.parse::<u8>().is_ok_and(|offset| offset <= 30))
    };
    signal::NAMES.contains(&text)
        || matches!(text, "SIGRTMIN" | "SIGRTMAX")
        || real_time("SIGRTMIN+")
        || real_time("SIGRTMAX-")
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() <= 19 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// True if `text` is a value of a kind that takes one word.
pub fn is_scalar(kind: KeyKind, text: &str) -> bool {
    let percent = |text: &str| text.strip_suffix('%').filter(|number| is_number(number)).map(str::to_owned);
    let share = |text: &str| percent(text).is_some_and(|number| number.parse::<u8>().is_ok_and(|share| share <= 100));
    match kind {
        KeyKind::Size => text == "infinity" || share(text) || is_size(text),
        KeyKind::Percent => percent(text).is_some_and(|number| number.contains(|c| ('1'..='9').contains(&c))),
        KeyKind::Tasks => text == "infinity" || is_number(text) || share(text),
        KeyKind::Limit => text.splitn(2, ':').all(|part| part == "infinity" || is_number(part)),
        KeyKind::Mode => (3..=5).contains(&text.len()) && text.chars().all(|c| ('0'..='7').contains(&c)),
        KeyKind::Signal => is_signal(text),
        _ => is_user(text),
    }
}

/// Bytes, with a fraction if there is a suffix: `1.5G` (systemd's parse_size(), powers of 1024).
fn is_size(text: &str) -> bool {
    let number = text.strip_suffix(['B', 'K', 'M', 'G', 'T', 'P', 'E']);
    match (number, number.and_then(|number| number.split_once('.'))) {
        (Some(_), Some((whole, fraction))) => is_number(whole) && is_number(fraction),
        (number, _) => is_number(number.unwrap_or(text)),
    }
}

/// systemd's relaxed mode, without blanks, colons, slashes and a leading dash.
fn is_user(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
        && text.len() <= 256
        && chars.all(|c| c.is_ascii_alphanumeric() || "_.-$".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_systemd_takes_and_some_that_it_does_not() {
        for (kind, good, bad) in [
            (
                KeyKind::Size,
                &["0", "512M", "1.5G", "10B", "50%", "infinity"][..],
                &["1.5", "1.G", ".5G", "200%", "5X", "M"][..],
            ),
            (KeyKind::Tasks, &["5", "100%", "infinity"], &["101%", "-1", "5M"]),
            (KeyKind::Percent, &["50%", "250%"], &["0%", "50", "%"]),
            (KeyKind::Signal, &["SIGTERM", "SIGRTMIN+30", "SIGRTMAX-0"], &["TERM", "SIGRTMIN+31", "SIGRTMIN+"]),
            (KeyKind::User, &["www-data", "_apt", "0", "host$"], &["", "-x", "a b", "a:b", "a/b", "%u"]),
        ] {
            good.iter().for_each(|text| assert!(is_scalar(kind, text), "{kind:?} {text}"));
            bad.iter().for_each(|text| assert!(!is_scalar(kind, text), "{kind:?} {text}"));
        }
        for (kind, good, bad) in [
            (KeyKind::Statuses, &["0", "255", "TEMPFAIL", "SIGKILL"][..], &["256", "-1", "tempfail", "SIGTEMR"][..]),
            (KeyKind::Capabilities, &["CAP_KILL", "cap_net_raw"], &["KILL", "CAP_NET_BIND", "CAP_"]),
        ] {
            good.iter().for_each(|word| assert!(is_word(kind, word), "{kind:?} {word}"));
            bad.iter().for_each(|word| assert!(!is_word(kind, word), "{kind:?} {word}"));
        }
    }
}
