//! `copse export kubernetes`: what groups become. `tests/export/cases` has a group file for each theme, whose first line is
//! the command line; the examples and the groups of `tests/cases` are exported as well.

use std::path::{Path, PathBuf};
use std::process::Command;

use copse::export::keys as rows;
use copse::group_file::keys;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Numbers for the users of all groups.
const USERS: &[&str] =
    &["app", "shop", "search", "web", "www-data", "nobody", "a", "knot-resolver", "tally", "daemon", "mail", "db"];

/// The report and the manifests of an export.
fn export(file: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_copse"));
    command.current_dir(ROOT).args(["export", "kubernetes"]).arg(file).args(["--format", "short"]).args(arguments);
    let output = command.output().expect("copse runs");
    let report = String::from_utf8(output.stderr).expect("the report is text");
    let status = output.status.code().expect("it exits");
    let is_refused = report.contains(": error[");
    let expected = match (is_refused, report.trim().is_empty()) {
        (true, _) => 5,
        (false, true) => 0,
        (false, false) => 11,
    };
    assert_eq!(status, expected, "{}: {report}", file.display());
    let report: String = report.lines().filter(|line| !line.is_empty()).map(|line| format!("# {line}\n")).collect();
    report.replace(&format!("{ROOT}/"), "") + &String::from_utf8(output.stdout).expect("the manifests are text")
}

/// Compares with the file, or writes it.
fn compare(expected: &Path, text: &str) {
    if std::env::var("SNAPSHOTS").as_deref() == Ok("overwrite") {
        std::fs::create_dir_all(expected.parent().unwrap()).unwrap();
        std::fs::write(expected, text).unwrap();
    }
    let written = std::fs::read_to_string(expected).unwrap_or_default();
    assert!(written == text, "{}: SNAPSHOTS=overwrite cargo test --test export\n{text}", expected.display());
}

fn files(directory: &str, suffix: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut directories = vec![Path::new(ROOT).join(directory)];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && !name.ends_with(".d") {
                directories.push(path);
            } else if name.ends_with(suffix) && path.is_file() && !path.is_symlink() {
                files.push(path.strip_prefix(ROOT).unwrap().to_owned());
            }
        }
    }
    files.sort();
    files
}

#[test]
fn every_case_becomes_what_stands_beside_it() {
    let cases = files("tests/export/cases", ".toml");
    assert!(cases.len() > 5);
    for file in cases.iter().filter(|file| !file.to_string_lossy().ends_with(".with.toml")) {
        let text = std::fs::read_to_string(Path::new(ROOT).join(file)).unwrap();
        let line = text.lines().next().and_then(|line| line.strip_prefix("# export ")).expect("the first line");
        let arguments: Vec<&str> = line.split(' ').collect();
        let first = export(file, &arguments);
        assert_eq!(first, export(file, &arguments), "the output is deterministic");
        compare(&Path::new(ROOT).join(file).with_extension("yaml"), &first);
    }
}

#[test]
fn the_examples_and_the_groups_of_the_golden_cases() {
    let ids: Vec<String> = USERS.iter().map(|user| format!("--user-id={user}=1000:1000")).collect();
    let mut arguments = vec!["--image=registry.example/app:1", "--storage=1Gi", "--timezone=UTC"];
    arguments.extend(ids.iter().map(String::as_str));
    let mut exported = 0;
    for file in files("tests/cases", ".toml").into_iter().chain(files("examples", ".toml")) {
        let path = file.to_string_lossy();
        let is_group = path.contains("/in/") && !path.contains("/invalid/") || path.starts_with("examples/");
        if !is_group {
            continue;
        }
        let text = export(&file, &arguments);
        exported += usize::from(text.contains("\napiVersion: "));
        let name = path.replace("/in/", "/").replace("tests/cases/", "").replace('/', "-");
        compare(&Path::new(ROOT).join("tests/export/groups").join(name).with_extension("yaml"), &text);
    }
    assert!(exported >= 7, "{exported}");
}

