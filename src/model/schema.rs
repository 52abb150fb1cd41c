//! The JSON Schema of group files, for editors: made of the tables that files are read with, so that it can't say
//! anything else, and of the manual, so that it needn't be said twice.
//!
//! An editor shows with it which keys there are, and marks a wrong key or type while it is typed. It never refuses what
//! `copse check` takes; that knows much more (names, grammars, combinations). Drop-ins are read with it as well, so no
//! key is required. It is of draft 7, which the language servers for TOML read.

mod manual;

use serde_json::{Map, Value, json};

use super::parse::grammar::CAPABILITIES;
use super::parse::{pass_through, probe, units};
use crate::basic::signal;
use crate::group_file::keys;
use crate::group_file::keys::{Key, Kind, Shape};
use crate::unit::Section;
use crate::unit::directives;

use self::manual::Manual;

/// The tables that keys of members stand in: the name of their schema, the bit of [`Key::places`], and their header.
const PLACES: [(&str, u8); 4] =
    [("process", keys::PROCESS), ("setup", keys::SETUP), ("instance", keys::INSTANCE), ("defaults", keys::DEFAULTS)];

/// The sections that directives can be passed through to, each with the name of its schema.
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
        let described = |key: &Key| with_description(shape(key.shape), manual.member(key.name).to_owned());
        let properties = keys.map(|key| (key.name.to_owned(), described(key))).collect();
        definitions.insert(name.to_owned(), table(properties));
    }
    for section in SECTIONS {
        definitions.insert(section.text().to_owned(), directives(section));
    }
    definitions.insert("directive".to_owned(), directive());
    let group = keys::GROUP.iter().map(|(name, form)| {
        let described = with_description(shape(*form), manual.group(name).to_owned());
        ((*name).to_owned(), described)
    });
    let mut schema = table(group.collect());
    schema["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    schema["title"] = json!("copse group file");
    schema["description"] = json!("copse.toml(5): one file describes a service made of several processes");
    schema["definitions"] = Value::Object(definitions);
    schema
}

