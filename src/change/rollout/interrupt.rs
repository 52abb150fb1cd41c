//! Signals that ask a roll-out to stop.
//!
//! The first SIGINT or SIGTERM lets the unit that is being dealt with get ready, and nothing more is begun; the second
//! doesn't wait for it either. SIGHUP changes nothing: the terminal is gone, and what was begun is brought to its end.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// How often somebody asked to stop.
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
    pub fn asked(&self) -> bool {
        *self.0.borrow() > 0
    }

    /// Ends as soon as nothing more is to be begun.
    pub async fn once(&self) {
        self.times(1).await;
    }

    /// Ends as soon as nothing is to be waited for any more.
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
