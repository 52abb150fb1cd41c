//! Arguments that several commands share.

use clap::Args;

use crate::basic::terminal::ColorChoice;
use crate::unit::directives::Systemd;
use crate::unit::name::GroupName;

/// What a command acts on, and how it reports that.
#[derive(Debug, Args)]
pub(crate) struct Units {
    /// Groups, processes, instances of processes, or units.
    #[arg(value_name = "GROUP[/PROCESS[@INSTANCE]]", required = true)]
    pub(crate) names: Vec<String>,

    #[command(flatten)]
    pub(crate) output: Json,
}

/// As [`Units`], for commands that act on whole processes.
#[derive(Debug, Args)]
pub(crate) struct Processes {
    /// Processes.
    #[arg(value_name = "GROUP/PROCESS", required = true)]
    pub(crate) names: Vec<String>,

    #[command(flatten)]
    pub(crate) output: Json,
}

#[derive(Debug, Default, Clone, Copy, Args)]
pub(crate) struct Json {
    /// Print JSON, one object per line.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Default, Clone, Copy, Args)]
pub(crate) struct Color {
    /// When to use colors.
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
}

/// Parses a version of systemd that copse can generate units for.
pub(crate) fn systemd_version() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(i64::from(Systemd::OLDEST.version)..)
}

/// Parses a group's name.
pub(crate) fn group_name(text: &str) -> Result<GroupName, &'static str> {
    const EXPECTED: &str =
        "a group name starts with a letter or a digit and contains letters, digits, `_`, `.` and `-`";
    GroupName::new(text).ok_or(EXPECTED)
}
