//! From files to tables: finds group files and their drop-ins, reads them, and parses TOML with locations.

pub mod discover;
pub mod document;
pub mod keys;
pub mod read;
pub mod symlinks;
