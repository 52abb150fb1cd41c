//! `copse apply`: carries out the plan that `copse plan` shows.

use std::collections::BTreeMap;
use std::io;

use clap::Args;

use super::pace::Pace;
use crate::basic::os_error::reason;
use crate::basic::scope::{Directories, Scope};
use crate::basic::terminal::ColorChoice;
use crate::change::observe::live::LiveGroup;
use crate::change::observe::subject::Subject;
use crate::change::observe::{Observer, ROLLED_BACK, live, started_at};
use crate::change::plan;
use crate::change::plan::{Plan, Reason, json, render};
use crate::change::rollout::apply::Application;
use crate::change::rollout::{Failure, Stop};
use crate::cli::common::args::Json;
use crate::cli::common::error::{Error, answer};
use crate::cli::common::execute::Execute;
use crate::cli::common::exit::Exit;
use crate::cli::common::groups;
use crate::cli::common::message::copse;
use crate::cli::common::output;
use crate::cli::common::progress::Details;
use crate::cli::common::report::Report;
use crate::cli::common::session;
use crate::cli::common::session::Session;
use crate::generator::load::GroupOutcome;
use crate::group_file::discover::Source;
use crate::manager::is_refusal;
use crate::model;
use crate::model::{Context, Group};
use crate::state::history::{History, StartHistory};
use crate::state::last_apply::Applied;
use crate::state::lock::{Lock, NoLock};
use crate::state::pins::{Pin, Units};
use crate::unit::name;
use crate::unit::name::GroupName;

/// Apply changed group files: restart, start and stop only what `copse plan` lists, instance by instance.
///
/// Stops at the first unit that does not become ready. Units that were not reached stay pinned to the definition they
/// run, also if they crash, until the next apply. It can be interrupted and run again at any time.
#[derive(Debug, Args)]
pub(crate) struct Apply {
    /// Groups [default: all].
    #[arg(value_name = "GROUP")]
    groups: Vec<String>,

    /// Return to the last complete apply, ignoring the current files.
    #[arg(long, requires = "groups")]
    rollback: bool,

    /// Wait for another apply of the group to end, instead of exiting with status 10.
    #[arg(long)]
    wait: bool,

    #[command(flatten)]
    output: Json,

    #[command(flatten)]
    pace: Pace,
}

/// A group, and what is applied to it.
struct Target<'s> {
    session: &'s Session,
    directories: Directories,
    group: GroupName,
    /// The group's files: as they are, or with `--rollback` as they were.
    files: Option<GroupOutcome>,
    history: History,
    last_apply: Option<Applied>,
    /// The earlier version that `files` are, if they are not the current ones.
    rollback: Option<Pin>,
}

impl Execute for Apply {
    fn execute(self, scope: Scope) -> Result<Exit, Error> {
        session::run(scope, self.output.json, async |session| {
            let mut exit = Exit::Done;
            for group in groups::select(&self.groups, session.systemd(), scope, &session.outcome).await? {
                // An error of one group does not affect the others.
                let end = self.group(session, &group).await.unwrap_or_else(|error| error.report(scope));
                exit = exit.worse(end);
                if session.interrupt.is_requested() {
                    break;
                }
            }
            Ok(exit)
        })
    }
}

impl Apply {
    async fn group(&self, session: &Session, group: &GroupName) -> Result<Exit, Error> {
        let directories = Directories::from_environment(session.scope, None);
        let file = session.outcome.groups.iter().find(|outcome| outcome.name == *group);
        if let Some(invalid) = file.filter(|file| file.group.is_none() && !self.rollback) {
            let errors = groups::report_invalid(invalid, &Report::default());
            if self.output.json {
                output::print(&(json::invalid(group.as_str(), errors) + "\n"))?;
            }
            return Ok(Exit::Invalid);
        }
        let _lock = self.lock(session, &directories, group).await?;
        // Read under the lock: another apply may have written it.
        let mut history = StartHistory::read(&directories).map_err(|error| Error::failed(error.message))?;
        let mut target = Target {
            session,
            last_apply: Applied::read(&directories, group).map_err(|error| Error::failed(error.message))?,
            directories,
            group: group.clone(),
            files: file.cloned(),
            history: history.groups.remove(group).unwrap_or_default(),
            rollback: None,
        };
        if self.rollback && !target.roll_back().await? {
            let why = "no earlier version recorded since boot";
            return Err(Error::failed(format_args!("cannot roll back `{group}`: {why}")));
        }
        self.apply(&target).await
    }

