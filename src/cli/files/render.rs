//! `copse render`: the units that the generator would write.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;

use super::output_directory;
use crate::basic::scope::Scope;
use crate::cli::common::error::Error;
use crate::cli::common::execute::Execute;
use crate::cli::common::exit::Exit;
use crate::cli::common::input::{Input, Loaded};
use crate::cli::common::output;
use crate::cli::common::report::Report;
use crate::generate;
use crate::generate::Options;
use crate::generator::load::Outcome;
use crate::unit::{Entry, UnitTree};

/// Show the units that group files become.
#[derive(Debug, Args)]
pub struct Render {
    /// A group, or a group file (with a `/`, ending in `.toml`, or `-` for standard input); all groups if none.
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

impl Execute for Render {
    /// Prints or writes the units, and the diagnostics on stderr. A group with an error has no units; those of the others
    /// are shown.
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        let loaded = self.input.load(scope, self.group.as_slice())?;
        self.report.print(loaded.outcome.diagnostics());
        let tree = units(&loaded);
        match &self.output {
            None => output::print(&listing(&loaded, &tree))?,
            Some(directory) => {
                let files = self.group.is_some().then(|| files(&loaded.outcome));
                output_directory::write(directory, &tree, files.as_deref()).map_err(Error::failed)?;
            }
        }
        Ok(if loaded.outcome.has_errors() { Exit::Invalid } else { Exit::Done })
    }
}

/// The units of all valid groups. Their names were checked to differ.
fn units(loaded: &Loaded) -> UnitTree {
    let mut tree = UnitTree::default();
    for outcome in &loaded.outcome.groups {
        if let Some(group) = &outcome.group {
            let options = Options { systemd: loaded.systemd, static_target: outcome.static_target };
            tree.entries.extend(generate::generate(group, options).entries);
        }
    }
    tree
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

/// The group files, as units name them.
fn files(outcome: &Outcome) -> Vec<String> {
    outcome.groups.iter().map(|group| group.path.display().to_string()).collect()
}
