//! The JSON Schema of group files, for editors: from the tables that files are read with, and the manual.
//!
//! An editor lists the keys with it, and marks a wrong key or type while it is typed. It accepts every file that
//! `copse check` accepts, which checks much more (names, grammars, combinations). It is for drop-ins too, so no key is
//! required. It is of draft 7, which the language servers for TOML read.

mod manual;

use serde_json::{Map, Value, json};

use self::manual::Manual;
use super::parse::{grammar, instances, pass_through, probe, units};
use crate::basic::signal;
use crate::group_file::keys;
use crate::group_file::keys::{Key, KeyKind};
use crate::unit::Section;
use crate::unit::directives;

/// The tables that keys of members stand in: the name of their schema, and the bit of [`Key::places`].
const PLACES: [(&str, u8); 4] =
    [("process", keys::PROCESS), ("setup", keys::SETUP), ("instance", keys::INSTANCE), ("defaults", keys::DEFAULTS)];

/// The sections that directives can be passed through to.
const SECTIONS: [Section; 5] = [Section::Unit, Section::Service, Section::Socket, Section::Timer, Section::Slice];

/// The schema, as text that ends in a newline. The same for every scope and version of systemd.
pub fn text() -> String {
    // A value of serde_json can always be written.
    serde_json::to_string_pretty(&schema()).unwrap_or_default() + "\n"
}

fn schema() -> Value {
    let manual = Manual::new();
    let mut definitions = Map::new();
    for (name, place) in PLACES {
        let keys = keys::KEYS.iter().filter(|key| key.places & place != 0);
        let described = |key: &Key| with_description(kind(key.kind), manual.member(key.name).to_owned());
        let properties = keys.map(|key| (key.name.to_owned(), described(key))).collect();
        definitions.insert(name.to_owned(), table(properties));
    }
    for section in SECTIONS {
        definitions.insert(section.text().to_owned(), directives(section));
    }
    definitions.insert("directive".to_owned(), directive());
    let group = keys::GROUP
        .iter()
        .map(|(name, key_kind)| ((*name).to_owned(), with_description(kind(*key_kind), manual.group(name).to_owned())));
    let mut schema = table(group.collect());
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema["title"] = json!("copse group file");
    schema["description"] = json!("copse.toml(5): one file describes a service made of several processes");
    schema["definitions"] = Value::Object(definitions);
    schema
}

