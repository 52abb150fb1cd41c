//! `copse-notify`: readiness and health for programs that can't report their
//! own to systemd, and setup steps that run only when something changed.
//!
//! ```text
//!  arguments ─args→ Invocation ┬ chain load: fork a watcher, become the command
//!                              ├ wait:       probe until it holds or the process is gone
//!                              ├ once:       fingerprint, compare the stamp, run, stamp
//!                              └ send:       one message, waited for until it was read
//! ```
//!
//! The rules it keeps, after the s6 programs of the same purpose: nothing of
//! ours stands above the command (it is exec'ed in the same PID), nothing of
//! ours is left once the work is done, and without `$NOTIFY_SOCKET` it is a
//! plain exec. No thread runs unless a name has to be resolved; everything
//! that waits also waits for the end of the watched process.
//!
//! Which form a generated unit uses: see [`chain`] and [`wait`].

pub mod args;
pub mod chain_load;
pub mod failure;
pub mod health;
mod help;
pub mod once;
pub mod poll;
pub mod probe;
pub mod process;
pub mod send;
pub mod socket;
#[allow(unsafe_code)]
pub mod sys;
pub mod wait;

use std::ffi::OsString;

use self::args::Invocation;
use self::failure::{Failure, Status};

/// Runs the program with the arguments after its own name; gives the exit
/// status. What went wrong is said on stderr.
///
/// Doesn't return where the invocation is a chain load that succeeds: the
/// process is then the command.
pub fn run(arguments: Vec<OsString>) -> Status {
    match args::parse(arguments).and_then(dispatch) {
        Ok(status) => status,
        Err(failure) => {
            eprintln!("{failure}");
            failure.status
        }
    }
}

fn dispatch(invocation: Invocation) -> Result<Status, Failure> {
    match invocation {
        Invocation::Help => {
            print!("{}", help::TEXT);
            Ok(Status::DONE)
        }
        Invocation::Version => {
            println!("copse-notify {}", env!("CARGO_PKG_VERSION"));
            Ok(Status::DONE)
        }
        Invocation::ChainLoad(chain_load) => Err(chain_load::load(chain_load)),
        Invocation::Wait(wait) => wait::run(wait),
        Invocation::Once(once) => once::run(&once),
        Invocation::Send(send) => send::run(&send),
    }
}
