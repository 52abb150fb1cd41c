//! A run in the foreground: shows the log and what becomes of each process, until it ends or is interrupted.

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

/// How long to wait for the last lines of the journal.
const LAST_LINES: Duration = Duration::from_secs(2);

/// How long no line may come after the last one.
const SILENCE: Duration = Duration::from_millis(100);

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Ended(End),
    /// By a signal, or because stdout is closed.
    Requested,
}

pub(super) struct Foreground {
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
    /// stdout is closed.
    closed: bool,
    journal: Journal,
}

/// journalctl(1), which follows the group's lines.
struct Journal {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    open: bool,
}

impl Foreground {
    /// Follows the journal from now on. `any_end`: see [`end`].
    ///
    /// # Errors
    /// journalctl cannot be run.
    pub(super) fn new(scope: Scope, group: &Group, jobs: Jobs, any_end: bool, color: bool) -> std::io::Result<Self> {
        let members = members::members(group);
        let name = group.name.as_str().to_owned();
        let painter = Painter::new(scope, &name, &members, color).live();
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

    /// Shows a line about the run as a whole.
    pub(super) fn show(&mut self, text: &str) {
        let name = self.group.clone();
        self.show_unit(&name, text);
    }

    fn show_unit(&mut self, name: &str, text: &str) {
        let line = self.painter.own_line(name, clock::now(), text);
        self.print(&line);
    }

    fn print(&mut self, text: &str) {
        // Flush each line, as the user watches.
        if !self.closed && self.stdout.write_all(text.as_bytes()).and_then(|()| self.stdout.flush()).is_err() {
            self.closed = true;
        }
    }

    /// Starts the group and shows what happens, until the run ends or is interrupted.
    ///
    /// # Errors
    /// What the manager refuses.
    pub(super) async fn start_and_run(&mut self, signals: &mut Signals) -> zbus::Result<Outcome> {
        let mut watch = self.watch();
        let target = &*self.target;
        self.jobs.systemd().ask(|manager| async move { manager.start_unit(target, "replace").await }).await?;
        loop {
            tokio::select! {
                signal = signals.next() => {
                    self.show(&format!("{signal}: stopping"));
                    return Ok(Outcome::Requested);
                }
                line = self.journal.next() => self.show_line(line),
                units = watch.next() => {
                    if let Some(end) = self.update(units?).await? {
                        return Ok(Outcome::Ended(end));
                    }
                }
            }
            if self.closed {
                return Ok(Outcome::Requested);
            }
        }
    }

    /// Stops the group and shows what happens. A second signal kills what still runs.
    ///
    /// # Errors
    /// What the manager refuses.
    pub(super) async fn stop(&mut self, signals: &mut Signals) -> zbus::Result<()> {
        let mut watch = self.watch();
        let target = &*self.target;
        self.jobs.systemd().ask(|manager| async move { manager.stop_unit(target, "replace").await }).await?;
        loop {
            tokio::select! {
                signal = signals.next() => {
                    self.show(&format!("{signal} again: killing what still runs"));
                    // If nothing is left to kill, that is no failure.
                    let _ = self.jobs.systemd().manager().kill_unit(&self.slice, "all", libc::SIGKILL).await;
                }
                line = self.journal.next() => self.show_line(line),
                units = watch.next() => {
                    self.update(units?).await?;
                    if self.is_down() {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Shows the lines that the journal has not delivered yet.
    pub(super) async fn last_lines(&mut self) {
        let Ok(marker) = marker::put(self.scope, &self.group) else { return };
        let limit = Instant::now() + LAST_LINES;
        let mut marked = false;
        while self.journal.open {
            // The output of a process and the mark reach the journal over different sockets.
            let until = if marked { limit.min(Instant::now() + SILENCE) } else { limit };
            match timeout_at(until, self.journal.next()).await {
                Ok(Some(line)) if line.contains(&marker) => marked = true,
                Ok(line) => self.show_line(line),
                Err(_) => break,
            }
        }
        // It has nothing to save.
        let _ = self.journal.child.kill().await;
    }

    fn show_line(&mut self, line: Option<String>) {
        match line {
            Some(line) => {
                if let Some(text) = self.painter.line(&line) {
                    self.print(&text);
                }
            }
            None => self.show("journalctl exited, the log is no longer shown"),
        }
    }

    /// Shows what changed. `units`: the members, then the target. Returns whether that ends the run.
    async fn update(&mut self, units: &[UnitInfo]) -> zbus::Result<Option<End>> {
        let Some((target, rows)) = units.split_last() else { return Ok(None) };
        let unclear = self.watched.iter().zip(rows).filter(|(unit, row)| unit.needs_properties(row));
        let unclear: Vec<&str> = unclear.map(|(_, row)| row.name.as_str()).collect();
        let properties = self.jobs.systemd().properties_of(&unclear).await?;
        let mut found: HashMap<&str, Properties> = unclear.into_iter().zip(properties).collect();
        let mut messages = Vec::new();
        for (unit, row) in self.watched.iter_mut().zip(rows) {
            if let Some(text) = unit.update(row.clone(), found.remove(&*row.name)) {
                messages.push((unit.member.subject.label.clone(), text));
            }
        }
        for (label, text) in messages {
            self.show_unit(&label, &text);
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
                self.show("ready");
            }
            ActiveState::Inactive | ActiveState::Failed => self.begun = Begun::Failed,
            _ => {}
        }
    }

    /// No unit runs or is about to.
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
        // Only a reused PID gives two runs the same name.
        command.arg(format!("--since=@{now}")).arg(format!("--output-fields={}", FIELDS.join(",")));
        command.args(matches(scope, &named, members));
        // A process group of its own, so that Ctrl-C does not end it before the last lines.
        command.stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0).kill_on_drop(true);
        let mut child = command.spawn()?;
        let Some(stdout) = child.stdout.take() else { return Err(std::io::ErrorKind::BrokenPipe.into()) };
        Ok(Self { child, lines: BufReader::new(stdout).lines(), open: true })
    }

    /// The next line; `None` once, at the end. Cancel safe.
    async fn next(&mut self) -> Option<String> {
        if !self.open {
            return std::future::pending().await;
        }
        let line = self.lines.next_line().await.ok().flatten();
        self.open = line.is_some();
        line
    }
}
