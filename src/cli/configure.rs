//! cli/configure

pub(crate) mod drop_in;
pub(crate) mod edit;
pub(crate) mod enable;
pub(crate) mod hold;
pub(crate) mod scale;
pub(crate) mod transaction;
