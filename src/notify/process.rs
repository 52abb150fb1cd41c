//! The process whose end cuts every waiting short.
//!
//! By pidfd (pidfd_open(2), Linux 5.3), so that its end is an event and not
//! something to ask for; where the kernel has none, or a system call filter
//! refuses it, the process is looked at twenty times a second instead.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open, test_kill_process};

/// Half of the 100 ms within which a start has to fail after the death.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What is waited for besides the probe.
#[derive(Debug)]
pub enum Watched {
    /// Nobody: only time and the probe end the waiting.
    Nobody,
    /// A process, known by a descriptor that is readable once it has ended.
    Descriptor(OwnedFd),
    /// A process, known by its PID and the time it started (so that another
    /// one with the same PID isn't taken for it).
    Number {
        /// The process.
        pid: Pid,
        /// Field 22 of proc_pid_stat(5), in clock ticks after boot.
        started: Option<u64>,
    },
    /// A process that had already ended.
    Ended,
}

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// The watched process has ended.
    Gone,
    /// One of the descriptors is ready.
    Ready,
    /// The time has come.
    Time,
}

impl Watched {
    /// Watches a process; one that isn't there counts as ended.
    pub fn open(pid: Pid) -> Watched {
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(descriptor) => Watched::Descriptor(descriptor),
            // With `PrivatePIDs=` (257) each command of a unit is the first
            // process of a PID namespace of its own, in which the number means
            // nothing.
            Err(Errno::SRCH) if getpid().is_init() => {
                eprintln!("copse-notify: the end of the process {pid} can't be watched from this PID namespace");
                Watched::Nobody
            }
            Err(Errno::SRCH) => Watched::Ended,
            Err(_) => Watched::by_number(pid),
        }
    }

    /// Watches a process without a pidfd.
    pub fn by_number(pid: Pid) -> Watched {
        Watched::Number { pid, started: stat(pid).map(|(_, started)| started) }
    }

    /// Whether the process has ended.
    pub fn gone(&self) -> bool {
        match self {
            Watched::Nobody => false,
            Watched::Ended => true,
            Watched::Descriptor(descriptor) => {
                let mut fds = [PollFd::new(descriptor, PollFlags::IN)];
                poll(&mut fds, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
            }
            Watched::Number { pid, started } => match stat(*pid) {
                Some((state, now)) => state == 'Z' || state == 'X' || started.is_some_and(|then| then != now),
                // No /proc, or it hides the process (`ProtectProc=`).
                None => test_kill_process(*pid) == Err(Errno::SRCH),
            },
        }
    }

    /// Waits until one of `fds` is ready, the process has ended, or `until`
    /// has come (`None`: without limit). The end of the process wins.
    ///
    /// # Errors
    /// What poll(2) reports, except an interruption, which is waited through.
    pub fn wait(&self, fds: &[PollFd<'_>], until: Option<Instant>) -> Result<Woken, Errno> {
        loop {
            let mut all: Vec<PollFd<'_>> = fds.to_vec();
            if let Watched::Descriptor(descriptor) = self {
                all.push(PollFd::from_borrowed_fd(descriptor.as_fd(), PollFlags::IN));
            }
            let remaining = until.map(|until| until.saturating_duration_since(Instant::now()));
            let slice = match self {
                Watched::Number { .. } => Some(remaining.unwrap_or(LOOK_EVERY).min(LOOK_EVERY)),
                Watched::Ended => Some(Duration::ZERO),
                _ => remaining,
            };
            let timeout = slice.and_then(|slice| Timespec::try_from(slice).ok());
            match poll(&mut all, timeout.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
            if self.gone() {
                return Ok(Woken::Gone);
            }
            if all[..fds.len()].iter().any(|fd| !fd.revents().is_empty()) {
                return Ok(Woken::Ready);
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(Woken::Time);
            }
        }
    }
}

/// State and start time of a process, from proc_pid_stat(5). The name in
/// parentheses may hold anything, so fields are counted from its last one.
fn stat(pid: Pid) -> Option<(char, u64)> {
    let text = fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    let end_of_name = text.iter().rposition(|byte| *byte == b')')?;
    let fields = String::from_utf8_lossy(&text[end_of_name + 1..]).into_owned();
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    // The state is field 3, the start time field 22.
    let started = fields.nth(18)?.parse().ok()?;
    Some((state, started))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    fn sleeper() -> (Child, Pid) {
        let child = Command::new("sleep").arg("100").spawn().unwrap();
        let pid = Pid::from_child(&child);
        (child, pid)
    }

    /// How long after a process was killed it is seen.
    fn seen_after(watch: fn(Pid) -> Watched) -> Duration {
        let (mut child, pid) = sleeper();
        let watched = watch(pid);
        assert!(!watched.gone());
        let soon = Instant::now() + Duration::from_millis(60);
        assert_eq!(watched.wait(&[], Some(soon)), Ok(Woken::Time));
        child.kill().unwrap();
        let killed = Instant::now();
        let far = killed + Duration::from_secs(300);
        assert_eq!(watched.wait(&[], Some(far)), Ok(Woken::Gone));
        let after = killed.elapsed();
        // Not yet waited for: a zombie counts as ended.
        assert!(watched.gone());
        child.wait().unwrap();
        assert!(watched.gone());
        after
    }

    /// On a busy machine the test itself may be woken late, but not every time.
    fn is_seen_within(limit: Duration, watch: fn(Pid) -> Watched) {
        let mut tries = (0..100).map(|_| seen_after(watch));
        assert!(tries.any(|after| after < limit));
    }

    #[test]
    fn the_end_of_a_process_is_seen_by_its_descriptor() {
        let (mut child, pid) = sleeper();
        let watched = Watched::open(pid);
        assert!(matches!(watched, Watched::Descriptor(_)), "{watched:?}");
        child.kill().unwrap();
        child.wait().unwrap();
        is_seen_within(Duration::from_millis(50), Watched::open);
    }

    #[test]
    fn the_end_of_a_process_is_seen_without_pidfd_within_100_ms() {
        is_seen_within(Duration::from_millis(100), Watched::by_number);
    }

    #[test]
    fn a_process_that_is_not_there_has_ended() {
        let (mut child, pid) = sleeper();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(matches!(Watched::open(pid), Watched::Ended));
        assert_eq!(Watched::open(pid).wait(&[], None), Ok(Woken::Gone));
    }

    #[test]
    fn another_process_with_the_same_pid_is_not_taken_for_it() {
        let (mut child, pid) = sleeper();
        let watched = Watched::Number { pid, started: Some(1) };
        assert!(watched.gone());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
