//! `copse internal keep`: cleans up a temporary group when the `copse run` that made it has exited, even if it was killed.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::basic::scope::{Directories, Scope};
use crate::cli::common::error::Error;
use crate::cli::common::exit::Exit;
use crate::cli::common::session::with_manager;
use crate::cli::common::temporary_group::cleanup::clear;
use crate::cli::common::temporary_group::workspace::{Caller, Workspace};
use crate::manager::jobs::Jobs;
use crate::unit::name::GroupName;

/// Waits for the process that runs `group`, and cleans up.
pub(super) fn run(scope: Scope, group: &str) -> Result<Exit, Error> {
    let state = Directories::from_environment(scope, None).state;
    let (Some(state), Some(name)) = (state, GroupName::new(group)) else {
        return Err(Error::usage(format_args!("`{group}` is not a temporary group")));
    };
    let workspace = Workspace::of(&state, name);
    let Some(caller) = workspace.caller() else { return Ok(Exit::Done) };
    wait(caller).map_err(|error| Error::cannot(format_args!("wait for process {}", caller.pid), error))?;
    // It has cleaned up itself, unless it was killed.
    if workspace.caller().is_none() {
        return Ok(Exit::Done);
    }
    with_manager(scope, async |systemd| {
        let jobs = Jobs::new(&systemd).await?;
        let cleared = clear(&jobs, scope, &workspace).await;
        cleared.map_err(|error| Error::cannot(format_args!("clean up group `{group}`"), error))?;
        Ok(Exit::Done)
    })
}

/// Waits until the process has exited.
fn wait(caller: Caller) -> Result<(), Errno> {
    let pidfd = match Pid::from_raw(caller.pid).map(|pid| pidfd_open(pid, PidfdFlags::empty())) {
        Some(Ok(pidfd)) => pidfd,
        Some(Err(error)) if error != Errno::SRCH => return Err(error),
        _ => return Ok(()),
    };
    // The PID may have been reused before it was opened.
    while caller.lives() {
        match poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], None) {
            Ok(_) => break,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
