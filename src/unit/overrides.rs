//! The unit files and drop-ins of administrators and packages that apply to a group's units.

use std::sync::Arc;

use crate::basic::diagnostic::SourceFile;

/// The unit files and drop-ins that apply to a group's units, outside of the generator's directory.
///
/// Each has its path without `$COPSE_ROOT`, and its text. An empty text is a mask: to systemd an empty file and a link to
/// `/dev/null` are the same (systemd.unit(5)). Drop-ins are from all of [`super::name::drop_in_directories`]. Links in
/// `.wants/` and `.requires/` are left out, and so is what `systemctl set-property` wrote, which takes effect at once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Overrides {
    /// In directories that come before the generator's ([`crate::basic::scope::Directories::administrator`], in that order):
    /// a unit file hides the generated one. Sorted by directory, then path.
    pub above: Vec<Arc<SourceFile>>,
    /// In directories that come after it ([`crate::basic::scope::Directories::units`], in that order): drop-ins, and the
    /// static target that copse completes. Sorted alike.
    pub below: Vec<Arc<SourceFile>>,
}
