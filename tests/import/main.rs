//! `copse import`: what other process managers' files become. What supervisor itself makes of the same files is asked in
//! tests/booted/importing.rs.

mod cases;
mod compare;
mod corpus;
mod hostile;
mod procfile;
mod random;
mod random_procfile;
mod safe;
mod snapshots;
