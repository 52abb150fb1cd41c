//! A run in front of whoever looks on: the log, what becomes of each process, and how it is asked to end.

use std::collections::HashMap;
use std::io::{Stdout, Write as _, stdout};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{Instant, timeout_at};

use super::marker;
use super::signals::Signals;
use super::watch::{Begun, End, Watched, end};
use crate::basic::clock;
use crate::basic::scope::Scope;
use crate::change::observe::members;
use crate::change::observe::members::Member;
use crate::cli::common::journal::line::{FIELDS, Painter};
use crate::cli::common::journal::matches::matches;
use crate::cli::common::selector::Selector;
use crate::manager::jobs::Jobs;
use crate::manager::properties::Properties;
use crate::manager::state::ActiveState;
use crate::manager::unit::UnitInfo;
use crate::manager::watch::Watch;
use crate::model::Group;
use crate::unit::name;

/// How long the last lines may take from the processes to the journal and back.
const LAST_LINES: Duration = Duration::from_secs(2);

/// After the last line: how long none has to come.
const SILENCE: Duration = Duration::from_millis(100);

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Over {
    /// By itself.
    Ended(End),
    /// By a signal, or because nobody can read what is shown any more.
    Asked,
}

/// A run, shown.
pub(super) struct Front {
    scope: Scope,
    group: String,
    target: String,
    slice: String,
    jobs: Jobs,
    watched: Vec<Watched>,
    any_end: bool,
    begun: Begun,
    painter: Painter,
    stdout: Stdout,
    /// Nobody reads it any more.
    closed: bool,
    journal: Journal,
}

/// journalctl(1), which follows the group's lines.
struct Journal {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    open: bool,
}

impl Front {
    /// Begins to follow the journal. `any_end`: see [`end`].
    ///
    /// # Errors
    /// Where journalctl can't be run.
    pub(super) fn new(scope: Scope, group: &Group, jobs: Jobs, any_end: bool, colour: bool) -> std::io::Result<Self> {
        let members = members::members(group);
        let name = group.name.as_str().to_owned();
        let painter = Painter::new(scope, &name, &members, colour).live();
        Ok(Self {
            journal: Journal::follow(scope, &name, &members)?,
            scope,
            target: name::target(&group.name),
            slice: name::slice(scope == Scope::User, &group.name),
            watched: members.into_iter().map(|member| watched(group, member)).collect(),
            group: name,
            jobs,
            any_end,
            begun: Begun::Starting,
            painter,
            stdout: stdout(),
            closed: false,
        })
    }

    /// A sentence about the run as a whole.
    pub(super) fn say(&mut self, text: &str) {
        let name = self.group.clone();
        self.say_of(&name, text);
    }

    fn say_of(&mut self, name: &str, text: &str) {
        let line = self.painter.own_line(name, clock::now(), text);
        self.print(&line);
    }

    fn print(&mut self, text: &str) {
        // Each at once: somebody looks on.
        if !self.closed && self.stdout.write_all(text.as_bytes()).and_then(|()| self.stdout.flush()).is_err() {
            self.closed = true;
        }
    }

    /// Starts the group and shows what happens until the run is over, or somebody asks for its end.
    ///
    /// # Errors
    /// A manager that refuses, or is gone.
    pub(super) async fn start_and_run(&mut self, signals: &mut Signals) -> zbus::Result<Over> {
        let mut watch = self.watch();
        let target = &*self.target;
        self.jobs.systemd().ask(|manager| async move { manager.start_unit(target, "replace").await }).await?;
        loop {
            tokio::select! {
                signal = signals.next() => {
                    self.say(&format!("{signal}: stopping"));
                    return Ok(Over::Asked);
                }
                line = self.journal.next() => self.show(line),
                units = watch.next() => {
                    if let Some(end) = self.look(units?).await? {
                        return Ok(Over::Ended(end));
                    }
                }
            }
            if self.closed {
                return Ok(Over::Asked);
            }
        }
    }

