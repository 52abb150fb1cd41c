//! The signals that end a run.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Ctrl-C, a polite request, and a terminal that was closed.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    /// From now on they don't end this process by themselves.
    ///
    /// # Errors
    /// Where the system refuses.
    pub(super) fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// The next of them, by what people call it.
    pub(super) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "Ctrl-C",
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.hang_up.recv() => "the terminal is gone",
        }
    }
}
