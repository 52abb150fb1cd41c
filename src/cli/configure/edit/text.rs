//! What stands in the editor below the text: the files the drop-in is for, to read.

use std::fmt::Write as _;

use crate::basic::diagnostic::one_line;
use crate::generator::load::GroupOutcome;

/// The first line of what is left out again.
const MARK: &str = "### what follows is left out; it is here to be read";

/// The group's files, each line a comment.
pub(super) fn appendix(found: &GroupOutcome) -> String {
    let mut text = String::new();
    for file in found.source.iter().flat_map(|source| std::iter::once(&source.file).chain(&source.drop_ins)) {
        let _ = writeln!(text, "\n### {}", one_line(&file.path.display().to_string()));
        for line in file.text.lines() {
            let _ = writeln!(text, "# {line}");
        }
    }
    text
}

/// The text as it is opened.
pub(super) fn with_appendix(text: &str, appendix: &str) -> String {
    if appendix.is_empty() {
        return text.to_owned();
    }
    let gap = if text.is_empty() { "\n" } else { "" };
    format!("{text}{gap}\n{MARK}\n{appendix}")
}

/// The text as it was left, less what was only to be read and the blank lines around.
pub(super) fn without_appendix(text: &str) -> &str {
    let begins = |line: &str| line.trim_end() == MARK;
    let mut end = text.len();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if begins(line) {
            end = at;
            break;
        }
        at += line.len();
    }
    if end == text.len() {
        return text;
    }
    let kept = text[..end].trim_end_matches(['\n', '\r', ' ', '\t']);
    // With its last newline, if it has a line.
    if kept.is_empty() { "" } else { text.get(..kept.len() + 1).unwrap_or(kept) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_to_be_read_is_not_kept() {
        for text in ["", "a = 1\n", "a = 1\n\n[b]\nc = 2\n", "### a comment\n"] {
            let opened = with_appendix(text, "\n### /etc/copse/g.toml\n# x\n");
            assert_eq!(without_appendix(&opened), text, "{opened}");
        }
        assert_eq!(without_appendix("a = 1"), "a = 1");
        assert_eq!(with_appendix("a = 1\n", ""), "a = 1\n");
        assert_eq!(without_appendix(&format!("a = 1\r\n{MARK}\r\n# x")), "a = 1\r");
    }
}
