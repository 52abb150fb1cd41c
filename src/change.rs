//! What a change of a group's files means for what runs, and how it is carried out: the data goes from [`observe`] to
//! [`plan`] to [`rollout`].

pub mod observe;
pub mod plan;
pub mod rollout;

use self::observe::{Notes, see, situation};
use crate::generator::load::GroupOutcome;
use crate::manager::Connected;
use crate::unit::name::GroupName;

/// What is to be done about a group; `None` where there is neither a file nor anything that runs.
///
/// # Errors
/// What the connection or the manager refuses.
pub async fn plan(
    systemd: &Connected,
    notes: &Notes<'_>,
    group: &GroupName,
    outcome: Option<&GroupOutcome>,
) -> zbus::Result<Option<plan::Plan>> {
    let seen = see(systemd, group, outcome.and_then(|outcome| outcome.group.as_ref())).await?;
    Ok(seen.map(|seen| situation(notes, group, outcome, &seen, plan::plan)))
}
