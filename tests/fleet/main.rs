//! One group file on many machines: a controller with ansible-core and HAProxy, and three nodes of Debian 13 with sshd, each
//! a booted systemd, in one network. `make fleet` runs all; `make fleet ARGS=a_bad_release` one.
//!
//! These take longer than `make test` may, so `make package-test` runs them. `COPSE_BIN_DIR` and `COPSE_ROOTS` are as in
//! tests/booted. The situations run one after the other on the same machines.

#[allow(dead_code)]
#[path = "../machines/mod.rs"]
mod machines;
mod network;
mod refused;
mod rolled;
mod single;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;

use libtest_mimic::{Arguments, Completion, Failed, Trial};

use crate::machines::machine::NoMachine;
use crate::machines::scope::Scope as _;
use crate::network::Fleet;

/// A situation, and the root file system of its controller.
type Situation = (&'static str, &'static str, fn(&Fleet));

/// The fleet that is booted, with its controller's root. Another controller needs another fleet.
static FLEET: Mutex<Option<(&'static str, Result<Fleet, NoMachine>)>> = Mutex::new(None);

thread_local! {
    /// Where this thread panicked last.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // A panic is a test's result, reported once, at its end.
    std::panic::set_hook(Box::new(|panic| {
        PLACE.with_borrow_mut(|place| *place = panic.location().map(ToString::to_string).unwrap_or_default())
    }));
    arguments.test_threads = Some(1);
    let situations = [single::SITUATIONS, rolled::SITUATIONS, refused::SITUATIONS].concat();
    let trial = |(name, controller, run): Situation| Trial::ignorable_test(name, move || try_out(controller, run));
    let conclusion = libtest_mimic::run(&arguments, situations.into_iter().map(trial).collect());
    if let Some((_, Ok(fleet))) = FLEET.lock().expect("no thread is left").take()
        && std::env::var_os("COPSE_KEEP").is_some()
    {
        for machine in std::iter::once(&fleet.controller).chain(&fleet.nodes) {
            eprintln!("{}", machine.how_to_enter());
        }
        let _ = std::io::stdin().read_line(&mut String::new());
    }
    conclusion.exit_code()
}

fn try_out(controller: &'static str, run: fn(&Fleet)) -> Result<Completion, Failed> {
    let mut place = FLEET.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if place.as_ref().is_none_or(|(booted, _)| *booted != controller) {
        *place = None;
        *place = Some((controller, Fleet::boot(controller)));
    }
    let fleet = match place.as_ref().map(|(_, fleet)| fleet) {
        Some(Ok(fleet)) => fleet,
        Some(Err(NoMachine::Unavailable(why))) if std::env::var("CI").as_deref() != Ok("true") => {
            eprintln!("NOT TRIED on real machines: {why}");
            return Ok(Completion::ignored_with(why.clone()));
        }
        Some(Err(NoMachine::Unavailable(why) | NoMachine::BootFailed(why))) => return Err(why.into()),
        None => unreachable!("it was booted"),
    };
    fleet.clear();
    let end = catch_unwind(AssertUnwindSafe(|| run(fleet)));
    match end {
        Ok(()) => Ok(Completion::Completed),
        Err(panic) => {
            let message = panic.downcast_ref::<String>().cloned();
            let message = message.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default();
            let journal = |machine: &machines::machine::Machine| {
                machine.run(&["journalctl", "--no-pager", "--quiet", "--lines=40", "--output=short-monotonic"]).stdout
            };
            let journals: String = fleet.nodes.iter().map(|node| format!("---\n{}", journal(node))).collect();
            Err(format!("{}: {message}\n{journals}", PLACE.take()).into())
        }
    }
}