/// What differs in Kubernetes is in a drop-in.
#[test]
fn each_example_can_be_exported() {
    for (name, arguments) in [
        ("shop", &["--storage=5Gi", "--user-id=shop=998:998"][..]),
        ("search", &["--storage=20Gi", "--user-id=search=998:998"]),
        ("knot-resolver", &["--user-id=knot-resolver=998:998"]),
    ] {
        let with = format!("--with=tests/export/examples/{name}.toml");
        let arguments = [&["--image=registry.example/app:1", &with], arguments].concat();
        let text = export(Path::new(&format!("examples/{name}.toml")), &arguments);
        assert!(text.contains("\napiVersion: apps/v1\n"), "{text}");
        compare(&Path::new(ROOT).join(format!("tests/export/examples/{name}.yaml")), &text);
    }
}

#[test]
fn every_key_of_the_format_has_one_row() {
    let of = |rows: &[rows::Row]| -> Vec<&str> { rows.iter().flat_map(rows::Row::keys).collect() };
    for (name, rows, known) in [
        ("GROUP", of(rows::GROUP), keys::GROUP_KEYS.to_vec()),
        ("MEMBER", of(rows::MEMBER), keys::KEYS.iter().map(|key| key.name).collect()),
    ] {
        for key in &known {
            let count = rows.iter().filter(|row| row == &key).count();
            assert_eq!(count, 1, "`{key}` needs a row in {name} of src/export/keys.rs");
        }
        let stale: Vec<_> = rows.iter().filter(|row| !known.contains(row)).collect();
        assert!(stale.is_empty(), "no keys: {stale:?}");
    }
}

#[test]
fn a_change_of_one_key_changes_what_it_means_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("shop.toml");
    let lines = |worker: &str| -> Vec<String> {
        let text = format!(
            "[setup.init]\nexec = \"true\"\n[process.web]\nexec = \"web\"\nport = 80\ninstances = 2\n[process.worker]\nexec = \"worker\"\n{worker}"
        );
        std::fs::write(&file, text).unwrap();
        export(&file, &["--image=a"]).lines().map(str::to_owned).collect()
    };
    let before = lines("");
    let after = lines("health = { listening = 81, failures = 7 }");
    let start = after.iter().zip(&before).take_while(|(a, b)| a == b).count();
    let added: Vec<_> = after[start..].iter().map(|line| line.trim()).collect();
    assert_eq!(added, ["livenessProbe:", "tcpSocket:", "port: 81", "periodSeconds: 10", "failureThreshold: 7"]);
    assert_eq!(start, before.len());
}

#[test]
fn a_directory_has_a_file_for_each_object_and_keeps_what_is_not_exported() {
    let directory = tempfile::tempdir().unwrap();
    let (file, output) = (directory.path().join("shop.toml"), directory.path().join("k8s"));
    let run = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_copse"));
        command.args(["export", "kubernetes"]).arg(&file).args(["--image=a", "--timezone=UTC", "-o"]).arg(&output);
        command.output().unwrap().status.code().unwrap()
    };
    let names = || {
        let entries = std::fs::read_dir(&output).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let web = "[process.web]\nexec = \"web\"\n";
    assert_eq!(run(&format!("{web}[process.report]\nexec = \"report\"\non-calendar = \"daily\"\n")), 0);
    assert_eq!(names(), ["cronjob-shop-report.yaml", "deployment-shop.yaml", "kustomization.yaml"]);
    std::fs::write(output.join("mine.yaml"), "kind: ConfigMap\n").unwrap();
    assert_eq!(run(web), 0);
    assert_eq!(names(), ["deployment-shop.yaml", "kustomization.yaml", "mine.yaml"]);
    std::fs::write(output.join("deployment-shop.yaml"), "# mine\n").unwrap();
    assert_eq!(run(web), 1);
    assert_eq!(std::fs::read_to_string(output.join("deployment-shop.yaml")).unwrap(), "# mine\n");
    assert_eq!(run("failure-policy = \"stop\"\n[process.web]\nexec = \"web\"\n"), 5);
}
