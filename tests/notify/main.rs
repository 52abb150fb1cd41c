//! copse-notify as it is run: real processes, real sockets, and a service
//! manager of the test's own that reads the messages.

mod chain;
mod harness;
mod health;
mod once;
mod send;
mod wait;