    async fn lock(&self, session: &Session, directories: &Directories, group: &GroupName) -> Result<Lock, Error> {
        let lock = match self.wait {
            false => Lock::take(directories, group),
            true => tokio::select! {
                lock = Lock::wait(directories, group) => lock,
                () = session.interrupt.once() => return Err(Stop::Interrupted.into()),
            },
        };
        lock.map_err(|error| match error {
            NoLock::Held(pid) => {
                let process = if pid.is_empty() { String::new() } else { format!(" (process {pid})") };
                let message = format!("`{group}` is locked by another `copse apply`{process}");
                Error::new(Exit::Locked, message).help("use `--wait` to wait for it")
            }
            NoLock::Io(error) => {
                let denied = error.kind() == io::ErrorKind::PermissionDenied;
                let exit = if denied { Exit::NotAllowed } else { Exit::Failed };
                Error::new(exit, format_args!("cannot lock `{group}`: {}", reason(error)))
            }
        })
    }

    async fn apply(&self, target: &Target<'_>) -> Result<Exit, Error> {
        let (session, group) = (target.session, &target.group);
        let live = live::groups(session.systemd(), &[(group, target.definition())]).await?;
        let Some(live) = live.into_iter().next().flatten() else {
            return Err(Error::no_such_group(format_args!("there is no group `{group}`")));
        };
        let context = groups::context(session.scope);
        let observer = Observer::read(&target.directories, context);
        let mut plan = plan::plan(&observer.situation(group, target.files.as_ref(), &live));
        self.pace.set(&mut plan);
        if self.rollback && target.rollback.is_none() && plan.is_empty() && !target.is_rolled_back() {
            session.progress.note(&target.nothing_to_roll_back());
            let details = Details::Apply { complete: true, held: &[] };
            session.progress.report(group, group.as_str(), details).await?;
            return Ok(Exit::Done);
        }
        if target.rollback.is_none() {
            // This apply ends the rollback.
            for note in plan.notes.iter_mut().filter(|note| *note == ROLLED_BACK) {
                *note = "the group was rolled back; this apply returns it to the current files".to_owned();
            }
        }
        if !self.output.json {
            session.progress.note_lines(&render::render(&plan, false, output::style(ColorChoice::Auto, session.scope)));
        }
        session.progress.expect(plan.steps.iter().flat_map(|step| &step.units));
        let application = target.application(&plan, &observer, &live, context.cpus);
        let limit = target.definition().and_then(|group| group.timeout_start.value.finite());
        let end = session.rollout(group, limit, async |rollout| Ok(application.run(rollout).await)).await?;
        let pinned = end.as_ref().err().map(|(_, pinned)| pinned.as_slice()).unwrap_or_default();
        let details = Details::Apply { complete: end.is_ok(), held: pinned };
        session.progress.report(group, group.as_str(), details).await?;
        if let Err((stop, pinned)) = end {
            return Err(self.incomplete(target, stop, &pinned).await);
        }
        if target.rollback.is_some() {
            let apply = target.command("apply");
            session.progress.note(&format!("{group} is rolled back; run {apply} to return to the current files"));
        }
        Ok(Exit::Done)
    }

    /// Where the rollout stopped, what is pinned, and how to go on.
    async fn incomplete(&self, target: &Target<'_>, stop: Stop, pinned: &[String]) -> Error {
        let group = &target.group;
        let why = match &stop {
            Stop::Failed(Failure { subject, what, .. }) => format!("stopped at {}: {what}", subject.label),
            Stop::Interrupted => "interrupted".to_owned(),
            Stop::Manager(error) if !is_refusal(error) => answer(error),
            _ => return stop.into(),
        };
        let labels: Vec<String> = pinned.iter().map(|unit| Subject::new(group.as_str(), unit).label).collect();
        let pinned = match labels.is_empty() {
            true => String::new(),
            false => format!("; pinned to the definition they run: {}", labels.join(", ")),
        };
        let (apply, rollback) = (target.command("apply"), target.command("apply --rollback"));
        let after = if matches!(stop, Stop::Failed(_)) { " after fixing the cause" } else { " to continue" };
        let help = match self.rollback {
            true => format!("run {rollback}{after}, or {apply} to return to the current files"),
            false if target.can_roll_back().await => format!("run {apply}{after}, or {rollback} to roll back"),
            false => format!("run {apply}{after}"),
        };
        Error::new(Exit::Incomplete, format_args!("{group}: {why}{pinned}")).help(help)
    }
}

