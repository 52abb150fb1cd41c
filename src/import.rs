//! What other process managers' files become: a group file that means the same, and notes on what it can't say.

pub mod group_file;
