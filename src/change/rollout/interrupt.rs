//! Signals that interrupt a rollout.
//!
//! After the first SIGINT or SIGTERM the current unit may become ready, and nothing more is begun; after the second it is not
//! waited for. SIGHUP changes nothing: without its terminal, a rollout still goes on to its end.

use std::future::pending;
use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::event::Stop;

/// How often the user interrupted.
#[derive(Debug, Clone)]
pub struct Interrupt(watch::Receiver<u32>);

impl Interrupt {
    /// Listens to the signals from now on. Needs a running tokio runtime.
    ///
    /// # Errors
    /// As sigaction(2).
    pub fn listen() -> io::Result<Self> {
        let (count, told) = watch::channel(0);
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hang_up = signal(SignalKind::hangup())?;
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = interrupt.recv() => count.send_modify(|count| *count += 1),
                    _ = terminate.recv() => count.send_modify(|count| *count += 1),
                    _ = hang_up.recv() => {}
                }
            }
        });
        Ok(Self(told))
    }

    /// Whether nothing more is to be begun.
    pub fn is_requested(&self) -> bool {
        *self.0.borrow() > 0
    }

    /// Returns as soon as nothing more is to be begun.
    pub async fn once(&self) {
        self.times(1).await;
    }

    /// Returns as soon as nothing is to be waited for any more.
    pub async fn twice(&self) {
        self.times(2).await;
    }

    async fn times(&self, times: u32) {
        // The sender lives as long as the runtime.
        if self.0.clone().wait_for(|count| *count >= times).await.is_err() {
            std::future::pending().await
        }
    }
}

/// Waits for `work`, until the deadline or an interrupt; `None` after the deadline.
///
/// # Errors
/// Those of `work`; [`Stop::Interrupted`].
pub async fn within<T>(
    deadline: Option<Instant>,
    interrupted: impl Future<Output = ()>,
    work: impl Future<Output = Result<T, Stop>>,
) -> Result<Option<T>, Stop> {
    let late = async {
        match deadline {
            Some(deadline) => sleep_until(deadline).await,
            None => pending().await,
        }
    };
    tokio::select! {
        done = work => done.map(Some),
        () = late => Ok(None),
        () = interrupted => Err(Stop::Interrupted),
    }
}
