//! systemd's freezer.
//!
//! From systemd 257 on, a frozen unit cannot be stopped, restarted or reloaded, and a stop of its target skips it silently.
//! Until 252 systemd thaws it itself. To 257 and 262, a unit whose process exits while frozen (SIGKILL, out of memory) stays
//! frozen, and can neither be thawed nor started nor stopped until the next boot; seen on both.

use futures_util::future::try_join_all;

use crate::change::observe::subject::Subject;
use crate::change::plan::Reason;

use super::Rollout;
use super::event::{Event, Problem, Stop};
use super::unit::failed;
use crate::manager::state::FreezerState;

impl Rollout<'_> {
    /// Freezes a unit; returns whether it was not frozen before.
    ///
    /// # Errors
    /// What the manager refuses.
    pub async fn freeze(&self, subject: &Subject) -> Result<bool, Stop> {
        if self.freezer_state(subject).await? == FreezerState::Frozen {
            return Ok(false);
        }
        let done = self.systemd().manager().freeze_unit(&subject.unit).await;
        done.map(|()| true).map_err(|error| Stop::of(subject, error))
    }

    /// Thaws a unit; returns whether it was frozen.
    ///
    /// # Errors
    /// What the manager refuses, or what keeps the unit frozen, which is reported.
    pub async fn thaw(&self, subject: &Subject) -> Result<bool, Stop> {
        let thawed = self.thaw_if_frozen(subject).await;
        if let Err(Stop::Failed(failure)) = &thawed {
            self.reporter.report(&Event::Ends {
                action: "thaw",
                subject,
                reasons: &[Reason::Requested],
                end: Err(Problem::Failed(failure)),
            });
        }
        thawed
    }

    async fn thaw_if_frozen(&self, subject: &Subject) -> Result<bool, Stop> {
        match self.freezer_state(subject).await? {
            FreezerState::Running => Ok(false),
            FreezerState::FrozenByParent | FreezerState::FreezingByParent => {
                let slice: String = self.systemd().service_property(&subject.unit, "Slice").await?;
                Err(failed(subject, format!("frozen together with its slice: `systemctl thaw {slice}` first")))
            }
            _ => match self.systemd().manager().thaw_unit(&subject.unit).await {
                Ok(()) => Ok(true),
                Err(_) if self.list(&[&subject.unit]).await?.iter().any(|row| !row.is_up()) => {
                    let why =
                        "exited while frozen; this version of systemd cannot thaw or start it until the next boot";
                    Err(failed(subject, why.to_owned()))
                }
                Err(error) => Err(Stop::of(subject, error)),
            },
        }
    }

    /// Thaws units that are going to be stopped, restarted or reloaded, and reports it.
    ///
    /// # Errors
    /// As [`Rollout::thaw`].
    pub async fn thaw_first(&self, subjects: &[&Subject]) -> Result<(), Stop> {
        let thawed = try_join_all(subjects.iter().map(|subject| self.thaw(subject))).await?;
        subjects.iter().zip(thawed).filter(|(_, thawed)| *thawed).for_each(|(subject, _)| self.report_thawed(subject));
        Ok(())
    }

    /// As [`Rollout::thaw_first`], for a unit whose failure is reported with its job.
    pub(super) async fn thaw_for_a_job(&self, subject: &Subject) -> Result<(), Stop> {
        if self.thaw_if_frozen(subject).await? {
            self.report_thawed(subject);
        }
        Ok(())
    }

    fn report_thawed(&self, subject: &Subject) {
        self.reporter.report(&Event::Notes(&format!("{} is frozen, thawing it first", subject.label)));
    }

    async fn freezer_state(&self, subject: &Subject) -> zbus::Result<FreezerState> {
        let state: String = self.systemd().unit_property(&subject.unit, "FreezerState").await?;
        Ok(FreezerState::from(&*state))
    }
}
