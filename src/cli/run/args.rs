//! The arguments of `copse run`.

use std::path::PathBuf;

use clap::Args;

use crate::basic::terminal::ColorChoice;
use crate::import::procfile::Formation;

/// Run a Procfile or a group file, and show its log; Ctrl-C stops it and removes everything.
///
/// The processes run in the user's service manager, for root in the system's, with the caller's environment. The run ends
/// when a process of a Procfile exits, or an essential process of a group fails permanently; the exit status is that of
/// the process.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// A group file (`*.toml`) or a Procfile.
    #[arg(value_name = "FILE", default_value = "Procfile")]
    pub(super) file: PathBuf,

    /// Number of instances of each process; others are not run, unless `all=N` is given.
    #[arg(short = 'm', long, value_name = "NAME=N,…", value_parser = Formation::new)]
    pub(super) formation: Option<Formation>,

    /// Files with more variables [default for a Procfile: `.env` in its directory, if it exists].
    #[arg(short, long, value_name = "FILE,…", value_delimiter = ',')]
    pub(super) env: Vec<PathBuf>,

    /// First port of a Procfile's processes [default: `$PORT`, or 5000].
    #[arg(short, long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) port: Option<u16>,

    /// When to use colors.
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    pub(super) color: ColorChoice,
}
