//! Leaving supervisord, foreman and honcho: what they read is what is imported, and what ran under them runs as before.

use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::machines::machine::Machine;
use crate::machines::scope::Scope;
use crate::situation::{Situation, situation};

#[path = "../import/cases.rs"]
mod cases;
#[path = "../import/compare.rs"]
mod compare;
mod foremen;
mod leaving;
#[path = "../import/procfile.rs"]
mod procfile;
#[path = "../import/random.rs"]
mod random;
#[path = "../import/random_procfile.rs"]
mod random_procfile;

use compare::{Input, differences};
use foremen::foreman_and_honcho_themselves_run_what_is_imported;
use leaving::what_ran_under_supervisord_runs_as_before;

pub const SITUATIONS: &[Situation] = &[
    // That Debian's root has supervisor, foreman and honcho.
    situation!(supervisor_itself_reads_what_is_imported, [V262]),
    situation!(foreman_and_honcho_themselves_run_what_is_imported, [V262]),
    situation!(what_ran_under_supervisord_runs_as_before, [V262]),
];

/// How many random files supervisor is asked about.
const RANDOM: usize = 500;

fn supervisor_itself_reads_what_is_imported(m: &Machine) {
    let own: Vec<_> = cases::all().into_iter().filter(|case| case.complete).collect();
    assert!(own.iter().any(|case| case.path.ends_with("shop")));
    let mut runner = TestRunner::default();
    let strategy = random::input();
    let random = (0..RANDOM).map(|_| strategy.new_tree(&mut runner).expect("nothing is filtered").current());
    let inputs: Vec<Input> = own.into_iter().map(|case| case.input).chain(random).collect();
    let said = ask(m, &inputs);
    assert_eq!(said.len(), inputs.len());
    let mut tried = 0;
    for (input, said) in inputs.iter().zip(&said) {
        let imported = input.import();
        // Python 3.14 and earlier releases do not agree on where a comment begins; the import reports it.
        if imported.diagnostics.iter().any(|diagnostic| diagnostic.message.contains("Python 3.14")) {
            continue;
        }
        let differing = differences(&imported, said);
        assert!(differing.is_empty(), "{}\n{:#?}\n{}\n{said:#}", differing.join("\n"), input.files, imported.file);
        tried += usize::from(said["error"].is_null());
    }
    assert!(tried > RANDOM / 4, "supervisor refused nearly all: {tried} of {}", inputs.len());
}

/// What supervisor's own option parser says about each.
fn ask(m: &Machine, inputs: &[Input]) -> Vec<Value> {
    let files = |input: &Input| input.files.iter().cloned().collect::<std::collections::BTreeMap<String, String>>();
    let case = |input: &Input| {
        let main = &input.files[0].0;
        json!({ "files": files(input), "main": main, "environment": input.environment, "host": input.host })
    };
    let cases: Vec<Value> = inputs.iter().map(case).collect();
    m.write("/run/importing/oracle.py", include_str!("importing/oracle.py"));
    m.write("/run/importing/cases.json", &Value::from(cases).to_string());
    let said = m.ok(&["python3", "-B", "/run/importing/oracle.py", "/run/importing/cases.json"]);
    m.remove("/run/importing");
    m.remove("/srv/supervisor");
    serde_json::from_str(&said).expect("the oracle answers in JSON")
}