/// A table with these keys and no others.
fn table(properties: Map<String, Value>) -> Value {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn with_description(mut schema: Value, description: String) -> Value {
    if !description.is_empty() {
        // Draft 7 ignores what is next to a `$ref`.
        if schema.get("$ref").is_some() {
            schema = json!({ "allOf": [schema] });
        }
        schema["description"] = json!(description);
    }
    schema
}

fn kind(of: KeyKind) -> Value {
    let text = || json!({ "type": "string" });
    match of {
        KeyKind::Span | KeyKind::Size | KeyKind::Tasks | KeyKind::Limit | KeyKind::User => {
            json!({ "type": ["string", "integer"], "minimum": 0 })
        }
        KeyKind::Integer(low, high) => json!({ "type": "integer", "minimum": low, "maximum": high }),
        KeyKind::Percent => json!({ "type": "string", "pattern": "^[0-9]+%$" }),
        KeyKind::Boolean => json!({ "type": "boolean" }),
        KeyKind::Mode => json!({ "type": "string", "pattern": "^[0-7]{3,5}$" }),
        KeyKind::Signal => json!({ "anyOf": [
            { "enum": signal::NAMES },
            { "type": "string", "pattern": r"^SIGRTM(IN(\+[0-9]+)?|AX(-[0-9]+)?)$" },
        ] }),
        KeyKind::Word(words) => json!({ "enum": words }),
        KeyKind::Statuses => one_or_many(json!({ "type": ["string", "integer"], "minimum": 0, "maximum": 255 })),
        KeyKind::Capabilities => {
            one_or_many(json!({ "anyOf": [{ "enum": grammar::capabilities().collect::<Vec<_>>() }, text()] }))
        }
        KeyKind::Units => {
            let pattern = format!(r"\.({})$", units::UNIT_TYPES.join("|"));
            one_or_many(json!({ "type": "string", "pattern": pattern }))
        }
        KeyKind::Text => text(),
        KeyKind::Texts | KeyKind::Command => one_or_many(text()),
        KeyKind::Commands => json!({
            "type": ["string", "array"],
            "items": { "type": ["string", "array"], "items": { "type": "string" } },
        }),
        KeyKind::Variables => named(r"^[A-Za-z_][A-Za-z0-9_]*$", &absent_or(json!({ "type": ["string", "integer"] }))),
        KeyKind::Credentials => {
            let either = ["encrypted", "text"].map(|key| (key.to_owned(), text()));
            let source = json!({ "anyOf": [text(), table(either.into_iter().collect())] });
            named(r"^[A-Za-z0-9_.-]+$", &absent_or(source))
        }
        KeyKind::Credential => {
            let either = ["credential", "encrypted"].map(|key| (key.to_owned(), text()));
            table(either.into_iter().collect())
        }
        KeyKind::Supervisor => {
            let manual = Manual::new();
            let described = |(name, of): &(&str, KeyKind)| {
                ((*name).to_owned(), with_description(kind(*of), manual.supervisor(name).to_owned()))
            };
            table(keys::SUPERVISOR.iter().map(described).collect())
        }
        KeyKind::Instances => json!({ "anyOf": [
            { "type": "integer", "minimum": 0, "maximum": instances::MOST_INSTANCES },
            { "enum": ["cpus"] },
            { "type": "array", "items": text() },
        ] }),
        KeyKind::MaxUnavailable => json!({ "type": ["integer", "string"], "minimum": 1, "pattern": "^[0-9]+%$" }),
        KeyKind::Listen => json!({ "anyOf": [one_or_many(text()), named(NAME, &one_or_many(text()))] }),
        KeyKind::Ready => json!({ "anyOf": [{ "enum": probe::WORDS }, probes(probe::READY)] }),
        KeyKind::Health => probes(probe::HEALTH),
        KeyKind::Settled => probes(&[]),
        KeyKind::Directives(section) => json!({ "$ref": format!("#/definitions/{}", section.text()) }),
        KeyKind::Keys(place) => of_place(place),
        KeyKind::Named(keys::INSTANCE) => named("", &of_place(keys::INSTANCE)),
        KeyKind::Named(place) => named(NAME, &of_place(place)),
    }
}

/// Names of processes, setup steps and sockets ([`crate::unit::name::ProcessName`]).
const NAME: &str = "^[a-z0-9][a-z0-9_-]*$";

fn of_place(place: u8) -> Value {
    let name = PLACES.iter().find(|(_, bit)| *bit == place).map_or("", |(name, _)| name);
    json!({ "$ref": format!("#/definitions/{name}") })
}

/// A table with names that match `pattern`.
fn named(pattern: &str, of: &Value) -> Value {
    json!({ "type": "object", "patternProperties": { pattern: of }, "additionalProperties": false })
}

fn one_or_many(one: Value) -> Value {
    json!({ "anyOf": [one, { "type": "array", "items": one }] })
}

/// In a drop-in, `false` removes an entry.
fn absent_or(entry: Value) -> Value {
    json!({ "anyOf": [entry, { "enum": [false] }] })
}

/// A table of probes, and these keys.
fn probes(others: &[&str]) -> Value {
    let form = |key: &str| match key {
        "fd" => kind(KeyKind::Integer(probe::FD.0, probe::FD.1)),
        "failures" => kind(KeyKind::Integer(probe::FAILURES_RANGE.0, probe::FAILURES_RANGE.1)),
        "interval-sec" => kind(KeyKind::Span),
        "status" => one_or_many(json!({ "type": ["integer", "string"] })),
        "command" => kind(KeyKind::Command),
        "listening" => json!({ "type": ["integer", "string"], "minimum": keys::PORT.0, "maximum": keys::PORT.1 }),
        _ => kind(KeyKind::Text),
    };
    table(probe::PROBES.iter().chain(others).map(|key| ((*key).to_owned(), form(key))).collect())
}

/// The directives that can be passed through to a section.
fn directives(section: Section) -> Value {
    let taken = directives::directives(section).filter(|row| pass_through::refused(section, row.name).is_none());
    let form = json!({ "$ref": "#/definitions/directive" });
    let properties = taken.map(|row| {
        let since = if row.since > 0 { format!("Since systemd {}. ", row.since) } else { String::new() };
        let removed = row.removed.map(|removed| format!("Gone in systemd {removed}.")).unwrap_or_default();
        (row.name.to_owned(), with_description(form.clone(), (since + &removed).trim_end().to_owned()))
    });
    let mut schema = table(properties.collect());
    // For other programs: systemd ignores X-.
    schema["patternProperties"] = json!({ "^X-[A-Za-z0-9-]+$": form });
    schema
}

fn directive() -> Value {
    one_or_many(json!({ "type": ["string", "number", "boolean"] }))
}
