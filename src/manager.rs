//! Talks to the service manager over D-Bus (`org.freedesktop.systemd1`, org.freedesktop.systemd1(5)).
//!
//! ```text
//!  transport       to PID 1 or to a user's manager: its private socket, or the bus
//!  private_socket  makes the private socket's messages acceptable to zbus
//!  connection      by one of them, made again if it is lost; its signals
//!  error           what the manager's errors mean
//!  proxy           the members of the manager's interface that are used
//!  calls           calls about units
//!  state, unit     the states of units and jobs, as enums; a unit's row in the manager's list
//!  properties      a unit's properties
//!  cause           why a unit failed
//!  jobs            jobs, until they are over
//!  watch           follows units
//!  readiness       is a unit ready, or can it still become ready?
//!  gave_up         does systemd start a failed unit again?
//! ```
//!
//! The last two see plain values only, so that their rules are tables in their tests.

pub mod calls;
pub mod cause;
pub mod connection;
mod error;
pub mod gave_up;
pub mod jobs;
pub mod private_socket;
pub mod process_state;
pub mod properties;
pub mod proxy;
pub mod readiness;
pub mod state;
pub mod transport;
pub mod unit;
pub mod watch;

pub use self::connection::{Connected, Signal, connect};
pub use self::error::{is_masked, is_passing, is_refusal, is_unknown};
pub use self::transport::{LOG_IN, NOT_BOOTED, Transport, Unreachable, is_booted};
