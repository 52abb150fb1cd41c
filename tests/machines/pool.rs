//! The machines of a run: one per version, booted when the first situation asks, ended with the run.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::machine::{Machine, NoMachine};
use super::version::Version;

/// A version's place: nothing yet, a machine, or why there is none.
type Place = Option<Result<Machine, NoMachine>>;

static PLACES: [Mutex<Place>; Version::ALL.len()] = [const { Mutex::new(None) }; Version::ALL.len()];

/// A machine of the run, and the only hold on it.
pub struct Lent(MutexGuard<'static, Place>);

/// Waits until nobody else has this version's machine, and boots it where it isn't yet (or is no more).
pub fn lend(version: Version) -> Result<Lent, NoMachine> {
    let mut place = place(version);
    if let Some(Ok(machine)) = place.as_mut()
        && !machine.is_alive()
    {
        eprintln!("systemd {version} is gone; booting another");
        *place = None;
    }
    match place.get_or_insert_with(|| Machine::boot(version)) {
        Ok(_) => Ok(Lent(place)),
        Err(error) => Err(error.clone()),
    }
}

/// Whether the person who started the run wants to look at the machines afterwards (`COPSE_KEEP=1`).
pub fn keeps_machines() -> bool {
    std::env::var_os("COPSE_KEEP").is_some_and(|value| !value.is_empty() && value != "0")
}

/// Ends all machines. With `COPSE_KEEP=1` it says first how to enter them, and waits for a line on
/// standard input.
pub fn shut_down() {
    let mut places: Vec<_> = Version::ALL.iter().map(|&version| place(version)).collect();
    if keeps_machines() {
        for machine in places.iter().filter_map(|place| place.as_ref()?.as_ref().ok()) {
            eprintln!("systemd {}: {}", machine.version(), machine.how_to_enter());
        }
        eprintln!("press Enter to end the machines");
        let _ = std::io::stdin().read_line(&mut String::new());
    }
    for place in &mut places {
        **place = None;
    }
}

fn place(version: Version) -> MutexGuard<'static, Place> {
    let index = Version::ALL.iter().position(|&other| other == version).expect("ALL has them all");
    // A situation that failed while it had the machine is that situation's failure only.
    PLACES[index].lock().unwrap_or_else(PoisonError::into_inner)
}

impl Deref for Lent {
    type Target = Machine;

    fn deref(&self) -> &Machine {
        match self.0.as_ref() {
            Some(Ok(machine)) => machine,
            _ => unreachable!("only a place with a machine is lent"),
        }
    }
}

impl DerefMut for Lent {
    fn deref_mut(&mut self) -> &mut Machine {
        match self.0.as_mut() {
            Some(Ok(machine)) => machine,
            _ => unreachable!("only a place with a machine is lent"),
        }
    }
}
