//! Debian's Knot Resolver 6 as it is packaged, with supervisord on top, and the same programs as a group: what runs
//! beside the workers, and what a client notices when something is restarted, upgraded or killed (`make bench-knot`).
//!
//! Both run on the same booted systemd, one after the other, in every round; each of a round's events happens once to
//! each, while querying.py asks. ROOT is a root file system made by `tests/roots.sh knot`. Prints a table in markdown.
//! What is the same in both and what isn't stands in knot-resolver.toml and manager.

// The booted tests use more of them.
#[allow(dead_code)]
#[path = "../../machines/mod.rs"]
mod machines;
mod resolver;
mod table;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use machines::machine::{Boot, Machine, NoMachine};
use machines::querying::{Asked, Client};
use machines::scope::Scope as _;
use machines::version::Version;
use resolver::{Form, Resolver};

const PORT: u16 = 53;
/// How long a client goes on after an event is over.
const AFTERWARDS: Duration = Duration::from_secs(1);
/// How long a client goes on after a kill. The package's manager comes back and has restarted its workers in half of it.
const AFTER_A_KILL: Duration = Duration::from_secs(8);

/// What one round saw of one of the two.
struct Round {
    /// From `systemctl start` to the first answer, and to its return.
    first_answer: Duration,
    started: Duration,
    /// In KiB, by the program.
    memory: BTreeMap<&'static str, u32>,
    manager_restarted: Event,
    upgraded: Event,
    manager_killed: Event,
    /// Nothing where nothing is on top.
    top_killed: Option<Event>,
}

/// What an event did to a client's queries.
#[derive(Clone, Copy)]
struct Event {
    asked: Asked,
    /// Whether the same workers ran before and after.
    workers_kept: bool,
    /// Whether the service ran at the end.
    survived: bool,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rounds = arguments.get(1).map_or(Ok(10), |rounds| rounds.parse());
    let (Some(root), Ok(rounds @ 1..), 1 | 2) = (arguments.first(), rounds, arguments.len()) else {
        eprintln!("usage: bench-knot ROOT [ROUNDS]");
        return ExitCode::from(2);
    };
    let machine = match boot(root) {
        Ok(machine) => machine,
        Err(why) => {
            eprintln!("make bench-knot: no systemd could be booted on this host: {why:?}");
            return ExitCode::from(2);
        }
    };
    install(&machine);
    let [package, group] = [Form::Package, Form::Group].map(|form| Resolver { machine: &machine, form });
    for resolver in [&package, &group] {
        resolver.start(); // once for the caches of the kernel
        resolver.stop();
    }
    let measured: Vec<[Round; 2]> = (0..rounds).map(|_: u32| [&package, &group].map(round)).collect();
    print!("{}", table::table(&measured));
    ExitCode::SUCCESS
}

fn boot(root: &str) -> Result<Machine, NoMachine> {
    let mut machine = Boot::over(Version::V262, root.into())?.start()?;
    machine.wait_until_booted()?;
    Ok(machine)
}

/// The package is there; this is what the group adds, and the configuration of both.
fn install(machine: &Machine) {
    machine.write("/etc/knot-resolver/config.yaml", include_str!("config.yaml"));
    machine.write_program("/opt/knot/manager", include_str!("manager"));
    machine.write("/etc/copse/knot-resolver.toml", include_str!("knot-resolver.toml"));
    machine.sh("copse polkit knot-resolver >/etc/polkit-1/rules.d/50-knot-resolver.rules");
    machine.reload();
}

fn round(resolver: &Resolver) -> Round {
    let client = Client::new(resolver.machine, PORT);
    let began = now();
    resolver.start();
    let started = now() - began;
    let first_answer = client.first_answer() - began;
    client.end();
    std::thread::sleep(AFTERWARDS);
    let memory = resolver.memory();
    let manager_restarted = event(resolver, AFTERWARDS, || resolver.restart_manager());
    let upgraded = event(resolver, AFTERWARDS, || resolver.upgrade());
    let manager_killed = event(resolver, AFTER_A_KILL, || kill(resolver.machine, resolver.manager()));
    let top = resolver.top();
    let top_killed = top.map(|top| event(resolver, AFTER_A_KILL, || kill(resolver.machine, top)));
    resolver.stop();
    Round { first_answer, started, memory, manager_restarted, upgraded, manager_killed, top_killed }
}

/// Lets something happen while a client asks, and for some time longer.
fn event(resolver: &Resolver, afterwards: Duration, happens: impl FnOnce()) -> Event {
    let before = resolver.workers();
    let client = Client::new(resolver.machine, PORT);
    client.first_answer();
    std::thread::sleep(AFTERWARDS);
    happens();
    std::thread::sleep(afterwards);
    let asked = client.end();
    let survived = resolver.is_active();
    Event { asked, workers_kept: survived && resolver.workers() == before, survived }
}

fn kill(machine: &Machine, pid: u32) {
    machine.ok(&["kill", "-KILL", &pid.to_string()]);
}

/// By the clock that all processes share.
fn now() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Duration::try_from(now).expect("the time since the boot is positive")
}