    /// Stops the group and shows how it goes; a signal kills what is still there.
    ///
    /// # Errors
    /// A manager that is gone.
    pub(super) async fn stop(&mut self, signals: &mut Signals) -> zbus::Result<()> {
        let mut watch = self.watch();
        let target = &*self.target;
        self.jobs.systemd().ask(|manager| async move { manager.stop_unit(target, "replace").await }).await?;
        loop {
            tokio::select! {
                signal = signals.next() => {
                    self.say(&format!("{signal} again: killing what still runs"));
                    // That there is nothing left to kill is no failure.
                    let _ = self.jobs.systemd().manager().kill_unit(&self.slice, "all", libc::SIGKILL).await;
                }
                line = self.journal.next() => self.show(line),
                units = watch.next() => {
                    self.look(units?).await?;
                    if self.is_down() {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Shows the lines that are still on their way.
    pub(super) async fn last_lines(&mut self) {
        let Ok(marker) = marker::put(self.scope, &self.group) else { return };
        let limit = Instant::now() + LAST_LINES;
        let mut marked = false;
        while self.journal.open {
            // What a process wrote and what comes after it take two ways into the journal.
            let until = if marked { limit.min(Instant::now() + SILENCE) } else { limit };
            match timeout_at(until, self.journal.next()).await {
                Ok(Some(line)) if line.contains(&marker) => marked = true,
                Ok(line) => self.show(line),
                Err(_) => break,
            }
        }
        // It has nothing to end well.
        let _ = self.journal.child.kill().await;
    }

    fn show(&mut self, line: Option<String>) {
        match line {
            Some(line) => {
                if let Some(text) = self.painter.line(&line) {
                    self.print(&text);
                }
            }
            None => self.say("journalctl ended: the log isn't shown any more"),
        }
    }

    /// Says what is new of the units, the last of which is the target, and whether that is the end.
    async fn look(&mut self, units: &[UnitInfo]) -> zbus::Result<Option<End>> {
        let Some((target, rows)) = units.split_last() else { return Ok(None) };
        let unclear = self.watched.iter().zip(rows).filter(|(unit, row)| unit.asks_for_details(row));
        let unclear: Vec<&str> = unclear.map(|(_, row)| row.name.as_str()).collect();
        let properties = self.jobs.systemd().properties_of(&unclear).await?;
        let mut found: HashMap<&str, Properties> = unclear.into_iter().zip(properties).collect();
        let mut news = Vec::new();
        for (unit, row) in self.watched.iter_mut().zip(rows) {
            if let Some(text) = unit.see(row.clone(), found.remove(&*row.name)) {
                news.push((unit.member.subject.label.clone(), text));
            }
        }
        for (label, text) in news {
            self.say_of(&label, &text);
        }
        self.begun(target);
        Ok(end(&self.watched, target, self.begun, self.any_end))
    }

    /// How far the start is, by the target's states.
    fn begun(&mut self, target: &UnitInfo) {
        if self.begun != Begun::Starting || target.job.is_some() {
            return;
        }
        match target.active {
            ActiveState::Active => {
                self.begun = Begun::Ready;
                self.say("ready");
            }
            ActiveState::Inactive | ActiveState::Failed => self.begun = Begun::Failed,
            _ => {}
        }
    }

    /// Nothing of it runs, or is going to.
    fn is_down(&self) -> bool {
        self.watched.iter().all(|unit| unit.info.is_down())
    }

    /// Follows the units, the target last.
    fn watch(&self) -> Watch {
        let members = self.watched.iter().map(|unit| unit.member.unit());
        self.jobs.watch(members.chain([self.target.as_str()]))
    }
}

fn watched(group: &Group, member: Member) -> Watched {
    let process = member.subject.label.split(['@', '.']).next().unwrap_or_default();
    let found = group.processes.iter().find(|(name, _)| name.as_str() == process);
    let essential = found.is_none_or(|(_, process)| process.service.essential);
    Watched::new(member, essential)
}

impl Journal {
    fn follow(scope: Scope, group: &str, members: &[Member]) -> std::io::Result<Self> {
        let named = Selector { group: group.to_owned(), part: None };
        let now = clock::now() / 1_000_000;
        let mut command = Command::new("journalctl");
        command.args(["--no-pager", "--quiet", "--all", "--output=json", "--follow", "--no-tail"]);
        // The name was another group's only if PIDs came round.
        command.arg(format!("--since=@{now}")).arg(format!("--output-fields={}", FIELDS.join(",")));
        command.args(matches(scope, &named, members));
        // A group of its own: Ctrl-C is for this process, and the last lines are still to come.
        command.stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0).kill_on_drop(true);
        let mut child = command.spawn()?;
        let Some(stdout) = child.stdout.take() else { return Err(std::io::ErrorKind::BrokenPipe.into()) };
        Ok(Self { child, lines: BufReader::new(stdout).lines(), open: true })
    }

    /// The next line; `None` once, when there are no more. Can be dropped and called again.
    async fn next(&mut self) -> Option<String> {
        if !self.open {
            return std::future::pending().await;
        }
        let line = self.lines.next_line().await.ok().flatten();
        self.open = line.is_some();
        line
    }
}
