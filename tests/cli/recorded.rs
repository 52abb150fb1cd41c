//! The picture of a session in the README (`make record`) shows commands that there are.

use std::process::Command;

#[allow(dead_code)]
#[path = "../record/picture.rs"]
mod picture;
#[path = "../record/terminal.rs"]
mod terminal;

use terminal::{Style, Terminal};

const SESSION: &str = include_str!("../record/session");
const PICTURE: &str = include_str!("../../man/session.svg");

fn commands() -> Vec<&'static str> {
    SESSION.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect()
}

#[test]
fn its_commands_are_those_of_this_copse() {
    let mut tried = 0;
    for words in commands().iter().filter_map(|command| command.strip_prefix("copse ")) {
        // Help is given only where everything before it makes sense.
        let arguments = words.split(' ').chain(["--help"]);
        let help = Command::new(env!("CARGO_BIN_EXE_copse")).args(arguments).output().unwrap();
        assert!(help.status.success(), "copse {words}: {}", String::from_utf8_lossy(&help.stderr));
        tried += 1;
    }
    assert!(tried >= 6);
}

#[test]
fn the_picture_is_of_these_commands_and_stands_alone() {
    let mut rest = PICTURE;
    for command in commands() {
        let shown: String = command.split("  ").collect();
        let drawn = format!(">{}</tspan>", picture::escaped(&shown));
        let after = rest.split_once(&drawn);
        rest = after.unwrap_or_else(|| panic!("`{command}` isn't in man/session.svg: `make record`")).1;
    }
    assert!(PICTURE.len() < 100_000);
    // A page that shows it as an image loads nothing else, and runs nothing.
    for outside in ["href", "url(", "<script", "<image", "@import", "<foreignObject"] {
        assert!(!PICTURE.contains(outside), "{outside}");
    }
}

#[test]
fn a_terminal_draws_over_and_clears_what_moves() {
    let mut terminal = Terminal::new(80);
    terminal.write("one\r\n\u{1b}[1;31mtwo\u{1b}[0m", 1.0);
    terminal.write("\r\nmoving\r\n\u{1b}[A\u{1b}[2Kthr\u{1b}]8;;x\u{1b}\\ee\r\n", 2.0);
    let text = |line: &terminal::Line| line.cells.iter().map(|(c, _)| *c).collect::<String>();
    assert_eq!(terminal.lines.iter().map(text).collect::<Vec<_>>(), ["one", "two", "three"]);
    assert_eq!(terminal.lines.iter().map(|line| line.at).collect::<Vec<_>>(), [1.0, 1.0, 2.0]);
    let red = Style { bold: true, colour: 31, ..Style::default() };
    assert_eq!(terminal.lines[1].runs(), [(0, "two".to_owned(), red)]);
    let mut narrow = Terminal::new(3);
    narrow.write("abcde", 0.0);
    assert_eq!(narrow.lines.iter().map(text).collect::<Vec<_>>(), ["abc", "de"]);
    let svg = picture::svg("<a>", &terminal.lines, 80);
    assert!(svg.contains("<title>&lt;a&gt;</title>") && svg.contains(" class=\"b c31\">two</tspan>"), "{svg}");
}
