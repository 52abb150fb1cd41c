//! Text arrives as written, through YAML and the expansion of Kubernetes.

use std::sync::Arc;

use proptest::prelude::*;
use serde_norway::Value;

use super::options::Options;
use super::text::expand;
use super::yaml::Map;
use crate::basic::diagnostic::SourceFile;
use crate::basic::scope::Scope;
use crate::group_file::discover::Source;
use crate::model;
use crate::model::{Context, toml_string};
use crate::unit::name::GroupName;

fn options() -> Options {
    Options {
        image: "a".to_owned(),
        kind: None,
        replicas: 1,
        split: false,
        storage: None,
        namespace: None,
        kubernetes: 29,
        timezone: None,
        users: Default::default(),
        files: Vec::new(),
    }
}

/// The only container of a group.
fn container(text: String) -> Value {
    let name = GroupName::new("g").unwrap();
    let file = Arc::new(SourceFile { path: "g.toml".into(), text });
    let source = Source { name, file, drop_ins: Vec::new() };
    let (group, document, found) = model::read_with(&source, &[], &Context { scope: Scope::System, cpus: 1 });
    let group = group.unwrap_or_else(|| panic!("{found:?}\n{}", source.file.text));
    let (manifests, found) = super::kubernetes(&group, &document, &options());
    assert!(!found.has_errors(), "{found:?}");
    let text = manifests[0].text();
    let document: Value = serde_norway::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let keys: Vec<&str> = document.as_mapping().unwrap().keys().map(|key| key.as_str().unwrap()).collect();
    assert_eq!(keys, ["apiVersion", "kind", "metadata", "spec"]);
    document["spec"]["template"]["spec"]["containers"][0].clone()
}

fn arrived(value: &Value) -> String {
    let text = value.as_str().unwrap_or_else(|| panic!("not a string: {value:?}"));
    String::from_utf8(expand(text, |name| Some(format!("<{name}>")))).unwrap()
}

/// Text with what YAML, Kubernetes and its Go might take for something else.
fn text() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "$",
        "$(",
        "$(A)",
        "$$",
        "${A}",
        "(",
        ")",
        "on",
        "no",
        "null",
        "~",
        "0o1",
        "1e3",
        "010",
        "1_0",
        ".inf",
        "12:30",
        "2001-01-01",
        "=",
        "<<",
        ": ",
        " #",
        "- ",
        "---",
        "...",
        "|",
        ">",
        "&a",
        "*a",
        "!a",
        "%",
        "@",
        "`",
        "'",
        "\"",
        "\\",
        "\n",
        "\n\n",
        " ",
        "  ",
        "\t",
        "\r",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "\u{7f}",
        "\u{1b}",
        "ä",
        "日",
        "🦀",
        "{",
        "}",
        "[",
        ",",
        "? ",
        "a",
        "-",
        "",
    ]);
    let words = prop::collection::vec(word, 0..6).prop_map(|words| words.concat());
    prop_oneof![words, "[ -~]{0,12}", any::<String>()].prop_map(|text| {
        // What no unit file can hold, either, and what is a placeholder of copse.
        text.chars().filter(|c| !matches!(c, '\0' | '{' | '\u{fffe}' | '\u{ffff}')).collect()
    })
}

/// Characters that no program can get through systemd.
fn is_carried(text: &str) -> bool {
    !text.chars().any(crate::unit::value::is_noncharacter)
}

proptest! {
    #[test]
    fn arguments_and_variables_arrive_as_written(
        arguments in prop::collection::vec(text(), 0..5),
        value in text(),
    ) {
        prop_assume!(arguments.iter().chain([&value]).all(|text| is_carried(text)));
        let command: Vec<String> =
            std::iter::once("\"/bin/a\"".to_owned()).chain(arguments.iter().map(|text| toml_string(text))).collect();
        // A variable holds no control characters but these.
        let value: String = value.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
        let text = format!(
            "[process.a]\nexec = [{}]\nenvironment = {{ V = {} }}\n",
            command.join(", "),
            toml_string(&value),
        );
        let container = container(text);
        let words: Vec<String> = container["command"].as_sequence().unwrap().iter().map(arrived).collect();
        prop_assert_eq!(&words[1..], &arguments[..]);
        prop_assert_eq!(arrived(&container["env"][0]["value"]), value);
        prop_assert_eq!(container["env"].as_sequence().unwrap().len(), 1);
    }

    #[test]
    fn any_key_and_any_text_is_read_back(key in text(), value in text(), deep in text()) {
        let map = Map::new().with("a", Map::new().with(key.clone(), value.clone())).list("l", [deep.clone()]).with("z", 1);
        let read: Value = serde_norway::from_str(&map.document()).map_err(|error| {
            TestCaseError::fail(format!("{error}\n{}", map.document()))
        })?;
        prop_assert_eq!(read["a"][key.as_str()].as_str(), Some(value.as_str()));
        prop_assert_eq!(read["l"][0].as_str(), Some(deep.as_str()));
        prop_assert_eq!(read["z"].as_i64(), Some(1));
    }
}
