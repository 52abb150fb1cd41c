//! Health: `WATCHDOG=1` goes out only while a probe holds, so that systemd
//! restarts a program that hangs (`WatchdogSec=` of systemd.service(5)).
//!
//! The pings go on while the unit reloads: they know nothing of its state.
//! They end with the main process, and with the signals a stop begins with,
//! because a ping during the stop would start the watchdog anew.

use std::env;
use std::time::{Duration, Instant};

use sd_notify::NotifyState;

use super::failure::Failure;
use super::poll::poll_failed;
use super::probe::{Attempt, Miss, Probe, all_hold};
use super::process::{Watched, Woken};
use super::socket::Socket;

/// How to watch over a program's health.
#[derive(Debug)]
pub struct Health {
    /// All of these have to hold.
    pub probes: Vec<Probe>,
    /// The failure in a row that isn't tolerated any more; at least 1.
    pub failures: u32,
    /// The pause between two looks; `None`: a third of the watchdog's time.
    pub interval: Option<Duration>,
    /// The longest time one look may take.
    pub attempt: Duration,
}

/// The watchdog's time (`$WATCHDOG_USEC`), if it is meant for `pid`
/// (`$WATCHDOG_PID`), as sd_watchdog_enabled(3) reads them.
pub fn watchdog(pid: u32) -> Option<Duration> {
    let number = |name| env::var(name).ok()?.parse::<u64>().ok();
    let time = number("WATCHDOG_USEC").filter(|time| *time > 0)?;
    let for_other = env::var_os("WATCHDOG_PID").is_some() && number("WATCHDOG_PID") != Some(pid.into());
    (!for_other).then(|| Duration::from_micros(time))
}

/// Pings until the process is gone.
///
/// # Errors
/// If poll(2) fails.
pub fn keep(health: &mut Health, watchdog: Duration, watched: &Watched, socket: &Socket) -> Result<(), Failure> {
    // Half of the time at most, as systemd recommends; a look is over before
    // the next, so that the distance of two pings is the interval.
    let interval = health.interval.unwrap_or(watchdog / 3).min(watchdog / 2);
    let mut failed = 0;
    let mut next = Instant::now();
    loop {
        let attempt = Attempt { watched, deadline: next + health.attempt.min(interval) };
        match all_hold(&mut health.probes, &attempt) {
            Ok(()) => {
                if failed >= health.failures {
                    eprintln!("copse-notify: healthy again");
                }
                failed = 0;
            }
            Err((_, Miss::Gone)) => return Ok(()),
            Err((probe, Miss::NotYet(reason) | Miss::Never(reason))) => {
                failed = (failed + 1).min(health.failures + 1);
                if failed == health.failures {
                    eprintln!(
                        "copse-notify: not healthy, no `WATCHDOG=1` until it is: {probe}: {reason} ({failed} in a row)"
                    );
                }
            }
        }
        if failed < health.failures {
            let _ = socket.send(&[NotifyState::Watchdog]);
        }
        next = (next + interval).max(Instant::now());
        if watched.wait(&[], Some(next)).map_err(poll_failed)? == Woken::Gone {
            return Ok(());
        }
    }
}
