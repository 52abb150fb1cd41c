//! The words of everything that people read: manual pages, README, examples, packages, units, `--help` and the messages
//! in `src/`. CONTRIBUTING.md says how to write; this finds what can be found by a pattern.
//!
//! A ceiling is the number of places that are still wrong. It may only be lowered.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

/// A pattern with the number of times that it may occur.
struct Rule {
    /// What is wrong.
    fault: &'static str,
    pattern: &'static str,
    /// What to write instead.
    instead: &'static str,
    /// In manual pages, Markdown, `dh_copse` and the examples.
    ceiling: usize,
    /// In the string literals of `src/`, in `--help` and in `units/`.
    ceiling_of_programs: usize,
}

const RULES: [Rule; 9] = [
    Rule {
        fault: "a person as the subject",
        pattern: r"(^|[^-\w])([Ww]ho(ever|m)?|[Ww]hatever|[Nn]obody|[Ss]omebody|[Aa]nybody)\b",
        instead: "name the unit, the user, the program or the file",
        ceiling: 0,
        ceiling_of_programs: 28,
    },
    Rule {
        fault: "a contraction",
        pattern: r"n't\b",
        instead: "write `cannot`, `does not`, `is not`",
        ceiling: 0,
        ceiling_of_programs: 256,
    },
    Rule {
        fault: "a translated adverb",
        pattern: r"\b(anew|otherwise|as ever|all the same|for ever|beside|so many|so much|meanwhile|half-way)\b",
        instead: "write `again`, `differently`, `as usual`, `in either case`, `next to`, or leave it out",
        ceiling: 0,
        ceiling_of_programs: 29,
    },
    Rule {
        fault: "a phrase in front of the subject",
        pattern: r"(^|[.;:] )(Of|Where|From what|With what|Whether|Who) ",
        instead: "begin with the subject: `If …`, `For …`, or `The … of …`",
        ceiling: 0,
        ceiling_of_programs: 5,
    },
    Rule {
        fault: "a passive failure",
        pattern: r"can't be [a-z]+|\bcannot be [a-z]+ed: ",
        instead: "write `cannot VERB OBJECT: REASON`",
        ceiling: 0,
        ceiling_of_programs: 92,
    },
    Rule {
        fault: "a remedy without a verb, or in the same line",
        pattern: r": [`](copse|systemctl|\{)|; help: ",
        instead: "write `run `…``, as a help line of its own",
        ceiling: 0,
        ceiling_of_programs: 38,
    },
    Rule {
        fault: "a word that copse does not use",
        pattern: r"\b([Mm]istakes?|roll\\?-outs?|throw\\?-away|(end|ran)(s|ed)? (well|badly)|gone from the file|no longer in its group|left the file)\b",
        instead: "write `error`, `rollout`, `temporary`, `exits successfully`, `fails`, `orphaned`; see the glossary in CONTRIBUTING.md",
        ceiling: 0,
        ceiling_of_programs: 17,
    },
    Rule {
        fault: "a program that talks",
        pattern: r"(^|[^-.\w])(says?|tells?|said|told|wants?|knows?)\b",
        instead: "write `prints`, `reports`, `reads`, `checks`, `requires`, `waits for`",
        ceiling: 0,
        ceiling_of_programs: 78,
    },
    Rule {
        fault: "a chain of clauses",
        pattern: r";[^;]*; ",
        instead: "write sentences, or a list",
        ceiling: 0,
        ceiling_of_programs: 4,
    },
];

/// The longest sentence, in words.
const LONGEST: usize = 25;
/// How many units have a `Description=` that is no noun phrase: PID 1 logs `Starting …` and `Finished …` with it.
const CEILING_OF_DESCRIPTIONS: usize = 14;

/// A piece of text with the line that it begins in.
struct Piece {
    file: PathBuf,
    line: usize,
    text: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(below: &str) -> Vec<PathBuf> {
    let mut open = vec![root().join(below)];
    let mut found = Vec::new();
    while let Some(next) = open.pop() {
        match next.is_dir() {
            true => open.extend(fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path())),
            false => found.push(next),
        }
    }
    found.sort();
    found
}

/// A document, without the table in copse-import(1), which is made of literals in `src/`.
fn read(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    text.split_once(".\\\" The table.\n").map_or(text.as_str(), |(before, _)| before).to_owned()
}

fn has_suffix(path: &Path, suffixes: &[&str]) -> bool {
    path.extension().is_some_and(|suffix| suffixes.iter().any(|known| suffix == *known))
}

/// The manual pages and what else people read outside of the programs.
fn documents() -> Vec<PathBuf> {
    let pages = files("man").into_iter().filter(|path| has_suffix(path, &["1", "5", "7", "8"]));
    let markdown = ["README.md", "NEWS.md", "CONTRIBUTING.md", "packaging/dh/dh_copse"].map(|name| root().join(name));
    let others = ["doc", "examples"].into_iter().filter(|name| root().join(name).exists()).flat_map(files);
    pages.chain(markdown).chain(others.filter(|path| has_suffix(path, &["md", "toml"]))).collect()
}

