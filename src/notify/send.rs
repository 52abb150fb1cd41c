//! `copse-notify send`: sd_notify(3) for shell scripts.

use std::os::fd::RawFd;
use std::time::Duration;

use sd_notify::NotifyState;

use super::failure::{Failure, Status};
use super::poll::BARRIER_LIMIT;
use super::socket::{Socket, status_text};
use super::sys;

/// What to send.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Send {
    /// `READY=1`.
    pub ready: bool,
    /// `RELOADING=1`, with the `MONOTONIC_USEC=` that `Type=notify-reload` needs.
    pub reloading: bool,
    /// `STOPPING=1`.
    pub stopping: bool,
    /// `WATCHDOG=1`.
    pub watchdog: bool,
    /// `STATUS=`.
    pub status: Option<String>,
    /// `MAINPID=`.
    pub main_pid: Option<u32>,
    /// `EXTEND_TIMEOUT_USEC=`.
    pub extend_timeout: Option<Duration>,
    /// `WATCHDOG_USEC=`: another `WatchdogSec=` until the next start; zero is none, and no ping begins it again.
    pub watchdog_usec: Option<Duration>,
    /// `FDSTORE=1` with `FDNAME=`: a name and a descriptor of ours.
    pub fd_store: Vec<(String, RawFd)>,
    /// `FDSTOREREMOVE=1` with `FDNAME=`.
    pub fd_store_remove: Vec<String>,
    /// Don't wait until the messages were read.
    pub no_barrier: bool,
    /// No `$NOTIFY_SOCKET` is an error.
    pub strict: bool,
}

/// Sends everything, and waits until it was read: PID 1 must still find the
/// sender, or it can't tell whose message it is.
///
/// # Errors
/// [`Status::NO_SOCKET`], [`Status::SYSTEM`]; [`Status::USAGE`] for a
/// descriptor that isn't open.
pub fn run(send: &Send) -> Result<Status, Failure> {
    for (_, fd) in &send.fd_store {
        if !sys::is_open(*fd) {
            return Err(Failure::usage(format!("descriptor {fd} isn't open"))
                .help(format!("open it in the shell: `copse-notify send --fdstore NAME {fd} {fd}<FILE`")));
        }
    }
    let Some(socket) = Socket::from_environment(send.strict)? else {
        return Ok(Status::DONE);
    };
    let failed = |error| Failure::system("notify the service manager", error);
    let status = send.status.as_deref().map(status_text);
    let states = states(send, status.as_deref()).map_err(failed)?;
    if !states.is_empty() {
        socket.send(&states).map_err(failed)?;
    }
    // A name is that of all descriptors of its message.
    for (name, fd) in &send.fd_store {
        let states = [NotifyState::Custom("FDSTORE=1"), NotifyState::Custom(&format!("FDNAME={name}"))];
        socket.send_with(&states, &[sys::borrow_inherited(*fd)]).map_err(failed)?;
    }
    for name in &send.fd_store_remove {
        let states = [NotifyState::Custom("FDSTOREREMOVE=1"), NotifyState::Custom(&format!("FDNAME={name}"))];
        socket.send(&states).map_err(failed)?;
    }
    if !send.no_barrier {
        socket.barrier(BARRIER_LIMIT).map_err(failed)?;
    }
    Ok(Status::DONE)
}

fn states<'a>(send: &Send, status: Option<&'a str>) -> std::io::Result<Vec<NotifyState<'a>>> {
    let mut states = Vec::new();
    if send.ready {
        states.push(NotifyState::Ready);
    }
    if send.reloading {
        states.push(NotifyState::Reloading);
        states.push(NotifyState::monotonic_usec_now()?);
    }
    if send.stopping {
        states.push(NotifyState::Stopping);
    }
    if send.watchdog {
        states.push(NotifyState::Watchdog);
    }
    if let Some(pid) = send.main_pid {
        states.push(NotifyState::MainPid(pid));
    }
    if let Some(status) = status {
        states.push(NotifyState::Status(status));
    }
    if let Some(span) = send.extend_timeout {
        // The crate's own counts in 32 bits: 71 minutes.
        states.push(NotifyState::Custom(microseconds("EXTEND_TIMEOUT_USEC", span)));
    }
    if let Some(span) = send.watchdog_usec {
        states.push(NotifyState::Custom(microseconds("WATCHDOG_USEC", span)));
    }
    Ok(states)
}

/// The text lives as long as the program, which ends with the message.
fn microseconds(variable: &str, span: Duration) -> &'static str {
    format!("{variable}={}", span.as_micros()).leak()
}

/// Whether a name may be one of a stored descriptor (sd_pid_notify_with_fds(3)).
pub fn is_fd_name(name: &str) -> bool {
    let plain = name.chars().all(|c| c.is_ascii() && !c.is_ascii_control() && c != ':');
    plain && !name.is_empty() && name.len() <= 255
}
