//! state

pub mod history;
#[cfg(feature = "cli")]
pub mod last_apply;
#[cfg(feature = "cli")]
pub mod lock;
pub mod memory;
pub mod pins;
pub mod store;