impl Target<'_> {
    fn definition(&self) -> Option<&Group> {
        self.files.as_ref().and_then(|files| files.group.as_ref())
    }

    /// The files of the last complete apply, or else of the group's start, and the value of `"cpus"` then.
    async fn earlier(&self) -> zbus::Result<Option<(Source, u32)>> {
        let target = name::target(&self.group);
        let since = self.session.systemd().unit_time(&target, "ActiveEnterTimestampMonotonic").await?;
        let applied = self.last_apply.as_ref().map(|applied| (applied.source.clone(), applied.cpus));
        let at_start = || {
            since.and_then(|since| self.history.in_force(since)).map(|version| (version.source.clone(), version.cpus))
        };
        Ok(applied.or_else(at_start))
    }

    fn is_current(&self, (source, cpus): &(Source, u32)) -> bool {
        let same = |files: &GroupOutcome| files.group.is_some() && files.source.as_ref() == Some(source);
        self.files.as_ref().is_some_and(same) && *cpus == groups::context(self.session.scope).cpus
    }

    /// Whether there is an earlier version that differs from the current files. If it is unknown, there is none.
    async fn can_roll_back(&self) -> bool {
        self.earlier().await.is_ok_and(|earlier| earlier.is_some_and(|earlier| !self.is_current(&earlier)))
    }

    fn is_rolled_back(&self) -> bool {
        self.history.last().is_some_and(|last| last.pins.all().is_some())
    }

    fn nothing_to_roll_back(&self) -> String {
        let earlier = if self.last_apply.is_some() { "the last complete apply" } else { "what it was started with" };
        let (group, apply) = (&self.group, self.command("apply"));
        format!(
            "{group}: nothing to roll back: {earlier} matches the current files; to undo a change, edit them and run {apply}"
        )
    }

    /// `copse COMMAND GROUP` in backquotes, with `--user` if needed.
    fn command(&self, command: &str) -> String {
        format!("`{} {command} {}`", copse(self.session.scope), self.group)
    }

    /// Takes the files of the earlier version instead of the current ones; `false` if there is none. If it does not
    /// differ from the current ones, these are applied: nothing has to be pinned.
    async fn roll_back(&mut self) -> Result<bool, Error> {
        let Some(earlier) = self.earlier().await? else { return Ok(false) };
        if self.is_current(&earlier) {
            return Ok(true);
        }
        let (source, cpus) = earlier;
        let (group, diagnostics) = model::read(&source, &Context { scope: self.session.scope, cpus });
        let last = self.history.last();
        self.files = Some(GroupOutcome {
            name: self.group.clone(),
            path: source.file.path.clone(),
            group,
            static_target: last.is_some_and(|last| last.static_target),
            foreign_target: self.files.as_ref().is_some_and(|files| files.foreign_target),
            overrides: last.map(|last| last.overrides.clone()).unwrap_or_default(),
            diagnostics,
            source: Some(source.clone()),
        });
        self.rollback = Some(Pin { source, cpus, units: Units::All });
        Ok(true)
    }

    fn application<'a>(
        &'a self,
        plan: &'a Plan,
        observer: &Observer<'_>,
        live: &LiveGroup,
        cpus: u32,
    ) -> Application<'a> {
        let applied = self.last_apply.as_ref();
        let applied_at = |unit: &str| applied.and_then(|applied| applied.units.get(unit)?.at);
        let (mut started, mut inputs) = (BTreeMap::new(), BTreeMap::new());
        for member in &live.members {
            let unit = member.unit();
            if let Some(properties) = live.properties.get(unit) {
                let at = started_at(member.kind, properties).max(applied_at(unit));
                started.extend(at.map(|at| (unit.to_owned(), at)));
            }
            let files = self.definition().map(|group| observer.inputs(group, member)).unwrap_or_default();
            if !files.is_empty() {
                inputs.insert(unit.to_owned(), files);
            }
        }
        // Units whose inputs did not change were started with the inputs as they are.
        let changed = plan.skipped.iter().filter(|skipped| skipped.reasons.iter().any(is_about_inputs));
        let changed: Vec<&str> =
            changed.flat_map(|skipped| &skipped.units).map(|subject| subject.unit.as_str()).collect();
        let current = inputs.iter().filter(|(unit, _)| !changed.contains(&unit.as_str()));
        let current = current.map(|(unit, files)| (unit.clone(), files.prints())).collect();
        Application {
            directories: &self.directories,
            plan,
            history: &self.history,
            started,
            inputs,
            current,
            source: self.files.as_ref().and_then(|files| files.source.as_ref()),
            cpus: self.rollback.as_ref().map_or(cpus, |pin| pin.cpus),
            before: self.last_apply.clone(),
            back: self.rollback.clone(),
        }
    }
}

fn is_about_inputs(reason: &Reason) -> bool {
    matches!(reason, Reason::Input { .. } | Reason::Inputs)
}
