//! The examples are what a reader sees first: none may hold a mistake, or name a file that isn't there.
//! That they really run is tried on booted systemds (tests/booted/examples.rs).

use std::path::{Path, PathBuf};

use copse::basic::scope::{Directories, Scope};
use copse::generator::load;
use copse::model::Context;

// What is typed after it is tried on booted systemds.
#[allow(dead_code)]
mod readme;

/// Where the group files expect their folders.
const INSTALLED: &str = "/opt/copse-examples/";

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples")
}

fn group_files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(examples()).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect();
    assert!(files.len() >= 3, "{files:?}");
    files.into_iter().chain([examples().join("package/tally.toml")]).collect()
}

#[test]
fn no_example_has_a_mistake_or_a_warning() {
    let files = group_files();
    let paths: Vec<_> = files.iter().map(PathBuf::as_path).collect();
    let root = tempfile::tempdir().unwrap();
    let directories = Directories::new(Scope::System, Some(root.path().to_owned()), |_| None);
    let outcome = load::load_files(&paths, &directories, &Context { scope: Scope::System, cpus: 2 });
    let lines: Vec<_> = outcome.diagnostics().map(copse::basic::diagnostic::Diagnostic::line).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
    assert_eq!(outcome.groups.iter().filter(|group| group.group.is_some()).count(), files.len());
}

#[test]
fn the_first_group_of_the_readme_has_no_mistake_or_warning() {
    let (path, text) = readme::group_file();
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join(Path::new(path).file_name().unwrap());
    std::fs::write(&file, text).unwrap();
    let directories = Directories::new(Scope::System, Some(root.path().to_owned()), |_| None);
    let outcome = load::load_files(&[&file], &directories, &Context { scope: Scope::System, cpus: 2 });
    let lines: Vec<_> = outcome.diagnostics().map(copse::basic::diagnostic::Diagnostic::line).collect();
    assert!(lines.is_empty(), "{}", lines.join("\n"));
    assert!(readme::commands("A first group").len() >= 8, "{:?}", readme::commands("A first group"));
    let (top, _) = include_str!("../README.md").split_once("\n- **").unwrap();
    assert!(top.lines().count() <= 40, "the first group, its status and its plan are not at the top any more");
}

#[test]
fn every_file_that_the_readme_leads_to_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut leads = 0;
    for page in ["README.md", "CONTRIBUTING.md", "NEWS.md", "doc/benchmarks.md", "examples/README.md"] {
        let text = std::fs::read_to_string(root.join(page)).unwrap();
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://")) {
            assert!(root.join(page).parent().unwrap().join(link).exists(), "{page} leads to {link}");
            leads += 1;
        }
    }
    assert!(leads >= 8);
}

#[test]
fn every_file_that_an_example_names_is_there() {
    let mut named = 0;
    for file in group_files() {
        let text = std::fs::read_to_string(&file).unwrap();
        for part in text.split(INSTALLED).skip(1) {
            let end = part.find(|c: char| !(c.is_ascii_alphanumeric() || "/._-".contains(c))).unwrap_or(part.len());
            let path = examples().join(&part[..end]);
            assert!(path.exists(), "{} names {INSTALLED}{}", file.display(), &part[..end]);
            named += 1;
        }
    }
    assert!(named >= 6, "only {named} files are named");
}
