//! Moments as systemd counts them: in microseconds.

use std::time::{SystemTime, UNIX_EPOCH};

/// Now on CLOCK_MONOTONIC, as systemd's `…TimestampMonotonic` properties have it.
pub fn monotonic() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(now.tv_sec * 1_000_000 + now.tv_nsec / 1_000).unwrap_or(0)
}

/// Now since the epoch, as its other `…Timestamp` properties have it.
pub fn now() -> u64 {
    since_epoch(SystemTime::now())
}

/// A time since the epoch; zero before it.
pub fn since_epoch(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
