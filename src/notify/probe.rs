//! Probes: what has to hold before a process counts as ready or healthy.
//!
//! An attempt never blocks longer than it may, and never past the end of the
//! watched process: everything that waits goes through `Attempt::wait`.

mod command;
pub mod http;
pub mod listening;
mod socket;

use std::ffi::OsString;
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::Pid;

use super::process::{Watched, Woken};
use crate::basic::os_error::reason;

/// A condition of the outside world.
#[derive(Debug)]
pub enum Probe {
    /// A TCP connection to one of the name's addresses is accepted.
    Tcp {
        /// A name or an address, without brackets.
        host: String,
        /// The port.
        port: u16,
    },
    /// A Unix socket is bound there, and listens if it is one that can.
    Unix(UnixAddress),
    /// A GET is answered with one of the statuses.
    Http(http::Request),
    /// The file exists.
    File {
        /// Where, links followed.
        path: PathBuf,
        /// Whether it must hold at least one byte.
        non_empty: bool,
    },
    /// The command wrote a newline to the descriptor (s6's protocol).
    Descriptor(Newline),
    /// The command exits 0.
    Command(Vec<OsString>),
    /// A process of the service listens on the TCP port.
    Listening {
        /// The port, on whatever address.
        port: u16,
        /// A process of the service besides those of our own control group.
        service: Option<Pid>,
    },
}

/// The address of a Unix socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnixAddress {
    /// In the file system.
    Path(PathBuf),
    /// In the abstract namespace, without the leading `@`.
    Abstract(Vec<u8>),
}

/// The read end of the pipe whose write end the command was given.
#[derive(Debug)]
pub struct Newline {
    /// The number the command knows the write end by.
    pub number: i32,
    /// The read end, not blocking; `None` before the pipe was made.
    pub reader: Option<OwnedFd>,
    /// Whether the newline has come.
    pub seen: bool,
}

/// Why an attempt didn't succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Miss {
    /// It may the next time; the reason, to go after a colon.
    NotYet(String),
    /// It can't any more; the reason.
    Never(String),
    /// The watched process has ended.
    Gone,
}

impl Miss {
    fn not_yet(error: impl fmt::Display) -> Miss {
        Miss::NotYet(reason(error))
    }
}

/// The limits of one attempt.
pub struct Attempt<'w> {
    /// Whose end breaks it off.
    pub watched: &'w Watched,
    /// When it has to be over.
    pub deadline: Instant,
}

impl Attempt<'_> {
    /// Waits until the descriptor is ready.
    fn wait(&self, fd: BorrowedFd<'_>, events: PollFlags) -> Result<(), Miss> {
        let fds = [PollFd::from_borrowed_fd(fd, events)];
        match self.watched.wait(&fds, Some(self.deadline)) {
            Ok(Woken::Ready) => Ok(()),
            Ok(Woken::Time) => Err(Miss::NotYet("no answer in time".to_owned())),
            Ok(Woken::Gone) => Err(Miss::Gone),
            Err(error) => Err(Miss::not_yet(error)),
        }
    }
}

impl Probe {
    /// Looks once whether the probe holds.
    ///
    /// # Errors
    /// [`Miss`] if it doesn't.
    pub fn attempt(&mut self, attempt: &Attempt<'_>) -> Result<(), Miss> {
        match self {
            Probe::Tcp { host, port } => socket::tcp(host, *port, attempt).map(drop),
            Probe::Unix(address) => socket::unix(address, attempt).map(drop),
            Probe::Http(request) => http::get(request, attempt),
            Probe::File { path, non_empty } => file(path, *non_empty),
            Probe::Descriptor(newline) => newline.read(),
            Probe::Command(argv) => command::run(argv, attempt),
            Probe::Listening { port, service } => listening::held(Path::new("/proc"), *port, *service),
        }
    }

    /// A descriptor that becomes readable when it is worth another attempt.
    pub fn event(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Probe::Descriptor(newline) if !newline.seen => newline.reader.as_ref().map(AsFd::as_fd),
            _ => None,
        }
    }
}

/// Looks once at all of them, in order, up to the first that doesn't hold.
///
/// # Errors
/// Which one didn't (its text, as `STATUS=` names it), and why.
pub fn all_hold(probes: &mut [Probe], attempt: &Attempt<'_>) -> Result<(), (String, Miss)> {
    for probe in probes {
        if let Err(miss) = probe.attempt(attempt) {
            return Err((probe.to_string(), miss));
        }
    }
    // Something else may answer in place of a process that has just died.
    if attempt.watched.gone() {
        return Err((String::new(), Miss::Gone));
    }
    Ok(())
}

fn file(path: &Path, non_empty: bool) -> Result<(), Miss> {
    let metadata = std::fs::metadata(path).map_err(Miss::not_yet)?;
    if non_empty && metadata.is_file() && metadata.len() == 0 {
        return Err(Miss::NotYet("it is empty".to_owned()));
    }
    Ok(())
}

impl Newline {
    fn read(&mut self) -> Result<(), Miss> {
        let Some(reader) = self.reader.as_ref().filter(|_| !self.seen) else {
            return Ok(());
        };
        let mut buffer = [0; 512];
        loop {
            match rustix::io::read(reader, &mut buffer) {
                Ok(0) => return Err(Miss::Never("it was closed before a newline".to_owned())),
                Ok(count) if buffer[..count].contains(&b'\n') => {
                    self.seen = true;
                    return Ok(());
                }
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Err(Miss::NotYet("no newline yet".to_owned())),
                Err(error) => return Err(Miss::not_yet(error)),
            }
        }
    }
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Probe::Tcp { host, port } if host.contains(':') => write!(f, "tcp [{host}]:{port}"),
            Probe::Tcp { host, port } => write!(f, "tcp {host}:{port}"),
            Probe::Unix(address) => write!(f, "unix {address}"),
            Probe::Http(request) => write!(f, "http {request}"),
            Probe::File { path, non_empty } => {
                write!(f, "file {}", path.display())?;
                if *non_empty {
                    f.write_str(" (not empty)")?;
                }
                Ok(())
            }
            Probe::Descriptor(newline) => write!(f, "a newline on descriptor {}", newline.number),
            Probe::Command(argv) => {
                f.write_str("command")?;
                for argument in argv {
                    write!(f, " {}", argument.to_string_lossy())?;
                }
                Ok(())
            }
            Probe::Listening { port, .. } => write!(f, "a listener on port {port}"),
        }
    }
}

impl fmt::Display for UnixAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnixAddress::Path(path) => write!(f, "{}", path.display()),
            UnixAddress::Abstract(name) => write!(f, "@{}", String::from_utf8_lossy(name)),
        }
    }
}
