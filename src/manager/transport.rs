//! The two ways to the service manager.

use std::fmt;
use std::path::{Path, PathBuf};

use zbus::Connection;
use zbus::connection::Builder;

use super::private_socket::PrivateSocket;
use crate::basic::scope::Scope;

/// How a connection reaches the manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// By its private socket, without a bus.
    Private,
    /// By the system's or the session's bus.
    Bus,
}

/// Why the service manager can't be reached, one line for each way that was tried.
#[derive(Debug)]
pub struct Unreachable {
    scope: Scope,
    tried: Vec<(String, zbus::Error)>,
    /// systemd runs on this machine.
    booted: bool,
}

impl Unreachable {
    pub(super) fn new(scope: Scope, tried: Vec<(String, zbus::Error)>) -> Self {
        Self { scope, tried, booted: is_booted() }
    }
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.booted {
            return f.write_str(NOT_BOOTED);
        }
        f.write_str(match self.scope {
            Scope::System => "the system's service manager can't be reached",
            Scope::User => "the user's service manager can't be reached",
        })?;
        for (way, error) in &self.tried {
            write!(f, "; {way}: {error}")?;
        }
        match self.scope {
            Scope::System => Ok(()),
            Scope::User => f.write_str(LOG_IN),
        }
    }
}

impl std::error::Error for Unreachable {}

/// What is wrong where systemd isn't this machine's PID 1.
pub const NOT_BOOTED: &str = "systemd isn't running here, as in a chroot or in a container without it; `copse check` and \
                              `copse render` do their work all the same";

/// The help where there is no user's service manager: su(1) and sudo(8) leave nothing behind to start it with.
pub const LOG_IN: &str = "; help: log in as that user (`ssh`, `machinectl shell USER@`), as `su` and `sudo` don't start a \
                          service manager; `loginctl enable-linger USER` keeps one running";

/// Whether systemd is this machine's PID 1, as sd_booted(3) finds it out.
pub fn is_booted() -> bool {
    Path::new("/run/systemd/system").is_dir()
}

/// Connects by one way. `None`: it isn't the caller's.
pub(super) async fn reach(scope: Scope, way: Way) -> Option<Result<Connection, (String, zbus::Error)>> {
    let (name, connection) = match way {
        Way::Private => {
            let socket = private_socket(scope)?;
            (socket.display().to_string(), private(&socket).await)
        }
        Way::Bus => {
            let bus = match scope {
                Scope::System => Builder::system(),
                Scope::User => Builder::session(),
            };
            ("the bus".to_owned(), bus.build().await)
        }
    };
    Some(connection.map_err(|error| (name, error)))
}

/// Where the manager of `scope` listens without a bus, if the caller may use it.
fn private_socket(scope: Scope) -> Option<PathBuf> {
    match scope {
        // Only root gets in; the others would only wait for the refusal.
        Scope::System => rustix::process::geteuid().is_root().then(|| PathBuf::from("/run/systemd/private")),
        Scope::User => std::env::var_os("XDG_RUNTIME_DIR")
            .filter(|directory| !directory.is_empty())
            .map(|directory| Path::new(&directory).join("systemd/private")),
    }
}

async fn private(socket: &Path) -> zbus::Result<Connection> {
    let socket = PrivateSocket::connect(socket).await.map_err(|error| zbus::Error::InputOutput(error.into()))?;
    Builder::socket(socket).p2p().build().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_a_manager_is_not_reached_comes_with_what_to_do() {
        let said = |scope, booted| Unreachable { scope, tried: Vec::new(), booted }.to_string();
        assert!(said(Scope::System, false).starts_with("systemd isn't running here"));
        assert_eq!(said(Scope::System, true), "the system's service manager can't be reached");
        assert!(said(Scope::User, true).starts_with("the user's service manager can't be reached; help: log in as"));
    }
}
