//! copse turns one TOML file per group of processes into native systemd units.
//!
//! ```text
//!  group files                                                        systemd
//!      │ group_file                                                      │ manager
//!      ▼                                                                 ▼
//!   Document ───model──▶ Group ───generate──▶ UnitTree         properties of units
//!   TOML with           names resolved,      units and links         │
//!   locations           values checked       as plain data           │   state
//!                                                │ generator         ▼     │ versions since boot
//!                                                ▼             change/observe
//!                                      directory of systemd          │ Situation
//!                                                              change/plan
//!                                                                    │ Plan
//!                                                              change/rollout ──▶ jobs of systemd
//! ```
//!
//! Everything between the two ends is a pure function of plain values. Each module is a room, and imports only rooms
//! above it in this list:
//!
//! - [`basic`]: what is independent of groups, such as diagnostics, time spans and the paths of a scope.
//! - [`unit`]: names, values and files of units, and which version of systemd has which directive.
//! - [`notify`]: the program copse-notify, which reports readiness and health.
//! - [`group_file`]: finds group files and drop-ins, and reads them into values with their location.
//! - [`model`]: a [`Group`](model::Group) from these values, and every error that a group file can have.
//! - [`generate`]: a [`UnitTree`](unit::UnitTree) from a group. It cannot fail.
//! - [`state`]: the files in /run/copse, which record the versions of each group since boot, pins, and the last apply.
//! - [`manager`]: D-Bus calls to systemd, and what their answers mean.
//! - [`generator`]: the program copse-generator, which runs all of this for each group at boot and daemon-reload.
//! - [`change`]: from files that changed to processes that run them. [`change::observe`] collects a situation,
//!   [`change::plan`] decides what each unit needs, and [`change::rollout`] carries it out.
//! - [`status`]: one word for a group, and the table or JSON below it.
//! - [`import`]: group files from the files of other process managers.
//! - [`supervisor`]: the program copse-supervisor, which answers the clients of supervisord for a group.
//! - [`export`]: manifests for Kubernetes from a group.
//! - [`cli`]: the program copse, one file for each command.
//!
//! The programs copse-generator and copse-notify are built without the features `cli` and `supervisor`, and then link
//! neither D-Bus nor an async runtime. copse-supervisor is built without `cli`.

pub mod basic;
#[cfg(feature = "cli")]
pub mod change;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "cli")]
pub mod export;
pub mod generate;
pub mod generator;
pub mod group_file;
#[cfg(feature = "cli")]
pub mod import;
#[cfg(any(feature = "cli", feature = "supervisor"))]
pub mod manager;
pub mod model;
pub mod notify;
pub mod state;
#[cfg(feature = "cli")]
pub mod status;
#[cfg(feature = "supervisor")]
pub mod supervisor;
pub mod unit;
