//! From tables to a group: reads every key, and reports what is not valid.

pub(crate) mod address;
pub(crate) mod calendar;
pub(crate) mod command;
pub(crate) mod context;
pub(crate) mod defaults;
pub(crate) mod directive;
pub(crate) mod directories;
pub(crate) mod grammar;
pub(crate) mod group;
pub(crate) mod instances;
pub(crate) mod member;
pub(crate) mod order;
pub(crate) mod pass_through;
pub(crate) mod placeholder;
pub(crate) mod probe;
pub(crate) mod process;
pub(crate) mod service;
pub(crate) mod socket;
pub(crate) mod start_limit;
pub(crate) mod supervisor;
pub(crate) mod units;
pub(crate) mod unknown_key;
pub(crate) mod value;
