//! What a change of a group's files needs, and how it is carried out. The data goes from [`observe`] to [`plan`] to
//! [`rollout`].

pub mod observe;
pub mod plan;
pub mod rollout;

use self::observe::Observer;
use self::observe::live;
use crate::generator::load::GroupOutcome;
use crate::manager::Connected;
use crate::unit::name::GroupName;

/// The plans for groups, in their order. `None` if there is neither a valid file nor anything that runs.
///
/// # Errors
/// What the connection or the manager refuses.
pub async fn plans(
    systemd: &Connected,
    observer: &Observer<'_>,
    groups: &[(&GroupName, Option<&GroupOutcome>)],
) -> zbus::Result<Vec<Option<plan::Plan>>> {
    let files: Vec<_> = groups.iter().map(|(name, file)| (*name, file.and_then(|file| file.group.as_ref()))).collect();
    let live = live::groups(systemd, &files).await?;
    let plan = |((name, file), live): (&(&GroupName, Option<&GroupOutcome>), Option<live::LiveGroup>)| {
        live.map(|live| plan::plan(&observer.situation(name, *file, &live)))
    };
    Ok(groups.iter().zip(live).map(plan).collect())
}
