//! Files for `EnvironmentFile=` (systemd.exec(5), and systemd's own reader, which accepts more than the manual describes).

use super::value::is_noncharacter;

/// An assignment for each variable, from which systemd reads back the same value: in double quotes, where only `"`, `\`,
/// `` ` `` and `$` are escaped, each with a `\`.
pub fn text<'v>(variables: impl IntoIterator<Item = (&'v str, &'v str)>) -> String {
    let mut text = String::new();
    for (name, value) in variables {
        text.extend([name, "=\""]);
        for c in value.chars() {
            if matches!(c, '"' | '\\' | '`' | '$') {
                text.push('\\');
            }
            text.push(c);
        }
        text.push_str("\"\n");
    }
    text
}

/// Whether such a file can hold the value. If it contains another one, systemd refuses the whole file.
pub fn can_hold(value: &str) -> bool {
    !value.contains(|c| c == '\0' || is_noncharacter(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_means_something_in_double_quotes_is_escaped() {
        let text = text([("A", "plain"), ("B", "a b'\"\\`$\n\t#;%"), ("EMPTY", "")]);
        assert_eq!(text, "A=\"plain\"\nB=\"a b'\\\"\\\\\\`\\$\n\t#;%\"\nEMPTY=\"\"\n");
    }

    #[test]
    fn what_systemd_would_refuse_the_file_for() {
        assert!(can_hold("a\u{1}b\u{feff}ä"));
        assert!(!can_hold("a\0b") && !can_hold("\u{fffe}") && !can_hold("\u{fdd0}"));
    }
}
