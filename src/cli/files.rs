//! cli/files

pub(crate) mod cat;
pub(crate) mod check;
pub(crate) mod compile;
pub(crate) mod completions;
pub(crate) mod explain;
pub(crate) mod graph;
pub(crate) mod output_directory;
pub(crate) mod polkit;
pub(crate) mod render;
pub(crate) mod schema;