/// The lines of files as they are shown.
fn lines(files: impl IntoIterator<Item = PathBuf>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for file in files {
        let text = read(&file);
        let plain = ["\\fB", "\\fR", "\\fI", "\\&"];
        let (mut code, mut tag) = (false, false);
        for (number, line) in text.lines().enumerate() {
            let text = plain.iter().fold(line.replace("\\-", "-"), |line, escape| line.replace(escape, ""));
            if line.starts_with("```") || [".nf", ".fi", ".TS", ".TE"].contains(&line) {
                code = !code;
            }
            // The tag of a paragraph is a name.
            if std::mem::replace(&mut tag, [".TP", ".TQ"].contains(&line)) {
                continue;
            }
            // Only the comments of examples are ours: what programs print is looked at where they have it from.
            let texts: Vec<&str> = match code {
                true => text.split_once(" # ").into_iter().map(|(_, comment)| comment).collect(),
                false if text.starts_with('|') => text.split(" | ").collect(),
                false if has_suffix(&file, &["toml"]) => {
                    text.split_once('#').into_iter().map(|(_, text)| text).collect()
                }
                false => vec![&text],
            };
            let piece = |text: &str| Piece { file: file.clone(), line: number + 1, text: text.to_owned() };
            pieces.extend(texts.into_iter().map(piece));
        }
    }
    pieces
}

/// What the programs and their units show.
fn programs() -> Vec<Piece> {
    literals().into_iter().chain(help()).chain(lines(files("units"))).collect()
}

/// What every command prints with `--help`.
fn help() -> Vec<Piece> {
    let program = env!("CARGO_BIN_EXE_copse");
    let mut open = vec![Vec::new()];
    let mut pieces = Vec::new();
    while let Some(command) = open.pop() {
        let output = Command::new(program).args(&command).arg("--help").env("COLUMNS", "100").output().unwrap();
        assert!(output.status.success(), "{command:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let file = PathBuf::from(format!("copse {} --help", command.join(" ")));
        for (number, line) in text.lines().enumerate() {
            pieces.push(Piece { file: file.clone(), line: number + 1, text: line.trim().to_owned() });
        }
        let commands = text.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
        for name in commands.filter_map(|line| line.strip_prefix("  ")?.split(' ').next()) {
            if !name.is_empty() && name != "help" {
                open.push(command.iter().cloned().chain([name.to_owned()]).collect());
            }
        }
    }
    // The options that all commands share are looked at once.
    let mut seen = std::collections::BTreeSet::new();
    pieces.retain(|piece| piece.file == Path::new("copse  --help") || seen.insert(piece.text.clone()));
    pieces
}

/// The string literals of the code, without those of its tests.
fn literals() -> Vec<Piece> {
    let mut pieces = Vec::new();
    for file in files("src").into_iter().filter(|path| has_suffix(path, &["rs"])) {
        let inside = file.strip_prefix(root()).unwrap();
        if inside.iter().any(|part| part == "tests" || part == "tests.rs") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for (line, text) in strings(code) {
            pieces.push(Piece { file: file.clone(), line, text });
        }
    }
    pieces
}

/// The string literals of Rust code, each with its line.
fn strings(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut rest = code;
    let line = |rest: &str| code[..code.len() - rest.len()].matches('\n').count() + 1;
    while let Some(first) = rest.chars().next() {
        let raw = rest.strip_prefix('r').map(|rest| rest.trim_start_matches('#'));
        let hashes = raw.map_or(0, |raw| rest.len() - 1 - raw.len());
        if rest.starts_with("//") {
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
        } else if let Some(raw) = raw.and_then(|raw| raw.strip_prefix('"')) {
            let (text, after) = raw.split_once(&format!("\"{}", "#".repeat(hashes))).expect("a raw string ends");
            found.push((line(rest), text.to_owned()));
            rest = after;
        } else if first == '"' {
            let end = rest.match_indices('"').skip(1).find(|(at, _)| {
                let escapes = rest[..*at].len() - rest[..*at].trim_end_matches('\\').len();
                escapes.is_multiple_of(2)
            });
            let (end, _) = end.expect("a string ends");
            found.push((line(rest), rest[1..end].to_owned()));
            rest = &rest[end + 1..];
        } else if let Some(length) = ["'\"'", "'\\''", "'\\\\'", "b'\"'"].iter().find(|text| rest.starts_with(**text)) {
            rest = &rest[length.len()..];
        } else {
            let word = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            rest = &rest[word.max(first.len_utf8())..];
        }
    }
    found
}

/// The places that match, a line each.
fn found<'p>(pieces: &'p [Piece], pattern: &Regex) -> Vec<(&'p Piece, String)> {
    let matches = |piece: &'p Piece| pattern.find(&piece.text).map(|found| (piece, found.as_str().to_owned()));
    pieces.iter().filter_map(matches).collect()
}

