//! `copse schema` against every group file there is: what copse takes, the schema takes; where copse finds a wrong key
//! or type, so does the schema.

use std::path::{Path, PathBuf};

use copse::basic::diagnostic::{At, Code, Diagnostic};
use copse::basic::scope::{Directories, Scope};
use copse::generator::load;
use copse::model::{Context, schema};
use jsonschema::Validator;
use serde_json::{Map, Value, json};
use toml::de::{DeTable, DeValue};

fn validator() -> Validator {
    let schema: Value = serde_json::from_str(&schema::text()).expect("the schema is JSON");
    jsonschema::draft7::meta::validate(&schema).expect("the schema is one");
    jsonschema::draft7::new(&schema).expect("the schema can be used")
}

/// All `*.toml` below a directory of this package.
fn files(below: &str) -> Vec<PathBuf> {
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(below)];
    let mut found = Vec::new();
    while let Some(next) = open.pop() {
        for path in std::fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "toml") {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "{below}");
    found
}

/// A file's value as an editor has it; `None` where it isn't TOML.
fn read(path: &Path) -> Option<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    Some(object(DeTable::parse(&text).ok()?.get_ref()))
}

fn object(table: &DeTable<'_>) -> Value {
    let entries = table.iter().map(|(key, value)| (key.get_ref().to_string(), value_of(value.get_ref())));
    Value::Object(entries.collect::<Map<_, _>>())
}

fn value_of(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => json!(text),
        DeValue::Boolean(value) => json!(value),
        DeValue::Array(elements) => elements.iter().map(|element| value_of(element.get_ref())).collect(),
        DeValue::Table(table) => object(table),
        DeValue::Integer(number) => json!(i64::from_str_radix(number.as_str(), number.radix()).unwrap()),
        DeValue::Float(number) => json!(number.as_str().parse::<f64>().unwrap()),
        DeValue::Datetime(time) => json!(time.to_string()),
    }
}

#[test]
fn the_command_prints_it() {
    let printed = std::process::Command::new(env!("CARGO_BIN_EXE_copse")).arg("schema").output().unwrap();
    assert_eq!(String::from_utf8(printed.stdout).unwrap(), schema::text());
}

#[test]
fn what_copse_takes_the_schema_takes() {
    let validator = validator();
    let files: Vec<_> = ["examples", "tests/cases"].into_iter().flat_map(files).collect();
    assert!(files.len() > 25);
    for file in files {
        let value = read(&file).expect("TOML");
        let wrong: Vec<_> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{}: {}", file.display(), wrong.join("\n"));
    }
}

#[test]
fn a_file_without_a_mistake_of_its_keys_is_not_refused_among_the_wrong_ones() {
    // Of the cases of mistakes, those that copse only warns about.
    let validator = validator();
    for file in ["tests/errors/warnings.toml", "tests/errors/too-new.toml", "tests/errors/too-old.toml"] {
        let value = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
        assert!(validator.is_valid(&value), "{file}: {:?}", validator.validate(&value).err());
    }
}

/// The mistakes that don't depend on anything else in the file.
fn is_of_form(code: Code) -> bool {
    matches!(code, Code::UnknownKey | Code::MisplacedKey | Code::WrongType | Code::UnknownDirective | Code::ProcessName)
}

/// `WantedBy` and `wanted-by` are the same word.
fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase()
}

#[test]
fn where_copse_finds_a_wrong_key_or_type_so_does_the_schema() {
    let validator = validator();
    let root = tempfile::tempdir().unwrap();
    let directories = Directories::new(Scope::System, Some(root.path().to_owned()), |_| None);
    let mut wrong = 0;
    for file in files("tests/errors") {
        let Some(value) = read(&file) else { continue };
        let outcome = load::load_files(&[&file], &directories, &Context { scope: Scope::System, cpus: 4 });
        // What a drop-in says is in another file.
        let here = |diagnostic: &&Diagnostic| matches!(&diagnostic.at, At::Location(place) if place.path() == file);
        let of_form = outcome.diagnostics().filter(|diagnostic| is_of_form(diagnostic.code));
        let said: Vec<_> = of_form.filter(here).collect();
        let errors: Vec<_> =
            validator.iter_errors(&value).map(|error| format!("{}: {error}", error.instance_path())).collect();
        for diagnostic in &said {
            // The key or the name that the message is about is between the backticks, as it should have been written.
            let about: Vec<String> =
                diagnostic.message.split('`').skip(1).step_by(2).map(letters).filter(|word| !word.is_empty()).collect();
            let found = errors.iter().any(|error| about.iter().any(|word| letters(error).contains(word)));
            assert!(found, "{}: `{}` isn't among\n{}", file.display(), diagnostic.message, errors.join("\n"));
        }
        wrong += said.len();
    }
    assert!(wrong > 25, "only {wrong} mistakes of form were tried");
}
