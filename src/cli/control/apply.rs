//! `copse apply`: what `copse plan` shows, done.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use clap::Args;
use serde_json::json;

use super::restart::Pace;
use crate::basic::scope::{Directories, Scope};
use crate::basic::terminal::ColorChoice;
use crate::change::observe;
use crate::change::observe::{Notes, Seen};
use crate::change::plan;
use crate::change::plan::{Plan, Reason, render};
use crate::change::rollout::apply::Application;
use crate::change::rollout::journal::JournalReporter;
use crate::change::rollout::{Failure, Rollout, Stop};
use crate::cli::common::exit::Exit;
use crate::cli::common::output;
use crate::cli::common::output::{complain, say};
use crate::cli::common::session;
use crate::cli::common::session::{Session, not_allowed, said};
use crate::cli::inspect::plan::{groups, invalid};
use crate::generator;
use crate::generator::load::GroupOutcome;
use crate::group_file::discover::Source;
use crate::manager::is_refusal;
use crate::model;
use crate::model::Context;
use crate::state::history::{History, StartHistory};
use crate::state::last_apply::Applied;
use crate::state::lock::{Lock, NoLock};
use crate::state::pins::{Pin, Units};
use crate::unit::name::GroupName;

/// Do what `copse plan` shows: bring what runs up to date with the files, one instance after the other.
///
/// The first unit that doesn't get ready stops it; what wasn't come to is held at its old definition, also if it crashes,
/// until the next apply. It never asks, and can be run again at any time, whatever interrupted it.
#[derive(Debug, Args)]
pub struct Apply {
    /// Groups; all if none.
    #[arg(value_name = "GROUP")]
    groups: Vec<String>,

    /// Back to the last apply that was complete, whatever the files say now.
    #[arg(long, requires = "groups")]
    rollback: bool,

    /// Wait until no other apply of the group is at work, instead of exiting with 10.
    #[arg(long)]
    wait: bool,

    /// An object for each group, on a line of its own, instead of what is shown.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    pace: Pace,
}

/// A group that is applied, and what it is applied with.
struct Subject<'w> {
    work: &'w Session,
    directories: Directories,
    group: GroupName,
    /// The group's files: as they are now, or as they were.
    files: Option<GroupOutcome>,
    history: History,
    before: Option<Applied>,
    /// They are as they were.
    back: Option<Pin>,
}

impl Apply {
    pub fn run(self, scope: Scope) -> Exit {
        session::run(scope, self.json, async |work| {
            let all = match groups(&self.groups, work.systemd(), scope, &work.outcome).await {
                Ok(all) => all,
                Err(exit) => return Ok(exit),
            };
            let mut exit = Exit::Done;
            for group in all {
                let end = match self.group(work, &group).await {
                    Ok(end) => end,
                    // Another group may be allowed, or be well.
                    Err(stop) => work.stopped(&stop),
                };
                exit = crate::cli::common::exit::worse(exit, end);
                if work.interrupt.asked() {
                    break;
                }
            }
            Ok(exit)
        })
    }

    async fn group(&self, work: &Session, group: &GroupName) -> Result<Exit, Stop> {
        let directories = Directories::from_environment(work.scope, None);
        let own = work.outcome.groups.iter().find(|own| own.name == *group);
        if let Some(broken) = own.filter(|own| own.group.is_none() && !self.rollback) {
            if let Some(object) = invalid(broken, ColorChoice::Auto, self.json) {
                print(&object)?;
            }
            return Ok(Exit::Invalid);
        }
        let _lock = match self.lock(work, &directories, group).await? {
            Ok(lock) => lock,
            Err(exit) => return Ok(exit),
        };
        // Read under the lock: what another apply noted counts.
        let mut history = StartHistory::read(&directories).map_err(|why| Stop::State(why.message))?;
        let mut subject = Subject {
            work,
            before: Applied::read(&directories, group).map_err(|why| Stop::State(why.message))?,
            directories,
            group: group.clone(),
            files: own.cloned(),
            history: history.groups.remove(group).unwrap_or_default(),
            back: None,
        };
        if self.rollback && !subject.go_back().await? {
            complain(format_args!("nothing is known of an earlier state of `{group}` since the boot"));
            return Ok(Exit::Failed);
        }
        self.apply(&subject).await
    }

