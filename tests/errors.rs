//! Every kind of mistake, with the line it is reported at and the words it is reported with.
//!
//! A case is a group file `tests/errors/NAME.toml` (with its drop-ins in `NAME.toml.d/`, as always), or a directory
//! `tests/errors/NAME/` of several that are read together. What is expected stands in the files, as comments:
//!
//! - `#~ error[unknown-key]` at the end of the line that is reported; several are separated by blanks. `#~^` is about
//!   the line above, `#~^^` about the one above that; `#~v` is about the line below.
//! - `#: user` in the first line: the file is read in user scope. `#: systemd 252`: for that version.
//!
//! `NAME.stderr` is what people see; `SNAPSHOTS=overwrite cargo test --test errors` writes it anew.
//!
//! What takes more than text to go wrong is in [`setups`], or in another test that [`ELSEWHERE`] names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use copse::basic::diagnostic::{At, Code, Diagnostic, snippet};
use copse::basic::scope::{Directories, Scope};
use copse::generator::load;
use copse::generator::load::Outcome;
use copse::model;
use copse::model::Context;
use copse::unit::directives::Systemd;
use libtest_mimic::{Arguments, Failed, Trial};
use snapbox::Data;

#[path = "errors/setups.rs"]
mod setups;

const CASES: &str = "tests/errors";

/// Codes whose case is a test of another file: (code, file, the test's function).
const ELSEWHERE: &[(Code, &str, &str)] = &[
    (Code::Internal, "src/generator/load.rs", "a_panic_becomes_a_diagnostic"),
    (Code::Missing, "src/cli/files/check/missing.rs", "what_a_group_names_and_is_not_there_is_said_with_its_place"),
    (Code::NotImported, "tests/import/snapshots.rs", "each_case_becomes_the_group_file_beside_it"),
    (Code::NotExported, "tests/export/main.rs", "every_case_becomes_what_stands_beside_it"),
    (Code::ExportDiffers, "tests/export/main.rs", "every_case_becomes_what_stands_beside_it"),
    (Code::LeftOut, "tests/import/snapshots.rs", "each_case_becomes_the_group_file_beside_it"),
    (Code::Otherwise, "tests/import/snapshots.rs", "each_case_becomes_the_group_file_beside_it"),
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    std::env::set_current_dir(env!("CARGO_MANIFEST_DIR")).expect("the package is where it was built");
    let mut trials: Vec<Trial> = cases().into_iter().map(|case| Trial::test(case.name(), move || case.run())).collect();
    trials.extend(setups::ALL.iter().map(|setup| Trial::test(setup.name, || setup.run())));
    trials.push(Trial::test("every_code_has_a_case", every_code_has_a_case));
    trials.push(Trial::test("every_expected_text_has_a_case", every_expected_text_has_a_case));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A group file, or a directory of several.
#[derive(Clone)]
struct Case(PathBuf);

fn cases() -> Vec<Case> {
    let entries = std::fs::read_dir(CASES).expect("the cases are there").map(|entry| entry.expect("readable").path());
    let is_case = |path: &PathBuf| is_toml(path) || (path.is_dir() && path.extension().is_none());
    let mut cases: Vec<Case> = entries.filter(is_case).map(Case).collect();
    cases.sort_by(|a, b| a.0.cmp(&b.0));
    cases
}

fn is_toml(path: &Path) -> bool {
    path.is_file() && path.extension().is_some_and(|extension| extension == "toml")
}

fn toml_files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries.filter(|path| is_toml(path)).collect();
    files.sort();
    files
}

impl Case {
    fn name(&self) -> String {
        self.0.file_stem().expect("a case has a name").to_string_lossy().into_owned()
    }

    /// The group files.
    fn groups(&self) -> Vec<PathBuf> {
        if self.0.is_dir() { toml_files(&self.0) } else { vec![self.0.clone()] }
    }

    /// The group files and their drop-ins.
    fn files(&self) -> Vec<PathBuf> {
        let with_drop_ins = |group: PathBuf| {
            let drop_ins = toml_files(&group.with_extension("toml.d"));
            std::iter::once(group).chain(drop_ins)
        };
        self.groups().into_iter().flat_map(with_drop_ins).collect()
    }

    fn expected(&self) -> Result<BTreeSet<Mark>, Failed> {
        let mut marks = BTreeSet::new();
        for path in self.files() {
            marks.extend(marks_of(&path)?);
        }
        Ok(marks)
    }

