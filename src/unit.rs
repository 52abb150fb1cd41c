//! Unit files as values: a [`UnitTree`] of [`Unit`]s, made of [`Value`]s. Text exists only on disk.
//!
//! [`value`] alone quotes and escapes, [`name`] alone builds names. Nothing else makes a [`Value`], so no text of a group
//! file becomes a directive that its author did not write. What others wrote is read by [`parse`], into the same values.

pub mod directives;
pub mod effective;
pub mod environment_file;
pub mod file;
pub mod name;
pub mod overrides;
pub mod parse;
pub mod specifiers;
pub mod strict;
pub mod tree;
pub mod value;
pub mod version;

pub use self::file::{Section, Unit};
pub use self::tree::{Entry, UnitTree};
pub use self::value::Value;
