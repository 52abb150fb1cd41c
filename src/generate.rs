//! A group becomes units. Nothing here can fail: what could is checked in [`crate::model`].

use crate::model::Group;
use crate::systemd::Systemd;
use crate::unit::UnitTree;

/// What the units are generated for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The systemd that will read them.
    pub systemd: Systemd,
    /// A `G.target` with `X-CopseGroup=yes` is installed: fill it instead of writing one.
    pub static_target: bool,
}

/// All units of `group`.
#[must_use]
pub fn generate(group: &Group, target: Target) -> UnitTree {
    let _ = (group, target);
    UnitTree::default()
}
