//! The patterns of `[include]`: Python's `glob.glob`, which knows `*`, `?` and `[…]`, and lists no hidden files.

use std::path::{Path, PathBuf};

/// The paths that `pattern` matches, sorted; whether a path without any of `*?[` exists isn't looked at. `names` lists a
/// directory.
pub fn paths(pattern: &str, names: &dyn Fn(&Path) -> Vec<String>) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::new()];
    for part in Path::new(pattern).components() {
        let text = part.as_os_str().to_string_lossy();
        found = match text.contains(['*', '?', '[']) {
            false => found.iter().map(|path| path.join(part)).collect(),
            true => {
                let pattern: Vec<char> = text.chars().collect();
                let fits = |name: &String| {
                    (text.starts_with('.') || !name.starts_with('.'))
                        && fits(&pattern, &name.chars().collect::<Vec<_>>())
                };
                let below = |path: &PathBuf| {
                    names(path).into_iter().filter(fits).map(|name| path.join(name)).collect::<Vec<_>>()
                };
                found.iter().flat_map(below).collect()
            }
        };
    }
    found.sort();
    found
}

/// Python's `fnmatch.fnmatchcase`.
fn fits(pattern: &[char], name: &[char]) -> bool {
    // Where the last star stood, and how much of the name it takes.
    let (mut at, mut taken, mut star) = (0, 0, None);
    while taken < name.len() {
        if pattern.get(at) == Some(&'*') {
            star = Some((at, taken));
            at += 1;
        } else if let Some(next) = one(&pattern[at..], name[taken]) {
            at += next;
            taken += 1;
        } else if let Some((back, from)) = star {
            star = Some((back, from + 1));
            (at, taken) = (back + 1, from + 1);
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

/// How much of the pattern the character takes; `None` where it doesn't fit.
fn one(pattern: &[char], c: char) -> Option<usize> {
    match pattern {
        ['?', ..] => Some(1),
        ['[', rest @ ..] => {
            let negated = rest.first() == Some(&'!');
            let begin = usize::from(negated);
            // A bracket at the beginning is one of the set.
            let end = rest.iter().skip(begin + 1).position(|c| *c == ']').map(|end| end + begin + 1);
            let Some(end) = end else { return (c == '[').then_some(1) };
            (set(&rest[begin..end], c) != negated).then_some(end + 2)
        }
        [literal, ..] => (*literal == c).then_some(1),
        [] => None,
    }
}

fn set(mut set: &[char], c: char) -> bool {
    while let [first, rest @ ..] = set {
        if let ['-', last, rest @ ..] = rest {
            if (*first..=*last).contains(&c) {
                return true;
            }
            set = rest;
        } else {
            if *first == c {
                return true;
            }
            set = rest;
        }
    }
    false
}
