//! `copse schema`: what editors want to know of group files.

use clap::Args;

use super::report;
use super::{Exit, complain};
use crate::model::schema;

/// Print the JSON Schema of group files, for editors.
#[derive(Debug, Args)]
pub struct Schema {}

impl Schema {
    /// Prints it on the standard output.
    pub fn run(self) -> Exit {
        match report::print(&schema::text()) {
            Ok(()) => Exit::Done,
            Err(error) => {
                complain(format_args!("the schema can't be written: {error}"));
                Exit::Failed
            }
        }
    }
}
