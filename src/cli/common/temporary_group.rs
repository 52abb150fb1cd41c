//! The files and units of a group that `copse run` makes, and their removal.

pub(in crate::cli) mod cleanup;
pub(in crate::cli) mod workspace;
