//! Commands that show groups and change nothing.

pub(crate) mod logs;
pub(crate) mod plan;
pub(crate) mod status;
pub(crate) mod wait;
