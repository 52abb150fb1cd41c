//! What the commands of several chapters share.

pub(crate) mod args;
pub(crate) mod error;
pub(crate) mod execute;
pub(crate) mod exit;
pub(crate) mod groups;
pub(crate) mod input;
pub(crate) mod journal;
pub(crate) mod last_good;
pub(crate) mod message;
pub(crate) mod output;
pub(crate) mod polkit_agent;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod selection;
pub(crate) mod selector;
pub(crate) mod session;
pub(crate) mod temporary_group;
pub(crate) mod whole_group;
