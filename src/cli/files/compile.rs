//! `copse compile`: units that a package ships, so that nothing has to be generated where they run.

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

/// Make static units of group files, for a package that ships them.
///
/// The units are the same bytes wherever they are made. They are for the given version of systemd, and for every later
/// one.
#[derive(Debug, Args)]
pub struct Compile {
    /// Group files; drop-ins beside them (`FILE.d/`) are taken in.
    #[arg(value_name = "GROUPFILE", required = true)]
    files: Vec<PathBuf>,

    /// Write the units into this directory, and remove those that were made of these files earlier.
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,

    /// The oldest version of systemd that the units have to work with.
    #[arg(long, value_name = "N", value_parser = systemd_version(), required_unless_present = "only_target")]
    systemd_version: Option<u32>,

    /// Only the target, with its [Install] section and to be filled by the generator: for a package that ships the
    /// group file.
    #[arg(long, conflicts_with_all = ["systemd_version", "cpus"])]
    only_target: bool,

    /// What `instances = "cpus"` stands for.
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
        let asks_for_cpus = self.cpus.is_none() && !self.only_target && outcome != self.load(scope, 2);
        add_unsupported(&mut outcome, systemd);
        self.report.print(outcome.diagnostics());
        if outcome.has_errors() {
            return Ok(Exit::Invalid);
        }
        if asks_for_cpus {
            return Err(Error::usage("`instances = \"cpus\"` isn't known here").help("say how many with `--cpus N`"));
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
    /// The groups. What is installed on this machine doesn't matter.
    fn load(&self, scope: Scope, cpus: u32) -> Outcome {
        let paths: Vec<&Path> = self.files.iter().map(PathBuf::as_path).collect();
        let nothing =
            Directories { units: Vec::new(), administrator: Vec::new(), ..Directories::new(scope, None, |_| None) };
        load::load_files(&paths, &nothing, &Context { scope, cpus })
    }
}

/// `12 files; where they run, copse has to be installed: …`
fn summary(tree: &UnitTree) -> String {
    let needs: Vec<String> = needs(tree).into_iter().collect();
    format!(
        "{}; where they run, copse has to be installed: they use {}",
        counted(tree.entries.len(), "file"),
        needs.join(", ")
    )
}

/// What of copse the units need where they run: its own templates, and copse-notify.
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
