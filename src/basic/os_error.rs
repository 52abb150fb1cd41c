//! System errors inside a sentence: in the system's words, without the number that Rust appends.

use std::fmt::Display;

/// The reason in `cannot VERB OBJECT: REASON`, for example `permission denied`.
pub fn reason(error: impl Display) -> String {
    let text = without_number(&error.to_string());
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

/// Removes each ` (os error N)`, which `io::Error` prints at its end, wherever it stands in `text`.
pub fn without_number(text: &str) -> String {
    let mut pieces = text.split(" (os error ");
    let mut kept = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.split_once(')') {
            Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => kept.push_str(rest),
            _ => kept.extend([" (os error ", piece]),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn the_number_is_removed_and_the_reason_goes_on_in_lower_case() {
        let missing = || io::Error::from_raw_os_error(2);
        let text = without_number(&format!("x: {}; y: {}.", missing(), missing()));
        assert_eq!(text, "x: No such file or directory; y: No such file or directory.");
        assert_eq!(without_number("a (os error b) c"), "a (os error b) c");
        assert_eq!(reason(missing()), "no such file or directory");
        assert_eq!(reason(""), "");
    }
}
