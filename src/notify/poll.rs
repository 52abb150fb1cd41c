//! Waiting until probes hold: when to look, what to say meanwhile, when to
//! stop.

use std::fmt::Write as _;
use std::io;
use std::time::{Duration, Instant};

use rustix::event::PollFd;
use rustix::io::Errno;
use sd_notify::NotifyState;

use super::failure::Failure;
use super::probe::{Attempt, Miss, Probe, all_hold};
use super::process::{Watched, Woken};
use super::socket::{Socket, status_text};
use crate::basic::time_span;

/// The shortest pause between two attempts.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// A pause is this part of the time waited so far: what comes up after 200 ms
/// is seen within 3 ms, after 10 s within 160, with some 450 attempts in the
/// first half of a minute (20 ms of processor time in all). Doubling the pause
/// instead would look a dozen times, and see what comes up after 200 ms only
/// after 250.
const PAUSE_PART: u32 = 64;

/// Nobody reads a status text sooner, and most services are up by then.
const FIRST_STATUS_AFTER: Duration = Duration::from_millis(50);

/// How long the manager may take to read a message; it may be busy with a
/// daemon-reload.
pub const BARRIER_LIMIT: Duration = Duration::from_secs(30);

/// How to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The longest pause between two attempts.
    pub interval: Duration,
    /// The longest time one attempt may take.
    pub attempt: Duration,
    /// When to give up; `None`: never.
    pub timeout: Option<Duration>,
}

impl Default for Pace {
    fn default() -> Self {
        Pace { interval: Duration::from_millis(500), attempt: Duration::from_secs(5), timeout: None }
    }
}

/// How a wait ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All probes hold.
    Ready,
    /// The watched process ended first.
    Gone,
    /// The time-out passed; what was missing, and why.
    TimedOut(String),
    /// A probe can't hold any more; which one, and why.
    Never(String),
}

/// Waits until all probes hold at once.
///
/// # Errors
/// If poll(2) fails.
pub fn until_ready(
    probes: &mut [Probe],
    watched: &Watched,
    pace: &Pace,
    status: &mut StatusLine<'_>,
) -> Result<Outcome, Failure> {
    let start = Instant::now();
    let end = pace.timeout.and_then(|timeout| start.checked_add(timeout));
    loop {
        let began = Instant::now();
        let attempt = Attempt { watched, deadline: deadline(began, end, pace) };
        let missing = match all_hold(probes, &attempt) {
            Ok(()) => return Ok(Outcome::Ready),
            Err((_, Miss::Gone)) => return Ok(Outcome::Gone),
            Err((probe, Miss::Never(reason))) => {
                return Ok(Outcome::Never(format!("{probe}: {reason}")));
            }
            Err((probe, Miss::NotYet(reason))) => format!("{probe}: {reason}"),
        };
        let now = Instant::now();
        if end.is_some_and(|end| now >= end) {
            return Ok(Outcome::TimedOut(missing));
        }
        if now - start >= FIRST_STATUS_AFTER {
            status.say(&format!("waiting for {missing}"));
        }
        let pause = pause(now - start, now - began, pace.interval);
        let next = end.map_or(now + pause, |end| end.min(now + pause));
        let events: Vec<PollFd<'_>> = probes
            .iter()
            .filter_map(Probe::event)
            .map(|fd| PollFd::from_borrowed_fd(fd, rustix::event::PollFlags::IN))
            .collect();
        let woken = watched.wait(&events, Some(next)).map_err(poll_failed)?;
        if woken == Woken::Gone {
            return Ok(Outcome::Gone);
        }
    }
}

/// An attempt ends with the time-out, but the last one, at the time-out, and
/// the only one of `--timeout 0` get the time of their own.
fn deadline(began: Instant, end: Option<Instant>, pace: &Pace) -> Instant {
    let own = began + pace.attempt;
    match end {
        None => own,
        Some(end) if end > began => own.min(end),
        Some(_) => own.min(began + Duration::from_millis(100)),
    }
}

/// Never shorter than the attempt took: a command of 50 ms isn't run without
/// a pause.
fn pause(waited: Duration, took: Duration, longest: Duration) -> Duration {
    (waited / PAUSE_PART).max(took).max(SHORTEST_PAUSE).min(longest.max(SHORTEST_PAUSE))
}

/// What poll(2) failing is called.
pub fn poll_failed(error: Errno) -> Failure {
    Failure::system("wait", error)
}

/// The unit's status text, sent when it changes.
pub struct StatusLine<'s> {
    socket: Option<&'s Socket>,
    last: String,
}

impl<'s> StatusLine<'s> {
    /// A status line that goes to the service manager, if there is one.
    pub fn new(socket: Option<&'s Socket>) -> Self {
        StatusLine { socket, last: String::new() }
    }

    /// Says it, if it is something new. A manager that doesn't take it isn't
    /// a reason to stop waiting.
    pub fn say(&mut self, text: &str) {
        if self.last == text {
            return;
        }
        text.clone_into(&mut self.last);
        if let Some(socket) = self.socket {
            let _ = socket.send(&[NotifyState::Status(&status_text(text))]);
        }
    }

    /// Whether anything was said.
    pub fn is_clear(&self) -> bool {
        self.last.is_empty()
    }

    /// Sends a message, a last text with it, and waits until it was read.
    ///
    /// # Errors
    /// What the system says.
    pub fn finish(&mut self, states: &[NotifyState<'_>], text: &str) -> io::Result<()> {
        let Some(socket) = self.socket else {
            return Ok(());
        };
        let text = status_text(text);
        let mut states = states.to_vec();
        if self.last != text {
            states.push(NotifyState::Status(&text));
        }
        if !states.is_empty() {
            socket.send(&states)?;
            socket.barrier(BARRIER_LIMIT)?;
        }
        self.last.clone_from(&text);
        Ok(())
    }
}

/// All probes in one line, for messages.
pub fn names(probes: &[Probe]) -> String {
    let mut text = String::new();
    for probe in probes {
        let comma = if text.is_empty() { "" } else { ", " };
        let _ = write!(text, "{comma}{probe}");
    }
    text
}

/// `not ready after 30s: tcp 127.0.0.1:80: connection refused`.
pub fn not_ready(pace: &Pace, missing: &str) -> String {
    let after = time_span::format(pace.timeout.unwrap_or_default());
    format!("not ready after {after}: {missing}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_has_its_own_time_unless_all_is_over_sooner() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let pace = Pace { attempt: second * 5, ..Pace::default() };
        assert_eq!(deadline(now, None, &pace), now + second * 5);
        assert_eq!(deadline(now, Some(now + second), &pace), now + second);
        assert_eq!(deadline(now, Some(now + second * 9), &pace), now + second * 5);
        assert_eq!(deadline(now, Some(now), &pace), now + second / 10);
    }

    #[test]
    fn pauses_grow_with_the_time_waited() {
        let millis = Duration::from_millis;
        let longest = millis(500);
        assert_eq!(pause(millis(3), millis(0), longest), millis(1));
        assert_eq!(pause(millis(640), millis(0), longest), millis(10));
        assert_eq!(pause(millis(320), millis(50), longest), millis(50));
        assert_eq!(pause(millis(60_000), millis(0), longest), longest);
        assert_eq!(pause(millis(60_000), millis(0), millis(0)), millis(1));
    }
}