    fn load(&self) -> Outcome {
        let first = std::fs::read_to_string(&self.files()[0]).expect("a case is text");
        let scope = if first.starts_with("#: user") { Scope::User } else { Scope::System };
        let groups = self.groups();
        let paths: Vec<&Path> = groups.iter().map(PathBuf::as_path).collect();
        // Nothing of this machine may matter.
        let root = tempfile::tempdir().expect("a directory can be made");
        let directories = Directories::new(scope, Some(root.path().to_owned()), |_| None);
        let mut outcome = load::load_files(&paths, &directories, &Context { scope, cpus: 4 });
        let version = first.strip_prefix("#: systemd ").and_then(|rest| rest.split('\n').next()?.trim().parse().ok());
        let systemd = version.map_or(Systemd::NEWEST, |version| Systemd { version });
        for group in &mut outcome.groups {
            let left_out = group.source.as_ref().map(|source| model::unsupported(source, systemd));
            group.diagnostics.extend(left_out.unwrap_or_default());
            group.diagnostics.sort();
        }
        outcome
    }

    fn run(&self) -> Result<(), Failed> {
        let outcome = self.load();
        let found: Vec<&Diagnostic> = outcome.diagnostics().collect();
        same_marks(&self.expected()?, &found)?;
        let look = snippet::SnippetStyle { colour: false, width: 100 };
        let text: Vec<String> = found.iter().map(|diagnostic| snippet::render(diagnostic, look)).collect();
        let snapshot = Data::read_from(&Path::new(CASES).join(self.name() + ".stderr"), None).raw();
        let assert = snapbox::Assert::new().action_env(snapbox::assert::DEFAULT_ACTION_ENV);
        Ok(assert.try_eq(Some(&self.name()), Data::text(text.join("\n")), snapshot)?)
    }
}

/// What is reported where: path, line, `error[code]`.
type Mark = (PathBuf, usize, String);

fn marks_of(path: &Path) -> Result<Vec<Mark>, Failed> {
    let text = std::fs::read_to_string(path)?;
    let mut marks = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let Some((_, mark)) = line.split_once("#~") else { continue };
        let words = mark.trim_start_matches('^');
        let above = mark.len() - words.len();
        let (words, below) = words.strip_prefix('v').map_or((words, 0), |words| (words, 1));
        for word in words.split_whitespace() {
            marks.push((path.to_owned(), index + 1 + below - above, word.to_owned()));
        }
    }
    let known: BTreeSet<String> = Code::ALL.iter().map(|code| format!("{}[{code}]", code.severity())).collect();
    match marks.iter().find(|(_, _, word)| !known.contains(word)) {
        Some((_, line, word)) => Err(format!("{}:{line}: there is no `{word}`", path.display()).into()),
        None => Ok(marks),
    }
}

/// Where each diagnostic is must be marked, once, and nothing else.
fn same_marks(expected: &BTreeSet<Mark>, found: &[&Diagnostic]) -> Result<(), Failed> {
    let mark = |diagnostic: &&Diagnostic| {
        let what = format!("{}[{}]", diagnostic.severity(), diagnostic.code);
        match &diagnostic.at {
            At::Location(place) => (place.path().to_owned(), place.line_column().0, what),
            At::Path(path) => (path.clone(), 1, what),
        }
    };
    let really: BTreeSet<Mark> = found.iter().map(mark).collect();
    let mut wrong = String::new();
    for (title, marks) in [("not reported", expected - &really), ("not marked", &really - expected)] {
        for (path, line, what) in marks {
            wrong.push_str(&format!("{title}: {}:{line}: {what}\n", path.display()));
        }
    }
    if wrong.is_empty() {
        return if expected.is_empty() { Err("a case needs a mark".into()) } else { Ok(()) };
    }
    let lines: Vec<String> = found.iter().map(|diagnostic| diagnostic.line()).collect();
    Err(format!("{wrong}all that was reported:\n{}", lines.join("\n")).into())
}

/// A mark in a case, a set-up here, or a test elsewhere, for each code.
fn every_code_has_a_case() -> Result<(), Failed> {
    let mut covered: BTreeSet<String> = setups::ALL.iter().map(|setup| setup.code.text().to_owned()).collect();
    for case in cases() {
        covered.extend(case.expected()?.into_iter().filter_map(|(_, _, what)| {
            let (_, code) = what.split_once('[')?;
            Some(code.trim_end_matches(']').to_owned())
        }));
    }
    for (code, file, function) in ELSEWHERE {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
        if !text.contains(&format!("fn {function}(")) {
            return Err(format!("{code}: {file} has no test {function}").into());
        }
        covered.insert(code.text().to_owned());
    }
    let missing: Vec<&str> = Code::ALL.iter().map(|code| code.text()).filter(|code| !covered.contains(*code)).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("without a case: {}", missing.join(", ")).into()) }
}

/// A text whose case was renamed or removed would stand there unread.
fn every_expected_text_has_a_case() -> Result<(), Failed> {
    let names: BTreeSet<String> = cases().iter().map(Case::name).collect();
    let texts = std::fs::read_dir(CASES)?.map(|entry| entry.map(|entry| entry.path()));
    for path in texts {
        let path = path?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.extension().is_some_and(|extension| extension == "stderr") && !names.contains(&name) {
            return Err(format!("{} has no case", path.display()).into());
        }
    }
    Ok(())
}
