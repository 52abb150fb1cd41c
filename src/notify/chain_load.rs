//! The chain load: leave a watcher behind, become the command.
//!
//! The command runs in the PID that systemd started, with nothing of ours
//! above it; the watcher is no child of it (double fork), so the command's
//! own waiting for children never meets it. It speaks for the unit, which
//! therefore needs `NotifyAccess=all` (`exec` and `main` ignore it).
//!
//! In a unit this is the form for `health = {…}`, which needs somebody who
//! stays. For `ready = {…}` alone a generated unit takes [`super::wait`].

use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::getpid;
use sd_notify::NotifyState;

use super::failure::{Failure, Status};
use super::health;
use super::health::Health;
use super::poll;
use super::poll::{Outcome, Pace, StatusLine, poll_failed};
use super::probe::Probe;
use super::process::{Watched, Woken};
use super::socket::{Socket, VARIABLES};
use super::sys;
use super::sys::{Away, Program, Signals};
use crate::basic::os_error::reason;

/// Signals that a stop begins with (`KillSignal=`): the watcher ends by them.
/// All others, like a SIGHUP to the whole unit, aren't meant for it.
const STOPPING: [i32; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGQUIT];

/// What to leave behind, and what to become.
#[derive(Debug)]
pub struct ChainLoad {
    /// All of these have to hold for `READY=1`; none: the exec is enough.
    pub probes: Vec<Probe>,
    /// How often to look, and for how long.
    pub pace: Pace,
    /// Whether and how to ping the watchdog.
    pub health: Option<Health>,
    /// The command keeps `$NOTIFY_SOCKET` and `$WATCHDOG_*`.
    pub pass_notify: bool,
    /// The command sends `READY=1` itself.
    pub main_ready: bool,
    /// No `$NOTIFY_SOCKET` is an error.
    pub strict: bool,
    /// The command and its arguments.
    pub command: Vec<OsString>,
}

/// Becomes the command. Returns only with the reason why it couldn't.
pub fn load(mut chain: ChainLoad) -> Failure {
    match prepare(&mut chain) {
        Ok(prepared) => become_command(&chain, prepared),
        Err(failure) => failure,
    }
}

/// What is between the two: the program, and the ends of pipes.
struct Prepared {
    program: Program,
    /// Closed by the exec, which tells the watcher that it happened.
    executed: Option<OwnedFd>,
    /// The descriptor for the command's newline, and its number.
    newline: Option<(OwnedFd, RawFd)>,
}

fn prepare(chain: &mut ChainLoad) -> Result<Prepared, Failure> {
    let socket = Socket::from_environment(chain.strict)?;
    let watchdog = health::watchdog(std::process::id());
    if chain.health.is_some() && watchdog.is_none() && socket.is_some() {
        eprintln!("copse-notify: health isn't watched: the unit has no `WatchdogSec=`");
    }
    let without: &[&str] = if chain.pass_notify { &[] } else { &VARIABLES };
    let program =
        Program::new(&chain.command, without).map_err(|error| Failure::system("pass the command on", error))?;
    let newline = make_newline_pipe(&mut chain.probes, socket.is_some())?;
    // The number the command will know the pipe by must be none of ours.
    let above = newline.as_ref().map_or(3, |(_, number)| number + 1);
    let executed = match socket {
        Some(socket) if !chain.main_ready || (chain.health.is_some() && watchdog.is_some()) => {
            Some(leave_watcher(chain, (&socket, watchdog), above)?)
        }
        _ => None,
    };
    Ok(Prepared { program, executed, newline })
}

fn become_command(chain: &ChainLoad, prepared: Prepared) -> Failure {
    let name = chain.command[0].to_string_lossy().into_owned();
    let handed_down = match prepared.newline {
        Some((writer, number)) => {
            sys::hand_down(writer, number).map_err(|error| Failure::system(format!("open descriptor {number}"), error))
        }
        None => Ok(()),
    };
    if let Err(failure) = handed_down {
        return failure;
    }
    let error = prepared.program.exec();
    // The end of the pipe alone would look like success.
    if let Some(executed) = prepared.executed {
        let _ = rustix::io::write(&executed, b"!");
    }
    cannot_execute(&name, error)
}

/// 127 for a command that isn't there, 126 for one that can't be executed.
pub fn cannot_execute(name: &str, error: std::io::Error) -> Failure {
    if error.kind() == std::io::ErrorKind::NotFound {
        return Failure::new(Status::NOT_FOUND, format!("`{name}` wasn't found (or the interpreter it names)"));
    }
    Failure::new(Status::NOT_EXECUTABLE, format!("`{name}` can't be executed: {}", reason(error)))
}

