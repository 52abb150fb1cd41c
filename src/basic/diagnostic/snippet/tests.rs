use std::sync::Arc;

use super::*;
use crate::basic::diagnostic::Code;

const PLAIN: SnippetStyle = SnippetStyle { colour: false, width: 80 };

fn file(text: &str) -> Arc<SourceFile> {
    Arc::new(SourceFile { path: "/etc/copse/web.toml".into(), text: text.to_owned() })
}

fn mark(file: &Arc<SourceFile>, word: &str) -> SourceLocation {
    let at = file.text.find(word).expect("the word is in the text");
    SourceLocation::new(file, at..at + word.len())
}

fn drawn(text: &str, word: &str) -> String {
    let file = file(text);
    render(&Diagnostic::new(Code::UnknownKey, mark(&file, word), "no such key"), PLAIN)
}

#[test]
fn a_mark_with_help() {
    let file = file("[process.web]\nexce = \"x\"\n");
    let diagnostic = Diagnostic::new(Code::UnknownKey, mark(&file, "exce"), "no key `exce` here").help("write `exec`");
    let expected = "\
error[unknown-key]: no key `exce` here
 --> /etc/copse/web.toml:2:1
  |
2 | exce = \"x\"
  | ^^^^
  |
  = help: write `exec`
";
    assert_eq!(render(&diagnostic, PLAIN), expected);
}

#[test]
fn related_places_in_this_file_and_in_another() {
    let here = file("[process.a]\nafter = [\"b\"]\n\n\n\n\n\n[process.b]\nafter = [\"a\"]\n");
    let other = Arc::new(SourceFile { path: "/run/copse/web.toml.d/1.toml".into(), text: "x = 1\ny = 2\n".into() });
    let diagnostic = Diagnostic::new(Code::Cycle, mark(&here, "\"b\""), "a → b → a")
        .related(mark(&here, "\"a\""), "and back")
        .related(mark(&other, "y"), "set here");
    let expected = "\
error[cycle]: a → b → a
 --> /etc/copse/web.toml:2:10
  |
2 | after = [\"b\"]
  |          ^^^
...
9 | after = [\"a\"]
  |          --- and back
  |
 ::: /run/copse/web.toml.d/1.toml:2:1
  |
2 | y = 2
  | - set here
";
    assert_eq!(render(&diagnostic, PLAIN), expected);
}

#[test]
fn a_whole_file_and_an_empty_one() {
    let about = Diagnostic::file(Code::Unreadable, "/etc/copse/x\u{1b}[2J.toml", "a loop of links");
    assert_eq!(render(&about, PLAIN), "error[unreadable]: a loop of links\n--> /etc/copse/x␛[2J.toml\n");
    let empty = file("");
    let diagnostic = Diagnostic::new(Code::MissingKey, SourceLocation::new(&empty, 0..0), "nothing here");
    let drawn = render(&diagnostic, PLAIN);
    assert!(drawn.contains("web.toml:1:1"), "{drawn}");
    let end = file("a = 1\n");
    let drawn = render(&Diagnostic::new(Code::MissingKey, SourceLocation::new(&end, 6..6), "nothing here"), PLAIN);
    assert!(drawn.contains("web.toml:2:1"), "{drawn}");
}

#[test]
fn nothing_in_a_file_steers_the_terminal() {
    let text = "é\u{7}\u{1b}]0;x\u{9b}31m\u{202e}\u{7f}\u{2028} here\r\n";
    let file = file(text);
    let diagnostic = Diagnostic::new(Code::Syntax, mark(&file, "here"), format!("{text}{text}"))
        .help(text)
        .related(mark(&file, "é"), text);
    let drawn = render(&diagnostic, PLAIN);
    assert!(!drawn.chars().any(|c| c != '\n' && steers(c)), "{drawn:?}");
    assert!(drawn.contains("␛]0;x\u{fffd}31m"), "{drawn}");
}

#[test]
fn marks_stay_below_their_words_after_tabs_and_wide_characters() {
    let lines = drawn("\té\tkey = 1\n", "key");
    let line = |start: &str| lines.lines().find(|line| line.starts_with(start)).unwrap().to_owned();
    let (text, marks) = (line("1 |"), line("  | "));
    let column = |line: &str, word: &str| line[..line.find(word).unwrap()].chars().count();
    assert_eq!(column(&text, "key"), column(&marks, "^^^"), "{lines}");
}

#[test]
fn a_line_of_50_kilobytes_is_cut_around_its_mark() {
    let (before, after) = ("ä".repeat(15_000), "z".repeat(20_000));
    let lines = drawn(&format!("a = 1\nx = \"{before}\"\nb = [\"{before}\", wrong, \"{after}\"]\n"), "wrong");
    assert!(lines.contains("3 |") && lines.contains("wrong") && lines.contains("^^^^^"), "{lines}");
    assert!(lines.contains("web.toml:3:15010"), "{lines}");
    assert!(lines.lines().all(|line| line.chars().count() <= 100), "{lines}");
}

#[test]
fn a_mark_over_many_lines_shows_the_first() {
    let text = format!("exec = [\n{}]\n", "  \"x\",\n".repeat(1000));
    let lines = drawn(&text, &text[7..]);
    assert!(lines.lines().count() < 8 && lines.contains("1 | exec = ["), "{lines}");
    let two = drawn("exec = [\n  1,\n]\n", "[\n  1,\n]");
    assert!(two.contains("3 |"), "{two}");
}

#[test]
fn any_place_can_be_drawn() {
    let text = "é = \"ü\"\r\n\r\n\tx\u{1b}\n";
    let file = file(text);
    for start in 0..=text.len() + 1 {
        for end in 0..=text.len() + 1 {
            let place = SourceLocation { file: Arc::clone(&file), start: start as u32, end: end as u32 };
            let diagnostic = Diagnostic::new(Code::Syntax, &place, "m").related(SourceLocation::new(&file, 0..2), "r");
            for width in [0, 7, 80] {
                let drawn = render(&diagnostic, SnippetStyle { colour: false, width });
                assert!(drawn.contains("error[syntax]"), "{start}..{end}");
            }
        }
    }
}

#[test]
fn colours_only_when_asked_for() {
    let file = file("key = 1\n");
    let diagnostic = Diagnostic::new(Code::UnknownKey, mark(&file, "key"), "no such key");
    assert!(!render(&diagnostic, PLAIN).contains('\u{1b}'));
    assert!(render(&diagnostic, SnippetStyle { colour: true, width: 80 }).contains("\u{1b}["));
}
