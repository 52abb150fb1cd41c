//! What is written is read back: by hand-picked texts first, then by any text.

use proptest::prelude::*;

use super::{Part, Value};
use crate::unit::{Section, Unit};
use crate::unit::{parse, strict};

fn literals<'t>(words: &[&'t str]) -> Vec<Vec<Part<'t>>> {
    words.iter().map(|word| vec![Part::Literal(word)]).collect()
}

fn command(words: &[Vec<Part>]) -> String {
    Value::command("", words.iter().map(Vec::as_slice)).as_str().to_owned()
}

/// Whatever the environment holds, text with every kind of character in it must not be read again.
fn environment(name: &str) -> String {
    format!("{name} \"is $HOME\\n %i")
}

#[test]
fn plain_words_stay_readable() {
    let words = literals(&["/usr/bin/python3", "-m", "http.server", "--bind=[::]", "8000"]);
    assert_eq!(command(&words), r#":/usr/bin/python3 -m http.server "--bind=[::]" 8000"#);
}

#[test]
fn without_variables_a_dollar_is_left_alone() {
    let words = literals(&["/bin/echo", "$HOME", "${X}", "$$", "a$b", "100%", "", ";", "a\\b", "say \"hi\""]);
    assert_eq!(command(&words), r#":/bin/echo "$HOME" "${X}" "$$" "a$b" "100%%" "" ";" "a\\b" "say \"hi\"""#);
}

#[test]
fn with_a_variable_every_other_dollar_is_doubled() {
    let words = [
        vec![Part::Literal("/bin/echo")],
        vec![Part::Literal("$HOME="), Part::Variable("HOME")],
        vec![Part::Words("OPTIONS")],
        vec![Part::Literal("%"), Part::Specifier("%i")],
    ];
    assert_eq!(command(&words), r#"/bin/echo "$$HOME=${HOME}" $OPTIONS "%%%i""#);
}

#[test]
fn a_failure_may_be_ignored() {
    let words = literals(&["/bin/true"]);
    assert_eq!(Value::command("-", words.iter().map(Vec::as_slice)).as_str(), "-:/bin/true");
}

#[test]
fn control_characters_are_spelled_out() {
    assert_eq!(command(&literals(&["/x", "a\nb\tc\u{1}\u{7f}"])), r#":/x "a\x0ab\x09c\x01\x7f""#);
    assert_eq!(Value::assignment("A", &[Part::Literal("1\n2")]).as_str(), r#""A=1\x0a2""#);
}

#[test]
fn noncharacters_are_spelled_out_or_replaced_for_a_line_with_one_is_left_out() {
    assert_eq!(
        command(&literals(&["/x", "a\u{ffff}", "\u{10fffe}\u{fdd0}"])),
        r#":/x "a\xef\xbf\xbf" "\xf4\x8f\xbf\xbe\xef\xb7\x90""#
    );
    assert_eq!(Value::plain("a\u{fdef}b\u{fdf0}").as_str(), "a\u{fffd}b\u{fdf0}");
}

#[test]
fn an_assignment_keeps_its_dollars_and_blanks() {
    assert_eq!(Value::assignment("A", &[Part::Literal("$HOME/x $$ 5%")]).as_str(), r#""A=$HOME/x $$ 5%%""#);
    assert_eq!(Value::assignment("A", &[Part::Literal("")]).as_str(), "A=");
    assert_eq!(Value::assignment("PORT", &[Part::Literal("8001")]).as_str(), "PORT=8001");
}

#[test]
fn no_text_reaches_the_next_line() {
    for value in [
        Value::plain("a\nExecStart=/evil"),
        Value::plain("ends in \\"),
        Value::verbatim("ends in \\"),
        Value::verbatim("a\r\n[Service]"),
        Value::input_text("a\nb\\"),
        Value::credential("c", "a\nb\\"),
        Value::names(["a\nb\\.service"]).remove(0),
    ] {
        let mut unit = Unit::default();
        unit.push(Section::Unit, "First", value);
        unit.push(Section::Unit, "Second", Value::fixed("2"));
        let directives = strict::directives(&unit.to_string()).unwrap();
        assert_eq!(directives.len(), 2, "{directives:?}");
        assert_eq!(directives[1].1, "Second");
    }
}

#[test]
fn a_credential_keeps_its_blanks_and_percents() {
    assert_eq!(Value::credential("key", " a%\\ ").as_str(), r"key:\x20a\x25\x5c\x20");
}

#[test]
fn long_lists_of_names_are_several_short_lines() {
    let names: Vec<_> = (0..500).map(|number| format!("group-a-process-with-a-long-name@{number}.service")).collect();
    let lines = Value::names(names.iter().map(String::as_str));
    assert!(lines.len() > 1 && lines.iter().all(|line| line.as_str().len() < 1_980));
    let read: Vec<_> = lines.iter().flat_map(|line| line.as_str().split(' ')).collect();
    assert_eq!(read, names);
}

/// Any text systemd can carry, with what is special to it in front.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ \"'\\\\$%{};#=\\-+!@:|\n\t\r\u{1}\u{1b}\u{7f}a-c0xXé€\u{2028}\u{feff}]{0,24}",
        "\\PC{0,16}",
        "(\\$\\$|\\$\\{[A-Z]\\}|\\$[A-Z]|%%|%[a-zA-Z]|\\\\x[0-9a-f]{2}|\\\\n|\\[Service\\]| ){0,8}",
    ]
}

/// A word: text and variables, or a variable's words.
fn word() -> impl Strategy<Value = Vec<(u8, String)>> {
    prop_oneof![
        4 => prop::collection::vec((Just(0), text()), 1..2),
        2 => prop::collection::vec(prop_oneof![(Just(0), text()), (Just(1), "[A-Z_]{1,4}")], 1..4),
        1 => prop::collection::vec((Just(2), "[A-Z_]{1,4}"), 1..2),
    ]
}

fn parts(word: &[(u8, String)]) -> Vec<Part<'_>> {
    word.iter()
        .map(|(kind, text)| match kind {
            0 => Part::Literal(text),
            1 => Part::Variable(text),
            _ => Part::Words(text),
        })
        .collect()
}

proptest! {
    #[test]
    fn every_argument_arrives_as_it_was_written(written in prop::collection::vec(word(), 0..6)) {
        let mut words = vec![vec![Part::Literal("/bin/program")]];
        words.extend(written.iter().map(|word| parts(word)));
        let mut expected = vec!["/bin/program".to_owned()];
        for word in &written {
            match word.as_slice() {
                [(2, name)] => expected.extend(environment(name).split_whitespace().map(str::to_owned)),
                word => expected.push(word.iter().map(|(kind, text)| match kind {
                    0 => text.clone(),
                    _ => environment(text),
                }).collect()),
            }
        }
        let mut unit = Unit::default();
        unit.push(Section::Service, "ExecStart", Value::command("", words.iter().map(Vec::as_slice)));
        unit.push(Section::Service, "Next", Value::fixed("1"));
        let read = strict::directives(&unit.to_string()).unwrap();
        prop_assert_eq!(read.len(), 2);
        prop_assert_eq!(strict::argv(&read[0].2, environment).unwrap(), expected);
    }

    #[test]
    fn every_variable_arrives_as_it_was_written(texts in prop::collection::vec(text(), 1..4)) {
        let mut unit = Unit::default();
        for text in &texts {
            unit.push(Section::Service, "Environment", Value::assignment("NAME", &[Part::Literal(text)]));
        }
        let read = strict::directives(&unit.to_string()).unwrap();
        prop_assert_eq!(read.len(), texts.len());
        for ((_, _, value), text) in read.iter().zip(&texts) {
            let words = parse::words(value).unwrap();
            prop_assert_eq!(words.len(), 1, "{:?}", words);
            prop_assert_eq!(strict::specifiers(&words[0]).unwrap(), format!("NAME={text}"));
        }
    }

    #[test]
    fn every_list_of_words_has_as_many(texts in prop::collection::vec(text(), 1..4)) {
        let words: Vec<_> = texts.iter().map(|text| [Part::Literal(text.as_str())]).collect();
        let value = Value::words(words.iter().map(<[_; 1]>::as_slice));
        let read = parse::words(value.as_str()).unwrap();
        let read: Result<Vec<_>, _> = read.iter().map(|word| strict::specifiers(word)).collect();
        prop_assert_eq!(read.unwrap(), texts);
    }

    #[test]
    fn a_credentials_text_arrives_as_it_was_written(text in text()) {
        let mut unit = Unit::default();
        unit.push(Section::Service, "SetCredential", Value::credential("name", &text));
        let read = strict::directives(&unit.to_string()).unwrap();
        prop_assert_eq!(strict::unescape(&read[0].2).unwrap(), format!("name:{text}"));
    }

    #[test]
    fn a_line_of_input_arrives_as_it_was_written(text in text()) {
        let value = Value::input_text(&text).as_str().to_owned();
        prop_assert_eq!(strict::specifiers(&strict::unescape(&value).unwrap()).unwrap(), text);
    }

    #[test]
    fn plain_text_arrives_as_it_was_written(text in "[a-z%$\"'\\\\ {}é]{0,20}") {
        let mut unit = Unit::default();
        unit.push(Section::Unit, "Description", Value::plain(&text));
        let read = strict::directives(&unit.to_string()).unwrap();
        // Blanks at the ends are cut off, and a single backslash at the end has to become two: both without harm.
        let arrived = strict::specifiers(&read[0].2).unwrap();
        let core = |text: &str| text.trim_end_matches(['\\', ' ']).trim_start().to_owned();
        prop_assert_eq!(core(&arrived), core(&text));
    }
}
