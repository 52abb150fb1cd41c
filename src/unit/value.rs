//! The one place that quotes and escapes.

use std::fmt;

/// The right side of a directive, in systemd's own grammar: one line, quoted where needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value(String);

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
