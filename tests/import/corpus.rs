//! `make corpus CORPUS=DIR`: files from public projects, each with what supervisor reads from it. They aren't ours to
//! keep here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::compare::{Input, differences};

#[test]
#[ignore = "needs COPSE_CORPUS; `make corpus CORPUS=DIR` runs it"]
fn all_files_of_the_corpus_mean_what_supervisor_reads() {
    let directory = std::env::var("COPSE_CORPUS").expect("COPSE_CORPUS names a directory");
    let directory = Path::new(&directory).join("supervisord");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| is_conf(path))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no file in {}", directory.display());
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

fn is_conf(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "conf")
}
