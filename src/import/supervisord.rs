//! supervisord's files.

pub mod config;
mod datatypes;
pub mod expanded;
pub mod glob;
pub mod ini;
pub mod options;
pub mod percent;
mod program;
mod reader;
mod shlex;
pub mod translate;
