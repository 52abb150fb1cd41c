//! Points in time as systemd counts them: in microseconds, on one of two clocks.

use std::num::NonZeroU64;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// A point in time on CLOCK_REALTIME, in microseconds since the epoch, as in systemd's `…Timestamp` properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Realtime(NonZeroU64);

/// A point in time on CLOCK_MONOTONIC, in microseconds, as in systemd's `…TimestampMonotonic` properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Monotonic(NonZeroU64);

macro_rules! microseconds {
    ($clock:ident) => {
        impl $clock {
            /// `None` for 0, which is systemd's "never".
            pub const fn from_micros(micros: u64) -> Option<Self> {
                match NonZeroU64::new(micros) {
                    Some(micros) => Some(Self(micros)),
                    None => None,
                }
            }

            pub const fn micros(self) -> u64 {
                self.0.get()
            }

            /// The time from `earlier` to here; zero if `earlier` is later.
            pub fn since(self, earlier: Self) -> Duration {
                Duration::from_micros(self.micros().saturating_sub(earlier.micros()))
            }
        }
    };
}

microseconds!(Realtime);
microseconds!(Monotonic);

impl Realtime {
    pub fn now() -> Self {
        Self::from(SystemTime::now())
    }
}

impl From<SystemTime> for Realtime {
    /// A time before the epoch counts as its first microsecond.
    fn from(time: SystemTime) -> Self {
        let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
        Self(u64::try_from(since_epoch).ok().and_then(NonZeroU64::new).unwrap_or(NonZeroU64::MIN))
    }
}

impl Monotonic {
    /// Before everything that has happened.
    pub const FIRST: Self = Self(NonZeroU64::MIN);

    pub fn now() -> Self {
        let now = clock_gettime(ClockId::Monotonic);
        let micros = u64::try_from(now.tv_sec * 1_000_000 + now.tv_nsec / 1_000).unwrap_or(0);
        Self(NonZeroU64::new(micros).unwrap_or(NonZeroU64::MIN))
    }
}

/// Microseconds on CLOCK_MONOTONIC. Prefer [`Monotonic::now`].
pub fn monotonic() -> u64 {
    Monotonic::now().micros()
}

/// Microseconds since the epoch. Prefer [`Realtime::now`].
pub fn now() -> u64 {
    Realtime::now().micros()
}

/// Microseconds since the epoch. Prefer [`Realtime::from`].
pub fn since_epoch(time: SystemTime) -> u64 {
    Realtime::from(time).micros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_never_and_comes_before_every_time() {
        let first = Realtime::from_micros(1);
        assert_eq!((Realtime::from_micros(0), first.map(Realtime::micros)), (None, Some(1)));
        assert!(None < first && first < Some(Realtime::now()));
        assert_eq!(Realtime::from(UNIX_EPOCH - Duration::from_secs(1)), first.unwrap());
    }

    #[test]
    fn a_span_between_two_times_is_never_negative() {
        let at = |micros| Monotonic::from_micros(micros).unwrap();
        assert_eq!(at(5).since(at(2)), Duration::from_micros(3));
        assert_eq!(at(2).since(at(5)), Duration::ZERO);
    }
}
