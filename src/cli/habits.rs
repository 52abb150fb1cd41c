//! Verbs that other tools have: one sentence that names what to use here.

use std::ffi::OsString;

/// Word, and what is used instead.
const HABITS: &[(&str, &str)] = &[
    ("tail", "`copse logs -f GROUP` follows a group's journal"),
    ("ps", "`copse status GROUP` shows a group's processes, `copse list` all groups"),
    (
        "update",
        "`systemctl daemon-reload` reads the group files again, `systemctl restart` of a unit brings it up to date",
    ),
    ("reread", "`copse check` says what is wrong with the group files, `systemctl daemon-reload` reads them again"),
    ("up", "`copse start GROUP` starts a group and returns when it is ready"),
    ("diff", "`copse plan --diff GROUP` shows what changed, and what that needs"),
];

/// The sentence, where the verb among `arguments` (the first is the program's name) is another tool's.
pub(super) fn hint(arguments: &[OsString]) -> Option<String> {
    let has = |word: &str| arguments.iter().skip(1).any(|argument| argument == word);
    if has("apply") && (has("--dry-run") || has("--check")) {
        return Some("`apply` has no `--dry-run`: `copse plan GROUP` shows what it would do".to_owned());
    }
    let verb = arguments.iter().skip(1).find_map(|argument| {
        let text = argument.to_string_lossy();
        (!text.starts_with('-')).then_some(text)
    })?;
    let (word, instead) = HABITS.iter().find(|(word, _)| *word == verb)?;
    Some(format!("there is no verb `{word}`: {instead}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_tools_verb_is_named_ours() {
        let hint = |words: &[&str]| hint(&words.iter().map(OsString::from).collect::<Vec<_>>());
        let expected = "there is no verb `tail`: `copse logs -f GROUP` follows a group's journal";
        assert_eq!(hint(&["copse", "--user", "tail", "shop"]).as_deref(), Some(expected));
        let expected = "`apply` has no `--dry-run`: `copse plan GROUP` shows what it would do";
        assert_eq!(hint(&["copse", "apply", "--dry-run", "shop"]).as_deref(), Some(expected));
        for words in [&["copse"][..], &["copse", "status", "up"], &["copse", "check", "ps"], &["tail", "status"]] {
            assert_eq!(hint(words), None, "{words:?}");
        }
    }
}
