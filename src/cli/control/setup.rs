//! `copse setup`: a setup step once more.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;

use crate::basic::scope::Scope;
use crate::change::observe::members::Kind;
use crate::change::observe::members::Subject;
use crate::change::plan::Action;
use crate::change::rollout::Stop;
use crate::cli::common::exit::Exit;
use crate::cli::common::output::complain;
use crate::cli::common::output::unwritten;
use crate::cli::common::selection::Selection;
use crate::cli::common::session;
use crate::cli::common::session::Session;

/// Run setup steps again; a step whose inputs didn't change is over at once.
///
/// Nothing restarts. A step that has `inputs` looks whether they changed since it last succeeded.
#[derive(Debug, Args)]
pub(crate) struct Setup {
    /// Which steps.
    #[arg(value_name = "GROUP/STEP", required = true)]
    names: Vec<String>,

    /// Run them even if nothing changed.
    #[arg(long)]
    force: bool,

    /// An object for each name, on a line of its own, instead of what is shown.
    #[arg(long)]
    json: bool,
}

impl Setup {
    pub(crate) fn run(self, scope: Scope) -> Exit {
        session::each_known(scope, &self.names, self.json, async |work, chosen| self.again(work, chosen).await)
    }

    async fn again(&self, work: &Session, chosen: &Selection<'_>) -> Result<Exit, Stop> {
        let steps = chosen.subjects(|member| member.kind == Kind::Setup);
        if chosen.part.is_none() || steps.is_empty() {
            let names: Vec<String> = steps.iter().map(|step| format!("`{}/{}`", chosen.group, step.label)).collect();
            match (names.is_empty(), chosen.part.is_some()) {
                (_, true) => complain(format_args!("`{}` is no setup step", chosen.label())),
                (true, _) => complain(format_args!("group `{}` has no setup step", chosen.group)),
                (false, _) => complain(format_args!("name a setup step: {}", names.join(", "))),
            }
            return Ok(Exit::Usage);
        }
        if self.force {
            for step in &steps {
                if let Err(exit) = forget(work, step).await? {
                    return Ok(exit);
                }
            }
        }
        let before = stamps(work, &steps).await?;
        work.carry_out(chosen, &chosen.plan(Action::Run, steps.clone())).await?;
        // A step that runs makes its stamp anew.
        if before.iter().all(Option::is_some) && before == stamps(work, &steps).await? {
            work.progress.unchanged();
        }
        Ok(Exit::Done)
    }
}

/// When each step last succeeded, and by which file that is known; `None` where nothing says so.
async fn stamps(work: &Session, steps: &[Subject]) -> zbus::Result<Vec<Option<(u64, SystemTime)>>> {
    let of = |path: PathBuf| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.ino(), metadata.modified().ok()?))
    };
    let mut all = Vec::with_capacity(steps.len());
    for step in steps {
        all.push(stamp_of(work, step).await?.and_then(of));
    }
    Ok(all)
}

/// Where the stamp of a step's last success is, its own command says, whatever `%S` is for this version of systemd and this
/// user. Without `inputs` it has none: it runs each time.
async fn stamp_of(work: &Session, step: &Subject) -> zbus::Result<Option<PathBuf>> {
    let commands = work.systemd().commands(&step.unit, "ExecStart").await?;
    Ok(commands.iter().find_map(|command| stamp(command)))
}

/// Removes the stamp of a step's last success.
async fn forget(work: &Session, step: &Subject) -> Result<Result<(), Exit>, Stop> {
    let stamp = stamp_of(work, step).await?;
    Ok(match stamp.map(|stamp| (std::fs::remove_file(&stamp), stamp)) {
        Some((Err(error), stamp)) if error.kind() != std::io::ErrorKind::NotFound => Err(unwritten(&stamp, &error)),
        _ => Ok(()),
    })
}

/// The word behind `--stamp` of `copse-notify once`.
fn stamp(command: &[String]) -> Option<PathBuf> {
    let [program, verb, option, stamp, ..] = command else { return None };
    let ours =
        Path::new(program) == Path::new(crate::basic::scope::NOTIFY_PROGRAM) && verb == "once" && option == "--stamp";
    ours.then(|| PathBuf::from(stamp))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_stamp_is_stands_in_the_command() {
        let of = |words: &[&str]| stamp(&words.iter().map(ToString::to_string).collect::<Vec<_>>());
        let stamp = "/var/lib/copse/setup/shop/migrate/stamp";
        assert_eq!(of(&["/usr/bin/copse-notify", "once", "--stamp", stamp, "--", "x"]), Some(stamp.into()));
        assert_eq!(of(&["/usr/bin/other", "once", "--stamp", "/etc/passwd"]), None);
        assert_eq!(of(&["/bin/true"]), None);
    }
}
