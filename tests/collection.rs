//! The Ansible collection, without Ansible: the modules' own tests need Python alone. `make fleet` tries it on machines.

use std::fs;
use std::path::Path;
use std::process::Command;

fn collection() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/ansible"))
}

#[test]
fn the_modules_do_what_they_say() {
    let mut python = Command::new("python3");
    python.args(["-B", "tests/unit/plugins/test_modules.py"]).current_dir(collection());
    let output = match python.output() {
        Ok(output) => output,
        Err(why) if std::env::var("CI").as_deref() != Ok("true") => return eprintln!("NOT RUN: python3: {why}"),
        Err(why) => panic!("python3: {why}"),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_collection_has_the_version_of_copse() {
    let metadata = fs::read_to_string(collection().join("galaxy.yml")).unwrap();
    assert!(metadata.contains(&format!("\nversion: {}\n", env!("CARGO_PKG_VERSION"))), "{metadata}");
}

/// What the playbook takes, and what the README of the collection describes.
#[test]
fn every_variable_of_the_playbook_is_described() {
    let readme = fs::read_to_string(collection().join("README.md")).unwrap();
    let files = ["vars/rollout.yml", "rollout.yml", "tasks/preflight.yml", "tasks/apply.yml"];
    let text: String =
        files.map(|file| fs::read_to_string(collection().join("playbooks").join(file)).unwrap()).concat();
    let words = text.match_indices(" | default(").map(|(end, _)| {
        text[..end].rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.' || c == ']')).next().unwrap()
    });
    for word in words.filter(|word| !word.is_empty() && !word.contains(['.', ']']) && *word != "copse_content") {
        assert!(readme.contains(&format!("`{word}`")), "the README of the collection does not describe `{word}`");
    }
}
