//! Finds the location of a value again, for a diagnostic about a group that has been read.

use crate::basic::diagnostic::{Diagnostics, SourceLocation};
use crate::group_file::discover::Source;
use crate::group_file::document;

/// The value of the first of `keys` that is in the table at `path`, in the last file that has one.
pub fn location_of(source: &Source, path: &[&str], keys: &[&str]) -> Option<SourceLocation> {
    source.drop_ins.iter().rev().chain([&source.file]).find_map(|file| {
        let table = document::parse(file, &mut Diagnostics::default())?;
        let table = path.iter().try_fold(&table, |table, name| table.table(name))?;
        keys.iter().find_map(|key| table.get(key)).map(|entry| SourceLocation::from(&entry.node))
    })
}
