//! What can't be carried is refused, exactly from where it can't; and names become units' names or are refused.

use proptest::prelude::*;

use copse::basic::diagnostic::{Code, SourceFile};
use copse::basic::scope::Scope;
use copse::group_file::discover::Source;
use copse::model;
use copse::model::Context;
use copse::unit::name::{GroupName, InstanceName, ProcessName};

use crate::grammar::quoted;
use crate::holds::{hold, hold_merged};

fn codes(text: &str) -> Vec<Code> {
    let file = SourceFile { path: "/etc/copse/g.toml".into(), text: text.to_owned() };
    let source = Source { name: GroupName::new("g").expect("a good name"), file: file.into(), drop_ins: Vec::new() };
    let (_, diagnostics) = model::read(&source, &Context { scope: Scope::System, cpus: 1 });
    diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
}

#[track_caller]
fn assert_carried(good: &str, bad: &str) {
    assert!(hold(good), "{:?}", codes(good));
    assert!(!hold(bad));
    assert_eq!(codes(bad), [Code::Uncarriable]);
}

fn process(keys: &str) -> String {
    format!("[process.a]\nexec = \"/x\"\n{keys}\n")
}

#[test]
fn an_argument_of_128_kib_is_refused() {
    let with = |length: usize| format!("[process.a]\nexec = [\"/x\", \"{}\"]\n", "y".repeat(length));
    assert_carried(&with(131_071), &with(131_072));
    let shell = |length: usize| format!("[process.a]\nshell = \"{}\"\n", "y".repeat(length));
    assert_carried(&shell(131_071), &shell(131_072));
}

#[test]
fn a_variable_of_128_kib_is_refused() {
    // NAME=VALUE and the closing NUL.
    let with = |length: usize| process(&format!("environment = {{ A = \"{}\" }}", "y".repeat(length)));
    assert_carried(&with(131_069), &with(131_070));
}

#[test]
fn a_line_of_1_mib_is_refused() {
    let with = |words: usize| {
        let words: Vec<_> = (0..words).map(|_| format!("\"{}\"", "%".repeat(10_000))).collect();
        format!("[process.a]\nexec = [\"/x\", {}]\n", words.join(", "))
    };
    assert_carried(&with(51), &with(53));
}

#[test]
fn noncharacters_are_carried_in_commands_only() {
    let argument = "[process.a]\nexec = [\"/x\", \"\\uFFFF\\uFDD0\"]\n";
    assert_carried(argument, &process("environment = { A = \"\\uFFFF\" }"));
    for refused in ["description = \"\\uFFFF\"", "working-directory = \"/\\uFDD0\"", "service = { User = \"\\uFFFE\" }"]
    {
        assert_eq!(codes(&process(refused)), [Code::Uncarriable], "{refused}");
    }
}

#[test]
fn quotes_and_backslashes_in_a_programs_path_are_refused() {
    for character in ["'", "\\\"", "\\\\", "\\n", "\\u0001"] {
        let text = format!("[process.a]\nexec = [\"/a{character}b\"]\n");
        assert_eq!(codes(&text), [Code::Uncarriable], "{text}");
    }
}

#[test]
fn names_of_variables_that_systemd_drops_are_refused() {
    for name in ["A-B", "A.B", "1A", "", "A B", "É", "A=B"] {
        assert_eq!(
            codes(&process(&format!("environment = {{ \"{name}\" = \"x\" }}"))),
            [Code::Uncarriable],
            "{name:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// [`hold_merged`] looks at the units' names.
    #[test]
    fn every_name_is_refused_or_makes_units_with_names_of_their_own(
        group in "[A-Za-z0-9][A-Za-z0-9_.-]{0,60}|[a-z-]{1,5}",
        processes in prop::collection::btree_set("[a-z0-9_-]{1,12}|[a-z-]{1,3}|\\PC{0,6}|[a-z]{240,260}", 1..5),
        instances in prop::collection::btree_set("[A-Za-z0-9_.:-]{1,8}|\\PC{0,4}|[a-z]{200,250}", 1..4),
    ) {
        let Some(group) = GroupName::new(&group) else { return Ok(()) };
        let mut text = String::new();
        let all: Vec<_> = instances.iter().map(|instance| quoted(instance)).collect();
        for (at, process) in processes.iter().enumerate() {
            text += &format!("[process.{}]\nexec = \"/x\"\n", quoted(process));
            if at % 2 == 0 {
                text += &format!("instances = [{}]\n", all.join(", "));
            }
        }
        let good = hold_merged(group.as_str(), &text, &[]);
        let names = processes.iter().all(|name| ProcessName::new(name).is_some())
            && instances.iter().all(|name| InstanceName::new(name).is_some());
        prop_assert!(names || !good, "a name that is none was taken");
    }
}
