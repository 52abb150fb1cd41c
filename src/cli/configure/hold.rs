//! `copse hold` and `copse release`: a process that stays stopped for now, while its group goes on.

use clap::Args;
use serde_json::json;

use super::drop_in;
use super::drop_in::Target;
use super::transaction::Amendment;
use crate::basic::scope::Scope;
use crate::change::observe::members;
use crate::change::observe::members::Kind;
use crate::change::observe::members::Member;
use crate::change::observe::members::Subject;
use crate::change::plan::Action;
use crate::change::rollout::Stop;
use crate::cli::common::exit::Exit;
use crate::cli::common::output::complain;
use crate::cli::common::session;
use crate::cli::common::session::Session;
use crate::manager::unit::UnitInfo;
use crate::model::{Group, Start};
use crate::unit::name;

/// Stop processes, and keep them stopped when their group starts, until the next boot or `copse release`.
///
/// It is a drop-in for the group file, with `hold = true`. Setup steps run as ever.
#[derive(Debug, Args)]
pub(crate) struct Hold {
    /// Which processes.
    #[arg(value_name = "GROUP/PROCESS", required = true)]
    names: Vec<String>,

    /// Keep them stopped over the next boot.
    #[arg(long)]
    permanent: bool,

    /// An object for each name, on a line of its own, instead of what is shown.
    #[arg(long)]
    json: bool,
}

/// Let processes run again that `copse hold` stopped; where their group is active, they are started.
#[derive(Debug, Args)]
pub(crate) struct Release {
    /// Which processes.
    #[arg(value_name = "GROUP/PROCESS", required = true)]
    names: Vec<String>,

    /// An object for each name, on a line of its own, instead of what is shown.
    #[arg(long)]
    json: bool,
}

impl Hold {
    pub(crate) fn run(self, scope: Scope) -> Exit {
        change_all(scope, &self.names, Some(self.permanent), self.json)
    }
}

impl Release {
    pub(crate) fn run(self, scope: Scope) -> Exit {
        change_all(scope, &self.names, None, self.json)
    }
}

/// One after the other; the first that doesn't end well ends it.
fn change_all(scope: Scope, names: &[String], hold: Option<bool>, json: bool) -> Exit {
    session::run(scope, json, async |work| {
        for name in names {
            match change(work, name, hold).await? {
                Exit::Done => {}
                exit => return Ok(exit),
            }
        }
        Ok(Exit::Done)
    })
}

/// Holds a process (and whether that is to last), or releases it.
async fn change(work: &Session, name: &str, hold: Option<bool>) -> Result<Exit, Stop> {
    match prepare(work, name, hold) {
        Ok((target, amendment, after)) => bring(work, &target, &amendment, &after, hold).await,
        Err(exit) => Ok(exit),
    }
}

fn prepare(work: &Session, name: &str, hold: Option<bool>) -> Result<(Target, Amendment, Group), Exit> {
    let target = Target::new(name, work)?;
    let directories = drop_in::directories(work)?;
    let [lasting, passing] = target.paths("hold", &directories)?;
    let amendment = Amendment::new(target.group.clone());
    let amendment = match hold {
        None => amendment.remove(lasting).remove(passing),
        Some(permanent) => {
            let option = if permanent { " --permanent" } else { "" };
            let text = format!(
                "# Made by `{copse} hold {0}{option}`; `{copse} release {0}` removes it.\n[process.{1}]\nhold = true\n",
                target.label(),
                target.process,
                copse = crate::cli::common::output::copse(work.scope)
            );
            match permanent {
                true => amendment.write(lasting, text).remove(passing),
                false => amendment.write(passing, text),
            }
        }
    };
    let (after, source) = drop_in::foresee(work, &directories, &amendment)?;
    match after.processes.get(&target.process) {
        None => {
            complain(format_args!("group `{}` has no process `{}`", target.group, target.process));
            Err(Exit::NoSuchGroup)
        }
        Some(process) if process.hold != hold.is_some() => Err(drop_in::outvoted(&source, &target, "hold")),
        Some(_) => Ok((target, amendment, after)),
    }
}

async fn bring(
    work: &Session,
    target: &Target,
    amendment: &Amendment,
    after: &Group,
    hold: Option<bool>,
) -> Result<Exit, Stop> {
    let directories = match drop_in::directories(work) {
        Ok(directories) => directories,
        Err(exit) => return Ok(exit),
    };
    if let Err(exit) = drop_in::bring(work, &directories, amendment).await? {
        return Ok(exit);
    }
    let subjects = subjects(work, target, after, hold.is_some()).await?;
    let action = if hold.is_some() { Action::Stop } else { Action::Start };
    work.progress.expect(&subjects);
    let nothing = subjects.is_empty();
    let done = work.asked(after, vec![(action, subjects)]).await;
    let label = target.label();
    work.progress.report(target.group.as_str(), &label, json!({ "held": hold.is_some() }))?;
    done?;
    let copse = crate::cli::common::output::copse(work.scope);
    work.progress.note(&match hold {
        Some(true) => format!("{label} is held until `{copse} release {label}`"),
        Some(false) => {
            format!("{label} is held {}, or `{copse} release {label}`", crate::cli::common::output::passing(work.scope))
        }
        None if nothing => format!("{label} isn't held; nothing of it had to be started"),
        None => format!("{label} isn't held any more"),
    });
    Ok(Exit::Done)
}

/// What is to be stopped, or started again. A job of a timed process runs to its end, and a manual process is started by
/// others, as ever.
async fn subjects(work: &Session, target: &Target, after: &Group, hold: bool) -> zbus::Result<Vec<Subject>> {
    let unit = name::target(&target.group);
    let found: Vec<String> = work.systemd().unit_property(&unit, "ConsistsOf").await?;
    let mut members = members::all_members(target.group.as_str(), Some(after), &found);
    let Some(process) = after.processes.get(&target.process) else { return Ok(Vec::new()) };
    let named = crate::cli::common::selector::Selector {
        group: target.group.to_string(),
        part: Some(target.process.to_string()),
    };
    let timed = matches!(process.start, Start::Timed(_));
    members.retain(|member| named.means(&member.label) && !(timed && member.kind == Kind::Process));
    let subject = |member: &Member| Subject { unit: member.unit.clone(), label: member.label.clone() };
    let all: Vec<Subject> = members.iter().map(subject).collect();
    if hold {
        return work.up(all).await;
    }
    let active = work.systemd().list(&[&unit]).await?.first().is_some_and(UnitInfo::is_up);
    if !active || process.start == Start::Manual {
        return Ok(Vec::new());
    }
    let up = work.up(all.clone()).await?;
    let defined = |subject: &Subject| members.iter().any(|member| member.defined && member.unit == subject.unit);
    Ok(all.into_iter().filter(|subject| defined(subject) && !up.contains(subject)).collect())
}
