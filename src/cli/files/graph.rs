//! `copse graph`: the order of a group, as a picture for Graphviz or Mermaid.

mod picture;

use std::path::PathBuf;

use clap::Args;

use self::picture::Picture;
use crate::basic::scope::Scope;
use crate::cli::common::error::Error;
use crate::cli::common::execute::Execute;
use crate::cli::common::exit::Exit;
use crate::cli::common::input::Input;
use crate::cli::common::output;
use crate::cli::common::report::Report;

/// Draw a group: which unit starts which, and which waits for which.
#[derive(Debug, Args)]
pub struct Graph {
    /// A group, or a group file (with a `/`, ending in `.toml`, or `-` for standard input).
    #[arg(value_name = "GROUP|FILE")]
    group: PathBuf,

    /// Write a picture for Graphviz (`dot -Tsvg`) [default].
    #[arg(long)]
    dot: bool,

    /// Write a picture for Mermaid, as in Markdown.
    #[arg(long, conflicts_with = "dot")]
    mermaid: bool,

    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    report: Report,
}

impl Execute for Graph {
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        let loaded = self.input.load(scope, std::slice::from_ref(&self.group))?;
        self.report.print(loaded.outcome.diagnostics());
        let groups = loaded.outcome.groups.iter().filter_map(|outcome| outcome.group.as_ref());
        let text: String = groups
            .map(|group| {
                let picture = Picture::of(group);
                if self.mermaid { picture.mermaid() } else { picture.dot() }
            })
            .collect();
        output::print(&text)?;
        Ok(if loaded.outcome.has_errors() { Exit::Invalid } else { Exit::Done })
    }
}
