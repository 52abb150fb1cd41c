//! What commands read from the journal, and write to it.

pub(crate) mod excerpt;
pub(crate) mod line;
pub(crate) mod matches;
pub(crate) mod priority;
