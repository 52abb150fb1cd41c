//! copse-supervisor: answers the clients of supervisord for one group of native units, by its XML-RPC over HTTP.
//!
//! ```text
//!  connection ── http ──▶ xml ──▶ Value ── methods ──▶ Call ── front ──▶ jobs and properties of systemd
//!                                                                 │
//!  connection ◀─ http ◀── xml ◀── Value ◀─────────── info, fault ◀┘
//! ```
//!
//! What a client names is looked up in the [`roster`], the table that the generated units hand over on the standard
//! input: no text of a client becomes a unit name, a path or an argument. systemd starts the program with the first
//! connection, and it exits when it has been idle; what has to outlive that is in [`memory`].
//!
//! The protocol is that of supervisor 4.3: <https://supervisord.org/api.html> and its code.

pub mod call;
mod changes;
mod fault;
mod follow;
mod front;
mod http;
mod info;
mod login;
mod memory;
mod methods;
mod peer;
mod program_log;
mod roster;
mod run;
mod serve;
mod start;
mod value;
pub mod xml;

pub use self::run::run;