    async fn lock(
        &self,
        work: &Session,
        directories: &Directories,
        group: &GroupName,
    ) -> Result<Result<Lock, Exit>, Stop> {
        let taken = match self.wait {
            false => Lock::take(directories, group),
            true => tokio::select! {
                taken = Lock::wait(directories, group) => taken,
                () = work.interrupt.once() => return Err(Stop::Interrupted),
            },
        };
        match taken {
            Ok(lock) => Ok(Ok(lock)),
            Err(NoLock::Held(pid)) => {
                let who = if pid.is_empty() { String::new() } else { format!(" (process {pid})") };
                complain(format_args!("another copse is at `{group}`{who}; `--wait` waits for it"));
                Ok(Err(Exit::Locked))
            }
            Err(NoLock::Io(error)) if error.kind() == io::ErrorKind::PermissionDenied => {
                Ok(Err(not_allowed(work.scope, &format!("`{group}`"), &error.to_string())))
            }
            Err(NoLock::Io(error)) => Err(Stop::State(format!("`{group}` can't be locked: {error}"))),
        }
    }

    async fn apply(&self, subject: &Subject<'_>) -> Result<Exit, Stop> {
        let (work, group) = (subject.work, &subject.group);
        let meaning = subject.files.as_ref().and_then(|files| files.group.as_ref());
        let Some(seen) = observe::see(work.systemd(), group, meaning).await? else {
            complain(format_args!("there is no group `{group}`"));
            return Ok(Exit::NoSuchGroup);
        };
        let context = Context { scope: work.scope, cpus: generator::cpus() };
        let notes = Notes::read(&subject.directories, context);
        let mut plan = observe::situation(&notes, group, subject.files.as_ref(), &seen, plan::plan);
        self.pace.set(&mut plan);
        if self.rollback && subject.back.is_none() && plan.is_empty() && !subject.is_rolled_back() {
            work.progress.note(&subject.nothing_to_go_back_to());
            work.progress.report(group.as_str(), group.as_str(), json!({ "complete": true, "held": [] }))?;
            return Ok(Exit::Done);
        }
        if subject.back.is_none() {
            // What is about to be done ends it.
            for note in plan.notes.iter_mut().filter(|note| *note == observe::ROLLED_BACK) {
                *note = "the group was rolled back; from here on it is what its files say".to_owned();
            }
        }
        if !self.json {
            work.progress.note_lines(&render::render(&plan, false, output::look(ColorChoice::Auto, work.scope)));
        }
        work.progress.expect(plan.steps.iter().flat_map(|step| &step.units));
        let application = subject.application(&plan, &notes, &seen, context.cpus);
        let record = JournalReporter::new(group, &work.progress);
        let limit = meaning.and_then(|group| group.timeout_start.value.finite());
        let (jobs, interrupt) = (&work.jobs, work.interrupt.clone());
        let rollout = Rollout { jobs, tell: &record, interrupt, limit, wanted: BTreeSet::new(), hold: None };
        let end = application.run(&rollout).await;
        let held = end.as_ref().err().map(|(_, held)| held.as_slice()).unwrap_or_default();
        work.progress.report(group.as_str(), group.as_str(), json!({ "complete": end.is_ok(), "held": held }))?;
        match end {
            Ok(()) => {
                if subject.back.is_some() {
                    let again = subject.command("apply");
                    work.progress.note(&format!("{group} is rolled back, whatever its files say, until {again}"));
                }
                Ok(Exit::Done)
            }
            Err((stop, held)) => self.stopped(subject, stop, &held).await,
        }
    }

    /// Says where it stopped, what is held, and how to go on.
    async fn stopped(&self, subject: &Subject<'_>, stop: Stop, held: &[String]) -> Result<Exit, Stop> {
        let group = &subject.group;
        let why = match &stop {
            Stop::Failed(Failure { subject, what, .. }) => format!("stopped at {}: {what}", subject.label),
            Stop::Interrupted => "interrupted".to_owned(),
            Stop::Manager(error) if !is_refusal(error) => said(error),
            _ => return Err(stop),
        };
        complain(format_args!("{group}: {why}"));
        if !held.is_empty() {
            let held: Vec<String> =
                held.iter().map(|unit| crate::change::observe::members::label(group.as_str(), unit)).collect();
            say(&format!("  held at what they run with: {}", listed(&held)));
        }
        let (on, back) = (subject.command("apply"), subject.command("apply --rollback"));
        let mended = if matches!(stop, Stop::Failed(_)) { " once it is mended" } else { "" };
        say(&match self.rollback {
            true => format!("  to go on: {back}{mended}, or {on} for what the files say"),
            false if subject.can_go_back().await => format!("  to go on: {on}{mended}, or {back} to go back"),
            false => format!("  to go on: {on}{mended}"),
        });
        Ok(Exit::HalfWay)
    }
}

/// `web@2, web@3 and web@4`
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

