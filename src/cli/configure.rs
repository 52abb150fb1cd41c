//! Commands that write files of groups.

pub(crate) mod edit;
pub(crate) mod enable;
mod files;
pub(crate) mod hold;
mod process;
pub(crate) mod scale;
mod transaction;
