//! Calls and answers of XML-RPC as XML.

mod read;
#[cfg(test)]
mod tests;
mod write;

pub(super) use self::read::decoded;
pub use self::read::{Invalid, Request, read};
pub use self::write::{answer, fault};
