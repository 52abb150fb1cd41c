//! Signals: sets, masks, dispositions, waiting for them, ending by one.

use std::ffi::c_int;
use std::mem::{self, MaybeUninit};
use std::ptr;

use rustix::process::Pid;

/// A set of signals.
#[derive(Clone, Copy)]
pub struct Signals(libc::sigset_t);

impl Signals {
    /// All of them.
    pub fn all() -> Signals {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigfillset() initialises the set it is given.
        unsafe {
            libc::sigfillset(set.as_mut_ptr());
            Signals(set.assume_init())
        }
    }

    /// Those listed.
    pub fn of(signals: &[c_int]) -> Signals {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigemptyset() initialises the set that sigaddset() adds to.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for signal in signals {
                libc::sigaddset(set.as_mut_ptr(), *signal);
            }
            Signals(set.assume_init())
        }
    }

    /// All but those listed.
    pub fn all_but(signals: &[c_int]) -> Signals {
        let mut set = Signals::all();
        for signal in signals {
            // SAFETY: an initialised set and a plain number.
            unsafe { libc::sigdelset(&raw mut set.0, *signal) };
        }
        set
    }

    /// Makes this the set of blocked signals; gives the one before.
    pub fn block_only(&self) -> Signals {
        let mut before = MaybeUninit::uninit();
        // SAFETY: one set is read, the other written, both our own.
        unsafe {
            libc::sigprocmask(libc::SIG_SETMASK, &raw const self.0, before.as_mut_ptr());
            Signals(before.assume_init())
        }
    }

    /// Forgets those that came while they were blocked.
    pub fn discard(&self) {
        let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the set and the time are read, nothing is written.
        while unsafe { libc::sigtimedwait(&raw const self.0, ptr::null_mut(), &raw const at_once) } > 0 {}
    }

    /// Waits for one of these signals (they have to be blocked).
    pub fn wait(&self) -> Received {
        loop {
            let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
            // SAFETY: the set is read, the info written, both our own; the
            // sender's PID is there for every signal a process sent.
            unsafe {
                let signal = libc::sigwaitinfo(&raw const self.0, info.as_mut_ptr());
                if signal > 0 {
                    let info = info.assume_init();
                    let sent = info.si_code == libc::SI_USER || info.si_code == libc::SI_TKILL;
                    let sender = sent.then(|| info.si_pid());
                    return Received { signal, sender };
                }
            }
        }
    }
}

/// A signal, and who sent it.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// Its number.
    pub signal: c_int,
    /// The sender's PID (0: outside the PID namespace); `None` if the kernel sent it.
    pub sender: Option<i32>,
}

/// Whether a signal waits to be delivered.
pub(super) fn pending(signal: c_int) -> bool {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigpending() initialises the set.
    unsafe { libc::sigpending(set.as_mut_ptr()) == 0 && libc::sigismember(set.as_ptr(), signal) == 1 }
}

/// Gives signals their default action back.
pub fn default_action(signals: &[c_int]) {
    for signal in signals {
        // SAFETY: no handler is installed, only the default action.
        unsafe { libc::signal(*signal, libc::SIG_DFL) };
    }
}

/// What was done about a signal before.
pub struct Disposition(c_int, libc::sigaction);

impl Disposition {
    /// Gives the signal its default action; gives what it was before.
    pub fn to_default(signal: c_int) -> Disposition {
        // SAFETY: an all-zero sigaction is the default action; the old one is
        // written to our own.
        unsafe {
            let default: libc::sigaction = mem::zeroed();
            let mut before: libc::sigaction = mem::zeroed();
            libc::sigaction(signal, &raw const default, &raw mut before);
            Disposition(signal, before)
        }
    }

    /// Puts it back.
    pub fn restore(&self) {
        // SAFETY: what the system itself said the action was.
        unsafe { libc::sigaction(self.0, &raw const self.1, ptr::null_mut()) };
    }
}

/// Takes a signal that is pending, so that it is never delivered.
pub(super) fn discard(signal: c_int) {
    let set = Signals::of(&[signal]);
    let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: our own set and time; no info is wanted.
    unsafe { libc::sigtimedwait(&raw const set.0, ptr::null_mut(), &raw const now) };
}

/// Ends this process by a signal, so that whoever waits sees the same as if
/// it had waited for the command itself. No core file: the command wrote its own.
pub fn die_by(signal: c_int) -> ! {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: plain numbers and our own values.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
        Signals::of(&[]).block_only();
        libc::_exit(128 + signal)
    }
}

/// Sends a signal to a process; one that is gone already is fine.
pub fn signal_process(pid: Pid, signal: c_int) {
    // SAFETY: plain numbers.
    unsafe { libc::kill(pid.as_raw_nonzero().get(), signal) };
}
