//! Starting and stopping whole groups, by their targets.

use super::error::Error;
use super::exit::Exit;
use super::message::copse;
use super::selection::Selection;
use super::session::Session;
use crate::change::observe::members::{Kind, Member, Start};

impl Session {
    /// Starts the target of a group: its units start in their order, after their failures were reset.
    ///
    /// # Errors
    /// The target could not be started, or its units could not be watched.
    pub(crate) async fn start_group(&self, selection: &Selection<'_>) -> Result<Exit, Error> {
        let (group, target) = (&selection.group, selection.target());
        let members = selection.subjects(|member| member.defined && member.start == Start::Auto);
        self.progress.expect(&members);
        let start =
            self.rollout(group, selection.limit(), async |rollout| rollout.start_group(&target, &members).await);
        let failures = match start.await {
            Err(_) if selection.is_invalid() => return Ok(Exit::Invalid),
            started => started?,
        };
        let (essential, others): (Vec<_>, Vec<_>) =
            failures.iter().partition(|failure| selection.is_essential(&failure.subject.unit));
        if !others.is_empty() {
            let labels: Vec<&str> = others.iter().map(|failure| failure.subject.label.as_str()).collect();
            self.progress.note(&format!("not essential for {group}: {}", labels.join(", ")));
        }
        Ok(match essential.is_empty() {
            true => Exit::Done,
            false if selection.is_invalid() => Exit::Invalid,
            false => Exit::Failed,
        })
    }

    /// Stops the target of a group, and waits until the last process has exited. Processes that a timer started keep
    /// running: only their timer stops with the group.
    ///
    /// # Errors
    /// The target could not be stopped, or its units could not be watched.
    pub(crate) async fn stop_group(&self, selection: &Selection<'_>) -> Result<Exit, Error> {
        let (group, target) = (&selection.group, selection.target());
        let timed = |member: &Member| member.kind == Kind::Process && member.start == Start::Timed;
        let members = selection.subjects(|member| !timed(member));
        self.progress.expect(&members);
        let stop = self.rollout(group, selection.limit(), async |rollout| rollout.stop_group(&target, &members).await);
        stop.await?;
        for (subject, row) in self.list(selection.subjects(timed)).await? {
            if !row.is_down() {
                let (label, copse) = (&subject.label, copse(self.scope));
                let note = format!(
                    "{label} was started by its timer and keeps running; `{copse} stop {group}/{label}` stops it"
                );
                self.progress.note(&note);
            }
        }
        Ok(Exit::Done)
    }
}
