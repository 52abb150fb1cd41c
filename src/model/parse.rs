//! model/parse

pub(crate) mod address;
pub(crate) mod calendar;
pub(crate) mod command;
pub(crate) mod defaults;
pub(crate) mod directories;
pub(crate) mod grammar;
pub(crate) mod group;
pub(crate) mod instances;
pub(crate) mod order;
pub(crate) mod pass_through;
pub(crate) mod percentage;
pub(crate) mod placeholder;
pub(crate) mod probe;
pub(crate) mod process;
pub(crate) mod service;
pub(crate) mod socket;
pub(crate) mod start_limit;
pub(crate) mod units;
pub(crate) mod value;