/// A table that holds these keys and no others.
fn table(properties: Map<String, Value>) -> Value {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn with_description(mut schema: Value, description: String) -> Value {
    if !description.is_empty() {
        // What stands beside a `$ref` isn't read in draft 7.
        if schema.get("$ref").is_some() {
            schema = json!({ "allOf": [schema] });
        }
        schema["description"] = json!(description);
    }
    schema
}

fn shape(shape: Shape) -> Value {
    let texts = || one_or_many(json!({ "type": "string" }));
    match shape {
        Shape::Is(kind) => self::kind(kind),
        Shape::Text => json!({ "type": "string" }),
        Shape::Texts | Shape::Command => texts(),
        Shape::Commands => json!({
            "type": ["string", "array"],
            "items": { "type": ["string", "array"], "items": { "type": "string" } },
        }),
        Shape::Variables => named(r"^[A-Za-z_][A-Za-z0-9_]*$", &absent_or(json!({ "type": ["string", "integer"] }))),
        Shape::Credentials => {
            let either = ["encrypted", "text"].map(|key| (key.to_owned(), json!({ "type": "string" })));
            let place = json!({ "anyOf": [{ "type": "string" }, table(either.into_iter().collect())] });
            named(r"^[A-Za-z0-9_.-]+$", &absent_or(place))
        }
        Shape::Instances => json!({ "anyOf": [
            { "type": "integer", "minimum": 0, "maximum": super::parse::instances::MOST_INSTANCES },
            { "enum": ["cpus"] },
            { "type": "array", "items": { "type": "string" } },
        ] }),
        Shape::MaxUnavailable => json!({ "type": ["integer", "string"], "minimum": 1, "pattern": "^[0-9]+%$" }),
        Shape::Listen => json!({ "anyOf": [texts(), named(NAME, &texts())] }),
        Shape::Ready => {
            json!({ "anyOf": [{ "enum": probe::WORDS }, probes(probe::OTHERWISE)] })
        }
        Shape::Health => probes(probe::HEALTH),
        Shape::Settled => probes(&[]),
        Shape::Directives(section) => json!({ "$ref": format!("#/definitions/{}", section.text()) }),
        Shape::Keys(place) => of_place(place),
        Shape::Named(keys::INSTANCE) => named("", &of_place(keys::INSTANCE)),
        Shape::Named(place) => named(NAME, &of_place(place)),
    }
}

/// Names of processes, setup steps and sockets ([`crate::unit::name::ProcessName`]).
const NAME: &str = "^[a-z0-9][a-z0-9_-]*$";

fn of_place(place: u8) -> Value {
    let name = PLACES.iter().find(|(_, bit)| *bit == place).map_or("", |(name, _)| name);
    json!({ "$ref": format!("#/definitions/{name}") })
}

/// A table whose keys are names that match `pattern`.
fn named(pattern: &str, of: &Value) -> Value {
    json!({ "type": "object", "patternProperties": { pattern: of }, "additionalProperties": false })
}

fn one_or_many(one: Value) -> Value {
    json!({ "anyOf": [one, { "type": "array", "items": one }] })
}

/// In a drop-in, `false` takes an entry away.
fn absent_or(entry: Value) -> Value {
    json!({ "anyOf": [entry, { "enum": [false] }] })
}

fn kind(kind: Kind) -> Value {
    match kind {
        Kind::Span | Kind::Size | Kind::Tasks | Kind::Limit => json!({ "type": ["string", "integer"], "minimum": 0 }),
        Kind::Integer(low, high) => json!({ "type": "integer", "minimum": low, "maximum": high }),
        Kind::Percent => json!({ "type": "string", "pattern": "^[0-9]+%$" }),
        Kind::Boolean => json!({ "type": "boolean" }),
        Kind::Mode => json!({ "type": "string", "pattern": "^[0-7]{3,5}$" }),
        Kind::Signal => json!({ "anyOf": [
            { "enum": signal::NAMES },
            { "type": "string", "pattern": r"^SIGRTM(IN(\+[0-9]+)?|AX(-[0-9]+)?)$" },
        ] }),
        Kind::Word(words) => json!({ "enum": words }),
        Kind::Statuses => one_or_many(json!({ "type": ["string", "integer"], "minimum": 0, "maximum": 255 })),
        Kind::Capabilities => one_or_many(json!({ "anyOf": [{ "enum": CAPABILITIES }, { "type": "string" }] })),
        Kind::Units => {
            let suffixes: Vec<&str> = units::UNIT_SUFFIXES.iter().map(|suffix| &suffix[1..]).collect();
            let pattern = format!(r"\.({})$", suffixes.join("|"));
            one_or_many(json!({ "type": "string", "pattern": pattern }))
        }
        Kind::User => json!({ "type": ["string", "integer"], "minimum": 0 }),
    }
}

/// A table of probes, and these keys.
fn probes(others: &[&str]) -> Value {
    let form = |key: &str| match key {
        "fd" => kind(Kind::Integer(probe::FD.0, probe::FD.1)),
        "failures" => kind(Kind::Integer(probe::FAILURES_RANGE.0, probe::FAILURES_RANGE.1)),
        "interval-sec" => kind(Kind::Span),
        "status" => one_or_many(json!({ "type": ["integer", "string"] })),
        "command" => shape(Shape::Command),
        "listening" => json!({ "type": ["integer", "string"], "minimum": keys::PORT.0, "maximum": keys::PORT.1 }),
        _ => shape(Shape::Text),
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
    // For other programs: systemd ignores them.
    schema["patternProperties"] = json!({ "^X-[A-Za-z0-9-]+$": form });
    schema
}

/// The value of a directive that is passed through.
fn directive() -> Value {
    one_or_many(json!({ "type": ["string", "number", "boolean"] }))
}
