//! The two transports to the service manager.

use std::fmt;
use std::path::{Path, PathBuf};

use zbus::Connection;
use zbus::connection::Builder;

use super::private_socket::PrivateSocket;
use crate::basic::scope::Scope;

/// How a connection reaches the manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Its private socket, without a bus.
    Private,
    /// The system's or the session's bus.
    Bus,
}

/// Why the service manager cannot be reached.
#[derive(Debug)]
pub struct Unreachable {
    scope: Scope,
    /// The transports that were tried.
    tried: Vec<(String, zbus::Error)>,
    /// systemd is PID 1.
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
            Scope::System => "cannot reach the system's service manager",
            Scope::User => "cannot reach the user's service manager",
        })?;
        for (transport, error) in &self.tried {
            write!(f, "; {transport}: {error}")?;
        }
        match self.scope {
            Scope::System => Ok(()),
            Scope::User => f.write_str(LOG_IN),
        }
    }
}

impl std::error::Error for Unreachable {}

/// systemd is not this machine's PID 1.
pub const NOT_BOOTED: &str = "systemd is not running (chroot, or container without an init); help: `copse check` and \
                              `copse render` work without it";

/// The help if there is no user's service manager: su(1) and sudo(8) leave nothing behind to start it with.
pub const LOG_IN: &str = "; help: log in as that user (`ssh`, `machinectl shell USER@`), as `su` and `sudo` do not start a \
                          service manager; `loginctl enable-linger USER` keeps one running";

/// Whether systemd is this machine's PID 1: sd_booted(3).
pub fn is_booted() -> bool {
    Path::new("/run/systemd/system").is_dir()
}

/// Connects by one transport. `None` if it is not for the caller.
pub(super) async fn reach(scope: Scope, transport: Transport) -> Option<Result<Connection, (String, zbus::Error)>> {
    let (name, connection) = match transport {
        Transport::Private => {
            let socket = private_socket(scope)?;
            (socket.display().to_string(), private(&socket).await)
        }
        Transport::Bus => {
            let bus = match scope {
                Scope::System => Builder::system(),
                Scope::User => Builder::session(),
            };
            ("the bus".to_owned(), bus.build().await)
        }
    };
    Some(connection.map_err(|error| (name, error)))
}

/// The private socket of the manager of `scope`, if the caller may use it.
fn private_socket(scope: Scope) -> Option<PathBuf> {
    match scope {
        // Others than root are refused.
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
    fn why_a_manager_is_not_reached_comes_with_a_remedy() {
        let message = |scope, booted| Unreachable { scope, tried: Vec::new(), booted }.to_string();
        assert!(message(Scope::System, false).starts_with("systemd is not running"));
        assert_eq!(message(Scope::System, true), "cannot reach the system's service manager");
        assert!(message(Scope::User, true).starts_with("cannot reach the user's service manager; help: log in as"));
    }
}
