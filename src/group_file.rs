//! group_file

pub mod discover;
pub mod document;
pub mod keys;
pub mod read;
pub mod symlinks;
