use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;
use toml::de::{DeTable, DeValue};

use super::*;
use crate::basic::diagnostic::{Diagnostic, SourceFile};
use crate::basic::scope::Scope;
use crate::generate;
use crate::generate::Options;
use crate::group_file::discover::Source;
use crate::model::{Context, Group, Piece};
use crate::unit::UnitTree;
use crate::unit::directives::Systemd;
use crate::unit::name::GroupName;

fn shop() -> GroupFile {
    let mut file = GroupFile::default();
    file.group.comment("From Procfile.");
    file.group.set("wanted-by", vec!["multi-user.target"]);
    for (name, port) in [("web", "8001"), ("admin", "8002"), ("worker", "")] {
        let table = file.process(name);
        table.set("user", if name == "worker" { "worker" } else { "app" });
        table.set("working-directory", "/srv/app");
        table.set("exec", Value::command(&[Text::literal("bin/x"), Text::literal(name)]).unwrap());
        let environment = table.table("environment");
        environment.set("LANG", "C.UTF-8");
        if !port.is_empty() {
            environment.set("PORT", port);
        }
    }
    file.process("web").comment("Behind nginx.");
    file.process("web").table("service").set("LogRateLimitBurst", "0");
    file.process("worker").set("instances", (0..24).map(|n| format!("{n:02}")).collect::<Vec<_>>());
    file.process("worker").comment_at("instances", "as supervisord numbered them");
    file
}

#[test]
fn it_is_laid_out_as_a_person_would() {
    let mut file = shop();
    file.move_to_defaults();
    let expected = r#"# From Procfile.

wanted-by = ["multi-user.target"]

[defaults]
environment = { LANG = "C.UTF-8" }
working-directory = "/srv/app"
user = "app"

# Behind nginx.
[process.web]
exec = "bin/x web"
environment = { PORT = "8001" }

[process.web.service]
LogRateLimitBurst = "0"

[process.admin]
exec = "bin/x admin"
environment = { PORT = "8002" }

[process.worker]
exec = "bin/x worker"
user = "worker"
# as supervisord numbered them
instances = [
    "00", "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12", "13", "14", "15",
    "16", "17", "18", "19", "20", "21", "22", "23",
]
"#;
    assert_eq!(file.to_string(), expected);
    assert!(generated(&file).is_ok(), "{:?}", generated(&file));
}

#[test]
fn a_command_is_plain_words_where_it_may_be() {
    let command = |words: &[&str]| Value::command(&words.iter().map(|word| Text::literal(*word)).collect::<Vec<_>>());
    assert_eq!(command(&["/bin/x", "--a=b"]), Some("/bin/x --a=b".into()));
    for words in [&["/bin/x", "a b"][..], &["/bin/x", ""], &["/bin/x", "$A"], &["/bin/x", "a\u{a0}\n"]] {
        assert_eq!(command(words), Some(words.to_vec().into()), "{words:?}");
    }
    assert_eq!(command(&["/bin/x", "{instance}", "{x}"]), Some("/bin/x {{instance}} {x}".into()));
    let between_braces = Text::from(vec![literal("{"), Piece::Instance, literal("}")]);
    assert_eq!(Value::command(&[between_braces]), None);
}

#[test]
fn a_comment_stays_a_comment() {
    let mut file = shop();
    file.process("web").comment("one\n[process.evil]\r\nexec = \"/bin/evil\"\u{85}\u{2028}\u{0}");
    file.process("web").comment_at("exec", format!("\n{}", "long ".repeat(60)));
    let group = read(&file).unwrap();
    assert_eq!(group.processes.len(), 3);
}

fn literal(text: &str) -> Piece {
    Piece::Literal(text.to_owned())
}

fn read(file: &GroupFile) -> Result<Group, String> {
    let source = SourceFile { path: PathBuf::from("/etc/copse/shop.toml"), text: file.to_string() };
    let source = Source { name: GroupName::new("shop").unwrap(), file: Arc::new(source), drop_ins: Vec::new() };
    let (group, diagnostics) = model::read(&source, &Context { scope: Scope::System, cpus: 2 });
    let lines: Vec<String> = diagnostics.iter().map(Diagnostic::line).collect();
    group.filter(|_| lines.is_empty()).ok_or_else(|| format!("{}\n{file}", lines.join("\n")))
}

fn generated(file: &GroupFile) -> Result<UnitTree, String> {
    read(file).map(|group| generate::generate(&group, Options { systemd: Systemd::NEWEST, static_target: false }))
}

/// What TOML's own reader says, as this module's values.
fn parsed(table: &DeTable) -> Table {
    let mut read = Table::default();
    for (key, value) in table {
        read.set(key.get_ref(), parsed_value(value.get_ref()));
    }
    read
}

fn parsed_value(value: &DeValue) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => Value::Integer(number.to_string().parse().unwrap()),
        DeValue::Boolean(value) => Value::Boolean(*value),
        DeValue::Array(values) => Value::Array(values.iter().map(|value| parsed_value(value.get_ref())).collect()),
        DeValue::Table(table) => Value::Table(parsed(table)),
        other => panic!("nobody wrote {other:?}"),
    }
}

/// The whole file as one table, without comments and in the parser's order.
fn whole(file: &GroupFile) -> Table {
    let mut table = file.group.clone();
    if !file.defaults.is_empty() {
        table.set("defaults", file.defaults.clone());
    }
    for (kind, members) in [("setup", &file.setup), ("process", &file.processes)] {
        for (name, member) in members {
            table.table(kind).set(name, member.clone());
        }
    }
    sorted(&table)
}