/// The pipe of `--fd N`. Without a service manager the command gets its
/// descriptor all the same; what it writes goes nowhere.
fn make_newline_pipe(probes: &mut [Probe], watched: bool) -> Result<Option<(OwnedFd, RawFd)>, Failure> {
    let Some(newline) = probes.iter_mut().find_map(|probe| match probe {
        Probe::Descriptor(newline) => Some(newline),
        _ => None,
    }) else {
        return Ok(None);
    };
    let number = newline.number;
    if sys::is_open(number) && is_activation_socket(number) {
        return Err(Failure::usage(format!("descriptor {number} is one of the unit's sockets"))
            .help("take a number above them, `--fd 30`"));
    }
    let failed = |error: Errno| Failure::system("make a pipe", error);
    let writer = if watched {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(failed)?;
        rustix::io::ioctl_fionbio(&reader, true).map_err(failed)?;
        newline.reader = Some(fcntl_dupfd_cloexec(&reader, number + 1).map_err(failed)?);
        fcntl_dupfd_cloexec(&writer, number + 1).map_err(failed)?
    } else {
        let null = std::fs::File::options().write(true).open("/dev/null");
        let null = null.map_err(|error| Failure::system("open /dev/null", error))?;
        fcntl_dupfd_cloexec(&null, number + 1).map_err(failed)?
    };
    Ok(Some((writer, number)))
}

/// sd_listen_fds(3): `$LISTEN_FDS` descriptors from 3 on.
fn is_activation_socket(number: RawFd) -> bool {
    let own = |name: &str| std::env::var(name).ok()?.parse::<RawFd>().ok();
    let meant = own("LISTEN_PID") == Some(getpid().as_raw_nonzero().get());
    meant && own("LISTEN_FDS").is_some_and(|count| (3..3 + count).contains(&number))
}

/// Forks the watcher; gives the descriptor whose closing tells it of the exec.
fn leave_watcher(chain: &mut ChainLoad, notify: (&Socket, Option<Duration>), above: RawFd) -> Result<OwnedFd, Failure> {
    let failed = |error: Errno| Failure::system("start the watcher", error);
    let watched = Watched::open(getpid());
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(failed)?;
    let executed = fcntl_dupfd_cloexec(&writer, above).map_err(failed)?;
    drop(writer);
    // Until the watcher has made up its mind about signals, and so that the
    // command sees no SIGCHLD of ours.
    let mask = Signals::all().block_only();
    let side = sys::fork_away();
    if matches!(side, Ok(Away::There)) {
        drop(executed);
        become_watcher(&watched, &reader, &chain.probes);
        let status = watch(chain, &watched, &reader, notify);
        if let Err(failure) = status {
            eprintln!("{failure}");
        }
        sys::exit_now(0);
    }
    mask.block_only();
    match side {
        Ok(_) => Ok(executed),
        Err(error) => Err(Failure::system("start the watcher", error)),
    }
}

/// Lets go of everything that belongs to the command.
fn become_watcher(watched: &Watched, reader: &OwnedFd, probes: &[Probe]) {
    let mut keep = vec![reader.as_raw_fd()];
    if let Watched::Descriptor(descriptor) = watched {
        keep.push(descriptor.as_raw_fd());
    }
    keep.extend(probes.iter().filter_map(|probe| match probe {
        Probe::Descriptor(newline) => newline.reader.as_ref().map(AsRawFd::as_raw_fd),
        _ => None,
    }));
    sys::close_all_but(&keep);
    sys::detach_from_terminal();
    sys::default_action(&STOPPING);
    Signals::all_but(&STOPPING).block_only();
}

fn watch(
    chain: &mut ChainLoad,
    watched: &Watched,
    reader: &OwnedFd,
    notify: (&Socket, Option<Duration>),
) -> Result<(), Failure> {
    let (socket, watchdog) = notify;
    if !executed(watched, reader)? {
        return Ok(());
    }
    if !chain.main_ready && !report_ready(chain, watched, socket)? {
        return Ok(());
    }
    match (&mut chain.health, watchdog) {
        (Some(health), Some(watchdog)) => health::keep(health, watchdog, watched, socket),
        _ => Ok(()),
    }
}

/// Whether the exec succeeded: the pipe is closed by it, after a byte if it
/// failed.
fn executed(watched: &Watched, reader: &OwnedFd) -> Result<bool, Failure> {
    let fds = [PollFd::new(reader, PollFlags::IN)];
    if watched.wait(&fds, None).map_err(poll_failed)? == Woken::Gone {
        return Ok(false);
    }
    let mut byte = [0];
    Ok(rustix::io::read(reader, &mut byte) == Ok(0))
}

/// Waits for the probes and says so; whether the unit is ready now. When the
/// main process dies there is nothing to say: systemd saw it first.
fn report_ready(chain: &mut ChainLoad, watched: &Watched, socket: &Socket) -> Result<bool, Failure> {
    let mut status = StatusLine::new(Some(socket));
    let outcome = poll::until_ready(&mut chain.probes, watched, &chain.pace, &mut status)?;
    let (sent, ready) = match outcome {
        Outcome::Ready => (status.finish(&[NotifyState::Ready], ""), true),
        Outcome::Gone => (Ok(()), false),
        // The end of the start is `TimeoutStartSec=`'s decision.
        Outcome::TimedOut(missing) => {
            let text = poll::not_ready(&chain.pace, &missing);
            eprintln!("copse-notify: {text}");
            (status.finish(&[], &text), false)
        }
        Outcome::Never(missing) => {
            let text = format!("never ready: {missing}");
            eprintln!("copse-notify: {text}");
            (status.finish(&[], &text), false)
        }
    };
    sent.map_err(|error| Failure::system("notify the service manager", error))?;
    Ok(ready)
}
