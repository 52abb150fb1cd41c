//! foreman and honcho run Procfiles; the group that is imported from each executes the same.

use std::collections::{BTreeMap, BTreeSet};

use copse::import::procfile::ProcfileLine;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::procfile::{self, Imported, Input};
use super::random_procfile;
use crate::machines::machine::Machine;
use crate::machines::scope::Scope;

/// How many random ones.
const RANDOM: usize = 250;

pub fn foreman_and_honcho_themselves_run_what_is_imported(m: &Machine) {
    let mut runner = TestRunner::default();
    let strategy = random_procfile::input();
    let random = (0..RANDOM).map(|_| strategy.new_tree(&mut runner).expect("nothing is filtered").current());
    let inputs: Vec<Input> = procfile::all().into_iter().map(|(_, input)| input).chain(random).collect();
    let imported: Vec<Imported> = inputs.iter().map(Input::import).collect();
    let said = ask(m, &inputs, &imported);
    assert_eq!(said.len(), inputs.len());
    let (mut agreed, mut differing) = ([0; 2], Vec::new());
    for ((input, imported), said) in inputs.iter().zip(&imported).zip(&said) {
        for (tool, agreed) in ["foreman", "honcho"].into_iter().zip(&mut agreed) {
            let (theirs, ours) = (&said[tool], &said["ours"]);
            // Where the import says so it may differ, and only there.
            if imported.diagnostics.iter().any(|found| found.message.contains(tool)) {
                continue;
            }
            let (theirs, ours) = (as_of(tool, theirs, imported), as_of(tool, ours, imported));
            if theirs != ours {
                differing.push(difference(tool, &theirs, &ours, input));
            }
            *agreed += 1;
        }
    }
    assert!(differing.is_empty(), "{} of {}\n{}", differing.len(), inputs.len(), differing.join("\n"));
    assert!(agreed.iter().all(|agreed| *agreed > RANDOM / 5), "nearly all were said to differ: {agreed:?}");
}

fn difference(tool: &str, theirs: &Value, ours: &Value, input: &Input) -> String {
    let empty = serde_json::Map::new();
    let (theirs, ours) = (theirs.as_object().unwrap_or(&empty), ours.as_object().unwrap_or(&empty));
    let labels: BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
    let line = |label: &&String| {
        let (theirs, ours) = (theirs.get(*label), ours.get(*label));
        (theirs != ours).then(|| format!("{label}\n  {tool}: {theirs:?}\n  here: {ours:?}"))
    };
    let lines: Vec<String> = labels.iter().filter_map(line).collect();
    format!("{}\n{input:?}", lines.join("\n"))
}

/// The executions, without what one of them is told of which process it is where nobody asks, and without the port of a
/// setup step. What asks for the other tool's name isn't compared: the tools don't agree.
fn as_of(tool: &str, executions: &Value, imported: &Imported) -> Value {
    let names = ["PS", "HONCHO_PROCESS_NAME"];
    let of_other = if tool == "foreman" { names[1] } else { names[0] };
    let mut all = executions.clone();
    let Some(labels) = all.as_object_mut() else { return all };
    labels.retain(|label, seen| {
        let is_it = |entry: &&ProcfileLine| label.starts_with(&format!("{}.", entry.name));
        let command = imported.entries.iter().find(is_it).map_or("", |entry| &entry.command);
        for execution in seen.as_array_mut().into_iter().flatten() {
            let variables = execution[1].as_object_mut().expect("variables");
            let unwanted = names.iter().filter(|name| !command.contains(**name));
            unwanted
                .chain(label.starts_with("release.").then_some(&"PORT"))
                .for_each(|name| drop(variables.remove(*name)));
        }
        !command.contains(of_other)
    });
    all
}

fn ask(m: &Machine, inputs: &[Input], imported: &[Imported]) -> Vec<Value> {
    let case = |(input, imported): (&Input, &Imported)| {
        let execution =
            |one: procfile::Execution| json!({ "label": one.label, "argv": one.argv, "environment": one.environment });
        let count = |entry: &ProcfileLine| (entry.name.clone(), imported.formation.of(&entry.name));
        let counts: BTreeMap<String, u16> = imported.entries.iter().map(count).collect();
        let ours: Vec<Value> = imported.executions().into_iter().map(execution).collect();
        json!({
            "procfile": input.procfile, "env": input.env, "formation": input.formation, "counts": counts,
            "port": input.port, "ours": ours,
        })
    };
    let cases: Vec<Value> = inputs.iter().zip(imported).map(case).collect();
    m.write("/run/foremen/foremen.py", include_str!("foremen.py"));
    m.write("/run/foremen/foremen.rb", include_str!("foremen.rb"));
    let mut all = Vec::new();
    // A few at a time: no command in a machine may take long.
    for cases in cases.chunks(20) {
        m.write("/run/foremen/cases.json", &Value::from(cases).to_string());
        let said = m.ok(&["python3", "-B", "/run/foremen/foremen.py", "/run/foremen/cases.json"]);
        all.extend(serde_json::from_str::<Vec<Value>>(&said).expect("the oracle answers in JSON"));
    }
    m.sh("rm -rf /run/foremen /run/procfile /srv/procfile");
    all
}
