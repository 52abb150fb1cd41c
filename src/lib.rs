//! copse turns one TOML file per group of processes into native systemd units.

pub mod span;
