//! A service manager outside of a virtual machine (systemd 254).

use std::ffi::c_int;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Where a `vsock:` notify socket is.
#[derive(Clone, Copy, Debug)]
pub struct Vsock {
    context: u32,
    port: u32,
    /// `SOCK_…`; `None`: whatever the host knows.
    kind: Option<c_int>,
}

impl Vsock {
    /// Reads `vsock:CID:PORT`, `vsock-stream:…`, `vsock-dgram:…`,
    /// `vsock-seqpacket:…`.
    pub fn parse(text: &str) -> Option<Vsock> {
        let (scheme, rest) = text.split_once(':')?;
        let kind = match scheme {
            "vsock" => None,
            "vsock-stream" => Some(libc::SOCK_STREAM),
            "vsock-dgram" => Some(libc::SOCK_DGRAM),
            "vsock-seqpacket" => Some(libc::SOCK_SEQPACKET),
            _ => return None,
        };
        let (context, port) = rest.split_once(':')?;
        let context = context.parse().ok().filter(|cid| *cid != libc::VMADDR_CID_ANY)?;
        Some(Vsock { context, port: port.parse().ok()?, kind })
    }
}

/// Sends one message over vsock. Without a kind in the address: a datagram,
/// or a sequential packet where the host has no datagrams (systemd's order).
///
/// # Errors
/// What the system says.
pub fn send_vsock(to: &Vsock, message: &[u8]) -> io::Result<()> {
    match to.kind {
        Some(kind) => send_vsock_as(to, kind, message),
        None => {
            send_vsock_as(to, libc::SOCK_DGRAM, message).or_else(|_| send_vsock_as(to, libc::SOCK_SEQPACKET, message))
        }
    }
}

fn send_vsock_as(to: &Vsock, kind: c_int, message: &[u8]) -> io::Result<()> {
    // SAFETY: a socket of our own, an address structure filled in field by
    // field, buffers that outlive the calls.
    unsafe {
        let raw = libc::socket(libc::AF_VSOCK, kind | libc::SOCK_CLOEXEC, 0);
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        let socket = OwnedFd::from_raw_fd(raw);
        let mut address: libc::sockaddr_vm = mem::zeroed();
        address.svm_family = libc::AF_VSOCK as libc::sa_family_t;
        address.svm_cid = to.context;
        address.svm_port = to.port;
        let size = mem::size_of::<libc::sockaddr_vm>() as libc::socklen_t;
        if libc::connect(raw, (&raw const address).cast(), size) != 0 {
            return Err(io::Error::last_os_error());
        }
        let mut rest = message;
        while !rest.is_empty() {
            match libc::send(raw, rest.as_ptr().cast(), rest.len(), libc::MSG_NOSIGNAL) {
                -1 => return Err(io::Error::last_os_error()),
                sent => rest = &rest[usize::try_from(sent).unwrap_or(0)..],
            }
        }
        if kind != libc::SOCK_DGRAM {
            await_close(socket.as_raw_fd());
        }
    }
    Ok(())
}

/// A connection has to be closed by the reader, or what is still on its way
/// may be thrown away with it.
fn await_close(socket: RawFd) {
    let limit = libc::timeval { tv_sec: 5, tv_usec: 0 };
    let mut byte = 0u8;
    // SAFETY: an open socket, our own time and one byte to read into.
    unsafe {
        libc::shutdown(socket, libc::SHUT_WR);
        libc::setsockopt(
            socket,
            libc::SOL_SOCKET,
            libc::SO_RCVTIMEO,
            (&raw const limit).cast(),
            mem::size_of::<libc::timeval>() as libc::socklen_t,
        );
        while libc::recv(socket, (&raw mut byte).cast(), 1, 0) > 0 {}
    }
}
