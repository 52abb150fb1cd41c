//! polkit's text agent, which asks on the terminal for the password of somebody who may do what the caller may not:
//! what systemctl starts as well.

use std::io::{IsTerminal as _, Read as _, pipe};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Signal, kill_process};

use crate::basic::scope::Scope;

/// Where polkit has it.
const PROGRAM: &str = "/usr/bin/pkttyagent";

/// `--no-ask-password`: set once, before any verb runs.
static NEVER: AtomicBool = AtomicBool::new(false);

/// Has no password asked for.
pub(crate) fn never() {
    NEVER.store(true, Ordering::Relaxed);
}

/// An agent that runs until the value is dropped, or none.
#[derive(Debug)]
pub(crate) struct Agent(Option<Child>);

impl Agent {
    /// None.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// Starts one where polkit may have to ask: root is allowed everything, a user's own manager asks nobody, and without a
    /// terminal nobody answers.
    pub(crate) fn open(scope: Scope) -> Self {
        let may_ask = scope == Scope::System
            && !rustix::process::geteuid().is_root()
            && !NEVER.load(Ordering::Relaxed)
            // Not the standard output: it is about what somebody types.
            && std::io::stdin().is_terminal();
        Self(may_ask.then(start).flatten())
    }

    /// Whether there is one, which writes on the terminal as well.
    pub(crate) fn is_there(&self) -> bool {
        self.0.is_some()
    }
}

/// Starts the agent and waits until polkit knows it. Without polkit there is none.
fn start() -> Option<Child> {
    let (mut ready, told) = pipe().ok()?;
    // It reads from the terminal itself. Descriptor 0 is what it closes when it is ready.
    let mut agent = Command::new(PROGRAM);
    agent.args(["--notify-fd", "0", "--fallback"]).stdin(Stdio::from(told)).stdout(Stdio::null());
    let child = agent.spawn().ok()?;
    drop(agent);
    // Also where it ends instead, as it does without a polkit that answers.
    let _ = ready.read(&mut [0]);
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