fn report(rule: &Rule, places: &[(&Piece, String)], ceiling: usize, failures: &mut String) {
    if places.len() <= ceiling {
        return;
    }
    let _ = writeln!(failures, "{}: {} places, at most {ceiling} are allowed", rule.fault, places.len());
    for (piece, text) in places {
        let file = piece.file.strip_prefix(root()).unwrap_or(&piece.file).display();
        let _ = writeln!(failures, "  {file}:{}: `{}` is {}: {}", piece.line, text.trim(), rule.fault, rule.instead);
    }
}

#[test]
fn what_people_read_is_plain_english() {
    let (documents, programs) = (lines(documents()), programs());
    assert!(documents.len() > 2000 && programs.len() > 2000, "{} {}", documents.len(), programs.len());
    let mut failures = String::new();
    for rule in &RULES {
        let pattern = Regex::new(rule.pattern).unwrap();
        report(rule, &found(&documents, &pattern), rule.ceiling, &mut failures);
        report(rule, &found(&programs, &pattern), rule.ceiling_of_programs, &mut failures);
    }
    assert!(failures.is_empty(), "\n{failures}");
}

/// The sentences of a document: its paragraphs without code, tables and markup.
fn sentences(file: &Path) -> Vec<(usize, String)> {
    let text = read(file);
    let markdown = has_suffix(file, &["md"]);
    let roff = has_suffix(file, &["1", "5", "7", "8"]);
    let mut paragraphs: Vec<(usize, String)> = Vec::new();
    let (mut code, mut ended) = (false, true);
    for (number, line) in text.lines().enumerate() {
        let fence =
            markdown && line.trim_start().starts_with("```") || roff && [".nf", ".fi", ".TS", ".TE"].contains(&line);
        if fence {
            code = !code;
        }
        let list = ["- ", "* ", "#"].iter().any(|lead| line.trim_start().starts_with(lead));
        let skipped = code
            || fence
            || line.trim().is_empty()
            || roff && line.starts_with(['.', '\''])
            || markdown && line.starts_with('|')
            || !markdown && !roff && (!line.starts_with('#') || line.starts_with("#  "));
        let tag =
            roff && text.lines().nth(number.wrapping_sub(1)).is_some_and(|before| before == ".TP" || before == ".TQ");
        if skipped || tag {
            // Fonts in a line of their own are part of the sentence.
            let font = roff && [".B ", ".I ", ".BR ", ".IR ", ".RB ", ".RI "].iter().any(|font| line.starts_with(font));
            ended = !font || code;
            continue;
        }
        let line = if markdown || roff { line } else { line.trim_start_matches(['#', ' ']) };
        match paragraphs.last_mut().filter(|_| !(ended || markdown && list)) {
            Some((_, text)) => *text += &format!(" {}", line.trim()),
            None => paragraphs.push((number + 1, line.trim().to_owned())),
        }
        ended = false;
    }
    let mut sentences = Vec::new();
    for (line, text) in paragraphs {
        let plain = ["\\fB", "\\fR", "\\fI", "\\&", "**"].iter().fold(text, |text, escape| text.replace(escape, ""));
        for sentence in plain.split_inclusive(&['.', '!', '?'][..]).fold(Vec::<String>::new(), |mut all, part| {
            // A full stop inside of a word ends nothing.
            match all.last_mut().filter(|_| !part.starts_with(' ')) {
                Some(last) => last.push_str(part),
                None => all.push(part.to_owned()),
            }
            all
        }) {
            sentences.push((line, sentence.trim().to_owned()));
        }
    }
    sentences
}

#[test]
fn no_sentence_is_too_long() {
    let mut failures = String::new();
    for file in documents() {
        for (line, sentence) in sentences(&file) {
            let words = sentence.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
            if words > LONGEST {
                let file = file.strip_prefix(root()).unwrap().display();
                let _ = writeln!(failures, "  {file}:{line}: {words} words, write two sentences or a list: {sentence}");
            }
        }
    }
    assert!(failures.is_empty(), "sentences have more than {LONGEST} words:\n{failures}");
}

#[test]
fn a_description_is_a_noun_phrase() {
    let pattern = Regex::new("^Description=(Whether|The |Clear |Group)").unwrap();
    let mut wrong = Vec::new();
    for file in ["units", "tests/cases"].into_iter().flat_map(files) {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        for (number, line) in text.lines().enumerate().filter(|(_, line)| pattern.is_match(line)) {
            wrong.push(format!("{}:{}: {line}", file.strip_prefix(root()).unwrap().display(), number + 1));
        }
    }
    assert!(
        wrong.len() <= CEILING_OF_DESCRIPTIONS,
        "PID 1 logs `Starting DESCRIPTION…`; write what the unit is, `Cleanup of …`, `… check for …`:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn strings_are_found_in_code() {
    let code = "let a = \"one\"; // \"no\"\nlet b = ['\"', '\\\\'];\nf(r#\"two \" x\"#, \"thr\\\"ee\");";
    let found = strings(code);
    assert_eq!(found, [(1, "one".to_owned()), (3, "two \" x".to_owned()), (3, "thr\\\"ee".to_owned())]);
}
