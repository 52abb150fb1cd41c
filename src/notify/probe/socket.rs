//! Connections to TCP and Unix sockets, without blocking.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::addr::SocketAddrArg;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, getpeername, getsockname, socket_with, sockopt,
};

use super::{Attempt, Miss, UnixAddress};
use crate::notify::process::Woken;

/// Connects to the first address of the name that accepts.
pub(super) fn tcp(host: &str, port: u16, attempt: &Attempt<'_>) -> Result<OwnedFd, Miss> {
    let mut last = Miss::NotYet(format!("`{host}` has no address"));
    for address in resolve(host, port, attempt)? {
        let connected = match address {
            SocketAddr::V4(address) => open(AddressFamily::INET, SocketType::STREAM, &address, attempt),
            SocketAddr::V6(address) => open(AddressFamily::INET6, SocketType::STREAM, &address, attempt),
        };
        match connected {
            Ok(socket) if is_itself(&socket) => {
                // Dropped without a word, or the port would stay occupied for
                // a minute and the service couldn't bind it.
                let _ = sockopt::set_socket_linger(&socket, Some(Duration::ZERO));
                last = Miss::NotYet("connection refused".to_owned());
            }
            Ok(socket) => return Ok(socket),
            Err(Miss::Gone) => return Err(Miss::Gone),
            Err(miss) => last = miss,
        }
    }
    Err(last)
}

/// A connection to a port of this machine where nobody listens may be given
/// that very port as its own, and then meets itself (TCP's simultaneous open).
fn is_itself(socket: &OwnedFd) -> bool {
    match (getsockname(socket), getpeername(socket)) {
        (Ok(own), Ok(Some(peer))) => own == peer,
        _ => false,
    }
}

/// Connects to a Unix socket of whatever type.
pub(super) fn unix(address: &UnixAddress, attempt: &Attempt<'_>) -> Result<OwnedFd, Miss> {
    let abstract_name = matches!(address, UnixAddress::Abstract(_));
    let address = match address {
        UnixAddress::Path(path) => SocketAddrUnix::new(path.as_os_str().as_bytes()),
        UnixAddress::Abstract(name) => SocketAddrUnix::new_abstract_name(name),
    }
    .map_err(Miss::not_yet)?;
    let mut last = Miss::not_yet(Errno::PROTOTYPE);
    for kind in [SocketType::STREAM, SocketType::DGRAM, SocketType::SEQPACKET] {
        match open(AddressFamily::UNIX, kind, &address, attempt) {
            // The socket is of another type: try that one.
            Err(miss) if miss == Miss::not_yet(Errno::PROTOTYPE) => last = miss,
            // In the abstract namespace each type has names of its own, and one that isn't there refuses.
            Err(miss) if abstract_name && miss == Miss::not_yet(Errno::CONNREFUSED) => last = miss,
            other => return other,
        }
    }
    Err(last)
}

fn open(
    family: AddressFamily,
    kind: SocketType,
    address: &impl SocketAddrArg,
    attempt: &Attempt<'_>,
) -> Result<OwnedFd, Miss> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, kind, flags, None).map_err(|error| match error {
        Errno::AFNOSUPPORT => {
            Miss::NotYet("the address family isn't available here (`RestrictAddressFamilies=`?)".to_owned())
        }
        error => Miss::not_yet(error),
    })?;
    match connect(&socket, address) {
        Ok(()) => Ok(socket),
        Err(Errno::INPROGRESS) => {
            attempt.wait(socket.as_fd(), PollFlags::OUT)?;
            sockopt::socket_error(&socket).and_then(|result| result).map_err(Miss::not_yet)?;
            Ok(socket)
        }
        // Only a Unix socket says this: it listens, but doesn't accept.
        Err(Errno::AGAIN) => Err(Miss::NotYet("its queue of connections is full".to_owned())),
        Err(error) => Err(Miss::not_yet(error)),
    }
}

/// The addresses of a name. The resolver can't be interrupted, so it works in
/// a thread that is left behind when the time is over.
fn resolve(host: &str, port: u16, attempt: &Attempt<'_>) -> Result<Vec<SocketAddr>, Miss> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let (done, wake) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(Miss::not_yet)?;
    let (sender, receiver) = mpsc::channel();
    let host = host.to_owned();
    thread::Builder::new()
        .stack_size(256 * 1024)
        .spawn(move || {
            let found = (host.as_str(), port).to_socket_addrs();
            let _ = sender.send(found.map(Iterator::collect::<Vec<_>>));
            drop(wake);
        })
        .map_err(Miss::not_yet)?;
    let fds = [rustix::event::PollFd::new(&done, PollFlags::IN)];
    match attempt.watched.wait(&fds, Some(attempt.deadline)) {
        Ok(Woken::Gone) => Err(Miss::Gone),
        Ok(Woken::Time) => Err(Miss::NotYet("the name wasn't resolved in time".to_owned())),
        Ok(Woken::Ready) => match receiver.recv() {
            Ok(Ok(addresses)) => Ok(addresses),
            Ok(Err(error)) => Err(Miss::not_yet(error)),
            Err(_) => Err(Miss::NotYet("the name wasn't resolved".to_owned())),
        },
        Err(error) => Err(Miss::not_yet(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notify::process::Watched;
    use std::net::{TcpListener, TcpStream};
    use std::time::Instant;

    /// A port the kernel may give to an outgoing connection: of the ephemeral
    /// range, and even (it keeps the odd ones for those who bind).
    fn port_for_connections() -> u16 {
        loop {
            let any = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = any.local_addr().unwrap().port() & !1;
            if TcpListener::bind(("127.0.0.1", port)).is_ok() {
                return port;
            }
        }
    }

    #[test]
    fn a_port_that_meets_itself_is_not_open() {
        let port = port_for_connections();
        let met = (0..60_000).any(|_| {
            TcpStream::connect(("127.0.0.1", port)).is_ok_and(|stream| {
                sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
                true
            })
        });
        assert!(met, "the kernel doesn't do this any more: the check can go");
        let attempt = Attempt { watched: &Watched::Nobody, deadline: Instant::now() + Duration::from_secs(3600) };
        for _ in 0..60_000 {
            assert!(tcp("127.0.0.1", port, &attempt).is_err());
        }
        // And the service can have it.
        assert!(TcpListener::bind(("127.0.0.1", port)).is_ok());
    }
}
