//! `copse-generator` itself, run as systemd runs it, on small root file systems.
//!
//! What the units do is shown on a booted systemd (`tests/booted`), what a text becomes by the golden trees; here it is
//! what surrounds that: files of all kinds, rivals, kills, and what is remembered.

#[path = "generator/clashing.rs"]
mod clashing;
#[path = "generator/finding.rs"]
mod finding;
#[path = "generator/history.rs"]
mod history;
#[path = "generator/missed.rs"]
mod missed;
#[path = "generator/pinning.rs"]
mod pinning;
#[path = "generator/refusing.rs"]
mod refusing;
#[path = "generator/remembering.rs"]
mod remembering;
#[path = "generator/rivals.rs"]
mod rivals;
#[path = "generator/stand.rs"]
mod stand;
#[path = "generator/starting.rs"]
mod starting;
