//! Messages on stderr, and how they name commands.

use std::io::{Write as _, stderr};

use crate::basic::diagnostic::one_line;
use crate::basic::os_error::without_number;
use crate::basic::scope::Scope;

/// Prints a message on stderr, and the remedy on a line of its own. A closed stderr is ignored.
pub(crate) fn warn(message: &str, help: Option<&str>) {
    let plain = |text: &str| one_line(&without_number(text));
    let mut text = format!("copse: {}\n", plain(message));
    if let Some(help) = help {
        text += &format!("  help: {}\n", plain(help));
    }
    let _ = stderr().write_all(text.as_bytes());
}

/// How to call systemctl(1) for a scope.
pub(crate) fn systemctl(scope: Scope) -> &'static str {
    match scope {
        Scope::System => "systemctl",
        Scope::User => "systemctl --user",
    }
}

/// How to call copse(1) for a scope.
pub(crate) fn copse(scope: Scope) -> &'static str {
    match scope {
        Scope::System => "copse",
        Scope::User => "copse --user",
    }
}

/// How long files below `/run`, or below a user's part of it, stay.
pub(crate) fn lifetime_of_run(scope: Scope) -> &'static str {
    match scope {
        Scope::System => "until the next boot",
        Scope::User => "until your last session ends",
    }
}