fn sorted(table: &Table) -> Table {
    let mut bare = Table::default();
    let mut entries: Vec<&Entry> = table.entries.iter().collect();
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    for entry in entries {
        match &entry.value {
            Value::Table(table) => bare.set(&entry.name, sorted(table)),
            value => bare.set(&entry.name, value.clone()),
        }
    }
    bare
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "([\\\\\n\r\"'%$; =\\[\\]#{}\t\u{1}\u{7f}\u{85}-]|[a-z]|\"\"\"|'''|\n\\[process.x\\]\n|\\{instance\\}){0,10}"
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any_text().prop_map(Value::String),
        any::<i64>().prop_map(Value::Integer),
        any::<bool>().prop_map(Value::Boolean),
        prop::collection::vec(any_text(), 0..20).prop_map(Value::from),
        prop::collection::vec((any_text(), any_text()), 0..4).prop_map(|entries| {
            let mut table = Table::default();
            entries.into_iter().for_each(|(name, value)| table.set(&name, value));
            Value::Table(table)
        }),
    ]
}

/// The value of a key, and a comment.
type Setting = (usize, Value, Option<String>);

fn any_table() -> impl Strategy<Value = (Vec<Setting>, Option<String>)> {
    let setting = (0..keys::KEYS.len(), any_value(), prop::option::of(any_text()));
    (prop::collection::vec(setting, 0..6), prop::option::of(any_text()))
}

fn filled(table: &mut Table, (settings, comment): (Vec<Setting>, Option<String>)) {
    comment.into_iter().for_each(|comment| table.comment(comment));
    for (key, value, comment) in settings {
        // Tables of instances have tables of keys.
        let key = keys::KEYS[key].name;
        if key != "instance" {
            table.set(key, value);
            comment.into_iter().for_each(|comment| table.comment_at(key, comment));
        }
    }
}

/// The text is words for the settings of a process that `move_to_defaults` may or may not find in the others.
fn process_settings() -> impl Strategy<Value = [u8; 8]> {
    prop::array::uniform8(0..4u8)
}

fn set(table: &mut Table, name: &str, [user, directory, env, other, stop, nice, service, restart]: [u8; 8]) {
    table.set("exec", format!("/bin/{name}"));
    let mut text = |key: &str, choice: u8, values: [&str; 3]| {
        if let Some(value) = values.get(usize::from(choice)) {
            table.set(key, *value);
        }
    };
    text("user", user, ["app", "root", "app"]);
    text("working-directory", directory, ["/srv", "/srv", "/tmp"]);
    text("timeout-stop-sec", stop, ["10s", "10s", "1min"]);
    text("restart", restart, ["on-failure", "no", "on-failure"]);
    if nice < 3 {
        table.set("nice", i64::from(nice / 2));
    }
    for (variable, choice) in [("A", env), ("B", other)] {
        if choice < 3 {
            table.table("environment").set(variable, if choice == 0 { "x" } else { "$y %h" });
        }
    }
    if service < 3 {
        table.table("service").set("OOMScoreAdjust", i64::from(service / 2));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn what_is_written_reads_back_the_same(
        group in any_table(),
        members in prop::collection::vec((any_text(), any::<bool>(), any_table()), 0..4),
        instance in any_table(),
    ) {
        let mut file = GroupFile::default();
        for (name, setup, table) in members {
            filled(if setup { file.setup(&name) } else { file.process(&name) }, table);
        }
        if let Some((_, last)) = file.processes.last_mut() {
            filled(last.table("instance").table("0 1"), instance);
        }
        filled(&mut file.defaults, group);
        let text = file.to_string();
        let read = DeTable::parse(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(sorted(&parsed(read.get_ref())), whole(&file), "{}", text);
    }

    #[test]
    fn a_spelled_text_is_read_as_it_was(
        pieces in prop::collection::vec(prop_oneof![
            "[{}a]{0,4}|\\{instance\\}|\\{\\{env:A\\}\\}|\\{instnce\\}|\\{env:\\}|\\{\\{\\{unit\\}\\}\\}|[ -~]{0,8}"
                .prop_map(Piece::Literal),
            Just(Piece::Instance),
            Just(Piece::Unit),
            Just(Piece::Env("A".to_owned())),
        ], 0..6)
    ) {
        let mut text = Text::literal("");
        for piece in pieces {
            match piece {
                Piece::Literal(literal) => text.push_literal(&literal),
                piece => text.push(piece),
            }
        }
        let Some(spelled) = model::spelled(&text) else { return Ok(()) };
        let mut file = GroupFile::default();
        let table = file.process("web");
        table.set("exec", vec!["/bin/x".to_owned(), spelled]);
        table.set("instances", 1);
        let group = read(&file).map_err(TestCaseError::fail)?;
        let bare = |text: &Text| text.pieces().iter().filter(|piece| **piece != literal("")).cloned().collect::<Vec<_>>();
        let process = group.processes.values().next().unwrap();
        prop_assert_eq!(bare(&process.service.exec[1]), bare(&text));
    }

    #[test]
    fn moving_to_defaults_changes_no_meaning(
        processes in prop::collection::vec(process_settings(), 1..6),
        setup in prop::collection::vec(process_settings(), 0..3),
    ) {
        let mut file = GroupFile::default();
        for (number, settings) in processes.into_iter().enumerate() {
            set(file.process(&format!("p{number}")), "p", settings);
        }
        for (number, settings) in setup.into_iter().enumerate() {
            set(file.setup(&format!("s{number}")), "s", settings);
        }
        let mut moved = file.clone();
        moved.move_to_defaults();
        prop_assert_eq!(generated(&moved), generated(&file), "{}", moved);
    }
}
