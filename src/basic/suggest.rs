//! "Did you mean": the nearest of the words that could have been meant.

/// Longer words are nobody's typing mistake, and comparing them costs the product of both lengths.
const LONGEST: usize = 64;

/// The candidate that `word` was most likely meant to be, or `None` where none is near.
///
/// Near is: the same but for upper and lower case, `-`, `_` and blanks (`restart_sec`, `RestartSec`, `restart-sec`),
/// or a few slips away (a letter too much, missing, wrong, or swapped with its neighbour): none in words of up to two
/// letters, one up to five, two up to eleven, three beyond. Or the same words in another order (`max-memory`). Of equally
/// near ones the first counts.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LONGEST {
        return None;
    }
    let wanted = Folded::new(word);
    let wanted = wanted.chars();
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates.into_iter().filter(|candidate| candidate.len() <= LONGEST) {
        let have = Folded::new(candidate);
        let have = have.chars();
        // The shorter word decides: one slip in `ab` makes any two letters of it.
        let allowed = match wanted.len().min(have.len()) {
            0..=2 => 0,
            3..=5 => 1,
            6..=11 => 2,
            _ => 3,
        };
        if wanted.is_empty() || wanted.len().abs_diff(have.len()) > allowed {
            continue;
        }
        let slips = match distance(wanted, have, allowed) {
            slips if slips > allowed && same_words(word, candidate) => allowed,
            slips => slips,
        };
        if slips <= allowed && best.is_none_or(|(fewest, _)| slips < fewest) {
            best = Some((slips, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Whether the two differ only in how words are joined: `RestartSec`, `restart_sec` and `restart-sec`.
pub fn same_word(one: &str, other: &str) -> bool {
    letters(one).eq(letters(other))
}

/// Whether the two are made of the same words: `max_memory` and `memory-max`.
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

/// The letters of a word, on the stack: a file of nothing but mistakes asks hundreds of thousands of times.
struct Folded {
    chars: [char; LONGEST],
    length: usize,
}

impl Folded {
    /// Of a word of at most [`LONGEST`] bytes: it has no more letters than that.
    fn new(word: &str) -> Self {
        let mut folded = Self { chars: ['\0'; LONGEST], length: 0 };
        for (place, letter) in folded.chars.iter_mut().zip(letters(word)) {
            *place = letter;
            folded.length += 1;
        }
        folded
    }

    fn chars(&self) -> &[char] {
        &self.chars[..self.length]
    }
}

/// Slips between two words: Damerau and Levenshtein's distance in the form where no letter is touched twice. Some
/// number above `allowed` where there are more than that.
fn distance(a: &[char], b: &[char], allowed: usize) -> usize {
    let mut before = [0; LONGEST + 1];
    let mut above: [usize; LONGEST + 1] = std::array::from_fn(|column| column);
    let mut row = [0; LONGEST + 1];
    for (i, &from) in a.iter().enumerate() {
        row[0] = i + 1;
        let mut fewest = row[0];
        for (j, &to) in b.iter().enumerate() {
            let mut slips = (above[j] + usize::from(from != to)).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && from == b[j - 1] && a[i - 1] == to {
                slips = slips.min(before[j - 1] + 1);
            }
            row[j + 1] = slips;
            fewest = fewest.min(slips);
        }
        // Later rows can't have fewer, not even by a swap: it adds one to the row before this, which has one less
        // at best.
        if fewest > allowed {
            return fewest;
        }
        (before, above, row) = (above, row, before);
    }
    above[b.len()]
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

    #[test]
    fn neighbours_swapped_are_one_slip() {
        let count = |a: &str, b: &str| distance(Folded::new(a).chars(), Folded::new(b).chars(), 9);
        assert_eq!((count("ab", "ba"), count("abc", "abc"), count("", "abc"), count("abc", "")), (1, 0, 3, 3));
        assert_eq!((count("kitten", "sitting"), count("ca", "abc")), (3, 3));
    }
}
