//! Facts about systemd's versions: which directive since when.

/// What units are generated for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Systemd {
    /// The major version: 252, 257, …
    pub version: u32,
}

impl Systemd {
    /// The newest version that copse was tested with: what is assumed where none can be found.
    pub const NEWEST: Self = Self { version: 262 };
    /// The oldest that works.
    pub const OLDEST: Self = Self { version: 247 };
}
