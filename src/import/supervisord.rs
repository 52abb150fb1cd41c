//! supervisord's files.

pub mod config;
pub mod configparser;
mod datatypes;
pub mod expanded;
pub mod glob;
pub mod options;
mod program;
pub mod python_format;
mod reader;
mod shlex;
pub mod translate;
