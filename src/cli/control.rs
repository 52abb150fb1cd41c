//! Commands that act on running units.

pub(crate) mod apply;
pub(crate) mod freeze;
pub(crate) mod kill;
pub(crate) mod pace;
pub(crate) mod reload;
pub(crate) mod reset_failed;
pub(crate) mod restart;
pub(crate) mod setup;
pub(crate) mod start;
pub(crate) mod stop;
