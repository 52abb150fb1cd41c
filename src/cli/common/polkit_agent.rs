//! polkit's agent for terminals, which prompts for a password if the caller may not do something. systemctl(1) starts
//! the same one.

use std::io::{IsTerminal as _, Read as _, pipe};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Signal, kill_process};

use crate::basic::scope::Scope;

const PROGRAM: &str = "/usr/bin/pkttyagent";

/// `--no-ask-password`, which is set before any command runs.
static DISABLED: AtomicBool = AtomicBool::new(false);

/// Has no agent started.
pub(crate) fn disable() {
    DISABLED.store(true, Ordering::Relaxed);
}

/// An agent that runs until the value is dropped, or none.
#[derive(Debug)]
pub(crate) struct Agent(Option<Child>);

impl Agent {
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// Starts an agent if polkit may have to prompt: not for root, who may do everything, not for a user's own manager,
    /// which does not ask polkit, and only on a terminal.
    pub(crate) fn open(scope: Scope) -> Self {
        let may_prompt = scope == Scope::System
            && !rustix::process::geteuid().is_root()
            && !DISABLED.load(Ordering::Relaxed)
            // The answer is typed, so stdout does not matter.
            && std::io::stdin().is_terminal();
        Self(may_prompt.then(start).flatten())
    }

    /// Whether there is an agent, which writes to the terminal as well.
    pub(crate) fn is_running(&self) -> bool {
        self.0.is_some()
    }
}

/// Starts the agent and waits until it is registered with polkit. `None` if there is no polkit.
fn start() -> Option<Child> {
    let (mut registered, notify) = pipe().ok()?;
    // It reads from the terminal itself, and closes descriptor 0 when it is registered.
    let mut agent = Command::new(PROGRAM);
    agent.args(["--notify-fd", "0", "--fallback"]).stdin(Stdio::from(notify)).stdout(Stdio::null());
    let child = agent.spawn().ok()?;
    drop(agent);
    // Also returns if the agent exits, as it does if polkit does not answer.
    let _ = registered.read(&mut [0]);
    Some(child)
}

impl Drop for Agent {
    fn drop(&mut self) {
        let Some(child) = &mut self.0 else { return };
        // Not SIGKILL: it may have turned off the terminal's echo.
        if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
            let _ = kill_process(pid, Signal::CONT);
        }
        let _ = child.wait();
    }
}
