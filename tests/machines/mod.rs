//! Booted systemds and what is done with them: for the situations in tests/booted, and for whoever shows or measures
//! something on one (`make demo`, `make record`, `make bench`).

pub mod group;
pub mod machine;
pub mod pool;
pub mod querying;
pub mod scope;
pub mod stage;
pub mod user;
pub mod version;
