//! `copse internal keep`: a throw-away group lives as long as the `copse run` that made it, however that ends.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::basic::scope::{Directories, Scope};
use crate::cli::common::exit::Exit;
use crate::cli::common::sd_daemon::{Level, line};
use crate::cli::common::session::block_on;
use crate::cli::run::cleanup::clear;
use crate::cli::run::workspace::{Caller, Workspace};
use crate::manager::connect;
use crate::manager::jobs::Jobs;
use crate::unit::name::GroupName;

/// Waits for the end of the process that `group` belongs to, and clears up after it.
pub(super) fn run(scope: Scope, group: &str) -> Exit {
    let state = Directories::from_environment(scope, None).state;
    let (Some(state), Some(name)) = (state, GroupName::new(group)) else {
        line(Level::Error, format_args!("`{group}` isn't a throw-away group"));
        return Exit::Usage;
    };
    let place = Workspace::of(&state, name);
    let Some(caller) = place.caller() else { return Exit::Done };
    if let Err(error) = ended(caller) {
        line(Level::Error, format_args!("process {} can't be waited for: {error}", caller.pid));
        return Exit::Failed;
    }
    // It cleared up itself, unless it was killed.
    if place.caller().is_none() {
        return Exit::Done;
    }
    block_on(async {
        let cleared = match connect(scope).await {
            Ok(systemd) => match Jobs::new(&systemd).await {
                Ok(jobs) => clear(&jobs, scope, &place).await,
                Err(error) => Err(error.to_string()),
            },
            Err(error) => Err(error.to_string()),
        };
        match cleared {
            Ok(()) => Exit::Done,
            Err(why) => {
                line(Level::Error, format_args!("group {group}: {why}"));
                Exit::Failed
            }
        }
    })
}

/// Waits until the process is gone.
fn ended(caller: Caller) -> Result<(), Errno> {
    let pidfd = match Pid::from_raw(caller.pid).map(|pid| pidfd_open(pid, PidfdFlags::empty())) {
        Some(Ok(pidfd)) => pidfd,
        Some(Err(error)) if error != Errno::SRCH => return Err(error),
        _ => return Ok(()),
    };
    // What was opened may be a later process of the same number.
    while caller.lives() {
        match poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], None) {
            Ok(_) => break,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
