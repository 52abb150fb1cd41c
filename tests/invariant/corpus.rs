//! The group files of the other tests and the examples, and what a slip of the hand, a bad disk or ill will makes of
//! them.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::Index;

use crate::holds::hold;

static CORPUS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut texts = Vec::new();
    for directory in ["tests/cases", "tests/errors", "examples"] {
        collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join(directory), &mut texts);
    }
    assert!(texts.len() > 40, "the corpus is gone: {} files", texts.len());
    texts
});

fn collect(directory: &Path, texts: &mut Vec<String>) {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() && !path.is_symlink() {
            collect(&path, texts);
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            // Some are broken on purpose, and no text at all.
            texts.extend(fs::read_to_string(&path));
        }
    }
}

/// What is put somewhere into a text.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "\n", "\"", "'", "\\", "\\n", "\\u0000", "\\uFFFF", "\\\"", "[", "]", "{", "}", "=", "#", ",", ".", "%", "%%", "%n", "$", "$$",
    "${HOME}", ";", " ; ", "-", ":", "@", "/", "..", "\t", "\r\n", "\u{0}", "\u{7f}", "\u{85}", "\u{2028}", "\u{feff}", "é",
    "{instance}", "{{instance}}", "{env:X}", "{env:X...}", "{unit}", "{group}", "{runtime-directory}", "[Service]",
    "\\n[Service]\\nExecStart=/bin/false", "\"\"\"", "'''", "0", "-1", "99999999999999999999", "true", "nan",
    "1979-05-27", "[[process]]", "[process.a]\nexec = \"/x\"\n", "instances = 3\n", "ready = \"notify\"\n",
    "[process.a.service]\nExecStart = [\"\", \"/bin/x\"]\n", "after = [\"a\"]\n", "listen = \"tcp:1\"\n", "[defaults]\n",
];

#[derive(Debug, Clone)]
enum Change {
    Insert(Index, &'static str),
    Remove(Index, usize),
    /// A line, put somewhere else once more.
    Repeat(Index, Index),
    /// Lines of another file.
    Graft(Index, Index, Index, usize),
    Truncate(Index),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = prop_oneof![
        4 => (any::<Index>(), prop::sample::select(PIECES)).prop_map(|(at, piece)| Change::Insert(at, piece)),
        2 => (any::<Index>(), 1..30usize).prop_map(|(at, length)| Change::Remove(at, length)),
        2 => (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Change::Repeat(from, to)),
        2 => (any::<Index>(), any::<Index>(), any::<Index>(), 1..6usize)
            .prop_map(|(file, from, to, count)| Change::Graft(file, from, to, count)),
        1 => any::<Index>().prop_map(Change::Truncate),
    ];
    prop::collection::vec(change, 0..4)
}

fn changed(text: &str, changes: &[Change]) -> String {
    let mut text = text.to_owned();
    for change in changes {
        let boundaries: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let line_starts: Vec<usize> =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        match change {
            Change::Insert(at, piece) => text.insert_str(*at.get(&boundaries), piece),
            Change::Remove(at, length) => {
                let from = at.index(boundaries.len());
                let to = (from + length).min(boundaries.len() - 1);
                text.replace_range(boundaries[from]..boundaries[to], "");
            }
            Change::Repeat(from, to) => {
                let line = text[*from.get(&line_starts)..].lines().next().unwrap_or_default().to_owned() + "\n";
                text.insert_str(*to.get(&line_starts), &line);
            }
            Change::Graft(file, from, to, count) => {
                let lines: Vec<&str> = file.get(&CORPUS[..]).lines().collect();
                let from = from.index(lines.len().max(1));
                let graft: String = lines.iter().skip(from).take(*count).flat_map(|line| [*line, "\n"]).collect();
                text.insert_str(*to.get(&line_starts), &graft);
            }
            Change::Truncate(at) => text.truncate(*at.get(&boundaries)),
        }
    }
    text
}

#[test]
fn it_holds_for_the_group_files_of_the_tests() {
    let good = CORPUS.iter().filter(|text| hold(text)).count();
    assert!(good >= 20, "only {good} of them are any good");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 800, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_holds_for_what_becomes_of_them(file in any::<Index>(), changes in changes()) {
        hold(&changed(file.get::<String>(&CORPUS), &changes));
    }

    #[test]
    fn it_holds_for_anything(text in "(\\PC|[\n\t\\[\\]=\"'{}.#\\\\]){0,200}") {
        hold(&text);
    }
}
