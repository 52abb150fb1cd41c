//! Observes groups: the [`Situation`](situation::Situation) of each, from the service manager, the files, and what copse
//! recorded since the boot.
//!
//! ```text
//!  subject    how people name units
//!  members    the units of a group
//!  live       what the service manager has of groups
//!  state      what the states of a unit mean to its group
//!  past       the definitions of units at each time since the boot
//!  paths      placeholders in paths
//!  inputs     did the files change that a process was started from?
//!  stamp      would a setup step run?
//!  files      all of these for the units of a group
//!  observer   the situation of a group
//!  situation  plain values, from which a plan is made
//! ```

mod files;
pub mod inputs;
pub mod live;
pub mod members;
mod observer;
mod past;
mod paths;
pub mod situation;
mod stamp;
pub mod state;
pub mod subject;

pub use self::observer::{Observer, ROLLED_BACK, started_at};
