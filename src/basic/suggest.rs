//! "Did you mean": the nearest of the words that could have been meant.

/// Longer words are no typos, and comparing them costs the product of both lengths.
const LONGEST: usize = 64;

/// The candidate that `word` was most likely meant to be; of equally near ones the first. `None` if none is near.
///
/// Near is: the same but for upper and lower case, `-`, `_` and blanks (`restart_sec`, `RestartSec`, `restart-sec`), the
/// same words in another order (`max-memory`), or a few typos away. One typo is allowed in words of three to five letters,
/// two up to eleven, three beyond.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LONGEST {
        return None;
    }
    let folded: String = letters(word).collect();
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates.into_iter().filter(|candidate| candidate.len() <= LONGEST) {
        let other: String = letters(candidate).collect();
        // The shorter word decides: one typo in `ab` makes any two letters of it.
        let allowed = match folded.len().min(other.len()) {
            0..=2 => 0,
            3..=5 => 1,
            6..=11 => 2,
            _ => 3,
        };
        if folded.is_empty() || folded.len().abs_diff(other.len()) > allowed {
            continue;
        }
        let typos = match strsim::osa_distance(&folded, &other) {
            typos if typos > allowed && same_words(word, candidate) => allowed,
            typos => typos,
        };
        if typos <= allowed && best.is_none_or(|(fewest, _)| typos < fewest) {
            best = Some((typos, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// True if the two differ only in how words are joined: `RestartSec`, `restart_sec` and `restart-sec`.
pub fn same_word(one: &str, other: &str) -> bool {
    letters(one).eq(letters(other))
}

/// True if the two are made of the same words: `max_memory` and `memory-max`.
fn same_words(one: &str, other: &str) -> bool {
    let words = |text: &str| {
        let mut words: Vec<_> = text.split(['-', '_', ' ']).map(str::to_ascii_lowercase).collect();
        words.sort_unstable();
        words
    };
    one.contains(['-', '_', ' ']) && words(one) == words(other)
}

/// A word without what differs between `kebab-case`, `snake_case` and `CamelCase`.
fn letters(word: &str) -> impl Iterator<Item = char> {
    word.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [&str; 9] =
        ["exec", "shell", "user", "group", "umask", "restart", "restart-sec", "memory-max", "timeout-stop-sec"];

    #[test]
    fn the_same_key_in_another_case_is_near() {
        for word in ["restart_sec", "RestartSec", "restartSec", "RESTART-SEC", "restart sec"] {
            assert_eq!(nearest(word, KEYS), Some("restart-sec"), "{word}");
        }
        assert_eq!(nearest("TimeoutStopSec", KEYS), Some("timeout-stop-sec"));
    }

    #[test]
    fn a_slip_is_near() {
        for (word, meant) in [
            ("exce", "exec"),
            ("exe", "exec"),
            ("execc", "exec"),
            ("usr", "user"),
            ("restrat", "restart"),
            ("restar-sec", "restart-sec"),
            ("memory-mx", "memory-max"),
            ("timeuot-stop-sce", "timeout-stop-sec"),
            ("restrat-sec", "restart-sec"),
        ] {
            assert_eq!(nearest(word, KEYS), Some(meant), "{word}");
        }
    }

    #[test]
    fn the_same_words_in_another_order_are_near() {
        assert_eq!(nearest("max_memory", KEYS), Some("memory-max"));
        assert_eq!(nearest("sec-stop-timeout", KEYS), Some("timeout-stop-sec"));
        assert_eq!(nearest("max-memory-x", KEYS), None);
    }

    #[test]
    fn what_is_something_else_is_not_near() {
        for word in ["", "-", "x", "us", "depends", "command", "startsecs", "memory-limit-bytes", "ünïcödé"] {
            assert_eq!(nearest(word, KEYS), None, "{word}");
        }
        assert_eq!(nearest("b", ["a"]), None);
        assert_eq!(nearest(&"restart".repeat(100_000), KEYS), None);
    }

    #[test]
    fn the_nearest_wins_and_of_equals_the_first() {
        assert_eq!(nearest("restart-se", KEYS), Some("restart-sec"));
        assert_eq!(nearest("worker3", ["worker1", "worker2"]), Some("worker1"));
        assert_eq!(nearest("web", ["web-2", "web"]), Some("web"));
    }
}
