//! `copse setup`: a setup step once more.

use std::path::{Path, PathBuf};

use clap::Args;

use super::amend::unwritten;
use super::chosen::Chosen;
use super::work::{self, Work};
use super::{Exit, complain};
use crate::plan::{Action, Subject};
use crate::rollout::Stop;
use crate::scope::Scope;
use crate::status::Kind;

/// Run setup steps again; a step whose inputs didn't change is over at once.
///
/// Nothing restarts. A step that has `inputs` looks whether they changed since it last succeeded.
#[derive(Debug, Args)]
pub(super) struct Setup {
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
    pub(super) fn run(self, scope: Scope) -> Exit {
        work::each(scope, &self.names, self.json, async |work, chosen| self.again(work, chosen).await)
    }

    async fn again(&self, work: &Work, chosen: &Chosen<'_>) -> Result<Exit, Stop> {
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
        work.carry_out(chosen, &chosen.plan(Action::Run, steps)).await?;
        Ok(Exit::Done)
    }
}

/// Removes the stamp of a step's last success. Where it is, the step's own command says, whatever `%S` is for this
/// version of systemd and this user.
async fn forget(work: &Work, step: &Subject) -> Result<Result<(), Exit>, Stop> {
    let commands = work.systemd().commands(&step.unit, "ExecStart").await?;
    let stamp = commands.iter().find_map(|command| stamp(command));
    Ok(match stamp.map(|stamp| (std::fs::remove_file(&stamp), stamp)) {
        Some((Err(error), stamp)) if error.kind() != std::io::ErrorKind::NotFound => Err(unwritten(&stamp, &error)),
        // Without inputs it has none: it runs each time.
        _ => Ok(()),
    })
}

/// The word behind `--stamp` of `copse-notify once`.
fn stamp(command: &[String]) -> Option<PathBuf> {
    let [program, verb, option, stamp, ..] = command else { return None };
    let ours = Path::new(program) == Path::new(crate::scope::NOTIFY_PROGRAM) && verb == "once" && option == "--stamp";
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
