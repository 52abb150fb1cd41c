//! `copse-notify wait`: the form for `ExecStartPost=` and for scripts.
//!
//! In a unit this is the form for `ready = {…}`. Measured against the chain
//! load (`make bench`; a server that listens after 200 ms):
//!
//! - From listening to *active* it took 1.1 ms longer (a process has to end and
//!   be reaped); from the death of the main process to *failed* 0.7 ms longer.
//!   systemd notices that death only when this command ends, so it is watched
//!   here, by pidfd: half a millisecond, not the rest of a time-out.
//! - `ExecStart=` stays the program as the author wrote it.
//! - `Type=exec` with `NotifyAccess=exec` is enough, and only for the status
//!   text: no process of the service can speak for it, and a unit whose
//!   `RestrictAddressFamilies=` leaves out `AF_UNIX` still gets ready (a chain
//!   load there can't send `READY=1`, and the start times out).
//! - Both run in the unit's own sandbox and network, both leave nothing behind.
//!   In `PrivatePIDs=` (257) this form can't see the main process.

use rustix::process::Pid;

use super::failure::{Failure, Status};
use super::poll;
use super::poll::{Outcome, Pace, StatusLine};
use super::probe::Probe;
use super::process::Watched;
use super::socket::Socket;

/// What to wait for.
#[derive(Debug)]
pub struct Wait {
    /// All of these have to hold.
    pub probes: Vec<Probe>,
    /// Whose end ends the waiting.
    pub process: Process,
    /// How often to look, and for how long.
    pub pace: Pace,
    /// No `$NOTIFY_SOCKET` is an error.
    pub strict: bool,
}

/// Which process is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// `$MAINPID`, as systemd sets it for `ExecStartPost=`.
    Main,
    /// This one.
    Pid(Pid),
    /// None.
    Nobody,
}

/// Waits; [`Status::DONE`] once all probes hold.
///
/// # Errors
/// [`Status::GONE`], [`Status::TIMED_OUT`], [`Status::SYSTEM`],
/// [`Status::NO_SOCKET`], each with its reason.
pub fn run(mut wait: Wait) -> Result<Status, Failure> {
    let socket = Socket::from_environment(wait.strict)?;
    let pid = match wait.process {
        Process::Main => Some(main_pid()?),
        Process::Pid(pid) => Some(pid),
        Process::Nobody => None,
    };
    for probe in &mut wait.probes {
        if let Probe::Listening { service, .. } = probe {
            *service = pid;
        }
    }
    let watched = pid.map_or(Watched::Nobody, Watched::open);
    let mut status = StatusLine::new(socket.as_ref());
    let outcome = poll::until_ready(&mut wait.probes, &watched, &wait.pace, &mut status)?;
    match outcome {
        Outcome::Ready => {
            // Without the barrier the text could stay, also where systemd itself started this process: it reaps whatever
            // is dead by then, and drops what a process sent that it doesn't know any more (seen on 252, once in 200 on a
            // busy machine). Without a text there is nothing to wait for.
            let _ = status.finish(&[], "");
            Ok(Status::DONE)
        }
        Outcome::Gone => Err(Failure::new(
            Status::GONE,
            format!(
                "the process {}{ENDED} {} held",
                pid.map(|pid| format!("{pid} ")).unwrap_or_default(),
                poll::names(&wait.probes)
            ),
        )),
        Outcome::TimedOut(missing) => {
            let text = poll::not_ready(&wait.pace, &missing);
            let _ = status.finish(&[], &text);
            Err(Failure::new(Status::TIMED_OUT, text))
        }
        Outcome::Never(missing) => Err(Failure::new(Status::GONE, format!("never ready: {missing}"))),
    }
}

/// Of a process that was waited for.
const ENDED: &str = "ended before";

/// Whether a line of a unit's journal is this program's, and says no more than that the process ended: what that said
/// itself tells why.
pub fn tells_only_of_an_end(line: &str) -> bool {
    line.strip_prefix("copse-notify: the process ").is_some_and(|rest| rest.contains(ENDED))
}

/// systemd leaves the variable out when the main process is gone already, so
/// not having it is no reason to wait without watching.
fn main_pid() -> Result<Pid, Failure> {
    let Some(value) = std::env::var_os("MAINPID").filter(|value| !value.is_empty()) else {
        return Err(Failure::new(Status::GONE, "there is no main process: `$MAINPID` isn't set")
            .help("`--pid none` waits without watching a process"));
    };
    value
        .to_str()
        .and_then(|text| text.parse().ok())
        .and_then(Pid::from_raw)
        .ok_or_else(|| Failure::usage(format!("`$MAINPID` is `{}`, which is no PID", value.to_string_lossy())))
}
