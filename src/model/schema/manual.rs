//! What the manual says of each key: copse.toml(5), read back from its source.

/// The page itself.
const PAGE: &str = include_str!("../../../man/copse.toml.5");

/// An entry: the keys that it is about, and its text.
struct Entry {
    keys: Vec<String>,
    text: String,
}

/// The entries of the two chapters about keys.
pub(super) struct Manual {
    group: Vec<Entry>,
    member: Vec<Entry>,
    supervisor: Vec<Entry>,
}

impl Manual {
    /// Reads the page that was compiled in.
    pub fn new() -> Self {
        Self {
            group: entries("KEYS OF THE GROUP"),
            member: entries("KEYS OF A PROCESS"),
            supervisor: entries("KEYS OF SUPERVISOR"),
        }
    }

    /// What is said of a group's key; empty if nothing is, which tests/manual.rs doesn't let happen.
    pub fn group(&self, key: &str) -> &str {
        find(&self.group, key)
    }

    /// What is said of a key of `[supervisor]`.
    pub fn supervisor(&self, key: &str) -> &str {
        find(&self.supervisor, key)
    }

    /// What is said of a key of processes and setup steps.
    pub fn member(&self, key: &str) -> &str {
        find(&self.member, key)
    }
}

fn find<'m>(entries: &'m [Entry], key: &str) -> &'m str {
    let said = |key: &str| entries.iter().find(|entry| entry.keys.iter().any(|of| of == key));
    let entry = said(key).or_else(|| said(key.strip_suffix("-mode")?));
    entry.map_or("", |entry| &entry.text)
}

/// The tagged paragraphs (man(7), `.TP`) of a chapter.
fn entries(chapter: &str) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut tag_follows = false;
    let lines = PAGE.lines().skip_while(|line| line.strip_prefix(".SH ") != Some(chapter)).skip(1);
    let mut within = false;
    for line in lines.take_while(|line| !line.starts_with(".SH ")) {
        if line == ".TP" {
            tag_follows = true;
        } else if tag_follows {
            let keys = line.split("\\fB").skip(1).filter_map(|part| part.split("\\fR").next());
            entries.push(Entry { keys: keys.map(plain).collect(), text: String::new() });
            (tag_follows, within) = (false, true);
        } else if line.starts_with('.') {
            within = false;
        } else if let Some(entry) = entries.last_mut().filter(|_| within) {
            if !entry.text.is_empty() {
                entry.text.push(' ');
            }
            entry.text.push_str(&plain(line));
        }
    }
    entries
}

/// The text that roff makes of a line, with backticks for bold: editors read it as markdown.
fn plain(line: &str) -> String {
    let mut text = String::new();
    let mut bold = false;
    let mut rest = line;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let escape = &rest[at + 1..];
        let length = if escape.starts_with('f') { 2 } else { 1 };
        match escape.get(..length) {
            Some("fB") => bold = true,
            Some("fR") | Some("fI") if bold => bold = false,
            Some("fR" | "fI" | "&") => {
                rest = &escape[length..];
                continue;
            }
            Some(character) => {
                text.push_str(character);
                rest = &escape[length..];
                continue;
            }
            None => break,
        }
        text.push('`');
        rest = &escape[length..];
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_roff_makes_of_a_line() {
        for (line, expected) in [
            ("As Restart=; on\\-failure.", "As Restart=; on-failure."),
            ("\\fB[process.X]\\fR: \\fIG\\fR\\-\\fIP\\fR", "`[process.X]`: G-P"),
            ("\\&.conf", ".conf"),
        ] {
            assert_eq!(plain(line), expected);
        }
    }

    #[test]
    fn a_key_is_found_in_its_chapter() {
        let manual = Manual::new();
        assert!(manual.group("after").starts_with("Takes a unit outside of the group"));
        assert!(manual.member("after").starts_with("Takes a process or setup step of the group"));
        assert!(manual.member("state-directory-mode").starts_with("Takes a directory of its own"));
    }
}
