//! What copse keeps until the next boot, below `/run/copse` or `$XDG_RUNTIME_DIR/copse`.

mod checksum;
mod format1;
pub mod history;
#[cfg(feature = "cli")]
pub mod last_apply;
#[cfg(feature = "cli")]
pub mod lock;
pub mod pins;
pub mod store;
