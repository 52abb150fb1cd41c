//! One instance after the other.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::sleep;

use crate::change::observe::subject::Subject;
use crate::change::plan::{Pace, Step};
use crate::manager::jobs::Request;

use super::Rollout;
use super::event::{Stop, UnitOutcome};

/// The sizes of the batches, one after the other.
fn batches(units: usize, pace: &Pace, first_alone: bool) -> VecDeque<usize> {
    let at_once = pace.max_unavailable.clamp(1, units.max(1));
    let mut sizes = VecDeque::new();
    let mut left = units;
    if (first_alone || pace.canary.is_some()) && left > 0 {
        sizes.push_back(1);
        left -= 1;
    }
    while left > 0 {
        let size = at_once.min(left);
        sizes.push_back(size);
        left -= size;
    }
    sizes
}

impl Rollout<'_> {
    /// Restarts the units of a step at its pace, those that are down already before the others. If the others are pinned,
    /// the first goes alone: it shows whether they may follow.
    pub(super) async fn roll(&self, step: &Step, after: &[Step]) -> Result<(), Stop> {
        let mut units = self.down_first(&step.units).await?;
        let pace = &step.pace;
        let mut first = true;
        self.release(units.first().map(|subject| subject.unit.as_str())).await?;
        for size in batches(units.len(), pace, self.pinning.is_some()) {
            if !first {
                self.pause(pace.pause).await?;
            }
            let batch: Vec<&Subject> = units.drain(..size).collect();
            self.restart_together(step, &batch, |ready| async move {
                let extra = pace.canary.filter(|_| first).unwrap_or_default();
                self.prove(&ready, pace, extra).await
            })
            .await?;
            if first {
                self.proven(step, after).await?;
            }
            first = false;
        }
        Ok(())
    }

    /// Restarts units at the same time, and waits for all of them before any failure counts; `proof` then checks those that
    /// are up.
    pub(super) async fn restart_together<'s, F>(
        &self,
        step: &Step,
        batch: &[&'s Subject],
        proof: impl FnOnce(Vec<&'s Subject>) -> F,
    ) -> Result<(), Stop>
    where
        F: Future<Output = Result<(), Stop>>,
    {
        let word = Self::word(step);
        batch.iter().for_each(|subject| self.begins(word, subject));
        let ends = join_all(batch.iter().map(|subject| self.bring_up(Request::Restart, subject))).await;
        let mut proved = Ok(());
        if ends.iter().all(Result::is_ok) {
            let up = batch.iter().zip(&ends).filter(|(_, end)| matches!(end, Ok(UnitOutcome::Ready)));
            proved = proof(up.map(|(subject, _)| *subject).collect()).await;
        }
        self.report_ends(word, &step.reasons, batch, ends, proved)
    }

    /// Units that are down before those that are up: a restart of the former costs no availability.
    async fn down_first<'s>(&self, units: &'s [Subject]) -> zbus::Result<Vec<&'s Subject>> {
        let names: Vec<&str> = units.iter().map(|subject| subject.unit.as_str()).collect();
        let rows = self.list(&names).await?;
        let (up, down): (Vec<_>, Vec<_>) = units.iter().zip(rows).partition(|(_, row)| row.is_up());
        Ok(down.into_iter().chain(up).map(|(subject, _)| subject).collect())
    }

    /// Waits between two batches.
    async fn pause(&self, span: Duration) -> Result<(), Stop> {
        if self.interrupt.is_requested() {
            return Err(Stop::Interrupted);
        }
        tokio::select! {
            () = sleep(span) => Ok(()),
            () = self.interrupt.once() => Err(Stop::Interrupted),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_at_once_as_may_be_down() {
        let pace = |max_unavailable, canary: bool| Pace {
            max_unavailable,
            canary: canary.then_some(Duration::from_secs(1)),
            ..Pace::default()
        };
        for (units, pace, first_alone, expected) in [
            (4, pace(1, false), false, &[1, 1, 1, 1][..]),
            (4, pace(2, false), false, &[2, 2]),
            (4, pace(2, false), true, &[1, 2, 1]),
            (4, pace(usize::MAX, false), false, &[4]),
            (4, pace(usize::MAX, true), false, &[1, 3]),
            (1, pace(1, true), true, &[1]),
            (0, pace(1, true), true, &[]),
        ] {
            assert_eq!(batches(units, &pace, first_alone), expected, "{units} {pace:?} {first_alone}");
        }
    }
}
