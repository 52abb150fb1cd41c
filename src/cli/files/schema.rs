//! `copse schema`: what editors want to know of group files.

use clap::Args;

use crate::cli::common::exit::Exit;
use crate::cli::common::output;
use crate::cli::common::output::complain;
use crate::model::schema;

/// Print the JSON Schema of group files, for editors.
#[derive(Debug, Args)]
pub struct Schema {}

impl Schema {
    /// Prints it on the standard output.
    pub fn run(self) -> Exit {
        match output::print(&schema::text()) {
            Ok(()) => Exit::Done,
            Err(error) => {
                complain(format_args!("the schema can't be written: {error}"));
                Exit::Failed
            }
        }
    }
}
