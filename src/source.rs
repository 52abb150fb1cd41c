//! Finds group files: precedence, masks, drop-ins.

use std::sync::Arc;

use crate::diagnostic::SourceFile;
use crate::unit::name::GroupName;

/// A group's files as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The stem of the file's name.
    pub name: GroupName,
    /// The group file.
    pub file: Arc<SourceFile>,
    /// Its drop-ins, in the order in which they are merged.
    pub drop_ins: Vec<Arc<SourceFile>>,
}
