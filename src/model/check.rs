//! Checks across the processes of a group, and questions about files whose group may not be valid.

pub(crate) mod directories;
pub(crate) mod locate;
pub(crate) mod ports;
pub(crate) mod probes;
pub(crate) mod unit_names;
pub(crate) mod unsupported;
pub(crate) mod wanted_by;
