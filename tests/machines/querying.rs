//! A client that asks a resolver without pause, and what it sees of a restart.

use std::time::Duration;

use super::machine::Machine;
use super::scope::{Scope, Spawned};

const PROGRAM: &str = "/run/querying.py";
const END: &str = "/run/asked-enough";

/// The client, from its first query on; see querying.py.
pub struct Client<'m> {
    machine: &'m Machine,
    process: Spawned,
}

/// What became of the queries.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub answered: u32,
    pub lost: u32,
    /// The longest time without an answer, be it at the end.
    pub silence: Duration,
}

impl<'m> Client<'m> {
    /// Begins to ask on the machine's loopback interface, whether somebody answers or not.
    pub fn new(machine: &'m Machine, port: u16) -> Client<'m> {
        machine.remove(END);
        machine.write(PROGRAM, include_str!("querying.py"));
        let process = machine.spawn(&["python3", PROGRAM, &port.to_string(), END]);
        Client { machine, process }
    }

    /// Waits for the first answer, and tells when it came, by the monotonic clock.
    #[track_caller]
    pub fn first_answer(&self) -> Duration {
        let mut first = None;
        self.machine.wait_until("the client has an answer", || {
            let said = self.process.stdout();
            first = said.strip_prefix("asking ").and_then(|said| said.strip_suffix('\n')?.parse().ok());
            first.is_some()
        });
        Duration::from_secs_f64(first.expect("it was waited for"))
    }

    /// Ends it, and tells what it saw.
    #[track_caller]
    pub fn end(self) -> Asked {
        self.machine.write(END, "");
        let output = self.process.finish();
        let last = output.stdout.lines().last().unwrap_or_default();
        let numbers: Vec<u32> = last.split(' ').filter_map(|number| number.parse().ok()).collect();
        let [answered, lost, silence] = numbers[..] else { panic!("the client said {output:?}") };
        Asked { answered, lost, silence: Duration::from_millis(silence.into()) }
    }
}
