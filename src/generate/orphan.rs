//! A unit that was removed from its group while running.

use super::marks::{ORPHANED, PINNED, mark};
use crate::unit::{Section, Unit};

/// The unit, marked. How it is stopped, and that it stops with its group, stays as it was.
pub fn orphaned(mut unit: Unit) -> Unit {
    // If the group file is deleted, systemctl would warn for good that it changed.
    unit.remove(Section::Unit, "SourcePath");
    unit.remove(Section::Unit, PINNED);
    let why = "orphaned: removed from its group but still running; kept until it stops, for ExecStop= and KillMode=";
    mark(&mut unit, ORPHANED, Some(why));
    unit
}
