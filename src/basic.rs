//! basic

pub mod atomic_file;
pub mod clock;
pub mod diagnostic;
pub mod exit_status;
pub mod fingerprint;
#[cfg(any(feature = "cli", feature = "supervisor"))]
pub mod local_time;
pub mod os_error;
pub mod scope;
pub mod signal;
pub mod suggest;
#[cfg(feature = "cli")]
pub mod terminal;
pub mod time_span;
