//! What units are generated for.

use crate::unit::directives::Systemd;

/// What units are generated for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The systemd that will read them.
    pub systemd: Systemd,
    /// A `G.target` with `X-CopseGroup=yes` is installed: complete it instead of generating one.
    pub static_target: bool,
}
