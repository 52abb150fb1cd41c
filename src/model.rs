//! What group files say: names resolved, defaults filled in, every value checked.
//!
//! Every semantic error is found here. What is generated from a [`Group`] later cannot fail.

pub mod check;
pub mod parse;
#[cfg(feature = "cli")]
pub mod schema;
mod service;
pub mod supervisor;
pub mod supervisor_table;
#[cfg(test)]
mod tests;
mod text;
mod types;

pub use self::check::directories::{RuntimeDirectory, runtime_directories};
pub use self::check::locate::location_of;
pub use self::check::unsupported::unsupported;
pub use self::check::wanted_by::wanted_by;
pub use self::parse::command::{LONGEST_ARGUMENT, is_plain_word, toml_string};
pub use self::parse::group::{document, read, read_with};
pub use self::parse::instances::MOST_INSTANCES;
pub use self::parse::placeholder::{is_variable, spelled};
pub use self::service::*;
pub use self::text::*;
pub use self::types::*;
