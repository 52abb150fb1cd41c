//! `make corpus CORPUS=DIR`: files from public projects, which aren't ours to keep here. Each of supervisord's comes with
//! what supervisor reads from it; of Procfiles and `.env` files as much is known as foreman's few regular expressions say.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::compare::{Input, differences};
use crate::procfile;

#[test]
#[ignore = "needs COPSE_CORPUS; `make corpus CORPUS=DIR` runs it"]
fn all_files_of_the_corpus_mean_what_supervisor_reads() {
    let files = files("supervisord", &["conf"]);
    let mut wrong = Vec::new();
    for path in &files {
        let mut said: Value =
            serde_json::from_str(&std::fs::read_to_string(path.with_extension("expected.json")).unwrap()).unwrap();
        let environment: BTreeMap<String, String> = said["env_used"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
            .collect();
        let name = path.file_name().unwrap().to_string_lossy();
        let text = std::fs::read_to_string(path).unwrap();
        let plug_in = text.contains("dependent_startup=true");
        programs(&mut said).for_each(|program| program["dependent_startup"] = plug_in.into());
        let input =
            Input { files: vec![(format!("/tmp/gold/{name}"), text)], environment, host: "copse-test".to_owned() };
        wrong.extend(differences(&input.import(), &said).into_iter().map(|line| format!("{name}: {line}")));
    }
    assert!(wrong.is_empty(), "{} files\n{}", files.len(), wrong.join("\n"));
    println!("{} files, all the same", files.len());
}

fn programs(said: &mut Value) -> impl Iterator<Item = &mut Value> {
    let groups = said["groups"].as_array_mut().into_iter().flatten();
    groups.flat_map(|group| group["programs"].as_array_mut().into_iter().flatten())
}

/// The files of a directory of the corpus with one of these endings.
fn files(directory: &str, endings: &[&str]) -> Vec<PathBuf> {
    let corpus = std::env::var("COPSE_CORPUS").expect("COPSE_CORPUS names a directory");
    let directory = Path::new(&corpus).join(directory);
    let is_one =
        |path: &PathBuf| path.extension().is_some_and(|extension| endings.iter().any(|ending| extension == *ending));
    let entries = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(is_one).collect();
    files.sort();
    assert!(!files.is_empty(), "no file in {}", directory.display());
    files
}

#[test]
#[ignore = "needs COPSE_CORPUS; `make corpus CORPUS=DIR` runs it"]
fn all_procfiles_of_the_corpus_mean_what_foreman_reads() {
    let files = files("procfile", &["Procfile", "env"]);
    let input = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        match path.extension().is_some_and(|extension| extension == "env") {
            true => procfile::Input { procfile: "web: x\n".to_owned(), env: text, ..Default::default() },
            false => procfile::Input { procfile: text, ..Default::default() },
        }
    };
    let inputs: Vec<procfile::Input> = files.iter().map(input).collect();
    let mut wrong = Vec::new();
    for ((path, input), said) in files.iter().zip(&inputs).zip(as_foreman_reads(&inputs)) {
        let name = path.file_name().unwrap().to_string_lossy();
        wrong.extend(of_procfile(&input.import(), &said).into_iter().map(|line| format!("{name}: {line}")));
    }
    assert!(wrong.is_empty(), "{} files\n{}", files.len(), wrong.join("\n"));
    println!("{} files, all the same", files.len());
}

fn as_foreman_reads(inputs: &[procfile::Input]) -> Vec<Value> {
    let cases = inputs.iter().map(|input| json!({ "procfile": input.procfile, "env": input.env })).collect::<Vec<_>>();
    let mut python = Command::new("python3")
        .args(["-c", include_str!("foreman.py")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 is there");
    python.stdin.take().unwrap().write_all(Value::from(cases).to_string().as_bytes()).unwrap();
    serde_json::from_slice(&python.wait_with_output().unwrap().stdout).unwrap()
}

/// Every difference, in a line each.
fn of_procfile(imported: &procfile::Imported, said: &Value) -> Vec<String> {
    let mut differing = Vec::new();
    let entries: Vec<Value> =
        imported.entries.iter().map(|entry| json!([entry.name, entry.command.trim_end()])).collect();
    let expected: Vec<Value> = said["entries"].as_array().unwrap().iter().map(trimmed).collect();
    if entries != expected {
        return vec![format!("foreman has {expected:?}, the import {entries:?}")];
    }
    if let Err(why) = imported.group().map(|_| ()).or_else(|why| if entries.is_empty() { Ok(()) } else { Err(why) }) {
        return vec![format!("it doesn't pass `copse check`: {why}")];
    }
    let executions = imported.executions();
    for (index, entry) in imported.entries.iter().enumerate() {
        let port = usize::from(imported.port) + 100 * index;
        let label = format!("{}.1:{port}", entry.name);
        let Some(found) = executions.iter().find(|execution| execution.label == label) else {
            differing.push(format!("{label} isn't there"));
            continue;
        };
        let given = entry.name == "release" || found.environment.get("PORT") == Some(&port.to_string());
        let script = found.argv[..] == ["/bin/sh", "-c", &entry.command];
        let filled = |word: &str| word.replace("${PORT}", &port.to_string()).replace("$PORT", &port.to_string());
        let words = said["words"][index].as_array().into_iter().flatten().map(|word| filled(word.as_str().unwrap()));
        let mut words: Vec<String> = words.skip_while(|word| word == "exec").collect();
        // systemd wants to know where a program is that has a slash in its name.
        if let Some(program) = words.first_mut().filter(|program| program.contains('/') && !program.starts_with('/')) {
            *program = format!("{}/{}", procfile::THERE, program.trim_start_matches("./"));
        }
        if !given || !script && found.argv != words {
            differing.push(format!("{label}: {:?}", found.argv));
        }
    }
    let variables = said["variables"].as_object().unwrap().iter();
    // The first of them is the first port.
    for (name, value) in variables.filter(|(name, _)| *name != "PORT") {
        let told = imported.diagnostics.iter().any(|diagnostic| diagnostic.message.contains(&format!("`{name}`")));
        let same = executions.iter().all(|one| one.environment.get(name).map(String::as_str) == value.as_str());
        if !same && !told {
            differing.push(format!("{name} isn't {value}"));
        }
    }
    differing
}

/// To a shell, blanks at the end of a command are nothing.
fn trimmed(entry: &Value) -> Value {
    json!([entry[0], entry[1].as_str().unwrap().trim()])
}
