//! Marks in `[Unit]` by which copse and its users know what a unit is. systemd ignores names that begin with `X-`.

use crate::unit::name::template_of;
use crate::unit::{Section, Unit, Value};

/// A target that is a group's.
pub const GROUP: &str = "X-CopseGroup";

/// Generated from an older version of the group file than the one on disk.
pub const PINNED: &str = "X-CopsePinned";

/// A target whose group file is broken: generated from its last good version.
pub const STALE: &str = "X-CopseStale";

/// Removed from its group while running.
pub(super) const ORPHANED: &str = "X-CopseOrphaned";

pub(super) fn yes() -> Value {
    Value::fixed("yes")
}

/// Puts a mark on top of `[Unit]`.
pub(super) fn mark(unit: &mut Unit, mark: &'static str, why: Option<&'static str>) {
    unit.push_first(Section::Unit, why, mark, yes());
}

/// Whether a unit file is a group's target, to be completed by copse. The last line counts.
pub fn is_group(unit: &Unit) -> bool {
    matches!(unit.values(Section::Unit, GROUP).last(), Some("yes" | "true" | "on" | "1"))
}

/// The units without which this one would not be stopped or sandboxed as before. Of an instance also the template.
pub fn dependencies(unit: &Unit) -> impl Iterator<Item = String> {
    let lines = unit.assignments().map(|(_, line)| line);
    let lines = lines.filter(|line| matches!(&*line.name, "PartOf" | "Slice" | "Sockets" | "Requires"));
    let names = lines.flat_map(|line| line.value.unit_names());
    names.flat_map(|name| [Some(name.to_owned()), template_of(name)]).flatten()
}

#[cfg(test)]
mod tests {
    use super::is_group;
    use crate::unit::parse;

    #[test]
    fn the_mark_of_a_groups_target() {
        for (text, expected) in [
            ("[Unit]\nX-CopseGroup=yes\n", true),
            ("# x\n[Unit]\nDescription=x\n X-CopseGroup = yes \n[Install]\nWantedBy=x\n", true),
            ("[Unit]\nX-CopseGroup=yes\nX-CopseGroup=no\n", false),
            ("[Install]\nX-CopseGroup=yes\n", false),
            ("X-CopseGroup=yes\n[Unit]\n#X-CopseGroup=yes\n", false),
        ] {
            assert_eq!(is_group(&parse::unit(text)), expected, "{text}");
        }
    }
}
