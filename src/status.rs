//! The status of a group: the states of its units, and one word about all of them.
//!
//! The words are systemd's (`active`, `failed`, …), which says more if that takes more than one.
//!
//! ```text
//!  types    a status, as plain values
//!  verdict  the word about the group
//!  words    the words about a unit
//!  render   a group for people, or all groups, a line each
//!  table    the units, in columns
//!  json     a group for programs
//! ```

pub mod json;
pub mod render;
mod table;
#[cfg(test)]
mod tests;
mod types;
mod verdict;
mod words;

pub use self::types::{Resources, Row, Status, Verdict};
pub use self::verdict::{verdict, verdict_of_part};
