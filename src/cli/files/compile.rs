//! `copse compile`: static units for a package, so that nothing is generated on the target system.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;

use super::output_directory;
use crate::basic::scope::{Directories, NOTIFY_PROGRAM, Scope};
use crate::cli::common::args::systemd_version;
use crate::cli::common::error::Error;
use crate::cli::common::execute::Execute;
use crate::cli::common::exit::Exit;
use crate::cli::common::input::add_unsupported;
use crate::cli::common::output::counted;
use crate::cli::common::report::Report;
use crate::generate;
use crate::generator::load;
use crate::generator::load::Outcome;
use crate::model::Context;
use crate::unit::directives::Systemd;
use crate::unit::name::template_of;
use crate::unit::{Unit, UnitTree, Value, parse};

/// Write static units for group files, to be shipped in a package.
///
/// The output is reproducible. It works with the given version of systemd and later ones.
#[derive(Debug, Args)]
pub struct Compile {
    /// Group files; their drop-ins (`FILE.d/`) are read as well.
    #[arg(value_name = "GROUPFILE", required = true)]
    files: Vec<PathBuf>,

    /// Write the units into this directory, and remove those generated from these files earlier.
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,

    /// Oldest version of systemd that the units must work with.
    #[arg(long, value_name = "N", value_parser = systemd_version(), required_unless_present = "only_target")]
    systemd_version: Option<u32>,

    /// Write only the target with its [Install] section, for a package that ships the group file; the generator adds the
    /// rest.
    #[arg(long, conflicts_with_all = ["systemd_version", "cpus"])]
    only_target: bool,

    /// Value of `instances = "cpus"`.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    cpus: Option<u32>,

    #[command(flatten)]
    report: Report,
}

impl Execute for Compile {
    /// Writes the units of all files, or nothing if one of them has an error.
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        let systemd = self.systemd_version.map_or(Systemd::NEWEST, |version| Systemd { version });
        let mut outcome = self.load(scope, self.cpus.unwrap_or(1));
        let needs_cpus = self.cpus.is_none() && !self.only_target && outcome != self.load(scope, 2);
        add_unsupported(&mut outcome, systemd);
        self.report.print(outcome.diagnostics());
        if outcome.has_errors() {
            return Ok(Exit::Invalid);
        }
        if needs_cpus {
            return Err(Error::usage("the value of `instances = \"cpus\"` is not known").help("set it with `--cpus N`"));
        }
        let mut tree = UnitTree::default();
        for group in outcome.groups.iter().filter_map(|outcome| outcome.group.as_ref()) {
            let units = match self.only_target {
                true => generate::static_target(group),
                false => generate::compile(group, systemd),
            };
            tree.entries.extend(units.entries);
        }
        let names: Vec<String> =
            self.files.iter().filter_map(|file| Some(file.file_name()?.display().to_string())).collect();
        output_directory::write(&self.output, &tree, Some(&names)).map_err(Error::failed)?;
        if !self.only_target {
            eprintln!("{}", summary(&tree));
        }
        Ok(Exit::Done)
    }
}

impl Compile {
    /// Reads the groups, independent of what is installed on this machine.
    fn load(&self, scope: Scope, cpus: u32) -> Outcome {
        let paths: Vec<&Path> = self.files.iter().map(PathBuf::as_path).collect();
        let nothing =
            Directories { units: Vec::new(), administrator: Vec::new(), ..Directories::new(scope, None, |_| None) };
        load::load_files(&paths, &nothing, &Context { scope, cpus })
    }
}

/// `wrote 12 files; the target system needs copse: …`
fn summary(tree: &UnitTree) -> String {
    let needs: Vec<String> = needs(tree).into_iter().collect();
    format!(
        "wrote {}; the target system needs copse: the units use {}",
        counted(tree.entries.len(), "file"),
        needs.join(", ")
    )
}

/// What the units need on the target system: copse's own templates, and copse-notify.
fn needs(tree: &UnitTree) -> BTreeSet<String> {
    let mut needs = BTreeSet::new();
    let units = tree.entries.keys().filter_map(|path| tree.unit(path));
    for (_, line) in units.flat_map(Unit::assignments) {
        if !line.name.starts_with("Exec") {
            let own = line.value.unit_names().filter(|name| name.starts_with("copse-"));
            needs.extend(own.filter(|name| !tree.entries.contains_key(*name)).filter_map(template_of));
        } else if program(&line.value).as_deref() == Some(NOTIFY_PROGRAM) {
            needs.insert(NOTIFY_PROGRAM.to_owned());
        }
    }
    needs
}

/// The program of a command line.
fn program(command: &Value) -> Option<String> {
    let words = parse::words(command.as_str()).ok()?;
    Some(words.first()?.trim_start_matches(['-', ':']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_units_need_of_copse() {
        let mut tree = UnitTree::default();
        for (path, text) in [
            (
                "a.target",
                "# copse-not@this.service\n[Unit]\nWants=copse-reset@a.service\nRequires=copse-ready@a.service\n",
            ),
            (
                "a.service",
                "[Unit]\nOnFailure=copse-gave-up@%N.service\n[Service]\nExecStart=:\"/usr/bin/copse-notify\" \"wait\"\n",
            ),
            ("a-s.service", "[Service]\nExecReload=systemctl start copse-again@a-s.service\n"),
            ("copse-again@a-s.service", "[Service]\n"),
        ] {
            tree.file(path, parse::unit(text));
        }
        let expected =
            ["/usr/bin/copse-notify", "copse-gave-up@.service", "copse-ready@.service", "copse-reset@.service"];
        assert_eq!(needs(&tree), expected.map(str::to_owned).into());
    }
}
