//! Files of our own, which have every form that there is: the group file that each becomes, and the report.
//!
//! A case is a directory `tests/import/cases/NAME/` with a `supervisord.conf`, what it includes, and `environment`,
//! variables that are given. What is expected is `group.toml` and `report` in it; `SNAPSHOTS=overwrite cargo test
//! --test import` writes them anew. tests/booted/importing.rs asks supervisor itself about those that have an
//! `environment`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use copse::basic::diagnostic::SourceFile;
use copse::import::dotenv;

use super::compare::Input;

/// Where the cases' files would be.
const THERE: &str = "/srv/supervisor";

/// One of them.
pub struct Case {
    /// Its directory.
    pub path: PathBuf,
    /// What is imported.
    pub input: Input,
    /// Whether it has all variables, so that supervisor itself can be asked.
    pub complete: bool,
}

/// All cases.
pub fn all() -> Vec<Case> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import/cases");
    let mut paths: Vec<PathBuf> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(case).collect()
}

fn case(path: PathBuf) -> Case {
    let mut files = Vec::new();
    for (directory, prefix) in [(path.clone(), ""), (path.join("conf.d"), "conf.d/")] {
        for entry in fs::read_dir(directory).into_iter().flatten() {
            let file = entry.unwrap().path();
            let name = file.file_name().unwrap().to_str().unwrap().to_owned();
            if name.ends_with(".conf") {
                files.push((format!("{THERE}/{prefix}{name}"), fs::read_to_string(&file).unwrap()));
            }
        }
    }
    files.sort_by_key(|(path, _)| (!path.ends_with("/supervisord.conf"), path.clone()));
    let given = fs::read_to_string(path.join("environment"));
    let text = given.as_deref().unwrap_or_default().to_owned();
    let variables = dotenv::read(&Arc::new(SourceFile { path: path.join("environment"), text })).variables;
    let environment: BTreeMap<String, String> =
        variables.into_iter().map(|variable| (variable.name, variable.value)).collect();
    Case { path, input: Input { files, environment, host: "copse-test".to_owned() }, complete: given.is_ok() }
}
