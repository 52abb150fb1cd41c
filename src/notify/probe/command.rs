//! The probe that is a command of the user's.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::{Attempt, Miss};
use crate::notify::socket;

/// Runs the command; holds if it exits 0. Its output goes nowhere: what it
/// says every few milliseconds would drown the journal. One that takes too
/// long is killed, with what it has started.
pub(super) fn run(argv: &[OsString], attempt: &Attempt<'_>) -> Result<(), Miss> {
    let mut command = Command::new(&argv[0]);
    command.args(&argv[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    for variable in socket::VARIABLES {
        command.env_remove(variable);
    }
    let mut child = command.spawn().map_err(Miss::not_yet)?;
    let waited = wait(&mut child, attempt);
    if waited.is_err() {
        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
    }
    let status = child.wait().map_err(Miss::not_yet)?;
    waited.and_then(|()| judge(status))
}

fn judge(status: ExitStatus) -> Result<(), Miss> {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(()),
        (Some(code), _) => Err(Miss::NotYet(format!("exit status {code}"))),
        (None, signal) => Err(Miss::NotYet(format!("ended by signal {}", signal.unwrap_or_default()))),
    }
}

fn wait(child: &mut Child, attempt: &Attempt<'_>) -> Result<(), Miss> {
    if let Ok(pidfd) = pidfd_open(Pid::from_child(child), PidfdFlags::empty()) {
        return attempt.wait(pidfd.as_fd(), PollFlags::IN);
    }
    // A kernel before 5.3: ask.
    loop {
        if child.try_wait().map_err(Miss::not_yet)?.is_some() {
            return Ok(());
        }
        if attempt.watched.gone() {
            return Err(Miss::Gone);
        }
        if Instant::now() >= attempt.deadline {
            return Err(Miss::NotYet("no answer in time".to_owned()));
        }
        thread::sleep(Duration::from_millis(5));
    }
}
