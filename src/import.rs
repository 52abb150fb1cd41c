//! What other process managers' files become: a group file that means the same, and notes on what it can't say.

pub mod dotenv;
pub mod group_file;
pub mod procfile;
mod shlex;
pub mod supervisord;
pub mod validate;

use std::sync::Arc;

use crate::basic::diagnostic::{SourceFile, SourceLocation};

/// The lines of a file that may come from anywhere, each with its place. A carriage return alone ends none.
fn lines(file: &Arc<SourceFile>) -> impl Iterator<Item = (SourceLocation, &str)> {
    let mut start = 0;
    file.text.split('\n').map(move |line| {
        let bare = line.strip_suffix('\r').unwrap_or(line);
        let place = SourceLocation::new(file, start..start + bare.len());
        start += line.len() + 1;
        (place, bare)
    })
}
