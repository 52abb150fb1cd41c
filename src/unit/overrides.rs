//! The unit files and drop-ins of administrators and packages that reach a group's units.

use std::sync::Arc;

use crate::basic::diagnostic::SourceFile;

/// What others than copse say about a group's units: unit files and drop-ins outside the generator's directory.
///
/// Each with its path as its author knows it (without `$COPSE_ROOT`) and its text; an empty text masks, as systemd takes
/// an empty file and a link to `/dev/null` alike (systemd.unit(5)). Whole unit files under the name of one of the
/// group's units, and drop-ins in any directory that systemd looks at for one of them: the unit's, its template's, those
/// cut off at a dash, that of the type (`service.d`); see [`super::name::drop_in_directories`]. Links in `.wants/`
/// and `.requires/` aren't here, nor what `systemctl set-property` wrote, which takes effect at once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Overrides {
    /// In directories that come before the generator's ([`crate::basic::scope::Directories::administrator`], in that order):
    /// a unit file hides the generated one. Sorted by directory, then path.
    pub above: Vec<Arc<SourceFile>>,
    /// In directories that come after it ([`crate::basic::scope::Directories::units`], in that order): drop-ins, and the
    /// static target that copse fills. Sorted alike.
    pub below: Vec<Arc<SourceFile>>,
}

impl Overrides {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.above.is_empty() && self.below.is_empty()
    }
}
