//! `copse setup`

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;

use crate::basic::atomic_file;
use crate::basic::scope::{NOTIFY_PROGRAM, Scope};
use crate::change::observe::members::Kind;
use crate::change::observe::subject::Subject;
use crate::change::plan::Action;
use crate::cli::common::args::Json;
use crate::cli::common::error::Error;
use crate::cli::common::execute::Execute;
use crate::cli::common::exit::Exit;
use crate::cli::common::selection::Selection;
use crate::cli::common::session::{Access, Session, for_each, requested};

/// Run setup steps again, skipping those whose inputs are unchanged.
///
/// Nothing is restarted. A step with `inputs` runs if they changed since it last succeeded.
#[derive(Debug, Args)]
pub(crate) struct Setup {
    /// Setup steps.
    #[arg(value_name = "GROUP/STEP", required = true)]
    names: Vec<String>,

    /// Run the steps even if their inputs are unchanged.
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    output: Json,
}

impl Execute for Setup {
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        for_each(scope, Access::ControlByKind, &self.names, self.output.json, async |session, selection| {
            self.run(session, selection).await
        })
    }
}

impl Setup {
    async fn run(&self, session: &Session, selection: &Selection<'_>) -> Result<Exit, Error> {
        let steps = steps(selection)?;
        if self.force {
            for step in &steps {
                remove_stamp(session, step).await?;
            }
        }
        let before = stamps(session, &steps).await?;
        session.carry_out(&requested(&selection.group, [(Action::Run, steps.clone())]), selection.limit()).await?;
        // A step that runs writes a new stamp.
        if before.iter().all(Option::is_some) && before == stamps(session, &steps).await? {
            session.progress.unchanged();
        }
        Ok(Exit::Done)
    }
}

fn steps(selection: &Selection<'_>) -> Result<Vec<Subject>, Error> {
    let steps = selection.subjects(|member| member.kind == Kind::Setup);
    match (steps.is_empty(), &selection.part) {
        (false, Some(_)) => Ok(steps),
        (true, Some(_)) => Err(Error::usage(format_args!("`{}` is not a setup step", selection.label()))),
        (true, None) => Err(Error::usage(format_args!("group `{}` has no setup step", selection.group))),
        (false, None) => {
            let names: Vec<String> = steps.iter().map(|step| format!("`{}/{}`", selection.group, step.label)).collect();
            let help = format!("name a setup step: {}", names.join(", "));
            Err(Error::usage(format_args!("`{}` is not a setup step", selection.group)).help(help))
        }
    }
}

/// Which file each step's stamp is, and when it was written; `None` for a step without.
async fn stamps(session: &Session, steps: &[Subject]) -> zbus::Result<Vec<Option<(u64, SystemTime)>>> {
    let read = |path: PathBuf| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.ino(), metadata.modified().ok()?))
    };
    let mut stamps = Vec::with_capacity(steps.len());
    for step in steps {
        stamps.push(stamp(session, step).await?.and_then(read));
    }
    Ok(stamps)
}

/// The path of a step's stamp, from its command as loaded: it depends on the version of systemd and the user. A step
/// without `inputs` has none; it always runs.
async fn stamp(session: &Session, step: &Subject) -> zbus::Result<Option<PathBuf>> {
    let commands = session.systemd().commands(&step.unit, "ExecStart").await?;
    Ok(commands.iter().find_map(|command| stamp_of_command(command)))
}

async fn remove_stamp(session: &Session, step: &Subject) -> Result<(), Error> {
    match stamp(session, step).await? {
        Some(stamp) => atomic_file::remove(&stamp).map_err(|error| Error::file("remove", &stamp, &error)),
        None => Ok(()),
    }
}

/// The value of `--stamp` of `copse-notify once`.
fn stamp_of_command(command: &[String]) -> Option<PathBuf> {
    let [program, verb, option, stamp, ..] = command else { return None };
    let own = Path::new(program) == Path::new(NOTIFY_PROGRAM) && verb == "once" && option == "--stamp";
    own.then(|| PathBuf::from(stamp))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_of_a_step_names_its_stamp() {
        let of = |args: &[&str]| stamp_of_command(&args.iter().map(ToString::to_string).collect::<Vec<_>>());
        let stamp = "/var/lib/copse/setup/shop/migrate/stamp";
        assert_eq!(of(&["/usr/bin/copse-notify", "once", "--stamp", stamp, "--", "x"]), Some(stamp.into()));
        assert_eq!(of(&["/usr/bin/other", "once", "--stamp", "/etc/passwd"]), None);
        assert_eq!(of(&["/bin/true"]), None);
    }
}
