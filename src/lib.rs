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

pub mod basic;
#[cfg(feature = "cli")]
pub mod change;
#[cfg(feature = "cli")]
pub mod cli;
pub mod generate;
pub mod generator;
pub mod group_file;
#[cfg(feature = "cli")]
pub mod import;
#[cfg(feature = "cli")]
pub mod manager;
pub mod model;
pub mod notify;
pub mod state;
#[cfg(feature = "cli")]
pub mod status;
pub mod unit;
