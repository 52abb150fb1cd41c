//! Talks to the service manager over D-Bus (`org.freedesktop.systemd1`, org.freedesktop.systemd1(5)).
//!
//! ```text
//!  connection   the way to PID 1 or to a user's manager: its private socket, or the bus
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

pub mod connection;
pub mod giving_up;
pub mod jobs;
pub mod look;
pub mod private;
pub mod proxy;
pub mod readiness;
pub mod signal;
pub mod unit;

pub use connection::{
    Connected, EndedJob, LOG_IN, NOT_BOOTED, Way, connect, connect_by, is_booted, is_masked, is_passing, is_refusal,
    is_unknown,
};
