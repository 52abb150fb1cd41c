//! `copse graph`: who is after whom in a group, as a picture for Graphviz or Mermaid.

mod picture;

use std::io::stderr;
use std::path::PathBuf;

use clap::Args;

use self::picture::Picture;
use crate::basic::scope::Scope;
use crate::cli::common::args::Input;
use crate::cli::common::exit::Exit;
use crate::cli::common::output;
use crate::cli::common::output::Report;
use crate::cli::common::output::complain;

/// Draw a group: what starts what, who waits for whom.
#[derive(Debug, Args)]
pub struct Graph {
    /// A group, or a group file (with a `/`, ending in `.toml`, or `-` for the standard input).
    #[arg(value_name = "GROUP|FILE")]
    group: PathBuf,

    /// For Graphviz (`dot -Tsvg`); this is the default.
    #[arg(long)]
    dot: bool,

    /// For Mermaid, as Markdown on many sites shows it.
    #[arg(long, conflicts_with = "dot")]
    mermaid: bool,

    #[command(flatten)]
    input: Input,

    #[command(flatten)]
    report: Report,
}

impl Graph {
    /// Prints the picture's text.
    pub fn run(self, scope: Scope) -> Exit {
        let loaded = match self.input.load(scope, std::slice::from_ref(&self.group)) {
            Ok(loaded) => loaded,
            Err(exit) => return exit,
        };
        let said = self.report.text(loaded.outcome.diagnostics(), &stderr());
        let _ = std::io::Write::write_all(&mut stderr(), said.as_bytes());
        let groups = loaded.outcome.groups.iter().filter_map(|outcome| outcome.group.as_ref());
        let text: String = groups
            .map(|group| {
                let picture = Picture::of(group);
                if self.mermaid { picture.mermaid() } else { picture.dot() }
            })
            .collect();
        if let Err(error) = output::print(&text) {
            complain(format_args!("the picture can't be written: {error}"));
            return Exit::Failed;
        }
        if loaded.outcome.has_errors() { Exit::Invalid } else { Exit::Done }
    }
}
