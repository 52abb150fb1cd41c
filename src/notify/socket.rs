//! The sd_notify(3) protocol: where `$NOTIFY_SOCKET` points, messages,
//! descriptors, and the barrier.
//!
//! Texts are those of the `sd-notify` crate. Its transport isn't used: it
//! takes paths only (an abstract socket or `vsock:` fails), and it has no
//! `BARRIER=1`, without which a message of a sender that exits at once may be
//! lost (PID 1 finds no unit for a PID that is gone).

use std::env;
use std::ffi::OsStr;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
    sendmsg_addr, socket_with,
};
use rustix::pipe::{PipeFlags, pipe_with};
use sd_notify::NotifyState;

use super::failure::{Failure, Status};
use super::sys;

/// The variable that names the socket.
pub const NOTIFY_SOCKET: &str = "NOTIFY_SOCKET";

/// What the command must not inherit: with these a grandchild could speak for
/// the service.
pub const VARIABLES: [&str; 3] = [NOTIFY_SOCKET, "WATCHDOG_USEC", "WATCHDOG_PID"];

/// systemd reads at most this much of a message (`NOTIFY_BUFFER_MAX`), and
/// drops a longer one whole.
const LONGEST_MESSAGE: usize = 4096;

/// The longest status text sent; leaves room for what is sent with it.
const LONGEST_STATUS: usize = 1024;

/// The socket of the service manager.
#[derive(Clone, Debug)]
pub struct Socket {
    address: Address,
}

#[derive(Clone, Debug)]
enum Address {
    Unix(SocketAddrUnix),
    Vsock(sys::Vsock),
}

impl Socket {
    /// The socket that `$NOTIFY_SOCKET` names, `None` if the variable isn't
    /// set or empty.
    ///
    /// # Errors
    /// [`Status::NO_SOCKET`] if `strict` and there is none,
    /// [`Status::SYSTEM`] if its value is no address.
    pub fn from_environment(strict: bool) -> Result<Option<Socket>, Failure> {
        match env::var_os(NOTIFY_SOCKET).filter(|value| !value.is_empty()) {
            Some(value) => Socket::parse(&value).map(Some),
            None if strict => Err(Failure::new(
                Status::NO_SOCKET,
                "there is no service manager to notify: `$NOTIFY_SOCKET` isn't set",
            )
            .help("the unit needs `NotifyAccess=all`, or leave `--strict` out")),
            None => Ok(None),
        }
    }

    /// Reads an address: `/path`, `@abstract`, `vsock:CID:PORT` and its
    /// `vsock-stream:`, `vsock-dgram:`, `vsock-seqpacket:` (systemd 254).
    ///
    /// # Errors
    /// [`Status::SYSTEM`] for anything else.
    pub fn parse(value: &OsStr) -> Result<Socket, Failure> {
        let bytes = value.as_bytes();
        let address = match bytes {
            [b'/', _, ..] => SocketAddrUnix::new(bytes).ok().map(Address::Unix),
            [b'@', name @ ..] if !name.is_empty() => SocketAddrUnix::new_abstract_name(name).ok().map(Address::Unix),
            _ => value.to_str().and_then(sys::Vsock::parse).map(Address::Vsock),
        };
        match address {
            Some(address) => Ok(Socket { address }),
            None => Err(Failure::new(
                Status::SYSTEM,
                format!("`$NOTIFY_SOCKET` is `{}`, which is no socket address", value.to_string_lossy()),
            )),
        }
    }

    /// Sends one message of several assignments. Blocks while the queue of
    /// the manager is full.
    ///
    /// # Errors
    /// What the system says; a message longer than systemd reads is one too.
    pub fn send(&self, states: &[NotifyState<'_>]) -> io::Result<()> {
        self.send_with(states, &[])
    }

    /// Sends one message with descriptors (`FDSTORE=1`, `BARRIER=1`).
    ///
    /// # Errors
    /// As [`Socket::send`]; over vsock no descriptor can be sent.
    pub fn send_with(&self, states: &[NotifyState<'_>], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        let lines: Vec<String> = states.iter().map(ToString::to_string).collect();
        let message = lines.join("\n");
        if message.len() >= LONGEST_MESSAGE {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("the message is longer than the {LONGEST_MESSAGE} bytes systemd reads"),
            ));
        }
        match &self.address {
            Address::Unix(address) => send_unix(address, message.as_bytes(), fds),
            Address::Vsock(_) if !fds.is_empty() => {
                Err(io::Error::new(io::ErrorKind::Unsupported, "descriptors can't be sent over vsock"))
            }
            Address::Vsock(address) => sys::send_vsock(address, message.as_bytes()),
        }
    }

    /// Waits until the manager has read everything sent so far: it closes the
    /// descriptor that comes with `BARRIER=1` (systemd 246; older ones close
    /// it as well, not knowing what it is for). Over vsock there is none, and
    /// no need of one: the manager doesn't look for the sender's PID.
    ///
    /// # Errors
    /// `TimedOut` if it didn't within `limit`; else what the system says.
    pub fn barrier(&self, limit: Duration) -> io::Result<()> {
        if matches!(self.address, Address::Vsock(_)) {
            return Ok(());
        }
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
        self.send_with(&[NotifyState::Custom("BARRIER=1")], &[writer.as_fd()])?;
        drop(writer);
        await_hang_up(&reader, limit)
    }
}

fn send_unix(address: &SocketAddrUnix, message: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(64))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "more than 64 descriptors in one message"));
    }
    loop {
        let sent = sendmsg_addr(&socket, address, &[IoSlice::new(message)], &mut control, SendFlags::NOSIGNAL);
        match sent {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn await_hang_up(reader: &OwnedFd, limit: Duration) -> io::Result<()> {
    let limit = Timespec::try_from(limit).ok();
    let mut fds = [PollFd::new(reader, PollFlags::empty())];
    loop {
        match poll(&mut fds, limit.as_ref()) {
            Ok(0) => {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "the service manager didn't read the message in time",
                ));
            }
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// A text for `STATUS=`: one line (a line break would start an assignment of
/// its own), not longer than systemd takes.
pub fn status_text(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.char_indices().find(|(at, c)| at + c.len_utf8() > LONGEST_STATUS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_one_line_and_no_assignment() {
        assert_eq!(status_text("a\nREADY=1\tb"), "a READY=1 b");
        let long = status_text(&"é".repeat(2000));
        assert!(long.len() <= LONGEST_STATUS + '…'.len_utf8());
        assert!(long.ends_with("é…"));
    }

    #[test]
    fn addresses() {
        for good in ["/run/x", "@abstract", "vsock:2:1234", "vsock-stream:2:9"] {
            assert!(Socket::parse(OsStr::new(good)).is_ok(), "{good}");
        }
        for bad in ["x", "/", "@", "vsock:2", "vsock::1", "vsock:a:1", "tcp:1", "vsock:4294967295:1"] {
            let failure = Socket::parse(OsStr::new(bad)).unwrap_err();
            assert_eq!(failure.status, Status::SYSTEM);
            assert_eq!(failure.message, format!("`$NOTIFY_SOCKET` is `{bad}`, which is no socket address"));
        }
    }
}
