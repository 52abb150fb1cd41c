//! systemd's freezer, and what it keeps from being done.
//!
//! A frozen unit can't be stopped, restarted or reloaded from systemd 257 on, and a stop of its target passes it by without a
//! word. Until 252 systemd thaws it itself. One that dies while it is frozen (SIGKILL, no memory left) stays frozen for
//! 257 and 262, and can neither be thawed nor started nor stopped again before the next boot; seen on both.

use futures_util::future::try_join_all;

use crate::change::observe::members::Subject;
use crate::change::plan::Reason;

use super::Rollout;
use super::event::{Event, Problem, Stop};
use super::unit::failed;
use crate::manager::state::FreezerState;

impl Rollout<'_> {
    /// Suspends a unit; says whether it wasn't already.
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

    /// Lets a unit run on; says whether it was frozen.
    ///
    /// # Errors
    /// What the manager refuses, or what keeps it frozen, which is told.
    pub async fn thaw(&self, subject: &Subject) -> Result<bool, Stop> {
        let thawed = self.let_run(subject).await;
        if let Err(Stop::Failed(failure)) = &thawed {
            self.tell.tell(&Event::Ends {
                action: "thaw",
                subject,
                reasons: &[Reason::Asked],
                end: Err(Problem::Failed(failure)),
            });
        }
        thawed
    }

    async fn let_run(&self, subject: &Subject) -> Result<bool, Stop> {
        match self.freezer_state(subject).await? {
            FreezerState::Running => Ok(false),
            FreezerState::FrozenByParent | FreezerState::FreezingByParent => {
                let slice: String = self.systemd().service_property(&subject.unit, "Slice").await?;
                Err(failed(subject, format!("frozen together with its slice: `systemctl thaw {slice}` first")))
            }
            _ => match self.systemd().manager().thaw_unit(&subject.unit).await {
                Ok(()) => Ok(true),
                Err(_) if self.list(&[&subject.unit]).await?.iter().any(|row| !row.is_up()) => {
                    let why = "it died while it was frozen, and this systemd neither thaws nor starts it before the next boot";
                    Err(failed(subject, why.to_owned()))
                }
                Err(error) => Err(Stop::of(subject, error)),
            },
        }
    }

    /// Thaws what is going to be stopped, restarted or reloaded, and says so.
    ///
    /// # Errors
    /// As [`Rollout::thaw`].
    pub async fn thaw_first(&self, subjects: &[&Subject]) -> Result<(), Stop> {
        let thawed = try_join_all(subjects.iter().map(|subject| self.thaw(subject))).await?;
        subjects.iter().zip(thawed).filter(|(_, thawed)| *thawed).for_each(|(subject, _)| self.say_thawed(subject));
        Ok(())
    }

    /// As [`Rollout::thaw_first`], for those whose failures are told with what they were thawed for.
    pub(super) async fn thaw_for_a_job(&self, subject: &Subject) -> Result<(), Stop> {
        if self.let_run(subject).await? {
            self.say_thawed(subject);
        }
        Ok(())
    }

    fn say_thawed(&self, subject: &Subject) {
        self.tell.tell(&Event::Notes(&format!("{} was frozen, and is thawed first", subject.label)));
    }

    async fn freezer_state(&self, subject: &Subject) -> zbus::Result<FreezerState> {
        let state: String = self.systemd().unit_property(&subject.unit, "FreezerState").await?;
        Ok(FreezerState::from(&*state))
    }
}
