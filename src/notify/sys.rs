//! The system calls for which there is no safe wrapper: fork, exec with
//! exactly the mask and environment that came in, signals, vsock. The only
//! unsafe code of the library.

mod program;
mod signals;
mod vsock;

use std::collections::BTreeSet;
use std::ffi::{CStr, OsString, c_char, c_int};
use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStringExt;

use rustix::process::Pid;

pub use self::program::Program;
pub use self::signals::{Disposition, Received, Signals, default_action, die_by, signal_process};
pub use self::vsock::{Vsock, send_vsock};

use self::signals::{discard, pending};

/// The arguments of C's `main`, without the program's own name.
///
/// # Safety
/// `argv` has to be what the C library gave to `main`.
pub unsafe fn arguments(argc: c_int, argv: *const *const c_char) -> Vec<OsString> {
    (1..usize::try_from(argc).unwrap_or(0))
        .map(|index| {
            // SAFETY: the caller promises `argc` strings that live for ever.
            let argument = unsafe { CStr::from_ptr(*argv.add(index)) };
            OsString::from_vec(argument.to_bytes().to_vec())
        })
        .collect()
}

/// Which side of a fork this is.
pub enum Forked {
    /// The caller, with the PID of the new process.
    Parent(Pid),
    /// The new process.
    Child,
}

/// fork(2).
///
/// # Errors
/// What the system says, `EAGAIN` where `TasksMax=` is reached.
pub fn fork() -> io::Result<Forked> {
    // SAFETY: this program has no second thread when it forks (a resolver
    // thread is only started by a watcher, which forks no more).
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        pid => Ok(Forked::Parent(Pid::from_raw(pid).expect("fork gives a PID"))),
    }
}

/// Forks twice, so that the new process isn't a child of this one: a command
/// that waits for its children never meets it. All signals have to be
/// blocked; no trace of the one in between is left, not even a `SIGCHLD`.
///
/// # Errors
/// What the system says.
pub fn fork_away() -> io::Result<Away> {
    let pending_before = pending(libc::SIGCHLD);
    match fork()? {
        Forked::Child => match fork() {
            Ok(Forked::Child) => Ok(Away::There),
            // SAFETY: ends the process in between, without running anything.
            Ok(Forked::Parent(_)) => unsafe { libc::_exit(0) },
            Err(error) => unsafe { libc::_exit(error.raw_os_error().unwrap_or(1)) },
        },
        Forked::Parent(pid) => {
            let status = reap(pid);
            if !pending_before {
                discard(libc::SIGCHLD);
            }
            match status {
                // An ignored SIGCHLD leaves no status behind.
                Ended::Exit(0) => Ok(Away::Here),
                Ended::Exit(errno) => Err(io::Error::from_raw_os_error(errno)),
                Ended::Signal(_) => Err(io::Error::from_raw_os_error(libc::ECHILD)),
            }
        }
    }
}

/// Which side of a double fork this is.
pub enum Away {
    /// The process that called.
    Here,
    /// The new one.
    There,
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With an exit status.
    Exit(i32),
    /// By a signal.
    Signal(c_int),
}

fn ended(status: c_int) -> Ended {
    if libc::WIFSIGNALED(status) {
        Ended::Signal(libc::WTERMSIG(status))
    } else {
        Ended::Exit(libc::WEXITSTATUS(status))
    }
}

/// Waits for a child to end.
pub fn reap(pid: Pid) -> Ended {
    let mut status = 0;
    loop {
        // SAFETY: the status is our own.
        let result = unsafe { libc::waitpid(pid.as_raw_nonzero().get(), &raw mut status, 0) };
        if result >= 0 {
            return ended(status);
        }
        // ECHILD: `SIGCHLD` was given as ignored, the kernel took the status.
        if io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
            return Ended::Exit(0);
        }
    }
}

/// The end of a child, if it has ended; doesn't wait.
pub fn reap_now(pid: Pid) -> Option<Ended> {
    let mut status = 0;
    // SAFETY: the status is our own.
    let result = unsafe { libc::waitpid(pid.as_raw_nonzero().get(), &raw mut status, libc::WNOHANG) };
    (result > 0).then(|| ended(status))
}

/// Ends this process at once.
pub fn exit_now(status: u8) -> ! {
    // SAFETY: ends the process without running anything.
    unsafe { libc::_exit(status.into()) }
}

/// Whether a descriptor of this number is open.
pub fn is_open(fd: RawFd) -> bool {
    // SAFETY: asks about a number, touches nothing.
    unsafe { libc::fcntl(fd, libc::F_GETFD) != -1 }
}

/// A descriptor that came in with the process and that nothing here closes.
pub fn borrow_inherited(fd: RawFd) -> BorrowedFd<'static> {
    // SAFETY: the caller has asked [`is_open`], and no descriptor from outside
    // is ever owned (and so closed) by this program.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

/// Makes `number` a copy of `fd` that the command inherits. Whatever was
/// open under that number is closed, so it must be none of ours.
///
/// # Errors
/// What the system says.
pub fn hand_down(fd: OwnedFd, number: RawFd) -> io::Result<()> {
    let raw = fd.as_raw_fd();
    // SAFETY: `number` is either `fd` itself or no descriptor that anything
    // in this program owns (the caller's promise).
    let result = unsafe { if raw == number { libc::fcntl(raw, libc::F_SETFD, 0) } else { libc::dup2(raw, number) } };
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    if raw == number {
        mem::forget(fd);
    }
    Ok(())
}

/// Closes every descriptor from 3 on but those to keep: a watcher that held a
/// copy of the command's sockets and pipes would keep them open.
pub fn close_all_but(keep: &[RawFd]) {
    let keep: BTreeSet<RawFd> = keep.iter().copied().filter(|fd| *fd > 2).collect();
    let mut from = 3;
    for fd in keep.into_iter().chain([RawFd::MAX]) {
        if from < fd {
            close_from_to(from, if fd == RawFd::MAX { fd } else { fd - 1 });
        }
        from = fd.saturating_add(1);
    }
}

fn close_from_to(first: RawFd, last: RawFd) {
    // SAFETY: nothing in this program owns a descriptor in the range (the
    // caller keeps what is owned). The bare call, because the C library of an
    // older system has no wrapper.
    unsafe {
        if libc::syscall(libc::SYS_close_range, first, last, 0) == 0 {
            return;
        }
        // Linux before 5.9.
        let mut limit = MaybeUninit::<libc::rlimit>::zeroed();
        libc::getrlimit(libc::RLIMIT_NOFILE, limit.as_mut_ptr());
        let highest = RawFd::try_from(limit.assume_init().rlim_cur).unwrap_or(65_536);
        for fd in first..=last.min(highest.min(65_536)) {
            libc::close(fd);
        }
    }
}

/// Lets stdin and stdout be /dev/null; stderr stays, for the journal.
pub fn detach_from_terminal() {
    // SAFETY: replaces the two standard descriptors, which nobody owns.
    unsafe {
        libc::setsid();
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        if null >= 0 {
            libc::dup2(null, 0);
            libc::dup2(null, 1);
            if null > 1 {
                libc::close(null);
            }
        }
    }
}