fn print(text: &str) -> Result<(), Stop> {
    output::print(text).map_err(|error| Stop::State(format!("the result can't be written: {error}")))
}

impl Subject<'_> {
    /// The files of the last complete apply, or else of the group's start, and what `"cpus"` meant in them.
    async fn earlier(&self) -> zbus::Result<Option<(Source, u32)>> {
        let target = crate::unit::name::target(&self.group);
        let since = self.work.systemd().unit_time(&target, "ActiveEnterTimestampMonotonic").await?;
        let before = self.before.as_ref().map(|before| (before.source.clone(), before.cpus));
        let at_start = || {
            since.and_then(|since| self.history.in_force(since)).map(|version| (version.source.clone(), version.cpus))
        };
        Ok(before.or_else(at_start))
    }

    /// Whether this is what the files say now.
    fn is_now(&self, (source, cpus): &(Source, u32)) -> bool {
        let same = |files: &GroupOutcome| files.group.is_some() && files.source.as_ref() == Some(source);
        self.files.as_ref().is_some_and(same) && *cpus == generator::cpus()
    }

    /// Whether there is an earlier state that isn't what the files say.
    async fn can_go_back(&self) -> bool {
        // Who can't tell now doesn't offer it.
        self.earlier().await.is_ok_and(|earlier| earlier.is_some_and(|earlier| !self.is_now(&earlier)))
    }

    fn is_rolled_back(&self) -> bool {
        self.history.last().is_some_and(|last| last.pins.all().is_some())
    }

    fn nothing_to_go_back_to(&self) -> String {
        let what = if self.before.is_some() { "the last complete apply" } else { "what it was started with" };
        let (group, apply) = (&self.group, self.command("apply"));
        format!(
            "{group}: nothing to go back to: {what} is what runs, and what the files say; to change back, change the \
             files, then {apply}"
        )
    }

    /// `copse apply G`, as somebody would have to write it, in backquotes.
    fn command(&self, verb: &str) -> String {
        format!("`{} {verb} {}`", crate::cli::common::output::copse(self.work.scope), self.group)
    }

    /// Takes the files of the last complete apply, or else of the group's start. `false` where neither is known. Where the
    /// files say the same, they are what is applied: nothing has to be held against them.
    async fn go_back(&mut self) -> Result<bool, Stop> {
        let Some(earlier) = self.earlier().await? else { return Ok(false) };
        if self.is_now(&earlier) {
            return Ok(true);
        }
        let (source, cpus) = earlier;
        let (group, diagnostics) = model::read(&source, &Context { scope: self.work.scope, cpus });
        let last = self.history.last();
        let known = self.files.take();
        self.files = Some(GroupOutcome {
            name: self.group.clone(),
            path: source.file.path.clone(),
            group,
            static_target: last.is_some_and(|last| last.static_target),
            foreign_target: known.as_ref().is_some_and(|known| known.foreign_target),
            overrides: last.map(|last| last.overrides.clone()).unwrap_or_default(),
            diagnostics,
            source: Some(source.clone()),
        });
        self.back = Some(Pin { source, cpus, units: Units::All });
        Ok(true)
    }

    fn application<'a>(&'a self, plan: &'a Plan, notes: &Notes<'_>, seen: &Seen, cpus: u32) -> Application<'a> {
        let meaning = self.files.as_ref().and_then(|files| files.group.as_ref());
        let noted = |unit: &str| self.before.as_ref().and_then(|before| before.units.get(unit)?.at);
        let (mut started, mut inputs) = (BTreeMap::new(), BTreeMap::new());
        for member in &seen.members {
            let unit = &member.unit;
            if let Some(properties) = seen.properties.get(unit) {
                started
                    .extend(observe::started_at(member.kind, properties).max(noted(unit)).map(|at| (unit.clone(), at)));
            }
            let files = meaning.map(|group| notes.inputs(group, unit)).unwrap_or_default();
            if !files.is_empty() {
                inputs.insert(unit.clone(), files);
            }
        }
        // What is current was started from what is there now.
        let changed = plan.leave.iter().filter(|leave| leave.reasons.iter().any(is_about_inputs));
        let changed: Vec<&str> = changed.flat_map(|leave| &leave.units).map(|subject| subject.unit.as_str()).collect();
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
            cpus: self.back.as_ref().map_or(cpus, |back| back.cpus),
            before: self.before.clone(),
            back: self.back.clone(),
        }
    }
}

fn is_about_inputs(reason: &Reason) -> bool {
    matches!(reason, Reason::Input(_) | Reason::Inputs)
}
