//! `copse render`: the units that the generator would write.

use std::fmt::Write as _;
use std::io::stderr;
use std::path::{Path, PathBuf};

use clap::Args;

use super::input::{Input, Loaded};
use super::report::{self, Report, counted};
use super::{Exit, complain};
use crate::diagnostic::one_line;
use crate::generate::{self, Target};
use crate::scope::Scope;
use crate::tree::{self, Change, Writer};
use crate::unit::{Entry, UnitTree};

/// Show the units that group files become.
#[derive(Debug, Args)]
pub struct Render {
    /// A group, or a group file (with a `/`, ending in `.toml`, or `-` for the standard input); all groups if none.
    #[arg(value_name = "GROUP|FILE")]
    group: Option<PathBuf>,

    /// Write the units into this directory, and remove those that copse wrote there earlier.
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,

    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    report: Report,
}

impl Render {
    /// Prints the units, or writes them; diagnostics go to the standard error. A group with an error has no units;
    /// the others' are shown all the same.
    pub fn run(self, scope: Scope) -> Exit {
        let loaded = match self.input.load(scope, self.group.as_slice()) {
            Ok(loaded) => loaded,
            Err(exit) => return exit,
        };
        let said = self.report.text(loaded.outcome.diagnostics(), &stderr());
        let _ = std::io::Write::write_all(&mut stderr(), said.as_bytes());
        let tree = units(&loaded);
        let done = match &self.output {
            None => report::print(&listing(&loaded, &tree)).map_err(|error| error.to_string()),
            Some(directory) => write(directory, &tree, self.group.is_some().then_some(&loaded)),
        };
        if let Err(why) = done {
            complain(format_args!("{why}"));
            return Exit::Failed;
        }
        if loaded.outcome.has_errors() { Exit::Invalid } else { Exit::Done }
    }
}

/// The units of all groups that are in order. Their names differ: that was checked.
fn units(loaded: &Loaded) -> UnitTree {
    let mut all = UnitTree::default();
    for outcome in &loaded.outcome.groups {
        if let Some(group) = &outcome.group {
            let target = Target { systemd: loaded.systemd, static_target: outcome.static_target };
            all.entries.extend(generate::generate(group, target).entries);
        }
    }
    all
}

/// Like `systemctl cat`: each file below a line with the path that it would have.
fn listing(loaded: &Loaded, tree: &UnitTree) -> String {
    let base = loaded.directories.generator.as_deref().unwrap_or(Path::new(""));
    let mut text = String::new();
    let mut after_file = false;
    for (path, entry) in &tree.entries {
        let path = base.join(path);
        let is_file = matches!(entry, Entry::File(_));
        if !text.is_empty() && (after_file || is_file) {
            text.push('\n');
        }
        let _ = match entry {
            Entry::File(unit) => write!(text, "# {}\n{unit}", path.display()),
            Entry::Link(target) => writeln!(text, "# {} → {}", path.display(), target.display()),
        };
        after_file = is_file;
    }
    text
}

/// Makes `directory` hold `tree`. What copse wrote there earlier and isn't in `tree` is removed: all of it, or, where
/// only `some` groups were rendered, what is theirs.
fn write(directory: &Path, tree: &UnitTree, some: Option<&Loaded>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    let old = tree::read(directory).map_err(failed)?;
    let foreign: Vec<&str> =
        tree.entries.keys().map(String::as_str).filter(|path| is_foreign(directory, &old, path)).collect();
    if !foreign.is_empty() {
        let number = counted(foreign.len(), "path");
        return Err(format!(
            "nothing was written: {} holds {number} that copse didn't make: {}",
            directory.display(),
            one_line(&foreign.join(", "))
        ));
    }
    let stale: Vec<&str> = tree::compare(&old, tree)
        .into_iter()
        .filter(|(path, change)| *change == Change::Removed && some.is_none_or(|some| is_of(some, &old, tree, path)))
        .map(|(path, _)| path)
        .collect();
    let mut writer = Writer::open(directory).map_err(failed)?;
    let mut failures = writer.write(tree);
    failures.extend(writer.remove(stale));
    match failures.first() {
        None => Ok(()),
        Some(first) => {
            let why = first.error.map_or("copse didn't make what is there".to_owned(), |error| error.to_string());
            Err(format!("{} couldn't be written; {}: {why}", counted(failures.len(), "path"), first.path))
        }
    }
}

/// Whether something stands at `path` that isn't copse's.
fn is_foreign(directory: &Path, old: &UnitTree, path: &str) -> bool {
    if old.entries.contains_key(path) {
        return false;
    }
    let kind = |path: PathBuf| path.symlink_metadata().map(|metadata| metadata.file_type());
    let parent_is_odd =
        path.rsplit_once('/').is_some_and(|(parent, _)| kind(directory.join(parent)).is_ok_and(|kind| !kind.is_dir()));
    parent_is_odd || kind(directory.join(path)).is_ok()
}

/// Whether what stands at `path` came from one of the groups of `some`: a file whose first line names the group file,
/// a link to such a unit, or a link in such a unit's `.wants/`.
fn is_of(some: &Loaded, old: &UnitTree, new: &UnitTree, path: &str) -> bool {
    let files: Vec<String> = some.outcome.groups.iter().map(|group| group.path.display().to_string()).collect();
    let of_group = |path: &str| match old.entries.get(path) {
        Some(Entry::File(text)) => {
            let header = text.lines().next().unwrap_or_default();
            files.iter().any(|file| [",", ";"].iter().any(|end| header.contains(&format!(" {file}{end}"))))
        }
        _ => new.entries.contains_key(path),
    };
    let (parent, name) = path.rsplit_once('/').unwrap_or_default();
    let owner = parent.rsplit_once('.').map_or("", |(unit, _)| unit);
    match old.entries.get(path) {
        Some(Entry::Link(target)) => {
            let unit = target.file_name().and_then(|name| name.to_str()).unwrap_or(name);
            of_group(unit) || of_group(owner)
        }
        _ => of_group(path),
    }
}
