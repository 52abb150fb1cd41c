//! change

pub mod observe;
pub mod plan;
pub mod rollout;
