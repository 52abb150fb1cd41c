//! supervisord's files, read as supervisord 4 reads them.

pub mod config;
pub mod configparser;
mod datatypes;
pub mod options;
mod program;
pub mod python_format;
pub mod reader;
pub mod translate;
