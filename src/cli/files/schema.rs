//! `copse schema`: the JSON Schema of group files, for editors.

use clap::Args;

use crate::basic::scope::Scope;
use crate::cli::common::error::Error;
use crate::cli::common::execute::Execute;
use crate::cli::common::exit::Exit;
use crate::cli::common::output;
use crate::model::schema;

/// Print the JSON Schema of group files, for editors.
#[derive(Debug, Args)]
pub struct Schema {}

impl Execute for Schema {
    fn execute(self, _scope: Scope) -> Result<Exit, Error> {
        output::print(&schema::text())?;
        Ok(Exit::Done)
    }
}
