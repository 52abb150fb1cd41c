//! What all commands have in common for `cli.rs`.

use super::error::Error;
use super::exit::Exit;
use crate::basic::scope::Scope;

/// A command of copse(1), with its arguments.
pub(crate) trait Execute {
    /// # Errors
    /// What kept it from its work. The caller prints it.
    fn execute(self, scope: Scope) -> Result<Exit, Error>;
}
