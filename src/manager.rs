//! Talks to the service manager over D-Bus (`org.freedesktop.systemd1`, org.freedesktop.systemd1(5)).
//!
//! ```text
//!  way          to PID 1 or to a user's manager: its private socket, or the bus
//!  connection   by one of them, and again where it is lost
//!  questions    what is asked about units
//!  error        what the manager's errors mean
//!  private      the private socket, made palatable to zbus
//!  proxy        the members of the interface that are used, written by hand
//!  unit         what a look at a unit brings home, as plain values
//!  jobs         what the manager was asked to do, until it is done
//!  look         how a unit runs, for people
//!  signal       names and numbers
//!  readiness    is this unit ready, or will it ever be?      (pure)
//!  giving_up    did systemd give this unit up for good?      (pure)
//! ```
//!
//! The two judging modules see plain values only, so that their rules are tables in their tests.

mod calls;
pub mod cause;
pub mod connection;
mod error;
pub mod gave_up;
pub mod jobs;
pub mod private_socket;
pub mod properties;
pub mod proxy;
pub mod readiness;
pub mod state;
pub mod transport;
pub mod unit;
pub mod watch;

pub use self::connection::{Connected, Signal, connect};
pub use self::error::{is_masked, is_passing, is_refusal, is_unknown};
pub use self::transport::{LOG_IN, NOT_BOOTED, Unreachable, Way, is_booted};
