//! copse turns one TOML file per group of processes into native systemd units.
//!
//! ```text
//!  files ─source→ Source ─document→ Document ─model→ Group ─generate→ UnitTree ─tree→ directory
//!    (path,text)     one tree of values,   what it means:    units and links       the generator's
//!                    places kept           names resolved    as plain data         normal-dir
//!                     └───────── Diagnostics, collected, never printed here ─────────┘
//! ```
//!
//! Every arrow is a pure function of plain values; only the two ends touch the operating system.

pub mod applied;
#[cfg(feature = "cli")]
pub mod cli;
pub mod definition;
pub mod diagnostic;
pub mod document;
pub mod generate;
pub mod generator;
pub mod history;
#[cfg(feature = "cli")]
pub mod import;
pub mod inputs;
pub mod installed;
pub mod kmsg;
#[cfg(feature = "cli")]
pub mod manager;
pub mod memory;
pub mod model;
pub mod moment;
pub mod notify;
pub mod pipeline;
#[cfg(feature = "cli")]
pub mod plan;
pub mod private;
#[cfg(feature = "cli")]
pub mod rollout;
pub mod running;
pub mod scope;
pub mod source;
pub mod span;
#[cfg(feature = "cli")]
pub mod status;
pub mod suggest;
pub mod systemd;
pub mod tree;
pub mod unit;
