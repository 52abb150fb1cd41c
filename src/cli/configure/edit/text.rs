//! What the editor shows below the text: the files that a drop-in is for.

use std::fmt::Write as _;

use crate::basic::diagnostic::one_line;
use crate::generator::load::GroupOutcome;

/// The first line of what is discarded.
const MARK: &str = "### Edits below this comment will be discarded";

/// The group's files as comments.
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

pub(super) fn with_appendix(text: &str, appendix: &str) -> String {
    if appendix.is_empty() {
        return text.to_owned();
    }
    let gap = if text.is_empty() { "\n" } else { "" };
    format!("{text}{gap}\n{MARK}\n{appendix}")
}

/// The text above the mark, without blank lines at its end.
pub(super) fn without_appendix(text: &str) -> &str {
    let lines = text.split_inclusive('\n');
    let end: usize = lines.take_while(|line| line.trim_end() != MARK).map(str::len).sum();
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
    fn the_appendix_is_discarded() {
        for text in ["", "a = 1\n", "a = 1\n\n[b]\nc = 2\n", "### a comment\n"] {
            let opened = with_appendix(text, "\n### /etc/copse/g.toml\n# x\n");
            assert_eq!(without_appendix(&opened), text, "{opened}");
        }
        assert_eq!(without_appendix("a = 1"), "a = 1");
        assert_eq!(with_appendix("a = 1\n", ""), "a = 1\n");
        assert_eq!(without_appendix(&format!("a = 1\r\n{MARK}\r\n# x")), "a = 1\r");
    }
}
