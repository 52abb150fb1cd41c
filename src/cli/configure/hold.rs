//! `copse hold` and `copse release`: keep a process stopped while its group runs.

use clap::Args;

use super::process::{Change, Process};
use crate::basic::scope::Scope;
use crate::change::observe::members;
use crate::change::observe::members::Kind;
use crate::change::observe::subject::Subject;
use crate::change::plan::Action;
use crate::cli::common::args::Processes;
use crate::cli::common::error::Error;
use crate::cli::common::execute::Execute;
use crate::cli::common::exit::Exit;
use crate::cli::common::message::{copse, lifetime_of_run};
use crate::cli::common::progress::Details;
use crate::cli::common::selector::Selector;
use crate::cli::common::session;
use crate::cli::common::session::{Session, requested};
use crate::manager::unit::UnitInfo;
use crate::model::Start;
use crate::unit::name;

/// Stop processes and keep them stopped when their group starts, until the next boot or `copse release`.
///
/// Writes a drop-in for the group file with `hold = true`. Setup steps still run.
#[derive(Debug, Args)]
pub(crate) struct Hold {
    #[command(flatten)]
    processes: Processes,

    /// Keep them stopped across boots.
    #[arg(long)]
    permanent: bool,
}

/// Release held processes, and start them if their group is active.
#[derive(Debug, Args)]
pub(crate) struct Release {
    #[command(flatten)]
    processes: Processes,
}

/// What happens to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    Hold { permanent: bool },
    Release,
}

impl Execute for Hold {
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        Request::Hold { permanent: self.permanent }.execute(scope, &self.processes)
    }
}

impl Execute for Release {
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        Request::Release.execute(scope, &self.processes)
    }
}

impl Request {
    fn execute(self, scope: Scope, processes: &Processes) -> Result<Exit, Error> {
        session::run(scope, processes.output.json, async |session| {
            for name in &processes.names {
                self.carry_out(session, &self.prepare(session, name)?).await?;
            }
            Ok(Exit::Done)
        })
    }

    fn is_hold(self) -> bool {
        self != Self::Release
    }

    fn prepare(self, session: &Session, name: &str) -> Result<Change, Error> {
        let process = Process::new(name, session)?;
        let permanent = self == Self::Hold { permanent: true };
        let text = self.is_hold().then(|| {
            let (copse, label, option) =
                (copse(session.scope), process.label(), if permanent { " --permanent" } else { "" });
            format!(
                "# Written by `{copse} hold {label}{option}`; `{copse} release {label}` removes it.\n[process.{}]\nhold = true\n",
                process.name
            )
        });
        let change = process.prepare(session, "hold", text, permanent)?;
        let Process { group, name, .. } = &change.process;
        match change.group.processes.get(name) {
            None => Err(Error::no_such_group(format_args!("group `{group}` has no process `{name}`"))),
            Some(process) if process.hold != self.is_hold() => Err(change.overridden("hold")),
            Some(_) => Ok(change),
        }
    }

    async fn carry_out(self, session: &Session, change: &Change) -> Result<(), Error> {
        change.commit(session).await?;
        let (process, label) = (&change.process, change.process.label());
        let subjects = self.subjects(session, change).await?;
        let any = !subjects.is_empty();
        let action = if self.is_hold() { Action::Stop } else { Action::Start };
        let limit = change.group.timeout_start.value.finite();
        let end = session.carry_out(&requested(&process.group, [(action, subjects)]), limit).await;
        session.progress.report(&process.group, &label, Details::Hold { held: self.is_hold() }).await?;
        end?;
        let copse = copse(session.scope);
        session.progress.note(&match self {
            Self::Hold { permanent: true } => format!("{label} is held until `{copse} release {label}`"),
            Self::Hold { permanent: false } => {
                format!("{label} is held {}, or `{copse} release {label}`", lifetime_of_run(session.scope))
            }
            Self::Release if any => format!("{label} is released"),
            Self::Release => format!("{label} is not held, nothing to start"),
        });
        Ok(())
    }

    /// The units to stop or start. Processes that a timer started keep running, and manual processes are not started.
    async fn subjects(self, session: &Session, change: &Change) -> zbus::Result<Vec<Subject>> {
        let Process { group, name, .. } = &change.process;
        let Some(process) = change.group.processes.get(name) else { return Ok(Vec::new()) };
        let target = name::target(group);
        let loaded: Vec<String> = session.systemd().unit_property(&target, "ConsistsOf").await?;
        let selector = Selector { group: group.to_string(), part: Some(name.to_string()) };
        let timed = matches!(process.start, Start::Timed(_));
        let mut members = members::all_members(group.as_str(), Some(&change.group), &loaded);
        members.retain(|member| selector.matches(&member.subject.label) && !(timed && member.kind == Kind::Process));
        let up = session.up(members.iter().map(|member| member.subject.clone()).collect()).await?;
        if self.is_hold() {
            return Ok(up);
        }
        let active = session.systemd().list(&[&target]).await?.first().is_some_and(UnitInfo::is_up);
        let startable = active && process.start != Start::Manual;
        let defined = members.iter().filter(|member| startable && member.defined).map(|member| member.subject.clone());
        Ok(defined.filter(|subject| !up.contains(subject)).collect())
    }
}
