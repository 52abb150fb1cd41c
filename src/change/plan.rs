//! What a change of a group's files needs: which units have to be touched, how, and why.
//!
//! A [`Plan`] is a value. `copse plan` prints it, and `copse apply` carries out the very same one, step by step in its order.
//! `copse restart` makes plans of its own.
//!
//! ```text
//!  step              a plan and its steps
//!  directive_effect  what a change of a directive needs
//!  decide            what one unit needs
//!  steps             the steps for all of them, in their order
//!  restart           the steps of `copse restart`
//!  render, json      a plan for people, and for programs
//! ```

mod decide;
pub mod directive_effect;
pub mod json;
mod pace;
pub mod render;
pub(crate) mod restart;
mod step;
mod steps;
#[cfg(test)]
mod tests;

pub use self::decide::outdated;
pub use self::step::{Action, Pace, Plan, Reason, SkipReason, Skipped, Step};
pub use self::steps::plan;
