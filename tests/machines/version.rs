//! The versions of systemd that the situations are tried on, each with the Debian suite that brings it.

/// A version of systemd that a machine can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Debian 11 (bullseye).
    V247,
    /// Debian 12 (bookworm).
    V252,
    /// Debian 13 (trixie).
    V257,
    /// Debian testing (forky).
    V262,
}

impl Version {
    /// All of them, oldest first.
    pub const ALL: &[Version] = &[Version::V247, Version::V252, Version::V257, Version::V262];

    /// The number as `systemctl --version` says it.
    pub fn number(self) -> u32 {
        match self {
            Version::V247 => 247,
            Version::V252 => 252,
            Version::V257 => 257,
            Version::V262 => 262,
        }
    }

    /// The Debian suite whose root file system brings this version.
    pub fn suite(self) -> &'static str {
        match self {
            Version::V247 => "bullseye",
            Version::V252 => "bookworm",
            Version::V257 => "trixie",
            Version::V262 => "forky",
        }
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.number().fmt(f)
    }
}
