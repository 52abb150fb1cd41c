//! The truth: copse on real systemds. Each situation of a user is tried on each version of systemd that it
//! is for; a test is named `257::a_plain_service_starts_and_its_line_is_in_the_journal`.
//!
//! ```text
//! cargo test --test booted                       everything (as root; `make test` uses sudo)
//! cargo test --test booted -- 257::              one version
//! cargo test --test booted -- a_plain_service    one situation on all versions
//! COPSE_KEEP=1 cargo test --test booted -- 257:: keeps the machines until Enter, and says how to enter them
//! ```
//!
//! `COPSE_BIN_DIR` names a directory of programs to try instead of building them; `COPSE_ROOTS` and
//! `COPSE_MIRROR` are for the root file systems (tests/roots.sh). Where machines can't be booted, the tests
//! are *ignored*, with the reason, and fail when `CI=true`.
//!
//! The situations of one version run one after the other on its machine; the machines work side by side.
//! A situation cleans up after itself ([`machines::group::Group`] does by itself), and never sleeps to let something
//! happen: it waits for what is to happen, with a limit ([`Scope::wait`]).

mod another_host;
mod applying;
mod asking;
mod away;
mod broken;
mod candidate;
mod changed;
mod compiled;
mod controls;
mod details;
mod editing;
mod enabling;
mod examples;
mod failing;
mod health;
mod importing;
mod judging;
#[path = "../machines/mod.rs"]
mod machines;
mod needrestarted;
mod packaged;
mod packagers;
mod planning;
mod probes;
mod reaching;
mod reading;
mod readme;
mod remembered;
mod removed;
mod restarting;
mod rolling;
mod run;
mod scaling;
mod served;
mod setting_up;
mod situation;
mod sockets;
mod starting;
mod status;
mod supervisor;
mod text;
mod the_machine;
mod undoing;
mod weighing;

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use libtest_mimic::{Arguments, Completion, Failed, Trial};

use machines::machine::{Machine, NoMachine};
use machines::pool;
use machines::scope::Scope;
use machines::version::Version;
use situation::Situation;

/// All situations, by the file they are in.
const SITUATIONS: &[&[Situation]] = &[
    the_machine::SITUATIONS,
    starting::SITUATIONS,
    restarting::SITUATIONS,
    asking::SITUATIONS,
    rolling::SITUATIONS,
    away::SITUATIONS,
    another_host::SITUATIONS,
    applying::SITUATIONS,
    undoing::SITUATIONS,
    broken::SITUATIONS,
    candidate::SITUATIONS,
    reaching::SITUATIONS,
    failing::SITUATIONS,
    judging::SITUATIONS,
    setting_up::SITUATIONS,
    editing::SITUATIONS,
    remembered::SITUATIONS,
    sockets::SITUATIONS,
    changed::SITUATIONS,
    compiled::SITUATIONS,
    details::SITUATIONS,
    controls::SITUATIONS,
    planning::SITUATIONS,
    weighing::SITUATIONS,
    readme::SITUATIONS,
    reading::SITUATIONS,
    enabling::SITUATIONS,
    scaling::SITUATIONS,
    status::SITUATIONS,
    status::logs::SITUATIONS,
    text::SITUATIONS,
    examples::SITUATIONS,
    packaged::SITUATIONS,
    removed::SITUATIONS,
    needrestarted::SITUATIONS,
    packagers::SITUATIONS,
    probes::SITUATIONS,
    health::SITUATIONS,
    run::SITUATIONS,
    run::ending::SITUATIONS,
    importing::SITUATIONS,
    supervisor::SITUATIONS,
];

/// What couldn't be tried, and why, with the number of situations.
type NotTried = Arc<Mutex<BTreeMap<String, usize>>>;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    keep_panics_for_the_report();
    let not_tried = NotTried::default();
    let mut trials = Vec::new();
    for situation in SITUATIONS.iter().copied().flatten() {
        for &version in situation.versions {
            let not_tried = not_tried.clone();
            let name = format!("{version}::{}", situation.name);
            trials.push(Trial::ignorable_test(name, move || try_out(situation, version, &not_tried)));
        }
    }
    // A thread for each: they wait for their version's machine, and no machine waits for a thread.
    arguments.test_threads = arguments.test_threads.or(Some(trials.len()));
    let conclusion = libtest_mimic::run(&arguments, trials);
    pool::shut_down();
    for (why, count) in not_tried.lock().expect("no thread is left").iter() {
        eprintln!("\n*** NOT TRIED on a real systemd: {count} tests. {why}");
    }
    conclusion.exit_code()
}

thread_local! {
    /// Where this thread panicked last.
    static PANICKED_AT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// A panic is a test's result, told once, at the end and with its place; not in the middle of other tests' lines.
fn keep_panics_for_the_report() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        PANICKED_AT.set(place);
    }));
}

/// One test: a situation on a version.
fn try_out(situation: &Situation, version: Version, not_tried: &NotTried) -> Result<Completion, Failed> {
    let machine = match Machine::get(version) {
        Ok(machine) => machine,
        Err(NoMachine::BootFailed(why)) => {
            return Err(format!("systemd {version} didn't boot: {why}").into());
        }
        Err(NoMachine::Unavailable(why)) => {
            let why = format!("systemd {version}: {why}");
            *not_tried.lock().expect("nobody panics with it").entry(why.clone()).or_default() += 1;
            return match std::env::var("CI").as_deref() {
                Ok("true") => Err(why.into()),
                _ => Ok(Completion::ignored_with(why)),
            };
        }
    };
    let cursor = journal_cursor(&machine);
    match catch_unwind(AssertUnwindSafe(|| (situation.run)(&machine))) {
        Ok(()) => Ok(Completion::Completed),
        Err(panic) => {
            let report = report(&machine, &cursor, panic.as_ref());
            if !pool::keeps_machines() {
                tidy_up(&machine);
            }
            // At once, for who watches or interrupts the run; the whole report comes at its end.
            eprintln!("{version}::{}: {}", situation.name, report.lines().next().unwrap_or_default());
            Err(report.into())
        }
    }
}

/// What a failed situation left must not be the next one's failure as well.
fn tidy_up(machine: &Machine) {
    let script = "rm -rf /etc/copse /run/copse/*.toml /run/copse/*.toml.d /run/copse/pins; systemctl daemon-reload; systemctl reset-failed";
    machine.run(&["sh", "-c", script]);
}

/// Where the journal ends now.
fn journal_cursor(machine: &Machine) -> String {
    let shown = machine.run(&["journalctl", "--quiet", "--lines=0", "--show-cursor"]).stdout;
    shown.trim().trim_start_matches("-- cursor: ").to_owned()
}

/// Why a situation failed, and what the machine has to say about it.
fn report(machine: &Machine, cursor: &str, panic: &(dyn Any + Send)) -> String {
    let message = panic.downcast_ref::<String>().map(String::as_str);
    let message = message.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without text");
    let notes = std::mem::take(&mut *machine.notes.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
    let after = format!("--after-cursor={cursor}");
    let journal = machine.run(&["journalctl", "--no-pager", "--quiet", "--output=short-monotonic", &after]).stdout;
    let failed = machine.run(&["systemctl", "--failed", "--no-pager", "--plain", "--no-legend", "--full"]).stdout;
    let place = PANICKED_AT.take();
    format!(
        "{place}: {message}\n{notes}--- failed units, afterwards\n{failed}--- the journal of this situation\n{journal}"
    )
}
