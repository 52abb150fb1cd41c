//! Group files in, units out: `tests/cases/NAME/in` is a miniature root file system with the group files of one theme,
//! `tests/cases/NAME/out` is every unit and link that is made of them. Three tests per case:
//!
//! - `units`: what is generated is what stands in `out`, to the byte. `SNAPSHOTS=overwrite cargo test --test golden`
//!   writes `out` anew; read the difference before you commit it.
//! - `references`: every unit that a unit names is one that exists.
//! - `verify`: `systemd-analyze verify` has nothing to say about them.
//!
//! The file `case` beside `in` may hold lines `systemd-version=252` (else the newest), `scope=user` and `cpus=2`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use copse::basic::scope::{Directories, Scope};
use copse::generate::{Options, generate};
use copse::generator::load;
use copse::generator::load::Outcome;
use copse::model::Context;
use copse::unit::directives::Systemd;
use copse::unit::{Entry, UnitTree};
use libtest_mimic::{Arguments, Failed, Trial};

#[path = "golden/references.rs"]
mod references;
#[path = "golden/verify.rs"]
mod verify;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let hindrance = verify::hindrance();
    if let Some(why) = &hindrance {
        eprintln!("NOT RUN: no unit is shown to `systemd-analyze verify`: {why}");
    }
    // On a build machine a hindrance is a failure, which the trials themselves then meet.
    let ignored = hindrance.is_some() && std::env::var("CI").as_deref() != Ok("true");
    let mut trials = Vec::new();
    for case in cases() {
        let [units, references, verify] = [case.clone(), case.clone(), case];
        trials.push(Trial::test(format!("units::{}", units.name), move || compare(&units)));
        trials.push(Trial::test(format!("references::{}", references.name), move || references::check(&references)));
        let name = format!("verify::{}", verify.name);
        trials.push(Trial::test(name, move || verify::check(&verify)).with_ignored_flag(ignored));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A directory of `tests/cases`.
#[derive(Clone)]
struct Case {
    name: String,
    path: PathBuf,
    systemd: Systemd,
    scope: Scope,
    cpus: u32,
}

fn cases() -> Vec<Case> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut cases: Vec<_> = std::fs::read_dir(directory)
        .expect("tests/cases")
        .map(|entry| Case::read(&entry.expect("a case").path()))
        .collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(!cases.is_empty());
    cases
}

impl Case {
    fn read(path: &Path) -> Self {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a plain name").to_owned();
        let settings = std::fs::read_to_string(path.join("case")).unwrap_or_default();
        let mut case = Self { name, path: path.to_owned(), systemd: Systemd::NEWEST, scope: Scope::System, cpus: 4 };
        for line in settings.lines() {
            let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("{}/case: {line}", case.name));
            match line.split_once('=') {
                Some(("systemd-version", version)) => case.systemd = Systemd { version: number(version) },
                Some(("cpus", cpus)) => case.cpus = number(cpus),
                Some(("scope", "user")) => case.scope = Scope::User,
                _ => panic!("{}/case: {line}", case.name),
            }
        }
        case
    }

    /// The groups of `in`, which have to be faultless: warnings are for the tests of diagnostics.
    fn load(&self) -> Result<Outcome, Failed> {
        let variable = |name: &str| match name {
            "HOME" => Some("/home/user".into()),
            "XDG_RUNTIME_DIR" => Some("/run/user/1000".into()),
            _ => None,
        };
        let directories = Directories::new(self.scope, Some(self.path.join("in")), variable);
        let outcome = load::load(&directories, &Context { scope: self.scope, cpus: self.cpus });
        let wrong: Vec<_> = outcome.diagnostics().map(copse::basic::diagnostic::Diagnostic::line).collect();
        if !wrong.is_empty() {
            return Err(wrong.join("\n").into());
        }
        if outcome.groups.is_empty() {
            return Err("there is no group in it".into());
        }
        Ok(outcome)
    }

    /// Everything that is generated for this version, all groups in one tree.
    fn generate(&self, systemd: Systemd) -> Result<UnitTree, Failed> {
        let mut tree = UnitTree::default();
        for outcome in self.load()?.groups {
            let group = outcome.group.ok_or("no group, and nothing said")?;
            let target = Options { systemd, static_target: outcome.static_target };
            tree.entries.extend(generate(&group, target).entries);
        }
        Ok(tree)
    }
}

/// What is on disk at a path of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Written {
    File(String),
    Link(PathBuf),
}

type Texts = BTreeMap<String, Written>;

fn texts(tree: &UnitTree) -> Texts {
    let written = |entry: &Entry| match entry {
        Entry::File(unit) => Written::File(unit.to_string()),
        Entry::Link(target) => Written::Link(target.clone()),
    };
    tree.entries.iter().map(|(path, entry)| (path.clone(), written(entry))).collect()
}

fn compare(case: &Case) -> Result<(), Failed> {
    let made = texts(&case.generate(case.systemd)?);
    let directory = case.path.join("out");
    if std::env::var("SNAPSHOTS").as_deref() == Ok("overwrite") {
        let _ = std::fs::remove_dir_all(&directory);
        write(&made, &directory)?;
    }
    let expected = read(&directory)?;
    let shown = |written: Option<&Written>| match written {
        None => "(nothing)".to_owned(),
        Some(Written::File(text)) => text.clone(),
        Some(Written::Link(target)) => format!("-> {}", target.display()),
    };
    let paths: BTreeSet<&String> = expected.keys().chain(made.keys()).collect();
    let differing = paths.into_iter().filter(|path| expected.get(*path) != made.get(*path));
    let wrong: Vec<_> = differing
        .map(|path| {
            let (expected, made) = (shown(expected.get(path)), shown(made.get(path)));
            format!("{path}\n--- expected\n{expected}\n+++ made\n{made}")
        })
        .collect();
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!("{}\n\nIf that is right: SNAPSHOTS=overwrite cargo test --test golden", wrong.join("\n")).into())
}

/// Writes a tree, over what is there.
fn write(tree: &Texts, directory: &Path) -> std::io::Result<()> {
    for (path, written) in tree {
        let path = directory.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(directory))?;
        match written {
            Written::File(text) => std::fs::write(path, text)?,
            Written::Link(target) => std::os::unix::fs::symlink(target, path)?,
        }
    }
    Ok(())
}

/// Reads a tree as it is: every file and every link, whoever made them.
fn read(directory: &Path) -> Result<Texts, Failed> {
    let mut tree = Texts::default();
    let mut rest = vec![directory.to_owned()];
    while let Some(next) = rest.pop() {
        let entries = std::fs::read_dir(&next).map_err(|error| format!("{}: {error}", next.display()))?;
        for entry in entries {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            let name = path.strip_prefix(directory)?.to_str().ok_or("a name that isn't UTF-8")?.to_owned();
            if kind.is_symlink() {
                tree.insert(name, Written::Link(std::fs::read_link(&path)?));
            } else if kind.is_dir() {
                rest.push(path);
            } else {
                tree.insert(name, Written::File(std::fs::read_to_string(&path)?));
            }
        }
    }
    Ok(tree)
}
