//! cli/common

pub(crate) mod args;
pub(crate) mod exit;
pub(crate) mod journal_excerpt;
pub(crate) mod last_good;
pub(crate) mod load;
pub(crate) mod output;
pub(crate) mod polkit_agent;
pub(crate) mod progress;
pub(crate) mod sd_daemon;
pub(crate) mod selection;
pub(crate) mod selector;
pub(crate) mod session;
